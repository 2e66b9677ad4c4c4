# SPDX-License-Identifier: Apache-2.0
#
# Shared by the scripts of scripts/, bench/ and tests/ and by examples/build; source
# it after `cd` to the root of the tree.

# Says what is going on, apart from what the tools print.
step() { printf '\n== %s\n' "$*" >&2; }

jobs=$(nproc)
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/farcall
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=${CMAKE_C_COMPILER_LAUNCHER-ccache}
fi

# A long step keeps its output to itself unless it fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  [ "$status" -eq 0 ] || cat "$log" >&2
  rm -f "$log"
  return "$status"
}

# A virtual environment of the packages FILE lists, named by what it holds.
# Several may want it at once: one installs it, the others wait.
environment() {  # FILE; sets $venv
  local lock
  venv=$cache/venv-$(sha256sum <"$1" | cut -c 1-16)
  [ -f "$venv/complete" ] && return
  mkdir -p "$cache" && exec {lock}>"$venv.lock" && flock "$lock" || return
  if [ ! -f "$venv/complete" ]; then
    step "installing $1 into $venv"
    scripts/deps python && rm -rf "$venv" && /usr/bin/python3 -m venv "$venv" &&
      quietly "$venv/bin/pip" install --disable-pip-version-check -r "$1" &&
      touch "$venv/complete"
  fi
  exec {lock}>&-
  [ -f "$venv/complete" ]
}

# The same for a package.json of npm's: the packages it lists, and what these need.
node_packages() {  # FILE; sets $packages, the folder that has node_modules
  local lock
  packages=$cache/npm-$(sha256sum <"$1" | cut -c 1-16)
  [ -f "$packages/complete" ] && return
  mkdir -p "$cache" && exec {lock}>"$packages.lock" && flock "$lock" || return
  if [ ! -f "$packages/complete" ]; then
    step "installing $1 into $packages"
    rm -rf "$packages" && mkdir -p "$packages" && cp "$1" "$packages/package.json" &&
      quietly npm install --prefix "$packages" --no-fund --no-audit --ignore-scripts &&
      touch "$packages/complete"
  fi
  exec {lock}>&-
  [ -f "$packages/complete" ]
}

# IREE's compiler and runtime: of FOLDER if one is named, else of an environment.
iree_programs() {  # [FOLDER]; sets $iree, the folder of iree-compile and others
  iree=${1:-}
  [ -n "$iree" ] || { environment tests/requirements-iree.txt; iree=$venv/bin; }
  [ -x "$iree/iree-compile" ] || { echo "no iree-compile in $iree" >&2; exit 69; }
}

# The release programs.
build_programs() {
  step "building farcalld and farcall (build/release/bin)"
  quietly cmake --preset release
  cmake --build --preset release -j "$jobs" --target farcalld farcall-cli
}

# Programs and libraries of bench/, in preset FARCALL_PRESET (release).
build_benches() {  # target ...; sets $benches, the folder they are in
  local preset=${FARCALL_PRESET:-release}
  scripts/deps build
  step "building $* (build/$preset/bench)"
  quietly cmake --preset "$preset"
  quietly cmake --build --preset "$preset" -j "$jobs" --target "$@"
  benches=build/$preset/bench
}

# Compiles examples/*.mlir into build/examples; those that are up to date stay.
compile_examples() {
  local source module
  mkdir -p build/examples
  for source in examples/*.mlir; do
    module=build/examples/$(basename "$source" .mlir).so
    [ "$module" -nt "$source" ] && [ "$module" -nt build/release/bin/farcall ] &&
      continue
    step "compiling $source"
    build/release/bin/farcall compile "$source" -o "$module"
  done
}
