// SPDX-License-Identifier: Apache-2.0
//
// Looks in MLIR text of the generic form for operations of a kind.
#ifndef FARCALL_CLI_COMPILE_MLIR_FIND_H_
#define FARCALL_CLI_COMPILE_MLIR_FIND_H_

#include "farcall/base.h"

// The line of the source that the operation whose '(' is text[open] comes from; 0 when the
// module does not say.
size_t fc_mlir_line(fc_str_t text, size_t open);

// Finds the first operation of `text`, a lowered module in generic form, that is
// neither of the llvm dialect nor of builtin, so no pass lowered it: its name, and its
// location as "file":line:column or empty. False when there is none.
bool fc_mlir_leftover(fc_str_t text, fc_str_t *out_operation,
                      fc_str_t *out_location);

// Finds the first operation of `text`, a bufferized module in generic form, that
// may reach memory outside of a memref though run-time verification is on. Gives its
// name and location as fc_mlir_leftover does; false when there is none.
bool fc_mlir_unverified(fc_str_t text, fc_str_t *out_operation,
                        fc_str_t *out_location);

// Whether the polynomials that MLIR has for functions of f32 are exact to 5 units in the
// last place on normal numbers, for all functions of the module: there are some that they
// would make worse.
bool fc_mlir_approximates_well(fc_str_t text);

#endif  // FARCALL_CLI_COMPILE_MLIR_FIND_H_
