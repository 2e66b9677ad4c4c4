// SPDX-License-Identifier: Apache-2.0
//
// Does not return, returns twice, or leaves a thread or a process behind. A function
// that leaves a process returns the process's id, so that a test can look for it.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

KIND(exit_0) { exit(0); }
KIND(exit_7) { exit(7); }
KIND(exit_at_once) { _exit(0); }
KIND(exit_thread) { pthread_exit(NULL); }
KIND(exit_past_libc) {
  // Ends only this thread, without running any handler.
  syscall(SYS_exit, 0);
  return 1;
}
KIND(exec_true) {
  execl("/bin/true", "true", (char *)NULL);
  return -1;
}
KIND(exec_sleep) {
  execl("/bin/sleep", "sleep", "1000", (char *)NULL);
  return -1;
}

KIND(endless_loop) {
  for (volatile uint64_t i = 0;; i++) continue;
}
KIND(endless_sleep) {
  for (;;) pause();
}
KIND(deaf_sleep) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  for (int i = 1; i < 65; i++) signal(i, SIG_IGN);
  for (;;) sleep(1000);
}
KIND(fault_for_ever) {
  // The handler returns to the instruction that faults.
  static void (*volatile handler)(int);
  extern void fault_again(int);
  handler = fault_again;
  signal(SIGSEGV, handler);
  return *(volatile int32_t *)(uintptr_t)(a & 0);
}
void fault_again(int number) { (void)number; }
KIND(wait_for_input) {
  char byte;
  return (int32_t)read(0, &byte, 1);  // 0: the input is empty
}

KIND(fork_child) {
  pid_t child = fork();
  if (child) return (int32_t)child;
  for (;;) pause();
}
KIND(fork_daemon) {
  int ends[2];
  pid_t child = -1;
  if (pipe(ends)) return -1;
  pid_t first = fork();
  if (first < 0) return -1;
  if (first == 0) {
    setsid();
    prctl(PR_SET_PDEATHSIG, 0);
    child = fork();
    if (child) {
      if (write(ends[1], &child, sizeof child) < 0) _exit(1);
      _exit(0);
    }
    for (;;) pause();
  }
  if (read(ends[0], &child, sizeof child) != sizeof child) child = -1;
  waitpid(first, NULL, 0);
  close(ends[0]);
  close(ends[1]);
  return (int32_t)child;
}
// The parent and the child both return.
KIND(fork_twice) {
  fork();
  return a;
}

static void *spin(void *context) {
  for (volatile uint64_t i = 0;; i++) continue;
  return context;
}
static void *fault_later(void *context) {
  usleep(30000);
  return (void *)(uintptr_t) * (volatile char *)context;
}
static int32_t leave_thread(void *(*run)(void *)) {
  pthread_t thread;
  return pthread_create(&thread, NULL, run, NULL);
}
KIND(thread_spins) { return leave_thread(spin); }
KIND(thread_faults_later) { return leave_thread(fault_later); }

KIND(kill_parent) { return kill(getppid(), SIGTERM); }
KIND(kill_everybody) { return kill(-1, 0); }  // 0 only asks if it could
KIND(limit_parent) {
  struct rlimit none = {0, 0};
  return prlimit(getppid(), RLIMIT_CPU, &none, NULL);
}
KIND(own_by_parent) { return fcntl(2, F_SETOWN, getppid()); }
KIND(block_bell) { return fcntl(4, F_SETFL, 0); }
KIND(trace_parent) {
  return (int32_t)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}
KIND(forget_parent) {
  prctl(PR_SET_PDEATHSIG, 0);
  return (int32_t)setsid() > 0;
}
