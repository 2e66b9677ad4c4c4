// SPDX-License-Identifier: Apache-2.0
//
// Accepts clients: each becomes a connection or is refused. For endpoints.c and server.c;
// loop thread.
#ifndef FARCALL_SERVER_LISTEN_ACCEPT_H_
#define FARCALL_SERVER_LISTEN_ACCEPT_H_

#include "listen/endpoints.h"

// Returns the functions that the socket of the endpoint calls.
fc_listener_events_t fc_accept_events(fc_endpoint_t *endpoint);
// Makes what the TLS handshakes of all endpoints share. Call it when all endpoints are
// open.
fc_status_t fc_accept_init_tls(fc_endpoints_t *all,
                               fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_LISTEN_ACCEPT_H_
