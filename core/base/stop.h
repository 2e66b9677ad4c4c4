// SPDX-License-Identifier: Apache-2.0
//
// The two things that end a call from outside: its deadline, and its cancel word, which
// is set by the thread that waits for the answer. Code that runs long on a worker checks
// both. The check reads the clock only when there is a deadline.
#ifndef FARCALL_CORE_BASE_STOP_H_
#define FARCALL_CORE_BASE_STOP_H_

#include <stdatomic.h>

#include "farcall/base.h"

// Tells whether a call must end. FC_DEADLINE_EXCEEDED once `deadline_ns` (fc_clock_ns;
// 0: none) has passed, even if the cancel word is set, because the word is also set for
// calls that are late. Otherwise FC_CANCELLED when `cancel` is not NULL and its word is
// not 0. Otherwise FC_OK.
static inline fc_status_t fc_stop_check(const _Atomic(uint32_t) *cancel,
                                        uint64_t deadline_ns) {
  if (deadline_ns && fc_clock_ns() >= deadline_ns) return FC_DEADLINE_EXCEEDED;
  const bool cancelled =
      cancel && atomic_load_explicit(cancel, memory_order_relaxed);
  return cancelled ? FC_CANCELLED : FC_OK;
}

// Code that reads or writes much data checks after this many bytes, or after about
// 16,384 values: about every 50 us.
#define FC_STOP_STEP ((size_t)64 << 10)

// The deadline and cancel word of a call, for functions that need both. Zeroed:
// nothing ends the call.
typedef struct fc_stop_t {
  const _Atomic(uint32_t) *cancel;
  uint64_t deadline_ns;
} fc_stop_t;

// Writes the error of code that stops because fc_stop_check returned `why`, which is not
// FC_OK. If code never checks, the server writes the same error after the deadline.
static inline fc_status_t fc_stop_fail(fc_status_t why, fc_error_t *err) {
  return why == FC_DEADLINE_EXCEEDED
             ? fc_fail(err, FC_CODE_DEADLINE_EXCEEDED,
                       "the deadline passed while it ran")
             : fc_fail_as(err, FC_CODE_CALL_FAILED, why, "cancelled");
}

// Fails once the call must end. NULL as `stop`: nothing ends the call.
static inline fc_status_t fc_stop_look(const fc_stop_t *stop, fc_error_t *err) {
  if (!stop) return FC_OK;
  const fc_status_t why = fc_stop_check(stop->cancel, stop->deadline_ns);
  return why == FC_OK ? FC_OK : fc_stop_fail(why, err);
}

#endif  // FARCALL_CORE_BASE_STOP_H_
