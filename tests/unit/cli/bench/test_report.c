// SPDX-License-Identifier: Apache-2.0
//
// A load of 200 answers: 1 to 200 ns after they were due, and 1 to 100 ns after they
// were sent. All figures that are shown or saved differ, and were computed by hand.
#include "bench/report.h"

#include "helpers/test.h"

static void load(fc_load_result_t *result) {
  *result = (fc_load_result_t){.duration_ns = 4000000000,
                               .answers = 200,
                               .compared = 21,
                               .different = 3,
                               .refused = 4,
                               .broken = 5,
                               .unanswered = 6,
                               .late = 7,
                               .slice_count = 1};
  result->slices[0] = (fc_load_slice_t){.end_ns = 4000000000,
                                        .span_ns = 2000000000,
                                        .answers = 100,
                                        .errors = 8,
                                        .p50_ns = 11,
                                        .p99_ns = 12,
                                        .max_ns = 13};
  for (uint64_t i = 1; i <= 200; i++) {
    fc_bench_histogram_record(&result->latency, i);
    fc_bench_histogram_record(&result->service, (i + 1) / 2);
  }
}

static const fc_load_plan_t kPlan = {.connections = 2, .rate = 60};
static const fc_bench_step_t kStep = {.rate = 30,
                                      .answered = 29,
                                      .p50_ns = 2000,
                                      .p99_ns = 3000,
                                      .max_ns = 4000000,
                                      .verdict = FC_BENCH_MET};

static const fc_bench_machine_t kMachine = {"a processor", 6, "Linux 6.1",
                                            "2026-01-02T03:04:05Z"};

static const fc_bench_point_t kCurve[] = {{1, 20, 100, 200, 300, 0},
                                          {2, 50, 110, 210, 310, 9}};

static fc_bench_report_t report_of(const fc_load_result_t *result) {
  return (fc_bench_report_t){.server = "server",
                             .target = "target",
                             .protocol = "native",
                             .verify = "all",
                             .input = "example",
                             .example = "",
                             .input_sha256 = "abc",
                             .input_size = 17,
                             .machine = &kMachine,
                             .same_machine = true,
                             .plan = &kPlan,
                             .result = result,
                             .steps = &kStep,
                             .step_count = 1,
                             .curve = kCurve,
                             .curve_count = FC_ARRAY_COUNT(kCurve)};
}

static const char kShown[] =
    "target of server\n"
    "  2 connections, 60 requests a second, 4 s\n"
    "  input     made up from the function's example, 17 bytes: --input or "
    "--json has another\n"
    "  answers   200, 50 a second\n"
    "  latency   p50 0.1 us   p75 0.15 us   p90 0.18 us   max 0.2 us\n"
    "  once sent p50 0.05 us   p75 0.075 us   p90 0.09 us   max 0.1 us\n"
    "  compared  21 answers, 3 different\n"
    "  errors    4 refused\n"
    "  errors    5 connections broken\n"
    "  errors    6 unanswered in time\n"
    "  errors    3 answers not as expected\n"
    "  note: this program sent 7 requests more than 1 ms late: it had no "
    "processor\n"
    "  30/s         answered 29/s  p50 2 us  p99 3 us  max 4 ms  met\n"
    "  2            answered 50/s  p50 0.11 us  p99 0.21 us  max 0.31 us  errors 9\n";

static void every_figure_is_shown(void **state) {
  (void)state;
  static fc_load_result_t result;
  char text[2048];
  load(&result);
  const fc_bench_report_t report = report_of(&result);
  FILE *stream = fmemopen(text, sizeof text, "w");
  assert_non_null(stream);
  fc_bench_print(&report, stream);
  fc_bench_print_step(&kStep, stream);
  fc_bench_print_point(&kCurve[1], stream);
  fclose(stream);
  assert_string_equal(text, kShown);
}

// Some requests were due before the measurement began, but are answered during it.
static void more_answers_than_requests_are_told(void **state) {
  (void)state;
  static fc_load_result_t result;
  char text[2048];
  load(&result);
  result.answers = 204;
  const fc_bench_report_t report = report_of(&result);
  FILE *stream = fmemopen(text, sizeof text, "w");
  assert_non_null(stream);
  fc_bench_print(&report, stream);
  fclose(stream);
  assert_non_null(strstr(text, "\n  answers   204 to 200 requests and some "
                               "from before, 51 a second\n"));
}

static void an_example_is_named_and_requests_are_counted(void **state) {
  (void)state;
  static fc_load_result_t result;
  char text[2048];
  load(&result);
  result.answers = 180;
  fc_bench_report_t report = report_of(&result);
  report.example = "one\x1b line";
  const fc_bench_goal_t goal = {.text = FC_STR("p99<1s"), .share = 0.99};
  report.goals = &goal;
  report.goal_count = 1;
  FILE *stream = fmemopen(text, sizeof text, "w");
  assert_non_null(stream);
  fc_bench_print(&report, stream);
  fclose(stream);
  static const char *const rows[] = {
      "\n  input     the example 'one\\u001b line', 17 bytes\n",
      "\n  answers   180 in time, of 200 requests, 45 a second\n",
      ": not known, 1000 requests are needed and there are 200\n"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    if (!strstr(text, rows[i])) fail_msg("%s\nis not in\n%s", rows[i], text);
  }
}

static void every_figure_is_saved(void **state) {
  (void)state;
  static const char *const rows[] = {
      "\"verify\":\"all\",\"date\":\"2026-01-02T03:04:05Z\","
      "\"cpu\":\"a processor\",\"kernel\":\"Linux 6.1\",\"processors\":6,"
      "\"same_machine\":true,\"input\":\"example\","
      "\"example\":\"\",\"input_sha256\":\"abc\",\"input_size\":17,",
      "\"rate\":60.000,\"connections\":2,\"duration_s\":4.000000,",
      "\"answers\":200,\"answers_per_s\":50.000,\"compared\":21,\"late\":7",
      "\"errors\":{\"refused\":4,\"broken\":5,\"unanswered\":6,\"different\":3}",
      "\"latency\":{\"count\":200,\"mean_ns\":100,\"min_ns\":1,\"p50_ns\":100,"
      "\"p75_ns\":150,\"p90_ns\":180,\"p99_ns\":198,\"p99.9_ns\":200,"
      "\"p99.99_ns\":200,\"max_ns\":200,\"buckets\":[[1,1],[2,1],",
      "\"service\":{\"count\":200,\"mean_ns\":50,\"min_ns\":1,\"p50_ns\":50,"
      "\"p75_ns\":75,\"p90_ns\":90,\"p99_ns\":99,\"p99.9_ns\":100,"
      "\"p99.99_ns\":100,\"max_ns\":100,\"buckets\":[[1,2],[2,2],",
      "\"slices\":[{\"end_s\":4.000,\"answers_per_s\":50.000,\"errors\":8,"
      "\"p50_ns\":11,\"p99_ns\":12,\"max_ns\":13}]",
      "\"curve\":[{\"connections\":1,\"answers_per_s\":20.000,\"p50_ns\":100,"
      "\"p99_ns\":200,\"max_ns\":300,\"errors\":0},{\"connections\":2,",
      "\"steps\":[{\"rate\":30.000,\"answers_per_s\":29.000,\"p50_ns\":2000,"
      "\"p99_ns\":3000,\"max_ns\":4000000,\"known\":true,"
      "\"met\":true}]"};
  static fc_load_result_t result;
  fc_text_t json;
  fc_error_t err;
  load(&result);
  const fc_bench_report_t report = report_of(&result);
  fc_text_init(&json, fc_allocator_system(), 1u << 20);
  assert_int_equal(fc_bench_print_json(&report, &json.sink, &err), FC_OK);
  fc_str_t text = fc_text_str(&json);
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    if (!memmem(text.data, text.size, rows[i], strlen(rows[i]))) {
      fail_msg("%s\nis not in\n%.*s", rows[i], FC_STR_ARG(text));
    }
  }
  fc_text_deinit(&json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_figure_is_shown),
      FC_TEST(an_example_is_named_and_requests_are_counted),
      FC_TEST(more_answers_than_requests_are_told),
      FC_TEST(every_figure_is_saved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
