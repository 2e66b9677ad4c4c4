// SPDX-License-Identifier: Apache-2.0
//
// Handles a refused system call. The kernel raises SIGSYS in the thread that made the
// call. The handler notes the call's number in memory that the loop reads, and the call
// returns EPERM. So an honest module goes on, and the log says what it wanted. A hostile
// module can prevent the note, but not the refusal.
#include "jail/stop.h"

#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <ucontext.h>

#include "jail/filter.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif
#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1
#endif

// A signal handler cannot be given a pointer, so this is static. Only worker processes
// use it.
static struct {
  fc_jail_stops_t *stops;
  struct sigaction before;
} watch;

static void set_result(ucontext_t *context, int result) {
#if defined(__x86_64__)
  context->uc_mcontext.gregs[REG_RAX] = result;
#else
  context->uc_mcontext.regs[0] = (unsigned long long)(long long)result;
#endif
}

// The last bit stands for all calls without a bit of their own: calls with higher
// numbers, and those of a 32-bit program, whose numbers mean other calls.
static void note(fc_jail_stops_t *stops, const siginfo_t *info) {
  uint32_t number = (uint32_t)info->si_syscall;
  if (info->si_arch != NATIVE || number >= FC_JAIL_CALL_NUMBERS) {
    number = FC_JAIL_CALL_NUMBERS - 1;
  }
  atomic_fetch_or_explicit(&stops->calls[number / 64],
                           UINT64_C(1) << (number % 64), memory_order_relaxed);
}

static void on_stop(int number, siginfo_t *info, void *context) {
  if (info->si_code != SYS_SECCOMP) {
    // Another process sent the signal, so the handler of faults must report it.
    (void)sigaction(number, &watch.before, NULL);
    raise(number);
    return;
  }
  if (watch.stops) note(watch.stops, info);
  set_result(context, -EPERM);
}

void fc_stop_watch(fc_jail_stops_t *stops) {
  const struct sigaction action = {
      .sa_sigaction = on_stop,
      .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_NODEFER)};
  watch.stops = stops;
  (void)sigaction(SIGSYS, &action, &watch.before);
}

static const fc_jail_call_t *find_call(uint32_t number) {
  for (size_t i = 0; i < fc_jail_call_count; i++) {
    if (fc_jail_calls[i].number == number) return &fc_jail_calls[i];
  }
  return NULL;
}

bool fc_jail_may_stop(fc_sandbox_t sandbox, uint32_t parts, bool locked,
                      uint32_t number) {
  const fc_jail_call_t *call = find_call(number);
  if (sandbox != FC_SANDBOX_AUTO && sandbox != FC_SANDBOX_STRICT) return false;
  if (!(parts >> FC_JAIL_SECCOMP & 1)) return false;
  if (!call) return true;
  // A call that is refused while the module is loaded stays refused.
  const fc_jail_rule_t rule =
      call->rules[locked ? FC_PHASE_CALLING : FC_PHASE_LOADING];
  return rule != FC_RULE_ANY && rule != FC_RULE_ABSENT;
}

const char *fc_jail_call_name(uint32_t number) {
  const fc_jail_call_t *call = find_call(number);
  return call ? call->name : NULL;
}
