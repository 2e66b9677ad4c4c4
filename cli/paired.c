// SPDX-License-Identifier: Apache-2.0
//
// Times of calls are skewed and have outliers, so no distribution is assumed. What counts
// is only in how many rounds the new thing took longer.
#include "paired.h"

#include <math.h>
#include <stdlib.h>

#define LEVEL 0.01
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

// Returns the probability that, of `throws` throws of a coin, at least `most` (more than
// half) fall on the same side.
static double chance_of(size_t throws, size_t most) {
  double term = ldexp(1, -(int)throws), sum = 0;  // all on one side
  for (size_t i = throws; i >= most; i--) {
    sum += term;
    term *= (double)i / (double)(throws - i + 1);
  }
  return 2 * sum;
}

// Rounds whose two times are equal are ignored.
fc_paired_verdict_t fc_paired_verdict(const fc_paired_t *paired) {
  size_t longer = 0, shorter = 0;
  if (paired->count < FC_PAIRED_ENOUGH) return FC_PAIRED_UNKNOWN;
  for (size_t i = 0; i < paired->count; i++) {
    longer += paired->ns[1][i] > paired->ns[0][i];
    shorter += paired->ns[1][i] < paired->ns[0][i];
  }
  const size_t most = longer > shorter ? longer : shorter;
  if (longer == shorter || chance_of(longer + shorter, most) > LEVEL) {
    return FC_PAIRED_SAME;
  }
  const double was = (double)fc_paired_median(paired, 0),
               is = (double)fc_paired_median(paired, 1);
  if (longer > shorter && is > was * LEAST_RATIO) return FC_PAIRED_LONGER;
  if (shorter > longer && was > is * LEAST_RATIO) return FC_PAIRED_SHORTER;
  return FC_PAIRED_SAME;
}
