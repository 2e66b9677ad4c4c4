// SPDX-License-Identifier: Apache-2.0
//
// Parsing times and goals, and the search for a rate.
#include "bench/goal.h"

#include "bench/search.h"
#include "helpers/test.h"

static void times_have_units(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double ns;  // -1: refused
  } rows[] = {{"10", 1e10},   {"10s", 1e10}, {"1.5s", 1.5e9}, {"500ms", 5e8},
              {"20us", 2e4},  {"7ns", 7},    {"2m", 1.2e11},  {"0", 0},
              {".5s", 5e8},   {"", -1},      {"s", -1},       {"-1s", -1},
              {"1h", -1},     {"1 s", -1},   {"1e3", -1},     {".", -1},
              {"1.2.3s", -1}, {"10sec", -1}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    double ns = -1;
    const bool fine = fc_bench_read_time(fc_str(row->name), &ns);
    assert_int_equal(fine, row->ns >= 0);
    if (fine) assert_true(ns > row->ns - 1e-3 && ns < row->ns + 1e-3);
  }
}

// 100 answers of 1 to 100 ms in 2 s.
static const fc_load_result_t *sample(void) {
  static fc_load_result_t result;
  result = (fc_load_result_t){
      .duration_ns = 2000000000, .answers = 100, .refused = 2, .broken = 1};
  for (uint64_t i = 1; i <= 100; i++) {
    fc_bench_histogram_record(&result.latency, i * 1000000);
  }
  return &result;
}

static void goals_are_met_or_not(void **state) {
  (void)state;
  static const struct {
    const char *name;
    size_t count;  // 0: refused
    bool met;      // all of them
  } rows[] = {
      {"p90<91ms", 1, true},
      {"p90<90ms", 1, false},
      {"p50<51ms", 1, true},
      {"p99.9<100ms", 1, false},
      {"p100<101ms", 1, true},
      {"max<101ms", 1, true},
      {"max<100ms", 1, false},
      {"mean<51ms", 1, true},
      {"mean<50ms", 1, false},
      {"errors<4", 1, true},
      {"errors<3", 1, false},
      {"rate>49", 1, true},
      {"rate>50/s", 1, false},
      {"rate<51", 1, true},
      {"p50<51ms,max<1s", 2, true},
      {"p50<51ms,max<1ms", 2, false},
      {"p50>1ms", 1, true},
      {"p99", 0, false},
      {"p99<", 0, false},
      {"p99<fast", 0, false},
      {"p0<1s", 0, false},
      {"p101<1s", 0, false},
      {"q99<1s", 0, false},
      {"p99x<1s", 0, false},
      {"errors<1ms", 0, false},
      {"<1s", 0, false},
      {",", 0, false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_bench_goal_t goals[FC_BENCH_GOALS_MAX];
    size_t count = 0;
    fc_error_t err;
    fc_error_reset(&err);
    const fc_status_t status =
        fc_bench_goals_parse(fc_str(row->name), goals, &count, &err);
    assert_int_equal(status == FC_OK, row->count > 0);
    if (status != FC_OK) continue;
    assert_int_equal(count, row->count);
    bool met = true;
    for (size_t i = 0; i < count; i++) {
      met = met && fc_bench_goal_is_met(&goals[i], sample());
    }
    assert_int_equal(met, row->met);
  }
}

// A percentile is judged only if ten answers lie beyond it; else chance would decide.
static void a_percentile_of_few_answers_is_not_judged(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t answers;
    bool known;
  } rows[] = {
      {"p99.99<1s", 99999, false}, {"p99.99<1s", 100000, true},
      {"p99<1s", 999, false},      {"p99<1s", 1000, true},
      {"p50<1s", 1, true},         {"p100<1s", 1, true},
      {"max<1s", 1, true},         {"mean<1s", 1, true},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static fc_load_result_t load;
    fc_bench_goal_t goal;
    size_t count = 0;
    memset(&load, 0, sizeof load);
    fc_bench_histogram_record_many(&load.latency, 1000000, row->answers);
    assert_int_equal(
        fc_bench_goals_parse(fc_str(row->name), &goal, &count, NULL), FC_OK);
    assert_int_equal(fc_bench_goal_is_known(&goal, &load), row->known);
    assert_int_equal(fc_bench_goal_is_met(&goal, &load), row->known);
  }
}

static void one_missed_goal_decides(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_bench_verdict_t verdict;
  } rows[] = {{"p50<1s", FC_BENCH_MET},
              {"p50<1s,p99.99<1s", FC_BENCH_UNKNOWN},
              {"p99.99<1s,p50<1s", FC_BENCH_UNKNOWN},
              {"p99.99<1s,p50<1ns", FC_BENCH_MISSED}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static fc_load_result_t load;
    fc_bench_goal_t goals[FC_BENCH_GOALS_MAX];
    size_t count = 0;
    memset(&load, 0, sizeof load);
    fc_bench_histogram_record_many(&load.latency, 1000000, 100);
    assert_int_equal(
        fc_bench_goals_parse(fc_str(row->name), goals, &count, NULL), FC_OK);
    assert_int_equal(fc_bench_judge(goals, count, &load), row->verdict);
  }
}

static void goals_have_a_limit(void **state) {
  (void)state;
  fc_bench_goal_t goals[FC_BENCH_GOALS_MAX];
  size_t count = 0;
  fc_error_t err;
  fc_error_reset(&err);
  for (size_t i = 0; i < FC_BENCH_GOALS_MAX; i++) {
    assert_int_equal(
        fc_bench_goals_parse(FC_STR("p99<1s"), goals, &count, &err), FC_OK);
  }
  assert_int_not_equal(
      fc_bench_goals_parse(FC_STR("p99<1s"), goals, &count, &err), FC_OK);
}

static void a_load_without_answers_meets_no_goal(void **state) {
  (void)state;
  static fc_load_result_t nothing;
  const fc_bench_goal_t goal = {.share = 0.99, .limit = 1e9};
  assert_false(fc_bench_goal_is_met(&goal, &nothing));
  assert_true(fc_bench_rate(&nothing) == 0);
}

static void a_search_comes_near_the_highest_rate(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double kept;   // rates up to here are kept
    double known;  // rates below are not judged
  } rows[] = {{"all", 2000, 0},
              {"most", 990, 0},
              {"few", 100, 0},
              {"one", 1, 0},
              {"most of known ones", 990, 800}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_bench_search_t search = fc_bench_search_begin(1000);
    for (int i = 0; i < 12; i++) {
      const double rate = fc_bench_search_next(&search);
      fc_bench_search_tell(&search, rate,
                           rate < row->known   ? FC_BENCH_UNKNOWN
                           : rate <= row->kept ? FC_BENCH_MET
                                               : FC_BENCH_MISSED);
    }
    const double most = row->kept < 1100 ? row->kept : 1100;
    assert_true(search.best <= most && search.best > most - 1);
  }
}

static void errors_of_two_loads_are_added(void **state) {
  (void)state;
  fc_load_result_t first = {
      .refused = 1, .broken = 20, .compared = 7, .answers = 9};
  fc_load_result_t other = {.refused = 100,
                            .broken = 1,
                            .unanswered = 2,
                            .different = 3,
                            .compared = 40,
                            .answers = 50,
                            .first_status = 503,
                            .first_size = 4,
                            .first_body = "busy",
                            .interrupted = true};
  fc_bench_add_errors(&first, &other);
  assert_int_equal(fc_bench_errors(&first), 101 + 21 + 2 + 3);
  assert_int_equal(first.refused, 101);
  assert_int_equal(first.different, 3);
  assert_int_equal(first.compared, 47);
  assert_int_equal(first.answers, 9);  // no error
  assert_true(first.interrupted);
  assert_int_equal(first.first_status, 503);
  assert_int_equal(first.first_size, 4);
  assert_memory_equal(first.first_body, "busy", 4);
  const fc_load_result_t last = {.first_status = 429, .first_size = 1};
  fc_bench_add_errors(&first, &last);
  assert_int_equal(first.first_status, 503);  // the first stays
  assert_true(first.interrupted);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(times_have_units),
      FC_TEST(goals_are_met_or_not),
      FC_TEST(a_percentile_of_few_answers_is_not_judged),
      FC_TEST(one_missed_goal_decides),
      FC_TEST(goals_have_a_limit),
      FC_TEST(a_load_without_answers_meets_no_goal),
      FC_TEST(errors_of_two_loads_are_added),
      FC_TEST(a_search_comes_near_the_highest_rate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
