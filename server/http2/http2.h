// SPDX-License-Identifier: Apache-2.0
//
// HTTP/2 on one loop, beside HTTP/1 and over its connections: what those of HTTP/2 share.
// nghttp2 takes frames apart and puts them together, and keeps the protocol's rules; this
// folder has what they mean, and what a client may do. A build without HTTP/2
// (-DFARCALL_HTTP2=OFF) has none.c instead of the other files: then no connection is ever
// HTTP/2's. Loop thread.
#ifndef FARCALL_SERVER_HTTP2_HTTP2_H_
#define FARCALL_SERVER_HTTP2_HTTP2_H_

#include "http1/http1.h"

typedef struct fc_http2_connection_t fc_http2_connection_t;

typedef struct fc_http2_t {
  fc_http1_t *http1;
  fc_http2_counts_t counts;
  struct nghttp2_session_callbacks *callbacks;
  struct nghttp2_option *options;
  uint8_t *out;  // FC_HTTP2_OUT bytes: what is sent at once
  // Connections that have something to send, to be sent in this turn of the loop.
  fc_http2_connection_t *unsent;
} fc_http2_t;

// `http1` is borrowed, and speaks HTTP/2 from now on. `http2` may be zeroed again without
// fc_http2_deinit after a failure.
fc_status_t fc_http2_init(fc_http2_t *http2, fc_http1_t *http1,
                          fc_error_t *err) FC_MUST_CHECK;
// No connection may be left. A zeroed one is allowed.
void fc_http2_deinit(fc_http2_t *http2);
// Called in each turn of the loop, when its calls were answered: sends what answers there
// are. Answers that are sent may have further parts, whose calls are queued then.
void fc_http2_send_all(fc_http2_t *http2);
// Is there anything to send in the next turn, so that the loop must not wait for events?
static inline bool fc_http2_is_unsent(const fc_http2_t *http2) {
  return http2->unsent != NULL;
}

#endif  // FARCALL_SERVER_HTTP2_HTTP2_H_
