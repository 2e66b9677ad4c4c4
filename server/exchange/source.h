// SPDX-License-Identifier: Apache-2.0
//
// Loops for a browser's EventSource, which can only GET: the query brings the document, and
// from there on the request is a POST of it. A GET may be sent by any page, with no Origin
// if the page does not want to read the answer; a loop is more than a document, so only
// pages that may send a POST begin one. Loop thread; no allocation but the body's.
#ifndef FARCALL_SERVER_EXCHANGE_SOURCE_H_
#define FARCALL_SERVER_EXCHANGE_SOURCE_H_

#include "exchange/exchange.h"

// A loop by GET was routed, with this status. Sets asked.is_over if the client has the end
// of the loop already: then there is nothing to admit. FC_CODE_NOT_ACCEPTABLE,
// _ORIGIN_NOT_ALLOWED, or what `status` says.
fc_status_t fc_source_check(fc_exchange_t *exchange, const fc_request_t *call,
                            fc_status_t status, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_EXCHANGE_SOURCE_H_
