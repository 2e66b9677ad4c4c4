// SPDX-License-Identifier: Apache-2.0
//
// A histogram of times, with two buckets for each power of two, from 1 µs to 34 s. The
// bounds are the same for all, so histograms of several functions or servers can be
// added. A quantile, read as the middle of its bucket, is wrong by at most a quarter. One
// thread.
#ifndef FARCALL_SERVER_OBS_HISTOGRAM_H_
#define FARCALL_SERVER_OBS_HISTOGRAM_H_

#include <stdint.h>

#define FC_HISTOGRAM_FIRST 10  // the first bound is 2^10 ns
#define FC_HISTOGRAM_LAST 35   // the last bound is 2^35 ns
#define FC_HISTOGRAM_BOUNDS (2 * (FC_HISTOGRAM_LAST - FC_HISTOGRAM_FIRST) + 1)
#define FC_HISTOGRAM_BUCKETS (FC_HISTOGRAM_BOUNDS + 1)

// Bucket i counts times above bound i - 1, up to and including bound i. The last bucket
// counts times above every bound.
typedef struct fc_histogram_t {
  uint64_t sum_ns;
  uint64_t counts[FC_HISTOGRAM_BUCKETS];
} fc_histogram_t;

// Returns bound `index` in nanoseconds: 2^10, 1.5 * 2^10, 2^11, …
static inline uint64_t fc_histogram_bound(uint32_t index) {
  return (UINT64_C(2) + index % 2) << (FC_HISTOGRAM_FIRST - 1 + index / 2);
}

static inline uint32_t fc_histogram_bucket(uint64_t ns) {
  const uint64_t least = (UINT64_C(1) << FC_HISTOGRAM_FIRST) - 1;
  const uint64_t most = UINT64_C(1) << FC_HISTOGRAM_LAST;
  // A time equal to a bound belongs to the bucket that ends there.
  uint64_t at = ns - (ns > 0);
  if (at < least) at = least;
  if (at > most) at = most;
  const uint32_t power =
      // The number of the highest bit; one instruction.
      63u ^ (uint32_t)__builtin_clzll(at);
  // The first two binary digits are 2 or 3.
  return 2 * power + (uint32_t)(at >> (power - 1)) - 2 * FC_HISTOGRAM_FIRST - 1;
}

static inline void fc_histogram_note(fc_histogram_t *histogram, uint64_t ns) {
  histogram->sum_ns += ns;
  histogram->counts[fc_histogram_bucket(ns)]++;
}

#endif  // FARCALL_SERVER_OBS_HISTOGRAM_H_
