# SPDX-License-Identifier: Apache-2.0
#
# Shared by scripts/run, scripts/test and scripts/load-test; source it after
# `cd` to the root of the tree.

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
