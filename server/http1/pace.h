// SPDX-License-Identifier: Apache-2.0
//
// How fast a client must send a body and take an answer. A client may stop for a while.
// But a client that moves a byte now and then must not keep a connection for ever, so
// each message as a whole must keep a minimum rate.
#ifndef FARCALL_SERVER_HTTP1_PACE_H_
#define FARCALL_SERVER_HTTP1_PACE_H_

#include "farcall/base.h"

// Times are those of fc_http1_t.now_ms.
typedef struct fc_pace_t {
  uint64_t began_ms;
  uint64_t moved_ms;  // when `bytes` last changed
  uint64_t bytes;
} fc_pace_t;

static inline void fc_pace_begin(fc_pace_t *pace, uint64_t now_ms) {
  *pace = (fc_pace_t){.began_ms = now_ms, .moved_ms = now_ms};
}

// Notes that `bytes` have moved in total.
static inline void fc_pace_note(fc_pace_t *pace, uint64_t bytes,
                                uint64_t now_ms) {
  if (bytes == pace->bytes) return;
  pace->bytes = bytes;
  pace->moved_ms = now_ms;
}

// True if nothing has moved for `patience_ms`.
bool fc_pace_has_stopped(const fc_pace_t *pace, uint64_t now_ms,
                         uint64_t patience_ms);
// True if `grace_ms` have passed, and at most FC_LIMIT_RATE bytes have moved for each
// second after that.
bool fc_pace_is_slow(const fc_pace_t *pace, uint64_t now_ms, uint64_t grace_ms);

#endif  // FARCALL_SERVER_HTTP1_PACE_H_
