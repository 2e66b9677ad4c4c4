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
  // Of calls that may be begun together (host.h): most at once, 0 or 1: none may. A call's
  // share of CALL alone and together, and the time that a worker takes for a batch; 0: not
  // known.
  uint8_t together;
  uint8_t tries;  // since batches were found to gain nothing
  uint64_t alone_ns;
  uint64_t shared_ns;
  uint64_t batch_ns;
  uint64_t delay_ns;  // how long a call waits for others; 0: it does not
} fc_cost_t;

void fc_cost_learn(fc_cost_t *cost, uint64_t spent_ns);
// A call took too long on the loop: the function must prove itself again, with twice
// as many samples each time, up to 65536.
void fc_cost_doubt(fc_cost_t *cost);

// A call of `calls` that were computed together has succeeded: what CALL took for all, and
// the other stages for this one.
void fc_cost_learn_batch(fc_cost_t *cost, uint32_t calls, uint64_t call_ns,
                         uint64_t rest_ns);
// Do calls gain by being made together? Also true if that is not known, or if it is time to
// try it again.
bool fc_cost_gains(const fc_cost_t *cost);
// A call that others could have joined was begun by itself.
void fc_cost_note_single(fc_cost_t *cost);
// May a call with this deadline (0: none) be made with others?
bool fc_cost_allows(const fc_cost_t *cost, uint64_t deadline_ns,
                    uint64_t now_ns);
// How long a batch may take before it is given up. 0: nothing is known of the calls.
uint64_t fc_cost_limit_ns(const fc_cost_t *cost);

// Time until a call that finds `waiting` others would begin, if each costs the average
// and `at_once` (at least 1) of them run at a time. UINT64_MAX when that is more than can
// be said.
uint64_t fc_cost_wait_ns(const fc_cost_t *cost, uint32_t waiting,
                         uint32_t at_once);
// That time for Retry-After: its whole seconds, and FC_LIMIT_RETRY_AFTER more.
uint32_t fc_cost_retry_s(uint64_t wait_ns);

#endif  // FARCALL_SERVER_POOL_COST_H_
