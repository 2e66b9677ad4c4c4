// SPDX-License-Identifier: Apache-2.0
//
// Renames functions whose names LLVM would take for the C library's.
#ifndef FARCALL_CLI_COMPILE_MLIR_RENAME_H_
#define FARCALL_CLI_COMPILE_MLIR_RENAME_H_

#include "compile/mlir/module.h"

// Writes the text of the module with FC_MLIR_OWN behind each such name of a function
// that has a body, where it is defined and wherever it is used. Nothing is written if
// there is none. Callers go on calling it by its old name.
fc_status_t fc_mlir_rename_own(const fc_mlir_module_t *module, fc_text_t *out,
                               fc_error_t *err);

#endif  // FARCALL_CLI_COMPILE_MLIR_RENAME_H_
