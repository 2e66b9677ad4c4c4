// SPDX-License-Identifier: Apache-2.0
//
// The HTTP status of an error, which the library does not know: its errors have a code
// and, if a function failed, the status that this gave. Any thread.
#ifndef FARCALL_SERVER_DIALECT_HTTP_STATUS_H_
#define FARCALL_SERVER_DIALECT_HTTP_STATUS_H_

#include "farcall/base.h"

// The status of the error's code (http_status.def). But FC_CODE_CALL_FAILED is 503
// if the function failed with RESOURCE_EXHAUSTED, and 501 with UNIMPLEMENTED. A code
// out of range is 500.
int fc_http_status(const fc_error_t *error);

#endif  // FARCALL_SERVER_DIALECT_HTTP_STATUS_H_
