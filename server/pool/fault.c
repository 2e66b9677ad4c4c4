// SPDX-License-Identifier: Apache-2.0
//
// Reports why a signal ends a worker process: which signal, what kind of address, where
// in the module. The handler runs on a separate stack; in threads that a module made, it
// runs on their stack, and reports nothing if that is full. It calls only
// async-signal-safe functions. Then the signal ends the process, so that the kernel also
// reports the signal to the parent.
#include "pool/fault.h"

#include <signal.h>
#include <ucontext.h>

#include "base/loaded.h"

#define NULL_SIZE 65536u
#define STACK_REACH (1u << 20)

// The data of the signal handler. A handler gets no argument of ours, so this is static;
// only worker processes use it.
static struct {
  fc_fault_t *fault;
  fc_loaded_t module;
  unsigned objects;  // how many objects there were before the module was loaded
  _Alignas(16) uint8_t stack[FC_FAULT_STACK_SIZE];
} watch;

static uintptr_t stack_pointer(const ucontext_t *context) {
#if defined(__x86_64__)
  return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#else
  return (uintptr_t)context->uc_mcontext.sp;
#endif
}

static fc_fault_class_t classify(const siginfo_t *info,
                                 const ucontext_t *context) {
  bool of_memory = info->si_signo == SIGSEGV || info->si_signo == SIGBUS;
  // Two signals have no address: one that a process sent, and one for an access to a
  // non-canonical address, which the processor does not report to the kernel (SI_KERNEL).
  if (!of_memory || info->si_code <= 0 || info->si_code == SI_KERNEL) {
    return FC_FAULT_NONE;
  }
  uintptr_t address = (uintptr_t)info->si_addr;
  if (address < NULL_SIZE) return FC_FAULT_NULL;
  uintptr_t stack = stack_pointer(context);
  uintptr_t distance = address > stack ? address - stack : stack - address;
  return distance < STACK_REACH ? FC_FAULT_STACK : FC_FAULT_ELSEWHERE;
}

static void on_fault(int number, siginfo_t *info, void *context) {
  fc_fault_t *fault = watch.fault;
  if (fault->signal == 0) {
    uintptr_t pc = fc_loaded_counter(context);
    fault->class_ = (uint32_t)classify(info, context);
    fault->in_module = pc >= watch.module.begin && pc < watch.module.end;
    fault->offset = fault->in_module ? pc - watch.module.base : 0;
    fault->signal = (uint32_t)number;
  }
  // SA_RESETHAND has removed the handler, and with SA_NODEFER the signal is not blocked.
  // So raising the signal again ends the process.
  raise(number);
}

void fc_fault_cover(void *memory, stack_t *before) {
  const stack_t stack = {.ss_sp = memory, .ss_size = FC_FAULT_STACK_SIZE};
  *before = (stack_t){.ss_flags = SS_DISABLE};
  (void)sigaltstack(&stack, before);
}

void fc_fault_uncover(const stack_t *before) {
  (void)sigaltstack(before, NULL);
}

void fc_fault_watch(fc_fault_t *fault) {
  static const int kFaults[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                SIGABRT, SIGTRAP, SIGSYS};
  stack_t before;
  watch.fault = fault;
  fc_fault_cover(watch.stack, &before);
  struct sigaction action = {
      .sa_sigaction = on_fault,
      .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER)};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFaults); i++) {
    (void)sigaction(kFaults[i], &action, NULL);
  }
}

void fc_fault_before_load(void) { watch.objects = fc_loaded_count(); }

void fc_fault_after_load(void) { watch.module = fc_loaded_at(watch.objects); }
