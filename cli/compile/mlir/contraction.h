// SPDX-License-Identifier: Apache-2.0
//
// Reads a linalg.generic of A, B and C whose body is c + a * b: a loop nest, in which
// each loop moves A, B and C by a fixed number of elements.
#ifndef FARCALL_CLI_COMPILE_MLIR_CONTRACTION_H_
#define FARCALL_CLI_COMPILE_MLIR_CONTRACTION_H_

#include "compile/mlir/kernel.h"
#include "compile/mlir/operation.h"

#define FC_LOOPS_MAX 12
#define FC_LOOP_RANK_MAX 8
#define FC_LOOP_NONE FC_LOOPS_MAX

enum { FC_A, FC_B, FC_C, FC_OPERANDS };

// One operand. Its index along dim j is constants[j] plus, for each loop i, the loop's
// index times coefficients[j][i].
typedef struct fc_operand_t {
  fc_str_t name;  // "%3"
  fc_str_t type;  // "memref<4x?xf32>"
  size_t rank;
  int coefficients[FC_LOOP_RANK_MAX][FC_LOOPS_MAX];
  int constants[FC_LOOP_RANK_MAX];
} fc_operand_t;

typedef struct fc_contraction_t {
  fc_operand_t operands[FC_OPERANDS];
  size_t loop_count;
  fc_kernel_t kernel;
  // Numbers of loops: m moves A and C, n moves B and C, k moves A and B. m may be
  // FC_LOOP_NONE.
  size_t m, n, k;
} fc_contraction_t;

// Reads an operation that fc_operation_next has found. False: it is not a contraction of
// the form above, or there is no kernel for its types.
bool fc_contraction_read(fc_str_t text, fc_operation_t *operation,
                         fc_contraction_t *out);

// Gives an operand, and a dim of it whose size is the number of the loop's turns. Never
// false for a contraction that was read.
bool fc_contraction_size(const fc_contraction_t *contraction, size_t loop,
                         int *out_operand, size_t *out_dim);

#endif  // FARCALL_CLI_COMPILE_MLIR_CONTRACTION_H_
