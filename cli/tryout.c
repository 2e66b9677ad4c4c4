// SPDX-License-Identifier: Apache-2.0
#include "tryout.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void limit(unsigned seconds) {
  static const int kFatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFatal); i++) {
    (void)signal(kFatal[i], SIG_DFL);  // crash.h must not report them
  }
  (void)signal(SIGALRM, SIG_DFL);
  alarm(seconds);
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
  tryout->end_ns = fc_clock_ns() + (seconds + 1) * UINT64_C(1000000000);
  if (tryout->pid < 0) close(ends[0]);
  return tryout->pid > 0;
}

// Reads what comes before end_ns. The end of the pipe alone would not do: processes that
// the module has started may keep the pipe open.
static ssize_t read_in_time(const fc_tryout_t *tryout, void *out, size_t size) {
  const uint64_t now_ns = fc_clock_ns();
  struct pollfd watched = {tryout->pipe, POLLIN, 0};
  if (now_ns >= tryout->end_ns) return 0;
  const int left_ms = (int)((tryout->end_ns - now_ns) / 1000000) + 1;
  const int ready = poll(&watched, 1, left_ms);
  return ready > 0 ? read(tryout->pipe, out, size) : ready;
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
  (void)kill(tryout->pid, SIGKILL);  // it may have blocked SIGALRM
  while (waitpid(tryout->pid, NULL, 0) < 0 && errno == EINTR) {
  }
}
