// SPDX-License-Identifier: Apache-2.0
//
// What HTTP says of an error: the library knows a code, a status of its own and a
// message, and no protocol. Any thread.
#ifndef FARCALL_SERVER_DIALECT_HTTP_STATUS_H_
#define FARCALL_SERVER_DIALECT_HTTP_STATUS_H_

#include "farcall/base.h"

// That of the error's code (http_status.def); FC_CODE_CALL_FAILED follows what the
// function said: RESOURCE_EXHAUSTED is 503, UNIMPLEMENTED 501. A code out of range
// is 500.
int fc_http_status(const fc_error_t *error);

#endif  // FARCALL_SERVER_DIALECT_HTTP_STATUS_H_
