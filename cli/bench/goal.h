// SPDX-License-Identifier: Apache-2.0
//
// What a load is held to, as `--slo` says: p99<5ms, errors<1, rate>1000.
#ifndef FARCALL_CLI_BENCH_GOAL_H_
#define FARCALL_CLI_BENCH_GOAL_H_

#include "bench/load.h"

#define FC_BENCH_GOALS_MAX 16u

typedef struct fc_bench_goal_t {
  fc_str_t text;     // as given
  double share;      // of a percentile, 0 to 1; negative: another figure
  const char *name;  // "mean", "max", "errors", "rate"; NULL: a percentile
  bool above;        // the figure must be above the limit, not below
  double limit;      // ns, requests, or requests a second
} fc_bench_goal_t;

// What is known of a load: too few answers say nothing of a percentile.
typedef enum fc_bench_verdict_t {
  FC_BENCH_MISSED,
  FC_BENCH_MET,
  FC_BENCH_UNKNOWN,
} fc_bench_verdict_t;

// Reads a time: a number and ns, us, ms, s or m; without a unit, seconds. False if the
// text is no such time; no sign is allowed.
bool fc_bench_read_time(fc_str_t text, double *out_ns);

// Reads goals that commas separate, and puts them behind the *inout_count that `goals`
// has, which has room for FC_BENCH_GOALS_MAX. The error names the one that is no goal,
// or says that there are too many.
fc_status_t fc_bench_goals_parse(fc_str_t text, fc_bench_goal_t *goals,
                                 size_t *inout_count, fc_error_t *err);

// The figure of a load that a goal is about.
double fc_bench_goal_figure(const fc_bench_goal_t *goal,
                            const fc_load_result_t *result);
// Whether there are enough answers to judge the percentile: ten beyond it. Of none at all
// it is known that the goal is missed.
bool fc_bench_goal_is_known(const fc_bench_goal_t *goal,
                            const fc_load_result_t *result);
// False, too, when that is not known.
bool fc_bench_goal_is_met(const fc_bench_goal_t *goal,
                          const fc_load_result_t *result);

// Of all goals: one that is missed decides, then one that is not known.
fc_bench_verdict_t fc_bench_judge(const fc_bench_goal_t *goals, size_t count,
                                  const fc_load_result_t *result);

// Answers of status 200 a second, within the duration.
double fc_bench_rate(const fc_load_result_t *result);
// Requests that got no good answer.
uint64_t fc_bench_errors(const fc_load_result_t *result);
// Adds what went wrong in another load: its errors of each kind, among the answers that were
// compared, its first refusal if there is none yet, and that it was interrupted.
void fc_bench_add_errors(fc_load_result_t *result,
                         const fc_load_result_t *other);

#endif  // FARCALL_CLI_BENCH_GOAL_H_
