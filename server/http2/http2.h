// SPDX-License-Identifier: Apache-2.0
//
// The data that all HTTP/2 connections of a loop share. Each HTTP/2 connection has
// begun as one of HTTP/1. nghttp2 reads and writes frames, and checks the rules of the
// protocol. This folder handles what the frames mean, and limits what a client may do.
// A build without HTTP/2 (-DFARCALL_HTTP2=OFF) has none.c instead of the other files.
// Loop thread.
#ifndef FARCALL_SERVER_HTTP2_HTTP2_H_
#define FARCALL_SERVER_HTTP2_HTTP2_H_

#include "http1/http1.h"

typedef struct fc_http2_connection_t fc_http2_connection_t;

// Small blocks of nghttp2's memory that were given back (memory.c). All connections share
// them, so an idle one keeps none.
#define FC_HTTP2_CLASSES 6  // of sizes, each twice the one before
typedef struct fc_http2_front_t fc_http2_front_t;
typedef struct fc_http2_kept_t {
  fc_http2_front_t *first[FC_HTTP2_CLASSES];
  uint32_t count[FC_HTTP2_CLASSES];
} fc_http2_kept_t;

typedef struct fc_http2_t {
  fc_http1_t *http1;
  fc_http2_counts_t counts;
  struct nghttp2_session_callbacks *callbacks;
  struct nghttp2_option *options;
  struct fc_http2_room_t *room;  // for answers and for frames of this turn
  fc_http2_kept_t kept;
  // Connections that must send something in this turn of the loop.
  fc_http2_connection_t *unsent;
} fc_http2_t;

// Makes `http1`, which is borrowed, speak HTTP/2. After a failure, fc_http2_deinit need
// not be called.
fc_status_t fc_http2_init(fc_http2_t *http2, fc_http1_t *http1,
                          fc_error_t *err) FC_MUST_CHECK;
// All connections must be closed. Accepts a zeroed struct.
void fc_http2_deinit(fc_http2_t *http2);
// Called in each turn of the loop, after the answers of calls were handed to streams:
// sends them. Then further parts of answers may be made, whose calls are queued.
void fc_http2_send_all(fc_http2_t *http2);
// Must something be sent in the next turn, so that the loop must not wait for events?
static inline bool fc_http2_is_unsent(const fc_http2_t *http2) {
  return http2->unsent != NULL;
}

#endif  // FARCALL_SERVER_HTTP2_HTTP2_H_
