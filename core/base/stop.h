// SPDX-License-Identifier: Apache-2.0
//
// What ends a call from outside: its deadline, or the word that whoever waits for it
// sets. Looked at by whatever runs long, on workers; costs a look at the clock when
// there is a deadline.
#ifndef FARCALL_CORE_BASE_STOP_H_
#define FARCALL_CORE_BASE_STOP_H_

#include <stdatomic.h>

#include "farcall/base.h"

// FC_DEADLINE_EXCEEDED once `deadline_ns` (fc_clock_ns; 0: none) has passed, also
// when somebody who noticed has set `cancel`; else FC_CANCELLED when the word, which
// may be NULL, is not 0; else FC_OK.
static inline fc_status_t fc_stop_check(const _Atomic(uint32_t) *cancel,
                                        uint64_t deadline_ns) {
  if (deadline_ns && fc_clock_ns() >= deadline_ns) return FC_DEADLINE_EXCEEDED;
  const bool cancelled =
      cancel && atomic_load_explicit(cancel, memory_order_relaxed);
  return cancelled ? FC_CANCELLED : FC_OK;
}

// The error of what fc_stop_check said, not FC_OK. Supervisors say the same of calls
// that do not notice it themselves.
static inline fc_status_t fc_stop_fail(fc_status_t why, fc_error_t *err) {
  return why == FC_DEADLINE_EXCEEDED
             ? fc_fail(err, FC_CODE_DEADLINE_EXCEEDED,
                       "the deadline passed while it ran")
             : fc_fail_as(err, FC_CODE_CALL_FAILED, why, "cancelled");
}

#endif  // FARCALL_CORE_BASE_STOP_H_
