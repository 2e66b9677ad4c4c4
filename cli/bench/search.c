// SPDX-License-Identifier: Apache-2.0
//
// Halves the range between the highest rate that met the goals and the lowest that did
// not.
#include "bench/search.h"

// The search goes up to this many times the rate of the closed loop, because one run may
// measure a little less than the server can do.
#define MARGIN 1.1

fc_bench_search_t fc_bench_search_begin(double most) {
  return (fc_bench_search_t){.worst = most * MARGIN};
}

double fc_bench_search_next(const fc_bench_search_t *search) {
  const double low =
      search->best > search->least ? search->best : search->least;
  const double middle = (low + search->worst) / 2;
  return middle > 1 ? middle : 1;
}

void fc_bench_search_tell(fc_bench_search_t *search, double rate,
                          fc_bench_verdict_t verdict) {
  if (verdict == FC_BENCH_MET) search->best = rate;
  else if (verdict == FC_BENCH_UNKNOWN) search->least = rate;
  else search->worst = rate;
}

bool fc_bench_keeps_rate(double rate, double answered) {
  return answered >= rate * 0.99;
}
