#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Regenerates returned-*.s from returned.mlir and returned_bare.mlir with MLIR's and
# LLVM's own tools, without asking for the C interface, as many users do.
set -eu
cd "$(dirname "$0")"
lower() {  # NAME PASS
  mlir-opt-22 "$1.mlir" --convert-linalg-to-loops --convert-scf-to-cf \
    --expand-strided-metadata --lower-affine --convert-complex-to-llvm \
    --convert-arith-to-llvm --convert-index-to-llvm --convert-cf-to-llvm \
    --finalize-memref-to-llvm "$2" --reconcile-unrealized-casts |
    mlir-translate-22 --mlir-to-llvmir
}
for processor in x86_64 aarch64; do
  {
    echo '# SPDX-License-Identifier: Apache-2.0'
    echo '#'
    echo '# Made by returned.sh'
    for name in returned returned_bare; do
      pass=--convert-func-to-llvm
      test $name = returned ||
        pass=--convert-func-to-llvm=use-bare-ptr-memref-call-conv=1
      lower $name $pass |
        llc-22 -O1 -mtriple=$processor-unknown-linux-gnu --relocation-model=pic --asm-verbose=0 |
        sed "s/\.L/.L$name/g; /^\t\.file/d; /^\t\.ident/d"
    done
  } >returned-$processor.s
done
