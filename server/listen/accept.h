// SPDX-License-Identifier: Apache-2.0
//
// Clients that connect: each becomes a connection, or is refused. For endpoints.c
// and server.c; loop thread.
#ifndef FARCALL_SERVER_LISTEN_ACCEPT_H_
#define FARCALL_SERVER_LISTEN_ACCEPT_H_

#include "listen/endpoints.h"

// What the socket of the endpoint calls.
fc_listener_events_t fc_accept_events(fc_endpoint_t *endpoint);
// Call it when all endpoints are open: makes what the handshakes of those with keys share.
fc_status_t fc_accept_init_tls(fc_endpoints_t *all,
                               fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_LISTEN_ACCEPT_H_
