// SPDX-License-Identifier: Apache-2.0
//
// Which arguments a function writes into.
#ifndef FARCALL_CLI_COMPILE_MLIR_STORES_H_
#define FARCALL_CLI_COMPILE_MLIR_STORES_H_

#include "compile/mlir/module.h"

// Sets `stored` of each argument that is written to by its function or by one
// that it calls: directly, through a view, or through a value that may be the
// argument (scf.if, a block's argument). The module is in generic form and
// bufferized. A function without a body counts as writing to all its arguments.
// A store through an address made of integers is not seen. A write to one of the
// arguments from the 64th on counts as one to all of these.
fc_status_t fc_mlir_find_stores(fc_arena_t *arena, fc_mlir_module_t *module,
                                fc_error_t *err);

#endif  // FARCALL_CLI_COMPILE_MLIR_STORES_H_
