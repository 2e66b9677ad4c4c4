// SPDX-License-Identifier: Apache-2.0
//
// Private to core/json: finds parts of a string that need no escape. Any
// thread.
#ifndef FARCALL_JSON_PLAIN_H_
#define FARCALL_JSON_PLAIN_H_

#include "json/decimal.h"

// Returns how many bytes from `p` on are ASCII and need no escape. The result may be too
// low: eight bytes are checked at a time, so the last seven before `end` may not count.
FC_INLINE size_t fc_plain_size(const char *p, const char *end) {
  const uint64_t ones = UINT64_C(0x0101010101010101);
  const uint64_t high = UINT64_C(0x8080808080808080);
  const char *at = p;
  for (; end - at >= 8; at += 8) {
    uint64_t word = fc_load8(at);
    uint64_t quote = word ^ (ones * '"');
    uint64_t slash = word ^ (ones * '\\');
    // A quote, a backslash, a control character or a byte that is not ASCII ends the
    // part: its bit 7 is set in `found`. Only the lowest set bit is
    // reliable, because a subtraction may borrow from the next byte.
    uint64_t found =
        ((word - ones * 0x20) | (quote - ones) | (slash - ones) | word) & high;
    if (found)
      return (size_t)(at - p) + ((unsigned)__builtin_ctzll(found) >> 3);
  }
  return (size_t)(at - p);
}

#endif  // FARCALL_JSON_PLAIN_H_
