// SPDX-License-Identifier: Apache-2.0
//
// What the road by MLIR's tools tells its user of a module, and refuses of it.
#ifndef FARCALL_CLI_COMPILE_MLIR_TELL_H_
#define FARCALL_CLI_COMPILE_MLIR_TELL_H_

#include "compile/compile.h"
#include "compile/mlir/text.h"

// True when functions are declared without a body that farcall does not have: the
// module loads only where another library provides them.
bool fc_mlir_has_others(const fc_mlir_module_t *module);
// Names them.
void fc_mlir_tell_others(const fc_mlir_module_t *module);

// Tells which arguments are also results, though the source does not say so.
void fc_mlir_tell_roles(const fc_mlir_module_t *module);

// Tells of an operation whose indices nothing checks: fc_mlir_unverified found it.
fc_status_t fc_mlir_tell_unverified(fc_compile_t *compile, fc_str_t operation,
                                    fc_str_t location);

// Refuses an operation that no pass lowered; `text` is the lowered module. mlir-opt
// accepts it, and the error of mlir-translate about it would not say where it is.
fc_status_t fc_mlir_refuse_leftovers(fc_compile_t *compile, fc_str_t text);

// Refuses a module that has no public function with a body.
fc_status_t fc_mlir_refuse_uncallable(fc_compile_t *compile,
                                      const fc_mlir_module_t *module);

#endif  // FARCALL_CLI_COMPILE_MLIR_TELL_H_
