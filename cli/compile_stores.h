// SPDX-License-Identifier: Apache-2.0
//
// Which arguments a function writes into.
#ifndef FARCALL_CLI_COMPILE_STORES_H_
#define FARCALL_CLI_COMPILE_STORES_H_

#include "compile_derive.h"

// Sets `stored` of each argument that its function, or one it calls, stores into:
// itself, or a view of it, or what may be it (scf.if, a block's argument). The
// module is in generic form and bufferized. A function without a body may write
// into all it is given. What is stored through an address made of integers is not
// seen.
fc_status_t fc_mlir_find_stores(fc_arena_t *arena, fc_mlir_module_t *module,
                                fc_error_t *err);

#endif  // FARCALL_CLI_COMPILE_STORES_H_
