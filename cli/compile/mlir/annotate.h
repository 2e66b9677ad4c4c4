// SPDX-License-Identifier: Apache-2.0
//
// Adds attributes to the functions of a module that fc_mlir_read has read.
#ifndef FARCALL_CLI_COMPILE_MLIR_ANNOTATE_H_
#define FARCALL_CLI_COMPILE_MLIR_ANNOTATE_H_

#include "compile/mlir/module.h"

// Writes the module's text so that bufferization does not write into tensor arguments of
// public functions: they are values, whose memory is the caller's. It makes a copy where
// a function would. An argument whose role or attributes say that it is a result is
// left as it is, and so are private functions, whose callers are in the module.
fc_status_t fc_mlir_keep_arguments(const fc_mlir_module_t *module,
                                   fc_text_t *out, fc_error_t *err);

// Writes the module's text with the attributes that make its functions callable: the C
// interface for each public one, stack probes for all, internal linkage for each that
// is not public, unless the source asks for its C interface or names a linkage.
// Functions without a body stay as they are.
fc_status_t fc_mlir_annotate(const fc_mlir_module_t *module, fc_text_t *out,
                             fc_error_t *err);

#endif  // FARCALL_CLI_COMPILE_MLIR_ANNOTATE_H_
