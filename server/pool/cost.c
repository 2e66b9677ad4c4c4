// SPDX-License-Identifier: Apache-2.0
#include "pool/cost.h"

#include "config/limits.h"

#define NS_PER_S 1000000000u
#define WEIGHT 8  // a call counts for an eighth of the new average

void fc_cost_learn(fc_cost_t *cost, uint64_t spent_ns) {
  if (cost->samples == 0) {
    cost->average_ns = spent_ns;
  } else if (spent_ns > cost->average_ns) {
    cost->average_ns += (spent_ns - cost->average_ns) / WEIGHT;
  } else {
    cost->average_ns -= (cost->average_ns - spent_ns) / WEIGHT;
  }
  if (cost->samples < UINT32_MAX) cost->samples++;
}

void fc_cost_doubt(fc_cost_t *cost) {
  cost->samples = 0;
  if (cost->needed < 1u << 16) cost->needed *= 2;
}

uint64_t fc_cost_wait_ns(const fc_cost_t *cost, uint32_t waiting,
                         uint32_t at_once) {
  uint64_t all_ns;
  if (__builtin_mul_overflow(cost->average_ns, waiting, &all_ns)) {
    return UINT64_MAX;
  }
  return all_ns / at_once;
}

uint32_t fc_cost_retry_s(uint64_t wait_ns) {
  const uint64_t seconds = wait_ns / NS_PER_S + FC_LIMIT_RETRY_AFTER;
  return seconds < UINT32_MAX ? (uint32_t)seconds : UINT32_MAX;
}
