// SPDX-License-Identifier: Apache-2.0
//
// Makes one line for the client from the text that a module printed before it
// called abort.
#ifndef FARCALL_MODULE_NATIVE_MESSAGE_H_
#define FARCALL_MODULE_NATIVE_MESSAGE_H_

#include "farcall/base.h"

// Fails with FC_CODE_CALL_FAILED: OUT_OF_RANGE when the text is about bounds or about
// an integer division, else FAILED_PRECONDITION. Understands the reports of MLIR's
// runtime verification. In any text, directories are removed from absolute paths, except
// from a path that ends with '/'.
fc_status_t fc_native_aborted(fc_str_t function, fc_str_t text,
                              fc_error_t *err);

#endif  // FARCALL_MODULE_NATIVE_MESSAGE_H_
