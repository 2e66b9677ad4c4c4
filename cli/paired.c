// SPDX-License-Identifier: Apache-2.0
//
// Times of calls are skewed and have outliers, so nothing is assumed of how they are
// distributed: what counts is in how many rounds the new one took longer.
#include "paired.h"

#include <math.h>
#include <stdlib.h>

#define SIGMAS 2.576  // 99 %
#define LEAST_RATIO 1.1

static int by_time(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

uint64_t fc_paired_median(const fc_paired_t *paired, int which) {
  uint64_t sorted[FC_PAIRED_MAX];
  if (!paired->count) return 0;
  memcpy(sorted, paired->ns[which], paired->count * sizeof sorted[0]);
  qsort(sorted, paired->count, sizeof sorted[0], by_time);
  return sorted[paired->count / 2];
}

// In how many rounds more the new one took longer than shorter.
static double surplus(const fc_paired_t *paired) {
  double longer = 0;
  for (size_t i = 0; i < paired->count; i++) {
    longer += paired->ns[1][i] > paired->ns[0][i];
    longer -= paired->ns[1][i] < paired->ns[0][i];
  }
  return longer;
}

fc_paired_verdict_t fc_paired_verdict(const fc_paired_t *paired) {
  if (paired->count < FC_PAIRED_ENOUGH) return FC_PAIRED_UNKNOWN;
  const double more = surplus(paired);
  const double was = (double)fc_paired_median(paired, 0),
               is = (double)fc_paired_median(paired, 1);
  const double chance = SIGMAS * sqrt((double)paired->count);
  if (more > chance && is > was * LEAST_RATIO) return FC_PAIRED_LONGER;
  if (more < -chance && was > is * LEAST_RATIO) return FC_PAIRED_SHORTER;
  return FC_PAIRED_SAME;
}
