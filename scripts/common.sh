# SPDX-License-Identifier: Apache-2.0
#
# Shared by scripts/run, scripts/test, scripts/load-test and examples/build;
# source it after `cd` to the root of the tree.

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
environment() {  # FILE; sets $venv
  venv=$cache/venv-$(sha256sum <"$1" | cut -c 1-16)
  [ -f "$venv/complete" ] && return
  step "installing $1 into $venv"
  rm -rf "$venv"
  mkdir -p "$cache"
  /usr/bin/python3 -m venv "$venv"
  quietly "$venv/bin/pip" install --disable-pip-version-check -r "$1"
  touch "$venv/complete"
}

# The release programs, without the tests and what those need.
build_programs() {
  step "building farcalld and farcall (build/release/bin)"
  quietly cmake --preset release -DFARCALL_TESTS=OFF
  cmake --build --preset release -j "$jobs" --target farcalld farcall-cli
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
