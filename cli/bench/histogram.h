// SPDX-License-Identifier: Apache-2.0
//
// A log-linear histogram of nanoseconds, like HdrHistogram: it has 128 buckets for each
// power of two, so a value is known within 0.8 %, from 1 ns to 36 minutes. Recording
// takes a few instructions and allocates nothing.
#ifndef FARCALL_CLI_BENCH_HISTOGRAM_H_
#define FARCALL_CLI_BENCH_HISTOGRAM_H_

#include "farcall/base.h"

#define FC_BENCH_HISTOGRAM_HALF 128u  // buckets for each power of two
#define FC_BENCH_HISTOGRAM_POWERS 34u
#define FC_BENCH_HISTOGRAM_BUCKETS \
  ((FC_BENCH_HISTOGRAM_POWERS + 1) * FC_BENCH_HISTOGRAM_HALF)

typedef struct fc_bench_histogram_t {
  uint64_t count;
  uint64_t sum_ns;
  uint64_t min_ns;
  uint64_t max_ns;
  uint64_t buckets[FC_BENCH_HISTOGRAM_BUCKETS];
} fc_bench_histogram_t;

// Records a value. A zeroed histogram is empty. A value above the last bucket is counted
// in that bucket, but max_ns and sum_ns contain it unchanged.
void fc_bench_histogram_record(fc_bench_histogram_t *histogram,
                               uint64_t value_ns);
// Records the value `count` times; `count` is not 0.
void fc_bench_histogram_record_many(fc_bench_histogram_t *histogram,
                                    uint64_t value_ns, uint64_t count);

// Returns the longest time that is counted in bucket `index`.
uint64_t fc_bench_histogram_upper(size_t index);

// Are `count` values enough for this quantile? Ten of them must be above it.
bool fc_bench_is_known(double count, double share);
// Returns the quantile `share` (0 to 1): the upper end of the bucket with that value, at
// most max_ns. 0: there are no values.
uint64_t fc_bench_histogram_quantile(const fc_bench_histogram_t *histogram,
                                     double share);

#endif  // FARCALL_CLI_BENCH_HISTOGRAM_H_
