// SPDX-License-Identifier: Apache-2.0
//
// What a call of one function, or of a module's functions, costs: a moving average over
// the calls that succeeded. And what follows for a call that would have to wait. Loop
// thread.
#ifndef FARCALL_SERVER_POOL_COST_H_
#define FARCALL_SERVER_POOL_COST_H_

#include "farcall/base.h"

// Zeroed: nothing is known.
typedef struct fc_cost_t {
  uint64_t average_ns;
  uint32_t samples;
  uint32_t needed;  // samples before the function may run on the loop
  uint8_t bound;    // of the time of one call: fc_bound_t
  bool batches;     // its calls may be begun together (host.h)
} fc_cost_t;

void fc_cost_learn(fc_cost_t *cost, uint64_t spent_ns);
// A call took too long on the loop: the function must prove itself again, with twice
// as many samples each time, up to 65536.
void fc_cost_doubt(fc_cost_t *cost);

// Time until a call that finds `waiting` others would begin, if each costs the average
// and `at_once` (at least 1) of them run at a time. UINT64_MAX when that is more than can
// be said.
uint64_t fc_cost_wait_ns(const fc_cost_t *cost, uint32_t waiting,
                         uint32_t at_once);
// That time for Retry-After: its whole seconds, and FC_LIMIT_RETRY_AFTER more.
uint32_t fc_cost_retry_s(uint64_t wait_ns);

#endif  // FARCALL_SERVER_POOL_COST_H_
