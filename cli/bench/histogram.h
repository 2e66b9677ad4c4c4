// SPDX-License-Identifier: Apache-2.0
//
// A log-linear histogram of nanoseconds, as HdrHistogram has them: 128 buckets
// for each power of two, so that a value is known within 0.8 %, from 1 ns to
// 36 minutes. Recording is a few instructions and allocates nothing.
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

// A zeroed histogram is empty. What is longer than the last bucket counts there, but
// max_ns and sum_ns have all of it.
void fc_bench_histogram_record(fc_bench_histogram_t *histogram,
                               uint64_t value_ns);
// Records the value `count` times; `count` is not 0.
void fc_bench_histogram_record_many(fc_bench_histogram_t *histogram,
                                    uint64_t value_ns, uint64_t count);

// The longest time that counts in bucket `index`.
uint64_t fc_bench_histogram_upper(size_t index);

// Whether so many values are enough for this quantile: ten of them lie beyond it.
bool fc_bench_is_known(double count, double share);
// The upper end of the bucket in which the value at `share` (0 to 1) of all values, in
// their order, lies; at most max_ns. 0 when there are no values.
uint64_t fc_bench_histogram_quantile(const fc_bench_histogram_t *histogram,
                                     double share);

#endif  // FARCALL_CLI_BENCH_HISTOGRAM_H_
