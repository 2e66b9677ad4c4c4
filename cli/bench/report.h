// SPDX-License-Identifier: Apache-2.0
//
// The result of a load: as a few lines for people, and as the JSON document that --save
// writes. The HTML report and --compare use that document.
#ifndef FARCALL_CLI_BENCH_REPORT_H_
#define FARCALL_CLI_BENCH_REPORT_H_

#include <stdio.h>

#include "bench/goal.h"
#include "bench/machine.h"
#include "page.h"

// One rate that --steps has tried.
typedef struct fc_bench_step_t {
  double rate;      // the requested rate; 0: a closed loop, for the maximum
  double answered;  // a second
  uint64_t p50_ns;
  uint64_t p99_ns;
  uint64_t max_ns;
  fc_bench_verdict_t verdict;  // for all goals, and the rate
} fc_bench_step_t;

#define FC_BENCH_STEPS_MAX 32u

// One of several closed loops: its number of connections, and what was measured.
typedef struct fc_bench_point_t {
  uint32_t connections;
  double answered;  // a second
  uint64_t p50_ns;
  uint64_t p99_ns;
  uint64_t max_ns;
  uint64_t errors;
} fc_bench_point_t;

typedef struct fc_bench_report_t {
  const char *server;
  const char *target;  // the path of the requests
  const char *protocol;
  const char *verify;
  const char
      *input;  // source of the arguments: "given", "example" or "metadata"
  const char *example;  // the name of the example that was sent; "": none
  const char *input_sha256;
  size_t input_size;
  const fc_bench_machine_t *machine;  // which made the load
  bool same_machine;                  // the server runs on the same machine
  const fc_load_plan_t *plan;
  const fc_load_result_t *result;
  const fc_bench_goal_t *goals;
  size_t goal_count;
  const fc_bench_step_t *steps;
  size_t step_count;
  const fc_bench_point_t *curve;  // throughput over concurrency
  size_t curve_count;             // 0: only one concurrency was requested
} fc_bench_report_t;

void fc_bench_print(const fc_bench_report_t *report, FILE *stream);
void fc_bench_print_step(const fc_bench_step_t *step, FILE *stream);
void fc_bench_print_point(const fc_bench_point_t *point, FILE *stream);
fc_status_t fc_bench_print_json(const fc_bench_report_t *report,
                                fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_CLI_BENCH_REPORT_H_
