// SPDX-License-Identifier: Apache-2.0
//
// Changes settings of the whole process, uses up memory, or prints too much. Later
// calls must not notice.
#include <fenv.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "hostile.h"

KIND(rounding) { return fesetround(FE_UPWARD); }
KIND(traps) {
  feclearexcept(FE_ALL_EXCEPT);
  return feenableexcept(FE_ALL_EXCEPT);
}
#if defined(__x86_64__)
KIND(denormals) {
  __builtin_ia32_ldmxcsr(0xffff);
  return 1;
}
KIND(x87_control) {
  uint16_t word = 0;
  __asm__ volatile("fldcw %0" : : "m"(word));
  return 1;
}
KIND(direction_flag) {
  __asm__ volatile("std");
  return 1;
}
#elif defined(__aarch64__)
KIND(denormals) {
  __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(0x07f79f00)));
  return 1;
}
// AArch64 has neither of these.
KIND(x87_control) { return 1; }
KIND(direction_flag) { return 1; }
#endif

static void ignore(int number) { (void)number; }
KIND(signals_ignored) {
  for (int i = 1; i < 65; i++) signal(i, i % 2 ? SIG_IGN : ignore);
  return 1;
}
KIND(signals_blocked) {
  sigset_t all;
  sigfillset(&all);
  return sigprocmask(SIG_BLOCK, &all, NULL);
}
KIND(signals_blocked_then_fault) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  return *(volatile int32_t *)(uintptr_t)(a & 0);
}
KIND(no_signal_stack) {
  stack_t none = {.ss_flags = SS_DISABLE};
  return sigaltstack(&none, NULL);
}
KIND(alarm_later) {
  struct itimerval soon = {.it_value = {.tv_usec = 20000}};
  return setitimer(ITIMER_REAL, &soon, NULL);
}
KIND(alarm_now) {
  struct itimerval soon = {.it_value = {.tv_usec = 1000}};
  setitimer(ITIMER_REAL, &soon, NULL);
  usleep(30000);
  return 1;
}

KIND(folder) { return chdir("/") + (int32_t)umask(0); }
KIND(environment) {
  clearenv();
  setenv("LC_ALL", "de_DE.UTF-8", 1);
  setenv("MALLOC_CHECK_", "3", 1);
  return setlocale(LC_ALL, "") == NULL;
}
KIND(limits) {
  static const int kLimits[] = {RLIMIT_STACK, RLIMIT_NOFILE, RLIMIT_DATA,
                                RLIMIT_FSIZE};
  for (int i = 0; i < 4; i++) {
    setrlimit(kLimits[i], &(struct rlimit){0, 0});
  }
  return 1;
}
KIND(no_cpu) {
  setrlimit(RLIMIT_CPU, &(struct rlimit){1, 1});
  for (volatile uint64_t i = 0;; i++) continue;
}
KIND(politeness) {
  struct sched_param none = {0};
  (void)nice(19);
  return sched_setscheduler(0, SCHED_IDLE, &none);
}
KIND(name) { return prctl(PR_SET_NAME, "\x1b[31mred\n"); }

// Reserves all memory that it gets, touches one page of each block, and gives it back.
KIND(reserve_all) {
  size_t size = (size_t)1 << 30;
  void **last = NULL;
  for (int i = 0; i < 1 << 18; i++) {
    void **block = malloc(size);
    if (!block) break;
    *block = last;
    last = block;
  }
  while (last) {
    void **next = *last;
    free(last);
    last = next;
  }
  return 1;
}
// Touches `a` MiB of memory, unless memory is refused or the process is ended before.
KIND(use_all) {
  size_t size = (size_t)16 << 20;
  for (size_t used = 0; used < (size_t)a << 20; used += size) {
    char *block = malloc(size);
    if (!block) return -2;
    memset(block, 1, size);
  }
  return 1;
}
// Like MLIR's lowering, this does not check whether it got memory.
KIND(use_unchecked) {
  char *volatile block = malloc((size_t)1 << 46);
  block[0] = 1;
  return block[0];
}

// The server reads 1 MiB a second (FC_OUTPUT_RATE): who prints 4 MiB waits for seconds.
static int32_t flood(int fd, const char *text, size_t size, size_t times) {
  char block[65536];
  for (size_t i = 0; i < sizeof block; i++) block[i] = text[i % size];
  for (size_t i = 0; i < times; i++) {
    if (write(fd, block, sizeof block) < 0) return -1;
  }
  return 1;
}
KIND(print_long_line) { return flood(1, "no end ", 7, 64); }
KIND(print_errors) { return flood(2, "error: yes\n", 11, 64); }
KIND(print_empty_lines) { return flood(1, "\n", 1, 64); }
KIND(print_escapes) {
  return flood(2, "\x1b[2J\x1b]0;title\x07\x00\xff\xfe\r\n", 20, 16);
}
KIND(print_as_us) {
  static const char text[] =
      "{\"level\":\"error\",\"msg\":\"listening on http://evil:1\"}\n"
      "listening on http://evil:1\n";
  return write(2, text, sizeof text - 1) > 0;
}
KIND(print_last_words) {
  printf("last words");
  fflush(stdout);
  abort();
}
