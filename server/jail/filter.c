// SPDX-License-Identifier: Apache-2.0
//
// A filter compares the number of a system call with one row of call.def after another,
// and jumps over the instructions of rows that do not match. So rows further down take
// longer. Since 5.11 the kernel remembers the numbers that are allowed with any
// arguments, and runs no filter for them.
#include "jail/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#ifndef SYS_process_mrelease
#define SYS_process_mrelease 448
#endif

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the seccomp filter does not know this architecture"
#endif

const fc_jail_call_t fc_jail_calls[] = {
#define FC_JAIL_CALL(name, loading, calling, why) \
  {#name, SYS_##name, {FC_RULE_##loading, FC_RULE_##calling}},
#include "jail/call.def"
#undef FC_JAIL_CALL
};
const size_t fc_jail_call_count = FC_ARRAY_COUNT(fc_jail_calls);

// Stands in rule.def for the number of the process. No other value there is equal to
// it.
#define OWN_PID 0xffffff01u

typedef enum test_t { ONE_OF, OTHER_THAN, ALL_OF, NONE_OF } test_t;

#define VALUES_MAX 8
typedef struct rule_t {
  test_t test;
  uint8_t argument;
  uint8_t count;
  uint32_t values[VALUES_MAX];
} rule_t;

#define COUNT_OF(...) (sizeof((const uint32_t[]){__VA_ARGS__}) / 4)
static const rule_t kRules[] = {
#define FC_JAIL_RULE(name, argument, test, ...) \
  [FC_RULE_##name] = {test, argument, COUNT_OF(__VA_ARGS__), {__VA_ARGS__}},
#include "jail/rule.def"
#undef FC_JAIL_RULE
};

#define REFUSED SECCOMP_RET_TRAP
#define FAILS(error) (SECCOMP_RET_ERRNO | (error))

static void emit(fc_filter_t *filter, struct sock_filter instruction) {
  FC_ASSERT(filter->size < FC_FILTER_MAX);
  filter->code[filter->size++] = instruction;
}

static void load(fc_filter_t *filter, size_t offset) {
  emit(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                            (uint32_t)offset));
}

static void give(fc_filter_t *filter, uint32_t action) {
  emit(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void jump(fc_filter_t *filter, uint16_t test, uint32_t value,
                 size_t skip_if, size_t skip_else) {
  emit(filter,
       (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | BPF_K | test), value,
                                    (uint8_t)skip_if, (uint8_t)skip_else));
}

// Loads the low four bytes of an argument. The kernel ignores the high bytes, or (mmap,
// mprotect) the rules test no bit in them.
static size_t argument_offset(uint8_t argument) {
  return offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t);
}

// Returns the number of instructions that compare an argument.
static size_t count_tests(const rule_t *rule) {
  return rule->test == ONE_OF || rule->test == OTHER_THAN ? rule->count : 1u;
}

// The tests jump over the first of two actions, or continue with it.
static void emit_rule(fc_filter_t *filter, const rule_t *rule, uint32_t action,
                      uint32_t refusal) {
  const size_t count = count_tests(rule);
  load(filter, argument_offset(rule->argument));
  for (size_t i = 0; i < count; i++) {
    const uint32_t one = rule->values[i];
    const uint32_t value = one == OWN_PID ? (uint32_t)getpid() : one;
    if (rule->test == ALL_OF) jump(filter, BPF_JSET, value, 1, 0);
    else if (rule->test == NONE_OF) jump(filter, BPF_JSET, value, 0, 1);
    else jump(filter, BPF_JEQ, value, count - i, 0);
  }
  give(filter, rule->test == OTHER_THAN ? action : refusal);
  give(filter, rule->test == OTHER_THAN ? refusal : action);
}

// `action` is for a call whose arguments match the rule, `refusal` for other calls.
static void emit_call(fc_filter_t *filter, uint32_t number, fc_jail_rule_t rule,
                      uint32_t action, uint32_t refusal) {
  if (rule <= FC_RULE_ABSENT) {
    const uint32_t actions[] = {[FC_RULE_ANY] = SECCOMP_RET_ALLOW,
                                [FC_RULE_NO] = refusal,
                                [FC_RULE_ABSENT] = FAILS(ENOSYS)};
    jump(filter, BPF_JEQ, number, 0, 1);
    give(filter, actions[rule]);
    return;
  }
  jump(filter, BPF_JEQ, number, 0, count_tests(&kRules[rule]) + 3);
  emit_rule(filter, &kRules[rule], action, refusal);
}

// Refuses calls by another architecture's numbers, which mean other calls. Then loads the
// number of the call.
static void emit_head(fc_filter_t *filter, uint32_t refusal) {
  filter->size = 0;
  load(filter, offsetof(struct seccomp_data, arch));
  jump(filter, BPF_JEQ, ARCHITECTURE, 1, 0);
  give(filter, refusal);
  load(filter, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
  // The x32 numbers are the same calls a second time.
  jump(filter, BPF_JGE, 0x40000000u, 0, 1);
  give(filter, refusal);
#endif
}

void fc_filter_make_loose(fc_filter_t *out_filter) {
  emit_head(out_filter, REFUSED);
  for (size_t i = 0; i < fc_jail_call_count; i++) {
    const fc_jail_call_t *call = &fc_jail_calls[i];
    if (call->rules[FC_PHASE_LOADING] != FC_RULE_NO) continue;
    emit_call(out_filter, call->number, FC_RULE_NO, 0, REFUSED);
  }
  give(out_filter, SECCOMP_RET_ALLOW);
}

void fc_filter_make_basic(fc_filter_t *out_filter) {
  static const struct {
    uint32_t number;
    fc_jail_rule_t rule;
  } kCalls[] = {
#define FC_BASIC_CALL(name, rule) {SYS_##name, FC_RULE_##rule},
#include "jail/basic.def"
#undef FC_BASIC_CALL
  };
  emit_head(out_filter, FAILS(EPERM));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kCalls); i++) {
    emit_call(out_filter, kCalls[i].number, kCalls[i].rule, SECCOMP_RET_ALLOW,
              FAILS(EPERM));
  }
  give(out_filter, SECCOMP_RET_ALLOW);
}

void fc_filter_make(fc_phase_t phase, fc_filter_t *out_filter) {
  const bool alone = phase == FC_PHASE_ALONE;
  emit_head(out_filter, REFUSED);
  for (size_t i = 0; i < fc_jail_call_count; i++) {
    const fc_jail_call_t *call = &fc_jail_calls[i];
    const fc_jail_rule_t rule = call->rules[alone ? FC_PHASE_CALLING : phase];
    if (rule == FC_RULE_NO) continue;  // refused at the end of the filter
    // The C library blocks all signals while it begins a thread, so SIGSYS would end the
    // process. So clone fails with EAGAIN, as if there were too many threads.
    const bool fails = alone && rule == FC_RULE_THREAD;
    emit_call(out_filter, call->number, rule,
              fails ? FAILS(EAGAIN) : SECCOMP_RET_ALLOW, REFUSED);
  }
  give(out_filter, REFUSED);
}

fc_status_t fc_filter_install(const fc_filter_t *filter, fc_error_t *err) {
  const struct sock_fprog program = {
      filter->size, (struct sock_filter *)(uintptr_t)filter->code};
  const long failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                              SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (!failed) return FC_OK;
  return fc_fail(
      err, FC_CODE_MODULE_UNAVAILABLE,
      "a worker cannot set a seccomp filter: %s",
      failed > 0 ? "a thread has filters of its own" : strerror(errno));
}
