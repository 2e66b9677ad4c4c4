// SPDX-License-Identifier: Apache-2.0
//
// The histogram of a load. A bucket has the values with the same 8 highest bits. Its
// index is 128 times the shift that leaves these 8 bits, plus the 8 bits.
#include "bench/histogram.h"

static size_t find_bucket(uint64_t value_ns) {
  if (value_ns < 2 * FC_BENCH_HISTOGRAM_HALF) return (size_t)value_ns;
  const unsigned shift = 56 - (unsigned)__builtin_clzll(value_ns);
  const size_t index =
      (size_t)shift * FC_BENCH_HISTOGRAM_HALF + (size_t)(value_ns >> shift);
  return index < FC_BENCH_HISTOGRAM_BUCKETS ? index
                                            : FC_BENCH_HISTOGRAM_BUCKETS - 1;
}

uint64_t fc_bench_histogram_upper(size_t index) {
  if (index < 2 * FC_BENCH_HISTOGRAM_HALF) return index;
  const size_t shift = index / FC_BENCH_HISTOGRAM_HALF - 1;
  const uint64_t bits = index - shift * FC_BENCH_HISTOGRAM_HALF;
  return ((bits + 1) << shift) - 1;
}

void fc_bench_histogram_record_many(fc_bench_histogram_t *histogram,
                                    uint64_t value_ns, uint64_t count) {
  if (!histogram->count || value_ns < histogram->min_ns) {
    histogram->min_ns = value_ns;
  }
  if (value_ns > histogram->max_ns) histogram->max_ns = value_ns;
  histogram->count += count;
  histogram->sum_ns += value_ns * count;
  histogram->buckets[find_bucket(value_ns)] += count;
}

void fc_bench_histogram_record(fc_bench_histogram_t *histogram,
                               uint64_t value_ns) {
  fc_bench_histogram_record_many(histogram, value_ns, 1);
}

bool fc_bench_is_known(double count, double share) {
  // As a double, a share such as 0.9999 is not exact.
  return share <= 0.5 || count * (1 - share) >= 10 - 1e-6;
}

uint64_t fc_bench_histogram_quantile(const fc_bench_histogram_t *histogram,
                                     double share) {
  const double exact = share * (double)histogram->count;
  uint64_t wanted = (uint64_t)exact, seen = 0;
  if ((double)wanted < exact) wanted++;
  if (!wanted) wanted = 1;
  for (size_t i = 0; i < FC_BENCH_HISTOGRAM_BUCKETS; i++) {
    seen += histogram->buckets[i];
    if (seen < wanted) continue;
    const uint64_t upper = fc_bench_histogram_upper(i);
    const bool last = i + 1 == FC_BENCH_HISTOGRAM_BUCKETS;
    return last || upper > histogram->max_ns ? histogram->max_ns : upper;
  }
  return 0;
}
