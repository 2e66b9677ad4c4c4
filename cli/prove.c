// SPDX-License-Identifier: Apache-2.0
//
// The child opens the file again: what the backend has made here may have threads, which
// no child has.
#include "prove.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/print.h"
#include "farcall/call.h"

#define SECONDS 5
static const char kUntold[] = FC_BATCH_OFF
    "its random rows end the process, take too long or cannot be tried here";
_Static_assert(FC_VERDICT_SIZE <= PIPE_BUF, "a write is whole");

static void try_rows(fc_str_t path, size_t index, int pipe) {
  static const int kFatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  const fc_allocator_t allocator = fc_allocator_system();
  fc_module_t *module;
  char verdict[FC_VERDICT_SIZE] = "";
  fc_prove_t prove = {0};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFatal); i++) {
    (void)signal(kFatal[i], SIG_DFL);  // no word of crash.h
  }
  (void)signal(SIGALRM, SIG_DFL);
  alarm(SECONDS);
  if (fc_module_load(NULL, path, NULL, allocator, &module, NULL) != FC_OK ||
      index >= fc_module_function_count(module)) {
    return;
  }
  prove.function = fc_module_function(module, index);
  if (fc_module_get_backend(module)->instance_create(
          fc_module_get_handle(module), allocator, &prove.instance, NULL) ==
          FC_OK &&
      fc_frame_create(allocator, NULL, &prove.frame, NULL) == FC_OK &&
      fc_rows_prove(&prove, verdict, NULL) == FC_OK) {
    (void)!write(pipe, verdict, sizeof verdict);
  }
}

static pid_t start(const fc_function_t *function, int *out_pipe) {
  int ends[2];
  if (pipe(ends)) return -1;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    if (freopen("/dev/null", "w", stdout) &&
        freopen("/dev/null", "w", stderr)) {
      try_rows(fc_module_get_path(function->module), function->index, ends[1]);
    }
    _exit(0);
  }
  close(ends[1]);
  *out_pipe = ends[0];
  if (child < 0) close(ends[0]);
  return child;
}

void fc_local_prove(const fc_function_t *function,
                    char out_verdict[FC_VERDICT_SIZE]) {
  struct pollfd watched = {.fd = -1, .events = POLLIN};
  const pid_t child = start(function, &watched.fd);
  bool told = false;
  if (child > 0) {
    told = poll(&watched, 1, (SECONDS + 1) * 1000) > 0 &&
           read(watched.fd, out_verdict, FC_VERDICT_SIZE) == FC_VERDICT_SIZE;
    close(watched.fd);
    (void)kill(child, SIGKILL);  // it may have had no SIGALRM
    (void)waitpid(child, NULL, 0);
  }
  if (!told) memcpy(out_verdict, kUntold, sizeof kUntold);
  out_verdict[FC_VERDICT_SIZE - 1] = '\0';
}
