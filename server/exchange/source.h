// SPDX-License-Identifier: Apache-2.0
//
// Iterations for a browser's EventSource, which can only GET. The query has the document,
// and after routing the request is treated as a POST of that document. Any page may send
// a GET, without Origin if it does not want to read the answer. An iteration does work,
// so only pages that may send a POST can begin one. Loop thread; allocates only the body.
#ifndef FARCALL_SERVER_EXCHANGE_SOURCE_H_
#define FARCALL_SERVER_EXCHANGE_SOURCE_H_

#include "exchange/exchange.h"

// Checks an iteration by GET after it was routed with `status`. Sets asked.is_over if the
// client has the end of the iteration already: then there is nothing to admit.
// FC_CODE_NOT_ACCEPTABLE, _ORIGIN_NOT_ALLOWED, or the error of `status`.
fc_status_t fc_source_check(fc_exchange_t *exchange, const fc_request_t *call,
                            fc_status_t status, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_EXCHANGE_SOURCE_H_
