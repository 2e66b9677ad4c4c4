// SPDX-License-Identifier: Apache-2.0
//
// The explorer: the page at / for browsers, and its files. They are compiled in from
// server/explorer. The page is a client of the API like any other.
#ifndef FARCALL_SERVER_DIALECT_EXPLORER_H_
#define FARCALL_SERVER_DIALECT_EXPLORER_H_

#include "dialect/dialect.h"

// Does the request ask for the page or one of its files? At /, the page is sent only if
// Accept prefers HTML to JSON.
bool fc_explorer_is_asked(const fc_request_t *request, const fc_place_t *place);

// A dialect's `document`: writes the page or the file, compressed with gzip if
// Accept-Encoding asks for it.
fc_status_t fc_explorer_document(const fc_server_t *server,
                                 const fc_request_t *request,
                                 const fc_place_t *place,
                                 fc_document_t *out_document, fc_sink_t *sink,
                                 fc_error_t *err);

#endif  // FARCALL_SERVER_DIALECT_EXPLORER_H_
