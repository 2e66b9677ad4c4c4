// SPDX-License-Identifier: Apache-2.0
//
// Decides whether one of two things takes longer than the other. Both are measured in
// turn, so that other work of the machine affects both equally. One thread.
#ifndef FARCALL_CLI_PAIRED_H_
#define FARCALL_CLI_PAIRED_H_

#include "farcall/base.h"

#define FC_PAIRED_MAX 200    // rounds that are kept
#define FC_PAIRED_ENOUGH 11  // with fewer rounds there is no verdict

typedef struct fc_paired_t {
  uint64_t ns[2][FC_PAIRED_MAX];  // of the old and of the new thing, by round
  size_t count;
} fc_paired_t;

typedef enum fc_paired_verdict_t {
  FC_PAIRED_UNKNOWN,  // too few rounds
  FC_PAIRED_SAME,  // chance can explain the difference, or it is below a tenth
  FC_PAIRED_LONGER,
  FC_PAIRED_SHORTER,
} fc_paired_verdict_t;

// Returns the median of the old (0) or the new (1) thing; 0 without rounds.
uint64_t fc_paired_median(const fc_paired_t *paired, int which);
// Decides by the exact sign test at the level of 1 %, over the rounds whose two times
// differ, and by the medians.
fc_paired_verdict_t fc_paired_verdict(const fc_paired_t *paired);

#endif  // FARCALL_CLI_PAIRED_H_
