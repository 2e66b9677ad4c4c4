// SPDX-License-Identifier: Apache-2.0
//
// How many frames a client may send that cost work and bring nothing: settings, pings,
// updates of windows, resets, empty data, and what has the server reset a stream. They
// are paid from an allowance, which grows slowly by itself, and by what is useful:
// answers, and bytes of bodies both ways. Clients of no ill will send a few such frames
// for each request and for each 16 KiB. Loop thread.
#ifndef FARCALL_SERVER_HTTP2_CALM_H_
#define FARCALL_SERVER_HTTP2_CALM_H_

#include "farcall/base.h"

#define FC_CALM_MOST 1000u        // frames
#define FC_CALM_SECOND 50u        // a second
#define FC_CALM_ANSWER 4u         // for an answer
#define FC_CALM_BYTES (1u << 10)  // one for so many bytes

typedef struct fc_calm_t {
  uint64_t filled_ms;
  uint32_t left;
  uint32_t bytes;  // that one more is not given for yet
} fc_calm_t;

static inline void fc_calm_init(fc_calm_t *calm, uint64_t now_ms) {
  *calm = (fc_calm_t){.filled_ms = now_ms, .left = FC_CALM_MOST};
}

static inline void fc_calm_earn(fc_calm_t *calm, uint64_t count) {
  const uint64_t left = calm->left + count;
  calm->left = left < FC_CALM_MOST ? (uint32_t)left : FC_CALM_MOST;
}

static inline void fc_calm_earn_bytes(fc_calm_t *calm, size_t bytes) {
  const uint64_t all = (uint64_t)calm->bytes + bytes;
  fc_calm_earn(calm, all / FC_CALM_BYTES);
  calm->bytes = (uint32_t)(all % FC_CALM_BYTES);
}

// One frame. False: that is one too many.
static inline bool fc_calm_pay(fc_calm_t *calm, uint64_t now_ms) {
  const uint64_t grown = (now_ms - calm->filled_ms) * FC_CALM_SECOND / 1000;
  if (grown) {
    fc_calm_earn(calm, grown);
    calm->filled_ms = now_ms;
  }
  if (!calm->left) return false;
  calm->left--;
  return true;
}

#endif  // FARCALL_SERVER_HTTP2_CALM_H_
