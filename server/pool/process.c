// SPDX-License-Identifier: Apache-2.0
//
// Uses posix_spawn, with every descriptor named. It returns only when the kernel has made
// the process and begun the program, so the nursery's thread calls it.
#include "pool/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pool/handoff.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

// Sources are moved above all targets, so that no dup2 overwrites a source that is still
// needed.
#define ABOVE 16

typedef struct files_t {
  int sources[FC_PROCESS_FILES];  // by target, -1: none
} files_t;

static bool raise_files(files_t *files) {
  for (int i = 0; i < FC_PROCESS_FILES; i++) {
    if (files->sources[i] < 0) continue;
    files->sources[i] = fcntl(files->sources[i], F_DUPFD_CLOEXEC, ABOVE);
    if (files->sources[i] >= 0) continue;
    while (i-- > 0) {
      if (files->sources[i] >= 0) close(files->sources[i]);
    }
    return false;
  }
  return true;
}

static void close_files(const files_t *files) {
  for (int i = 0; i < FC_PROCESS_FILES; i++) {
    if (files->sources[i] >= 0) close(files->sources[i]);
  }
}

// Gives the worker these files and no others. Returns 0 or an error number.
static int set_actions(posix_spawn_file_actions_t *actions,
                       const files_t *files) {
  int failed = 0;
  for (int i = 0; i < FC_PROCESS_FILES && !failed; i++) {
    failed =
        files->sources[i] < 0
            ? posix_spawn_file_actions_addclose(actions, i)
            : posix_spawn_file_actions_adddup2(actions, files->sources[i], i);
  }
  if (failed) return failed;
  return posix_spawn_file_actions_addclosefrom_np(actions, FC_PROCESS_FILES);
}

// Gives the process its own process group, so that Ctrl-C reaches only the server. No
// signal is blocked or ignored.
static void set_attributes(posix_spawnattr_t *attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &all);
  posix_spawnattr_setpgroup(attributes, 0);
  posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
                                           POSIX_SPAWN_SETSIGDEF |
                                           POSIX_SPAWN_SETPGROUP);
}

static int spawn(const fc_process_start_t *start, const files_t *files,
                 pid_t *out_pid) {
  char parent[16];
  snprintf(parent, sizeof parent, "%d", (int)getpid());
  const char *argv[] = {"farcalld", "--worker",        start->path,
                        parent,     start->parameters, NULL};
  static char *const kEnvironment[] = {NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  set_attributes(&attributes);
  int failed = set_actions(&actions, files);
  if (!failed) {
    failed = posix_spawn(out_pid, start->program, &actions, &attributes,
                         (char *const *)(uintptr_t)argv, kEnvironment);
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

static fc_status_t fail(const char *what, int error, fc_error_t *err) {
  const bool lacks =
      error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN;
  return fc_fail(
      err, lacks ? FC_CODE_OUT_OF_MEMORY : FC_CODE_MODULE_UNAVAILABLE,
      "cannot start a worker process: %s: %s", what, strerror(error));
}

fc_status_t fc_process_spawn(const fc_process_start_t *start,
                             fc_process_t *out_process, fc_error_t *err) {
  fc_process_t process = {.pidfd = -1, .bell = -1, .handoff = -1, .output = -1};
  int ends[2] = {-1, -1}, handoff[2] = {-1, -1};
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  process.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int error = 0;
  if (null < 0 || process.bell < 0 || pipe2(ends, O_CLOEXEC) < 0 ||
      !fc_handoff_open(handoff)) {
    error = errno;
  }
  files_t files = {.sources = {null, ends[1], ends[1], start->ring,
                               process.bell, handoff[1], start->files.module,
                               start->files.sidecar, start->network,
                               start->group}};
  if (!error && !raise_files(&files)) error = errno;
  else if (!error) {
    error = spawn(start, &files, &process.pid);
    close_files(&files);
  }
  if (null >= 0) close(null);
  if (ends[1] >= 0) close(ends[1]);
  if (handoff[1] >= 0) close(handoff[1]);
  process.output = ends[0];
  process.handoff = handoff[0];
  if (error) {
    fc_process_close(&process);
    return fail(start->program, error, err);
  }
  (void)fcntl(process.output, F_SETFL, O_NONBLOCK);
  // The process has not been reaped, so its number still belongs to it.
  process.pidfd = (int)syscall(SYS_pidfd_open, process.pid, 0);
  if (process.pidfd < 0) {
    error = errno;
    kill(process.pid, SIGKILL);
    (void)waitpid(process.pid, NULL, 0);
    fc_process_close(&process);
    return fail("pidfd_open", error, err);
  }
  *out_process = process;
  return FC_OK;
}

void fc_process_kill(const fc_process_t *process) {
  if (process->pidfd < 0) return;
  if (!syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0)) return;
  // Some containers refuse pidfd_send_signal. The process keeps its number until it is
  // reaped.
  const bool refused = errno == ENOSYS || errno == EPERM;
  if (refused && !process->reaped) (void)kill(process->pid, SIGKILL);
}

static uint64_t ns_of(struct timeval time) {
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

uint64_t fc_process_cpu_ns(const fc_process_t *process) {
  clockid_t clock;
  struct timespec taken;
  if (process->pidfd < 0) return 0;
  if (clock_getcpuclockid(process->pid, &clock)) return 0;
  if (clock_gettime(clock, &taken)) return 0;
  return (uint64_t)taken.tv_sec * 1000000000u + (uint64_t)taken.tv_nsec;
}

// Waits for the end, with the `options` of waitid.
static bool read_end(const fc_process_t *process, bool wait, int options,
                     fc_process_end_t *out_end) {
  // waitid does not wait if the pidfd is non-blocking, so the pidfd is polled first.
  struct pollfd ended = {.fd = process->pidfd, .events = POLLIN};
  while (poll(&ended, 1, wait ? -1 : 0) < 0 && errno == EINTR) continue;
  if (!(ended.revents & POLLIN)) return false;
  siginfo_t info = {0};
  *out_end = (fc_process_end_t){0};
  // If other code has reaped the process, it has ended nevertheless. The C library's
  // waitid does not return the rusage.
  struct rusage taken = {0};
  if (syscall(SYS_waitid, P_PIDFD, process->pidfd, &info, WEXITED | options,
              &taken)) {
    return true;
  }
  out_end->cpu_ns = ns_of(taken.ru_utime) + ns_of(taken.ru_stime);
  if (info.si_code == CLD_EXITED) out_end->code = info.si_status;
  else out_end->signal = info.si_status;
  return true;
}

bool fc_process_look(const fc_process_t *process, fc_process_end_t *out_end) {
  return read_end(process, false, WNOWAIT, out_end);
}

bool fc_process_reap(fc_process_t *process, bool wait,
                     fc_process_end_t *out_end) {
  process->reaped = read_end(process, wait, 0, out_end);
  return process->reaped;
}

void fc_process_close(fc_process_t *process) {
  int *const files[] = {&process->pidfd, &process->bell, &process->handoff,
                        &process->output};
  for (size_t i = 0; i < FC_ARRAY_COUNT(files); i++) {
    if (*files[i] >= 0) close(*files[i]);
    *files[i] = -1;
  }
}
