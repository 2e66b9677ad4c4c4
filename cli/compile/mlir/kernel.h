// SPDX-License-Identifier: Apache-2.0
//
// Writes the kernels of contractions: functions in MLIR that multiply and add in tiles of
// vector registers (tools/contract.mlir), for given element types and a given processor.
#ifndef FARCALL_CLI_COMPILE_MLIR_KERNEL_H_
#define FARCALL_CLI_COMPILE_MLIR_KERNEL_H_

#include "farcall/base.h"

// How an element of A or B is converted to the type of C.
typedef enum fc_widen_t {
  FC_WIDEN_NONE,      // it has that type
  FC_WIDEN_FLOAT,     // arith.extf
  FC_WIDEN_SIGNED,    // arith.extsi
  FC_WIDEN_UNSIGNED,  // arith.extui
} fc_widen_t;

typedef struct fc_kernel_t {
  fc_str_t types[3];    // of the elements of A, B, C
  fc_widen_t widen[2];  // of A, B
} fc_kernel_t;

#define FC_KERNEL_NAME "farcall.contract"  // the number follows

// Is there code for these types?
bool fc_kernel_is_known(const fc_kernel_t *kernel);
bool fc_kernel_equal(const fc_kernel_t *a, const fc_kernel_t *b);

// Writes the functions of a kernel for vector registers of `vector_size` bytes: 16, 32 or
// 64. The function to call is @farcall.contractNUMBER.
fc_status_t fc_kernel_put(const fc_kernel_t *kernel, size_t number,
                          size_t vector_size, fc_text_t *out, fc_error_t *err);

#endif  // FARCALL_CLI_COMPILE_MLIR_KERNEL_H_
