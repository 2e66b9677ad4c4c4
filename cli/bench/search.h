// SPDX-License-Identifier: Apache-2.0
//
// The search for the highest rate at which the server meets the goals, by halving. It
// only decides which rate to try next; it makes no requests.
#ifndef FARCALL_CLI_BENCH_SEARCH_H_
#define FARCALL_CLI_BENCH_SEARCH_H_

#include "bench/goal.h"

typedef struct fc_bench_search_t {
  double best;   // the highest rate that met the goals; 0: none
  double least;  // up to this rate there are too few answers to judge
  double worst;  // rates from this on are not tried, except 1
} fc_bench_search_t;

// `most` is the rate at which the server answered in a closed loop. The search tries no
// rates from 1.1 times `most` on.
fc_bench_search_t fc_bench_search_begin(double most);
// Returns the rate to try next: the middle between `worst` and the larger of `best` and
// `least`; at least 1.
double fc_bench_search_next(const fc_bench_search_t *search);
void fc_bench_search_tell(fc_bench_search_t *search, double rate,
                          fc_bench_verdict_t verdict);

// True if `answered`, per second, is the requested rate or at most a hundredth less.
// Always true for rate 0, a closed loop.
bool fc_bench_keeps_rate(double rate, double answered);

#endif  // FARCALL_CLI_BENCH_SEARCH_H_
