// SPDX-License-Identifier: Apache-2.0
//
// Goals for a load, from `--slo`: p99<5ms, errors<1, rate>1000.
#ifndef FARCALL_CLI_BENCH_GOAL_H_
#define FARCALL_CLI_BENCH_GOAL_H_

#include "bench/load.h"

#define FC_BENCH_GOALS_MAX 16u

typedef struct fc_bench_goal_t {
  fc_str_t text;     // as given
  double share;      // of a percentile, 0 to 1; negative: not a percentile
  const char *name;  // "mean", "max", "errors", "rate"; NULL: a percentile
  bool above;        // the figure must be above the limit, not below
  double limit;      // ns, requests, or requests a second
} fc_bench_goal_t;

// Does a load meet a goal? UNKNOWN: there are too few answers for a percentile.
typedef enum fc_bench_verdict_t {
  FC_BENCH_MISSED,
  FC_BENCH_MET,
  FC_BENCH_UNKNOWN,
} fc_bench_verdict_t;

// Reads a time: a number without a sign, and ns, us, ms, s or m. Without a unit it is in
// seconds. False: the text is not a time.
bool fc_bench_read_time(fc_str_t text, double *out_ns);

// Reads goals that are separated by commas, and appends them to the *inout_count goals in
// `goals`, which has room for FC_BENCH_GOALS_MAX. The error names the text that is not a
// goal, or says that there are too many.
fc_status_t fc_bench_goals_parse(fc_str_t text, fc_bench_goal_t *goals,
                                 size_t *inout_count, fc_error_t *err);

// Returns the figure of the load with which the goal is compared.
double fc_bench_goal_figure(const fc_bench_goal_t *goal,
                            const fc_load_result_t *result);
// Are there enough answers to judge a percentile: ten above it? Also true without any
// answer: then the goal is missed.
bool fc_bench_goal_is_known(const fc_bench_goal_t *goal,
                            const fc_load_result_t *result);
// Is the goal met? Also false if that is not known.
bool fc_bench_goal_is_met(const fc_bench_goal_t *goal,
                          const fc_load_result_t *result);

// Judges all goals together. MISSED if one is missed; otherwise UNKNOWN if one is
// unknown.
fc_bench_verdict_t fc_bench_judge(const fc_bench_goal_t *goals, size_t count,
                                  const fc_load_result_t *result);

// Returns the answers with status 200 per second, within the duration.
double fc_bench_rate(const fc_load_result_t *result);
// Returns the number of requests that got no good answer.
uint64_t fc_bench_errors(const fc_load_result_t *result);
// Adds the errors of another load: their number of each kind, the answers that were
// compared, the first refusal if there is none yet, and whether that load was
// interrupted.
void fc_bench_add_errors(fc_load_result_t *result,
                         const fc_load_result_t *other);

#endif  // FARCALL_CLI_BENCH_GOAL_H_
