// SPDX-License-Identifier: Apache-2.0
//
// The notes and refusals about a module on the road by MLIR's tools.
#ifndef FARCALL_CLI_COMPILE_MLIR_TELL_H_
#define FARCALL_CLI_COMPILE_MLIR_TELL_H_

#include "compile/compile.h"
#include "compile/mlir/text.h"

// True if the module declares functions that neither it nor farcall defines: it can be
// loaded only if another library defines them.
bool fc_mlir_has_others(const fc_mlir_module_t *module);
// Prints the names of these functions.
void fc_mlir_tell_others(const fc_mlir_module_t *module);

// Prints which arguments are also results although the source does not say so.
void fc_mlir_tell_roles(const fc_mlir_module_t *module);

// Prints a note about an operation whose indices are not checked. fc_mlir_unverified has
// found it.
fc_status_t fc_mlir_tell_unverified(fc_compile_t *compile, fc_str_t operation,
                                    fc_str_t location);

// Refuses an operation that no pass has lowered; `text` is the lowered module. mlir-opt
// accepts such an operation, and the error of mlir-translate would not tell its line.
fc_status_t fc_mlir_refuse_leftovers(fc_compile_t *compile, fc_str_t text);

// Refuses a module that has no public function with a body.
fc_status_t fc_mlir_refuse_uncallable(fc_compile_t *compile,
                                      const fc_mlir_module_t *module);

#endif  // FARCALL_CLI_COMPILE_MLIR_TELL_H_
