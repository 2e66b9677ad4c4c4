#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Regenerates vectors-*.s from vectors.mlir with MLIR's and LLVM's own tools.
set -eu
cd "$(dirname "$0")"
for processor in x86_64 aarch64; do
  {
    echo '# SPDX-License-Identifier: Apache-2.0'
    echo '#'
    echo '# Made by vectors.sh'
    mlir-opt-22 vectors.mlir --convert-vector-to-llvm --convert-arith-to-llvm \
      --convert-index-to-llvm --finalize-memref-to-llvm --convert-func-to-llvm \
      --reconcile-unrealized-casts |
      mlir-translate-22 --mlir-to-llvmir |
      llc-22 -O1 -mtriple=$processor-unknown-linux-gnu --relocation-model=pic --asm-verbose=0 |
      sed '/^\t\.file/d; /^\t\.ident/d'
  } >vectors-$processor.s
done
