// SPDX-License-Identifier: Apache-2.0
//
// Finds and runs tools, one at a time. The signal handlers are for the whole process.
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"

#define LLVM_SUFFIX "-22"
#define LLVM_DIRECTORY "/usr/lib/llvm-22/bin"

static volatile sig_atomic_t interrupted;
static volatile pid_t running;  // the tool that a signal ends, 0: none;
                                // changed only while signals are blocked

static const char *usable(fc_arena_t *arena, const char *directory, size_t size,
                          const char *name, const char *suffix) {
  if (!size) return NULL;
  const char *path =
      fc_print(arena, "%.*s/%s%s", (int)size, directory, name, suffix);
  return path && !access(path, X_OK) ? path : NULL;
}

static const char *along_path(fc_arena_t *arena, const char *name,
                              const char *suffix) {
  const char *at = getenv("PATH");
  while (at && *at) {
    size_t size = strcspn(at, ":");
    const char *found = usable(arena, at, size, name, suffix);
    if (found) return found;
    at += size + (at[size] == ':');
  }
  return NULL;
}

const char *fc_tool_find(fc_arena_t *arena, const char *name,
                         const char *directory) {
  const char *found = NULL;
  if (directory) {
    char whole[PATH_MAX];  // absolute: tools run in another directory
    if (!realpath(directory, whole)) return NULL;
    found = usable(arena, whole, strlen(whole), name, "");
    if (found) return found;
    return usable(arena, whole, strlen(whole), name, LLVM_SUFFIX);
  }
  if ((found = along_path(arena, name, LLVM_SUFFIX))) return found;
  found = usable(arena, LLVM_DIRECTORY, strlen(LLVM_DIRECTORY), name, "");
  return found ? found : along_path(arena, name, "");
}

// When the tools began to run; 0: no progress is shown.
static uint64_t begin_ns;
static bool shown;
static bool by_lines;  // stderr is no terminal: each report is a new line

static void on_tick(int number) { (void)number; }

static void show_progress(const char *tool) {
  if (by_lines) {
    fprintf(stderr, "farcall: note: %s still runs after %" PRIu64 " s\n",
            fc_file_base(tool), (fc_clock_ns() - begin_ns) / 1000000000);
    return;
  }
  fprintf(stderr, "\r\x1b[K%s, %" PRIu64 " s", fc_file_base(tool),
          (fc_clock_ns() - begin_ns) / 1000000000);
  shown = true;
}

static void clear_progress(void) {
  if (shown) fputs("\r\x1b[K", stderr);
  shown = false;
}

void fc_tool_show_progress(bool soon) {
  by_lines = !isatty(STDERR_FILENO);
  // Each tick interrupts the wait for the tool.
  const struct sigaction action = {.sa_handler = on_tick};
  const time_t every_s = !by_lines ? 1 : soon ? 10 : 60;
  const struct itimerval ticks = {{every_s, 0}, {every_s, 0}};
  begin_ns = fc_clock_ns();
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &ticks, NULL);
}

void fc_tool_hide_progress(void) {
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  begin_ns = 0;
}

static const int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// The tool leads a process group, so its children end with it: iree-compile, for example,
// is a script that starts the compiler.
static void on_signal(int number) {
  interrupted = number;
  if (running > 0) kill(-running, SIGKILL);
}

static void set_handler(void (*handler)(int)) {
  const struct sigaction action = {.sa_handler = handler};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSignals); i++) {
    struct sigaction before;
    // Signals that nohup has made us ignore stay ignored.
    if (sigaction(kSignals[i], NULL, &before)) continue;
    if (before.sa_handler != SIG_IGN) sigaction(kSignals[i], &action, NULL);
  }
}

void fc_tool_catch_signals(void) { set_handler(on_signal); }

void fc_tool_release_signals(void) { set_handler(SIG_DFL); }

int fc_tool_interrupted(void) { return interrupted; }

// Blocks the signals and returns the mask from before.
static sigset_t hold_signals(void) {
  sigset_t ours, before;
  sigemptyset(&ours);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSignals); i++) {
    sigaddset(&ours, kSignals[i]);
  }
  sigprocmask(SIG_BLOCK, &ours, &before);
  return before;
}

// Variables that are not passed to tools: the token, which is for servers, and TMPDIR.
// TMPDIR becomes the work directory, so that files that a tool leaves behind are removed.
#define NO_TOKEN "FARCALL_TOKEN="
#define TEMPORARY "TMPDIR="

// Makes the environment of a tool that works in `directory`. It is one allocation, which
// the caller frees. NULL: no memory.
static char **make_environment(const char *directory) {
  static const char *const given[] = {"PYTHONDONTWRITEBYTECODE=1"};
  size_t count = 0;
  const size_t size = sizeof TEMPORARY + strlen(directory);
  while (environ[count]) count++;
  const size_t pointers = (count + FC_ARRAY_COUNT(given) + 2) * sizeof(char *);
  char **made = fc_alloc(fc_allocator_system(), pointers + size);
  if (!made) return NULL;
  char *temporary = (char *)made + pointers;
  snprintf(temporary, size, TEMPORARY "%s", directory);
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    const fc_str_t variable = fc_str(environ[i]);
    if (fc_str_starts(variable, FC_STR(NO_TOKEN))) continue;
    if (fc_str_starts(variable, FC_STR(TEMPORARY))) continue;
    made[used++] = environ[i];
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(given); i++) {
    made[used++] = (char *)(uintptr_t)given[i];
  }
  made[used++] = temporary;
  made[used] = NULL;
  return made;
}

static int open_files(posix_spawn_file_actions_t *actions,
                      const char *directory, const char *log) {
  int failed = posix_spawn_file_actions_addchdir_np(actions, directory);
  if (failed) return failed;
  failed =
      posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
  if (failed) return failed;
  failed = posix_spawn_file_actions_addopen(actions, 1, log,
                                            O_WRONLY | O_CREAT | O_TRUNC, 0600);
  return failed ? failed : posix_spawn_file_actions_adddup2(actions, 1, 2);
}

// Starts the tool with `mask`, the signal mask from before hold_signals.
static int start(const char *const *argv, const char *directory,
                 const char *log, const sigset_t *mask, pid_t *out_child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  char **variables = make_environment(directory);
  if (!variables) return ENOMEM;
  int failed = posix_spawn_file_actions_init(&actions);
  if (!failed) {
    failed = posix_spawnattr_init(&attributes);
    if (!failed) {
      posix_spawnattr_setflags(&attributes,
                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
      posix_spawnattr_setsigmask(&attributes, mask);
      failed = open_files(&actions, directory, log);
      // posix_spawn takes char *const[] but, like exec, does not write to it.
      char *const *spelled = (char *const *)(uintptr_t)argv;
      if (!failed) {
        failed = posix_spawn(out_child, argv[0], &actions, &attributes, spelled,
                             variables);
      }
      posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  fc_free(fc_allocator_system(), variables);
  return failed;
}

fc_status_t fc_tool_run(const char *const *argv, const char *directory,
                        const char *log, int *out_wait, fc_error_t *err) {
  pid_t child = 0;
  // While signals are blocked, none can come between the start of the tool and the
  // assignment to `running`.
  sigset_t before = hold_signals();
  int failed = interrupted ? 0 : start(argv, directory, log, &before, &child);
  running = child;
  sigprocmask(SIG_SETMASK, &before, NULL);
  if (failed) {
    return fc_fail(err, FC_CODE_MODULE_LOAD, "cannot run %s: %s", argv[0],
                   strerror(failed));
  }
  // Waits without reaping, so that the pid in `running` cannot become another process's.
  siginfo_t info;
  int waited = 0;
  bool again;
  do {
    if (child) waited = waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    again = waited < 0 && errno == EINTR;
    if (again && begin_ns) show_progress(argv[0]);
  } while (again);
  clear_progress();
  before = hold_signals();
  running = 0;
  sigprocmask(SIG_SETMASK, &before, NULL);
  pid_t ended = 0;
  do {
    if (child) ended = waitpid(child, out_wait, 0);
  } while (ended < 0 && errno == EINTR);
  bool reaped = child && ended == child;
  if (interrupted) return fc_fail(err, FC_CODE_MODULE_LOAD, "interrupted");
  return reaped ? FC_OK
                : fc_fail(err, FC_CODE_INTERNAL, "cannot wait for %s: %s",
                          argv[0], strerror(errno));
}
