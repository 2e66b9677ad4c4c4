// SPDX-License-Identifier: Apache-2.0
//
// The argument names of a source file, which the generic form of mlir-opt drops.
#ifndef FARCALL_CLI_COMPILE_SOURCE_NAMES_H_
#define FARCALL_CLI_COMPILE_SOURCE_NAMES_H_

#include "farcall/base.h"

// The argument names a function has in `source`, `count` of them; an argument
// without one (a number, or a function not found as written there) gets an
// empty string.
fc_status_t fc_mlir_names(fc_arena_t *arena, fc_str_t source, fc_str_t function,
                          size_t count, fc_str_t *out_names, fc_error_t *err);

#endif  // FARCALL_CLI_COMPILE_SOURCE_NAMES_H_
