// SPDX-License-Identifier: Apache-2.0
//
// The jail's list of system calls with the numbers of AArch64, which are the kernel's
// generic ones; this is built on any machine. It does not compile if a call of call.def
// has no number there. It fails if an #ifdef leaves out a call that has one.
#include "helpers/test.h"

// The kernel defines these for AArch64 before it includes the generic list.
#define __ARCH_WANT_RENAMEAT
#define __ARCH_WANT_NEW_STAT
#define __ARCH_WANT_SET_GET_RLIMIT
#define __ARCH_WANT_TIME32_SYSCALLS
#define __ARCH_WANT_SYS_CLONE3
#define __ARCH_WANT_MEMFD_SECRET
#include <asm-generic/unistd.h>
// Defines SYS_x as __NR_x, which is AArch64's number because of the include above.
// <bits/syscall.h> refuses to be included alone unless _SYSCALL_H is defined.
#define _SYSCALL_H 1
#include <bits/syscall.h>

typedef struct call_t {
  const char *name;
  uint32_t number;
} call_t;

static const call_t kCalls[] = {
#define FC_JAIL_CALL(name, loading, calling, why) {#name, SYS_##name},
#include "jail/call.def"
#undef FC_JAIL_CALL
};

// Each row of the list with its number as text. A call without a number gives its name.
#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number
#define SYS_arch_prctl
#define SYS_poll
#define SYS_dup2
#define SYS_open
#define SYS_mkdir
#define SYS_pipe
#define SYS_fork
#define SYS_modify_ldt
static const struct {
  const char *name;
  const char *number;
} kRows[] = {
#define FC_JAIL_CALL(name, loading, calling, why) {#name, TEXT(__NR_##name)},
#include "jail/call.def"
#undef FC_JAIL_CALL
};

static const call_t *find(const char *name) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kCalls); i++) {
    if (strcmp(kCalls[i].name, name) == 0) return &kCalls[i];
  }
  return NULL;
}

static void no_call_is_left_out(void **state) {
  (void)state;
  size_t without = 0;
  FC_TEST_EACH_ROW(const __typeof__(kRows[0]), row, kRows) {
    const bool has = row->number[0] != '_';
    without += !has;
    assert_int_equal(find(row->name) != NULL, has);
  }
  assert_int_equal(without, FC_ARRAY_COUNT(kRows) - FC_ARRAY_COUNT(kCalls));
  assert_true(without > 30 && FC_ARRAY_COUNT(kCalls) > 200);
}

static void numbers_are_those_of_aarch64(void **state) {
  (void)state;
  // Numbers from the kernel's table that differ from those of x86-64.
  static const call_t known[] = {
      {"openat", 56},      {"write", 64},     {"futex", 98},
      {"exit_group", 94},  {"mmap", 222},     {"clone", 220},
      {"execve", 221},     {"seccomp", 277},  {"newfstatat", 79},
      {"getrlimit", 163},  {"renameat", 38},  {"clone3", 435},
      {"pidfd_open", 434}, {"prlimit64", 261}};
  FC_TEST_EACH_ROW(const call_t, row, known) {
    const call_t *call = find(row->name);
    assert_non_null(call);
    assert_int_equal(call->number, row->number);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(no_call_is_left_out),
      FC_TEST(numbers_are_those_of_aarch64),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
