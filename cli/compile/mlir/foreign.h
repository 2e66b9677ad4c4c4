// SPDX-License-Identifier: Apache-2.0
//
// Which dialect a source is written in, of those that compilers import.
#ifndef FARCALL_CLI_COMPILE_MLIR_FOREIGN_H_
#define FARCALL_CLI_COMPILE_MLIR_FOREIGN_H_

#include "farcall/base.h"

typedef enum fc_foreign_t {
  FC_FOREIGN_ONNX,
  FC_FOREIGN_TORCH,
  FC_FOREIGN_STABLEHLO,
  FC_FOREIGN_TOSA,
  FC_FOREIGN_GPU,
  FC_FOREIGN_NONE,
} fc_foreign_t;

// The dialect that the source text names outside of comments. Of several, onnx comes
// first, then torch, stablehlo (with chlo and vhlo), tosa and gpu, wherever they stand.
fc_foreign_t fc_mlir_foreign(fc_str_t source);

#endif  // FARCALL_CLI_COMPILE_MLIR_FOREIGN_H_
