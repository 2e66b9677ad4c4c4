// SPDX-License-Identifier: Apache-2.0
#include "obs/metrics.h"

#include "helpers/test.h"
#include "config/limits.h"
#include "modules/counts.h"

typedef struct bucket_row_t {
  const char *name;
  uint64_t ns;
  uint32_t bucket;
} bucket_row_t;

#define LAST (UINT64_C(1) << FC_HISTOGRAM_LAST)

static const bucket_row_t kTimes[] = {
    {"no time", 0, 0},
    {"a nanosecond", 1, 0},
    {"the first bound", 1024, 0},
    {"above the first bound", 1025, 1},
    {"the second bound", 1536, 1},
    {"above the second bound", 1537, 2},
    {"the third bound", 2048, 2},
    {"above the third bound", 2049, 3},
    {"the last bound", LAST, FC_HISTOGRAM_BOUNDS - 1},
    {"above the last bound", LAST + 1, FC_HISTOGRAM_BOUNDS},
    {"584 years", UINT64_MAX, FC_HISTOGRAM_BOUNDS},
};

static void a_time_has_one_bucket(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const bucket_row_t, row, kTimes) {
    assert_int_equal(fc_histogram_bucket(row->ns), row->bucket);
  }
}

static void a_bound_is_the_last_time_of_its_bucket(void **state) {
  (void)state;
  assert_true(fc_histogram_bound(FC_HISTOGRAM_BOUNDS - 1) == LAST);
  for (uint32_t i = 0; i < FC_HISTOGRAM_BOUNDS; i++) {
    const uint64_t bound = fc_histogram_bound(i);
    assert_int_equal(fc_histogram_bucket(bound), i);
    assert_int_equal(fc_histogram_bucket(bound + 1), i + 1);
    // The bounds are so close that a quantile is wrong by at most half a bucket's time.
    if (i) assert_true(bound * 2 <= fc_histogram_bound(i - 1) * 3);
  }
}

static void expect_text(fc_text_t *text, const char *wanted) {
  const fc_str_t found = fc_text_str(text);
  assert_int_equal(found.size, strlen(wanted));
  assert_memory_equal(found.data, wanted, found.size);
  fc_text_deinit(text);
}

typedef struct family_row_t {
  const char *name;
  fc_family_t family;
  bool open;
  const char *wanted;
} family_row_t;

static const family_row_t kFamilies[] = {
    {"a counter",
     {"a_total", FC_METRIC_COUNTER, "A"},
     false,
     "# HELP a_total A\n# TYPE a_total counter\n"},
    {"a counter in OpenMetrics",
     {"a_total", FC_METRIC_COUNTER, "A"},
     true,
     "# HELP a A\n# TYPE a counter\n"},
    {"seconds in OpenMetrics",
     {"a_seconds_total", FC_METRIC_SECONDS, "A"},
     true,
     "# HELP a_seconds A\n# TYPE a_seconds counter\n"},
    {"a counter that OpenMetrics would not call one",
     {"nv", FC_METRIC_COUNTER, "A"},
     true,
     "# HELP nv A\n# TYPE nv unknown\n"},
    {"a gauge",
     {"a", FC_METRIC_GAUGE, "A"},
     true,
     "# HELP a A\n# TYPE a gauge\n"},
    {"a name with labels",
     {"a{b=\"c\"}", FC_METRIC_GAUGE, "A"},
     false,
     "# HELP a A\n# TYPE a gauge\n"},
    {"a histogram",
     {"a_seconds", FC_METRIC_HISTOGRAM, "A"},
     true,
     "# HELP a_seconds A\n# TYPE a_seconds histogram\n"},
};

static void a_family_begins_as_the_format_wants(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const family_row_t, row, kFamilies) {
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
    assert_int_equal(
        fc_metrics_put_family(&row->family, row->open, &text.sink, NULL),
        FC_OK);
    expect_text(&text, row->wanted);
  }
}

typedef struct sample_row_t {
  const char *name;
  fc_metric_kind_t kind;
  const char *label;  // NULL: none
  uint64_t value;
  const char *wanted;
} sample_row_t;

static const sample_row_t kSamples[] = {
    {"without labels", FC_METRIC_COUNTER, NULL, 7, "a 7\n"},
    {"with a label", FC_METRIC_GAUGE, "x", UINT64_MAX,
     "a{b=\"x\"} 18446744073709551615\n"},
    {"whole seconds", FC_METRIC_SECONDS, NULL, 2000000000, "a 2\n"},
    {"a nanosecond", FC_METRIC_SECONDS, NULL, 1, "a 0.000000001\n"},
    {"seconds", FC_METRIC_SECONDS, NULL, 12030000000, "a 12.03\n"},
    {"a quote and a backslash", FC_METRIC_GAUGE, "\"\\", 1,
     "a{b=\"\\\"\\\\\"} 1\n"},
    {"a line feed and a byte outside UTF-8", FC_METRIC_GAUGE, "\n\xff", 1,
     "a{b=\"\\\\x0a\\\\xff\"} 1\n"},
    {"other letters", FC_METRIC_GAUGE, "\xc3\xa4", 1, "a{b=\"\xc3\xa4\"} 1\n"},
};

static void a_sample_is_a_line(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const sample_row_t, row, kSamples) {
    fc_text_t text;
    fc_labels_t labels = {0};
    if (row->label) fc_labels_add(&labels, "b", fc_str(row->label));
    fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
    assert_int_equal(
        fc_metrics_put("a", row->kind, &labels, row->value, &text.sink, NULL),
        FC_OK);
    expect_text(&text, row->wanted);
  }
}

// The labels fit into their room, however hostile the names are.
static void labels_are_bounded(void **state) {
  (void)state;
  char name[4096];
  memset(name, 1, sizeof name);
  fc_labels_t labels = {0};
  for (int i = 0; i < 3; i++) {
    fc_labels_add(&labels, "b", fc_str_make(name, sizeof name));
    assert_true(labels.size <= sizeof labels.text);
  }
}

static void a_histogram_counts_upwards(void **state) {
  (void)state;
  fc_histogram_t histogram = {0};
  static const uint64_t kNoted[] = {1000, 1024, 1500, 3000, LAST + 1};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNoted); i++) {
    fc_histogram_note(&histogram, kNoted[i]);
  }
  for (uint32_t every = 1; every <= 2; every++) {
    fc_text_t text;
    fc_labels_t labels = {0};
    fc_labels_add(&labels, "b", FC_STR("x"));
    fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
    assert_int_equal(fc_metrics_put_histogram("a", &labels, &histogram, every,
                                              NULL, &text.sink, NULL),
                     FC_OK);
    fc_str_t rest = fc_text_str(&text);
    char all[16384];
    assert_true(rest.size < sizeof all);
    memcpy(all, rest.data, rest.size);
    all[rest.size] = '\0';
    fc_text_deinit(&text);
    assert_non_null(strstr(all, "a_bucket{b=\"x\",le=\"0.000001024\"} 2\n"));
    assert_non_null(strstr(all, "a_bucket{b=\"x\",le=\"0.000002048\"} 3\n"));
    assert_int_equal(strstr(all, "le=\"0.000001536\"} 3\n") != NULL,
                     every == 1);
    assert_non_null(strstr(all, "a_bucket{b=\"x\",le=\"34.359738368\"} 4\n"));
    assert_non_null(strstr(all, "a_bucket{b=\"x\",le=\"+Inf\"} 5\n"
                                "a_sum{b=\"x\"} 34.359744893\n"
                                "a_count{b=\"x\"} 5\n"));
  }
}

static void so_many_functions_have_their_own(void **state) {
  (void)state;
  const fc_allocator_t allocator = fc_allocator_system();
  fc_all_series_t all = {.most = 2};
  fc_function_counts_t *counts = fc_alloc_array(allocator, 5, sizeof *counts);
  assert_non_null(counts);
  counts[0].series = fc_series_take(&all, allocator, FC_LIMIT_LABEL + 1);
  counts[1].series = fc_series_take(&all, allocator, FC_LIMIT_LABEL);
  counts[2].series = fc_series_take(&all, allocator, 8);
  counts[3].series = fc_series_take(&all, allocator, 8);
  assert_ptr_equal(counts[0].series, all.others);
  assert_ptr_equal(counts[3].series, all.others);
  assert_ptr_not_equal(counts[1].series, counts[2].series);
  assert_ptr_not_equal(counts[1].series, all.others);
  assert_int_equal(all.count, 2);
  fc_counts_free(&all, allocator, counts, 5);
  assert_int_equal(all.count, 0);  // whoever is called next has its own again
  fc_all_series_deinit(&all, allocator);
}

static fc_status_t attempt_series(fc_allocator_t allocator, void *context,
                                  fc_error_t *err) {
  (void)context;
  fc_all_series_t all = {.most = 1};
  fc_series_t *own = fc_series_take(&all, allocator, 1);
  fc_series_t *others = own ? fc_series_take(&all, allocator, 1) : NULL;
  const bool whole = own && others;
  fc_free(allocator, own);
  fc_all_series_deinit(&all, allocator);
  return whole ? FC_OK : fc_fail_memory(err);
}

static void series_survive_every_failing_allocation(void **state) {
  (void)state;
  assert_int_equal(fc_test_allocation_sweep(attempt_series, NULL), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_time_has_one_bucket),
      FC_TEST(a_bound_is_the_last_time_of_its_bucket),
      FC_TEST(a_family_begins_as_the_format_wants),
      FC_TEST(a_sample_is_a_line),
      FC_TEST(labels_are_bounded),
      FC_TEST(a_histogram_counts_upwards),
      FC_TEST(so_many_functions_have_their_own),
      FC_TEST(series_survive_every_failing_allocation),
  };
  return fc_test_exit(cmocka_run_group_tests(tests, NULL, NULL));
}
