// SPDX-License-Identifier: Apache-2.0
//
// The counts of HTTP/2. Streams count; /metrics reads. Loop thread.
#ifndef FARCALL_SERVER_OBS_HTTP2_H_
#define FARCALL_SERVER_OBS_HTTP2_H_

#include <stdint.h>

typedef enum fc_http2_refusal_t {
#define FC_HTTP2_REFUSAL(id, name) FC_HTTP2_REFUSAL_##id,
#include "obs/http2.def"
#undef FC_HTTP2_REFUSAL
  FC_HTTP2_REFUSALS
} fc_http2_refusal_t;

typedef struct fc_http2_counts_t {
  uint64_t connections;  // connections that have begun
  uint64_t streams;      // requests that have begun
  uint64_t open;         // streams that are open now
  uint64_t refused[FC_HTTP2_REFUSALS];
} fc_http2_counts_t;

#endif  // FARCALL_SERVER_OBS_HTTP2_H_
