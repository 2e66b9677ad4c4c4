// SPDX-License-Identifier: Apache-2.0
//
// How LLVM lays out a vector: its innermost dim is a row, the other dims count the
// rows. The functions tell which vectors can be passed, by themselves or as the
// elements of a memref. `dims` has `rank` sizes that are not negative. Any thread.
#ifndef FARCALL_ABI_MLIR_ROWS_H_
#define FARCALL_ABI_MLIR_ROWS_H_

#include "farcall/type.h"

#define FC_MLIR_ROWS_TEXT 100

// True for vectors that are in the same registers, whatever processor their code was
// compiled for.
bool fc_mlir_rows_are_in_registers(fc_dtype_t dtype, int32_t rank,
                                   const int64_t *dims);

// True for vectors whose bytes in a memref are those of an array of their elements. If
// not, `out_why` becomes the reason.
bool fc_mlir_rows_are_elements(fc_dtype_t dtype, int32_t rank,
                               const int64_t *dims,
                               char out_why[FC_MLIR_ROWS_TEXT]);

#endif  // FARCALL_ABI_MLIR_ROWS_H_
