// SPDX-License-Identifier: Apache-2.0
//
// A function that cannot be lowered is left out and named; the others are compiled.
#ifndef FARCALL_CLI_COMPILE_LEAVE_H_
#define FARCALL_CLI_COMPILE_LEAVE_H_

#include "compile/compile.h"
#include "compile/mlir/text.h"

// Writes the text of the parsed module without the function that compile->blamed, a line
// of the source, is in, and without those that call it, and says so with the message of
// compile->err. *out_left: false when no function could be left out, or none would remain
// to be called; then nothing is written or said.
fc_status_t fc_mlir_leave_out(const fc_compile_t *compile,
                              const fc_mlir_module_t *parsed, fc_text_t *out,
                              bool *out_left, fc_error_t *err);

// Refuses a public function that takes or returns a sparse tensor: what bufferization
// makes of it looks dense and is not.
fc_status_t fc_mlir_refuse_sparse(fc_compile_t *compile,
                                  const fc_mlir_module_t *parsed);

#endif  // FARCALL_CLI_COMPILE_LEAVE_H_
