// SPDX-License-Identifier: Apache-2.0
//
// Decides whether one of two things takes longer than the other. Both are measured in
// turn, so that other work of the machine affects both equally. One thread.
#ifndef FARCALL_CLI_PAIRED_H_
#define FARCALL_CLI_PAIRED_H_

#include "farcall/base.h"

#define FC_PAIRED_MAX 200    // rounds that are kept
#define FC_PAIRED_ENOUGH 11  // rounds below which nothing is said

typedef struct fc_paired_t {
  uint64_t ns[2][FC_PAIRED_MAX];  // of the old one and of the new one, by round
  size_t count;
} fc_paired_t;

typedef enum fc_paired_verdict_t {
  FC_PAIRED_UNKNOWN,  // too few rounds
  FC_PAIRED_SAME,  // chance explains what differs, or it is less than a tenth
  FC_PAIRED_LONGER,
  FC_PAIRED_SHORTER,
} fc_paired_verdict_t;

// Returns the median of one of the two; 0 without rounds.
uint64_t fc_paired_median(const fc_paired_t *paired, int which);
// Decides by the exact sign test over the rounds that differ, at the level of 1 %, and by
// the medians.
fc_paired_verdict_t fc_paired_verdict(const fc_paired_t *paired);

#endif  // FARCALL_CLI_PAIRED_H_
