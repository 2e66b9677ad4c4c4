// SPDX-License-Identifier: Apache-2.0
#include "tryout.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void limit(unsigned seconds) {
  static const int kFatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFatal); i++) {
    (void)signal(kFatal[i], SIG_DFL);  // crash.h must not report them
  }
  const struct itimerval taken = {.it_value = {.tv_sec = (time_t)seconds}};
  (void)signal(SIGPROF, SIG_DFL);
  (void)signal(SIGALRM, SIG_DFL);
  (void)setitimer(ITIMER_PROF, &taken, NULL);
  alarm(seconds * FC_TRYOUT_TIMES);
}

bool fc_tryout_start(fc_tryout_t *tryout, unsigned seconds,
                     void (*run)(const void *context, int pipe),
                     const void *context) {
  int ends[2];
  if (pipe(ends)) return false;
  fflush(NULL);
  tryout->pid = fork();
  if (tryout->pid == 0) {
    close(ends[0]);
    limit(seconds);
    if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
      run(context, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  tryout->pipe = ends[0];
  tryout->end_ns =
      fc_clock_ns() + (seconds * FC_TRYOUT_TIMES + 1) * UINT64_C(1000000000);
  if (tryout->pid < 0) close(ends[0]);
  return tryout->pid > 0;
}

// Waits until the file can be read, as long as the child may run. 0: it cannot.
static int wait_for(const fc_tryout_t *tryout, int file) {
  const uint64_t now_ns = fc_clock_ns();
  struct pollfd watched = {file, POLLIN, 0};
  if (now_ns >= tryout->end_ns) return 0;
  return poll(&watched, 1, (int)((tryout->end_ns - now_ns) / 1000000) + 1);
}

// The end of the pipe alone would not do: processes that the module has started may keep
// the pipe open.
static ssize_t read_in_time(const fc_tryout_t *tryout, void *out, size_t size) {
  const int ready = wait_for(tryout, tryout->pipe);
  return ready > 0 ? read(tryout->pipe, out, size) : ready;
}

// A child that has told all ends by itself. If it were killed before, what watches it
// (coverage, counts of system calls) would now and then lack its end.
static void await_end(const fc_tryout_t *tryout) {
  const int child = (int)syscall(SYS_pidfd_open, tryout->pid, 0);
  if (child < 0) return;
  while (wait_for(tryout, child) < 0 && errno == EINTR) {
  }
  close(child);
}

bool fc_tryout_hear(const fc_tryout_t *tryout, void *out, size_t size) {
  ssize_t got;
  do {
    got = read_in_time(tryout, out, size);
  } while (got < 0 && errno == EINTR);
  return got == (ssize_t)size;
}

void fc_tryout_end(const fc_tryout_t *tryout) {
  close(tryout->pipe);
  await_end(tryout);
  (void)kill(tryout->pid, SIGKILL);  // the module may have blocked the signals
  while (waitpid(tryout->pid, NULL, 0) < 0 && errno == EINTR) {
  }
}
