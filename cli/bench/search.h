// SPDX-License-Identifier: Apache-2.0
//
// The search for the highest rate that keeps its goals, by halving: which rate is
// tried next. It makes no requests.
#ifndef FARCALL_CLI_BENCH_SEARCH_H_
#define FARCALL_CLI_BENCH_SEARCH_H_

#include "bench/goal.h"

typedef struct fc_bench_search_t {
  double best;   // the highest rate that was kept; 0: none
  double least;  // rates up to here make too few answers to judge them
  double worst;  // no rate from here on is tried, but 1
} fc_bench_search_t;

// `most` is the rate at which a closed loop was answered. Rates from a tenth above it
// on are not tried.
fc_bench_search_t fc_bench_search_begin(double most);
// The rate to try next: the middle between `best` or `least` and `worst`, but at least 1.
double fc_bench_search_next(const fc_bench_search_t *search);
void fc_bench_search_tell(fc_bench_search_t *search, double rate,
                          fc_bench_verdict_t verdict);

// True when `answered` a second is what was asked for, but for a hundredth. Rate 0,
// a closed loop, asks for nothing.
bool fc_bench_keeps_rate(double rate, double answered);

#endif  // FARCALL_CLI_BENCH_SEARCH_H_
