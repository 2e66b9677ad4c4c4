// SPDX-License-Identifier: Apache-2.0
//
// The documents of GET about the server, its modules, and the arguments and results of
// functions. Loop thread.
#ifndef FARCALL_SERVER_DIALECT_REFLECT_H_
#define FARCALL_SERVER_DIALECT_REFLECT_H_

#include "dialect/dialect.h"

// Writes everything about a generation: the document of FC_ROUTE_MODULE.
fc_status_t fc_reflect_write_module(const fc_server_t *server, uint32_t index,
                                    fc_sink_t *sink, fc_error_t *err);

// A dialect's `document`, for the rows NATIVE and PAGES. It first checks the
// preconditions of the request (query.h). /readyz fails as fc_ready_check does; /startupz
// fails with FC_CODE_NOT_READY until every PATH was tried.
fc_status_t fc_reflect_document(const fc_server_t *server,
                                const fc_request_t *request,
                                const fc_place_t *place,
                                fc_document_t *out_document, fc_sink_t *sink,
                                fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_REFLECT_H_
