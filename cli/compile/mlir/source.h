// SPDX-License-Identifier: Apache-2.0
//
// The argument names of a source file, which the generic form of mlir-opt drops, and what
// the source's types say of their roles.
#ifndef FARCALL_CLI_COMPILE_MLIR_SOURCE_H_
#define FARCALL_CLI_COMPILE_MLIR_SOURCE_H_

#include "farcall/base.h"

// Both are empty where the source does not say them, or has no function as asked for.
typedef struct fc_mlir_argument_t {
  fc_str_t name;  // no number
  const char
      *role;  // "in": a value, which nobody can write into; "inout": a mutable
              // tensor of torch, which is overwritten
} fc_mlir_argument_t;

// Reads the `count` arguments of a function.
fc_status_t fc_mlir_arguments(fc_arena_t *arena, fc_str_t source,
                              fc_str_t function, size_t count,
                              fc_mlir_argument_t *out_arguments,
                              fc_error_t *err);

#endif  // FARCALL_CLI_COMPILE_MLIR_SOURCE_H_
