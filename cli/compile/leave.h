// SPDX-License-Identifier: Apache-2.0
//
// Leaves out a function that cannot be lowered, so that the others can be compiled.
#ifndef FARCALL_CLI_COMPILE_LEAVE_H_
#define FARCALL_CLI_COMPILE_LEAVE_H_

#include "compile/compile.h"
#include "compile/mlir/text.h"

// The message of compile->err is about the source line compile->blamed. Writes the text
// of the parsed module without the function at that line and without functions that call
// it, and prints a note for each. *out_left is false if there is no such function, or if
// no function that can be called would remain; then nothing is written or printed.
fc_status_t fc_mlir_leave_out(const fc_compile_t *compile,
                              const fc_mlir_module_t *parsed, fc_text_t *out,
                              bool *out_left, fc_error_t *err);

// Refuses a public function that takes or returns a sparse tensor: after bufferization it
// looks like a dense one.
fc_status_t fc_mlir_refuse_sparse(fc_compile_t *compile,
                                  const fc_mlir_module_t *parsed);

#endif  // FARCALL_CLI_COMPILE_LEAVE_H_
