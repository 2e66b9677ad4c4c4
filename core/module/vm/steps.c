// SPDX-License-Identifier: Apache-2.0
//
// Ends a call that runs too long: it is late, cancelled, out of fuel, or over its budget.
// On workers.
#include "module/vm/steps.h"

#include "base/stop.h"

static fc_status_t look(fc_vm_invocation_t *invocation, fc_error_t *err) {
  invocation->steps_since_poll = 0;
  const fc_status_t why =
      fc_stop_check(invocation->cancel, invocation->deadline_ns);
  if (why != FC_OK) return fc_stop_fail(why, err);
  if (FC_UNLIKELY(invocation->budget) &&
      fc_clock_ns() >= invocation->budget->end_ns) {
    return fc_vm_give_up(invocation, err);
  }
  if (invocation->fuel == 0) {
    return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_RESOURCE_EXHAUSTED,
                      "the call used up its fuel");
  }
  return FC_OK;
}

static bool is_too_much(const fc_vm_invocation_t *invocation, uint64_t ticks) {
  return FC_UNLIKELY(invocation->budget) && ticks > FC_VM_ATTEMPT_STEPS;
}

fc_status_t fc_vm_poll(fc_vm_machine_t *m, fc_error_t *err) {
  const bool too_much = is_too_much(m->invocation, (uint64_t)-m->ticks);
  fc_vm_return_ticks(m);
  if (too_much) return fc_vm_give_up(m->invocation, err);
  fc_status_t status = look(m->invocation, err);
  fc_vm_grant_ticks(m);
  return status;
}

fc_status_t fc_vm_give_up(fc_vm_invocation_t *invocation, fc_error_t *err) {
  invocation->budget->over = true;
  return fc_fail_as(err, FC_CODE_CALL_FAILED, FC_RESOURCE_EXHAUSTED,
                    "the attempt used up its budget");
}

fc_status_t fc_vm_work(fc_vm_invocation_t *invocation, uint64_t bytes,
                       fc_error_t *err) {
  const uint64_t ticks = bytes / FC_VM_BYTES_PER_TICK + 1;
  if (is_too_much(invocation, ticks)) return fc_vm_give_up(invocation, err);
  fc_vm_spend(invocation, ticks);
  if (invocation->steps_since_poll < fc_vm_ticks_per_poll(invocation) &&
      invocation->fuel) {
    return FC_OK;
  }
  return look(invocation, err);
}
