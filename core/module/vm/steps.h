// SPDX-License-Identifier: Apache-2.0
//
// A running interpreter, and its steps: after a number of steps it
// checks the clock and the cancel word. Included only by steps.c and, for interp.c, by
// interp_calls.h.
#ifndef FARCALL_CORE_MODULE_VM_STEPS_H_
#define FARCALL_CORE_MODULE_VM_STEPS_H_

#include "module/vm/context.h"

// The steps between two checks of the clock and the cancel word: back-edges, calls, and
// bulk work.
#define FC_VM_TICKS_PER_POLL 1024
// The bytes of bulk work that count as one step.
#define FC_VM_BYTES_PER_TICK 4096

typedef struct fc_vm_machine_t {
  fc_vm_context_t *context;
  fc_vm_invocation_t *invocation;
  fc_vm_frame_t *frame;  // of the running function
  int64_t ticks;         // steps left until the next poll
  uint64_t granted;      // ticks that were granted last
} fc_vm_machine_t;

static inline uint64_t fc_vm_ticks_per_poll(
    const fc_vm_invocation_t *invocation) {
  return FC_UNLIKELY(invocation->budget) ? FC_VM_ATTEMPT_STEPS
                                         : FC_VM_TICKS_PER_POLL;
}

// Grants the ticks that are left until the next check of the clock and the cancel word,
// or until the fuel is used up, if that is earlier.
static inline void fc_vm_grant_ticks(fc_vm_machine_t *m) {
  const fc_vm_invocation_t *invocation = m->invocation;
  const uint64_t most = fc_vm_ticks_per_poll(invocation);
  uint64_t since = invocation->steps_since_poll;
  uint64_t wanted = since < most ? most - since : 0;
  m->granted = invocation->fuel < wanted ? invocation->fuel : wanted;
  m->ticks = (int64_t)m->granted;
}

static inline void fc_vm_spend(fc_vm_invocation_t *invocation, uint64_t ticks) {
  invocation->steps_since_poll += ticks;
  if (invocation->fuel == UINT64_MAX) return;
  invocation->fuel = ticks < invocation->fuel ? invocation->fuel - ticks : 0;
}

// Undoes fc_vm_grant_ticks: subtracts the ticks that were used from the fuel, and
// counts them as steps since the last poll.
static inline void fc_vm_return_ticks(fc_vm_machine_t *m) {
  fc_vm_spend(m->invocation,
              m->granted - (uint64_t)m->ticks);  // may exceed what was granted
}

// Called when no ticks are left: grants new ones, or fails and says why the call ends.
__attribute__((cold)) fc_status_t fc_vm_poll(fc_vm_machine_t *m,
                                             fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_STEPS_H_
