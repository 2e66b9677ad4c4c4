// SPDX-License-Identifier: Apache-2.0
//
// The cost of a call of one function, or of all functions of a module, as a moving
// average over the calls that succeeded; and the time that a call would have to wait.
// Loop thread.
#ifndef FARCALL_SERVER_POOL_COST_H_
#define FARCALL_SERVER_POOL_COST_H_

#include "farcall/base.h"

// Zeroed: nothing is known.
typedef struct fc_cost_t {
  uint64_t average_ns;
  uint32_t samples;
  uint32_t needed;  // samples before the function may run on the loop
  uint8_t bound;    // what bounds the time of one call: fc_bound_t
  // For batches (host.h): the most calls in one (0 or 1: no batches); a call's share of
  // the time of CALL, alone and in a batch; and the time that a worker takes for a
  // batch. Times are 0 while they are not known.
  uint8_t together;
  uint8_t tries;  // calls since batches were found to gain nothing
  uint64_t alone_ns;
  uint64_t shared_ns;
  uint64_t batch_ns;
  // How long a call waits for others to join it; 0: it does not wait.
  uint64_t delay_ns;
} fc_cost_t;

void fc_cost_learn(fc_cost_t *cost, uint64_t spent_ns);
// A call took too long on the loop: the function must prove itself again, with twice
// as many samples each time, up to 65536.
void fc_cost_doubt(fc_cost_t *cost);

// A call of a batch of `calls` has succeeded: notes the time of CALL for the whole
// batch, and the time of the other stages for this call.
void fc_cost_learn_batch(fc_cost_t *cost, uint32_t calls, uint64_t call_ns,
                         uint64_t rest_ns);
// Do calls gain by being computed in a batch? Also true if that is not known, or if it
// is time to try batches again.
bool fc_cost_gains(const fc_cost_t *cost);
// A call that others could have joined was begun alone.
void fc_cost_note_single(fc_cost_t *cost);
// May a call with this deadline (0: none) be made in a batch?
bool fc_cost_allows(const fc_cost_t *cost, uint64_t deadline_ns,
                    uint64_t now_ns);
// Returns how long a batch may take before it is given up; 0: nothing is known yet.
uint64_t fc_cost_limit_ns(const fc_cost_t *cost);

// Returns the time until a call would begin after `waiting` other calls, if each of these
// costs the average and `at_once` (at least 1) run at a time. UINT64_MAX: the time is not
// known or too long.
uint64_t fc_cost_wait_ns(const fc_cost_t *cost, uint32_t waiting,
                         uint32_t at_once);
// Returns that time for Retry-After: in whole seconds, plus FC_LIMIT_RETRY_AFTER.
uint32_t fc_cost_retry_s(uint64_t wait_ns);

#endif  // FARCALL_SERVER_POOL_COST_H_
