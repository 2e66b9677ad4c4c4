// SPDX-License-Identifier: Apache-2.0
//
// Limits the frames that cost the server work and carry nothing: settings, pings,
// window updates, resets, empty data, and frames for which the server resets a stream.
// A client pays each of them from an allowance. It also pays for all bytes that are not
// of bodies: nghttp2 tells nobody about frames that it ignores, but decodes heads in
// them. The allowance grows slowly with time, and with useful traffic: answers, and
// bytes of bodies in both directions. A good client sends a few such frames for each
// request and for each 16 KiB. Loop thread.
#ifndef FARCALL_SERVER_HTTP2_CALM_H_
#define FARCALL_SERVER_HTTP2_CALM_H_

#include "farcall/base.h"

#define FC_CALM_MOST 1000u        // the largest allowance, in frames
#define FC_CALM_SECOND 50u        // frames earned in each second
#define FC_CALM_ANSWER 4u         // frames earned by an answer
#define FC_CALM_BYTES (1u << 10)  // bytes that earn one frame
// Bytes that cost one frame, if they are not of a body. An answer earns as much as the
// largest head costs.
#define FC_CALM_OTHERS (8u << 10)

typedef struct fc_calm_t {
  uint64_t filled_ms;
  uint32_t left;
  uint32_t bytes;   // bytes that have not earned a frame yet
  uint32_t others;  // bytes that were not paid for yet
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

// Pays for one frame. False: the allowance is used up.
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

// Pays for bytes that are not of bodies. False: the allowance is used up.
static inline bool fc_calm_pay_bytes(fc_calm_t *calm, size_t bytes,
                                     uint64_t now_ms) {
  uint64_t all = (uint64_t)calm->others + bytes;
  calm->others = (uint32_t)(all % FC_CALM_OTHERS);
  for (; all >= FC_CALM_OTHERS; all -= FC_CALM_OTHERS) {
    if (!fc_calm_pay(calm, now_ms)) return false;
  }
  return true;
}

#endif  // FARCALL_SERVER_HTTP2_CALM_H_
