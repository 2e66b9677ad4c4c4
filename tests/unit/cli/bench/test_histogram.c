// SPDX-License-Identifier: Apache-2.0
//
// The buckets are adjacent and narrow. Quantiles equal those of the sorted values.
#include "bench/histogram.h"

#include "helpers/test.h"

static void buckets_lie_end_to_end(void **state) {
  (void)state;
  for (size_t i = 1; i < FC_BENCH_HISTOGRAM_BUCKETS; i++) {
    const uint64_t from = fc_bench_histogram_upper(i - 1) + 1;
    const uint64_t to = fc_bench_histogram_upper(i);
    assert_true(to >= from);
    // A bucket is no wider than 1/128 of its values.
    assert_true(to - from <= from / FC_BENCH_HISTOGRAM_HALF);
  }
  assert_true(fc_bench_histogram_upper(FC_BENCH_HISTOGRAM_BUCKETS - 1) >
              2000000000000ull);
}

static void a_value_counts_in_its_bucket(void **state) {
  (void)state;
  for (size_t i = 1; i < FC_BENCH_HISTOGRAM_BUCKETS; i++) {
    static fc_bench_histogram_t histogram;
    histogram = (fc_bench_histogram_t){0};
    fc_bench_histogram_record(&histogram, fc_bench_histogram_upper(i - 1) + 1);
    fc_bench_histogram_record(&histogram, fc_bench_histogram_upper(i));
    assert_int_equal(histogram.buckets[i], 2);
  }
}

static void quantiles_are_those_of_the_values(void **state) {
  (void)state;
  static fc_bench_histogram_t histogram;
  histogram = (fc_bench_histogram_t){0};
  assert_int_equal(fc_bench_histogram_quantile(&histogram, 0.5), 0);
  for (uint64_t i = 100; i > 0; i--) fc_bench_histogram_record(&histogram, i);
  static const struct {
    const char *name;
    double share;
    uint64_t value;
  } rows[] = {{"none", 0, 1},         {"first", 0.01, 1}, {"half", 0.5, 50},
              {"between", 0.501, 51}, {"p99", 0.99, 99},  {"all", 1, 100}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_int_equal(fc_bench_histogram_quantile(&histogram, row->share),
                     row->value);
  }
  assert_int_equal(histogram.count, 100);
  assert_int_equal(histogram.sum_ns, 5050);
  assert_int_equal(histogram.min_ns, 1);
  assert_int_equal(histogram.max_ns, 100);
}

static void no_quantile_exceeds_the_longest_value(void **state) {
  (void)state;
  static fc_bench_histogram_t histogram;
  histogram = (fc_bench_histogram_t){0};
  fc_bench_histogram_record(&histogram, 1000001);
  assert_int_equal(fc_bench_histogram_quantile(&histogram, 1), 1000001);
}

static void what_is_too_long_counts_in_the_last_bucket(void **state) {
  (void)state;
  static fc_bench_histogram_t histogram;
  histogram = (fc_bench_histogram_t){0};
  fc_bench_histogram_record(&histogram, UINT64_MAX);
  assert_int_equal(histogram.buckets[FC_BENCH_HISTOGRAM_BUCKETS - 1], 1);
  assert_true(histogram.max_ns == UINT64_MAX);
  assert_true(fc_bench_histogram_quantile(&histogram, 0.5) == UINT64_MAX);
}

static void one_value_counts_as_often_as_is_said(void **state) {
  (void)state;
  static fc_bench_histogram_t once, often;
  once = often = (fc_bench_histogram_t){0};
  for (size_t i = 0; i < 1000; i++) fc_bench_histogram_record(&once, 12345);
  fc_bench_histogram_record_many(&often, 12345, 1000);
  assert_memory_equal(&once, &often, sizeof once);
}

static void a_percentile_needs_ten_values_beyond_it(void **state) {
  (void)state;
  static const struct row {
    const char *name;
    double count, share;
    bool known;
  } rows[] = {
      {"median of one", 1, 0.5, true},      {"p90 of 99", 99, 0.9, false},
      {"p90 of 100", 100, 0.9, true},       {"p99 of 999", 999, 0.99, false},
      {"p99 of 1000", 1000, 0.99, true},    {"p99.9", 9999, 0.999, false},
      {"p99.9 of 10000", 1e4, 0.999, true}, {"p99.99", 6000, 0.9999, false},
      {"p99.99 of 1e5", 1e5, 0.9999, true},
  };
  FC_TEST_EACH_ROW(const struct row, row, rows) {
    assert_int_equal(fc_bench_is_known(row->count, row->share), row->known);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(buckets_lie_end_to_end),
      FC_TEST(a_value_counts_in_its_bucket),
      FC_TEST(quantiles_are_those_of_the_values),
      FC_TEST(no_quantile_exceeds_the_longest_value),
      FC_TEST(one_value_counts_as_often_as_is_said),
      FC_TEST(what_is_too_long_counts_in_the_last_bucket),
      FC_TEST(a_percentile_needs_ten_values_beyond_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
