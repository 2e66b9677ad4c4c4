// SPDX-License-Identifier: Apache-2.0
//
// The documents of GET: what the server is, what it has loaded, what a function
// takes and gives. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_REFLECT_H_
#define FARCALL_SERVER_DIALECT_REFLECT_H_

#include "dialect/dialect.h"

// Writes the document of a place, unless it is one that is written in parts. /readyz
// fails as fc_ready_check does; /startupz with FC_CODE_NOT_READY until every PATH
// was tried. `query` is the request's.
fc_status_t fc_reflect_write(const fc_server_t *server, const fc_place_t *place,
                             fc_str_t query, fc_sink_t *sink, fc_error_t *err);

// A dialect's `document`. It checks the conditions of the request (query.h) first.
fc_status_t fc_reflect_document(const fc_server_t *server,
                                const fc_request_t *request,
                                const fc_place_t *place,
                                fc_document_t *out_document, fc_sink_t *sink,
                                fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_REFLECT_H_
