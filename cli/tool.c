// SPDX-License-Identifier: Apache-2.0
//
// Finding and running tools. One at a time; the signal state is the process's.
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"

#define LLVM_SUFFIX "-22"
#define LLVM_DIRECTORY "/usr/lib/llvm-22/bin"

static volatile sig_atomic_t interrupted;

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

static void on_signal(int number) { interrupted = number; }

void fc_tool_catch_signals(void) {
  static const int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  // No SA_RESTART: waitpid must notice.
  struct sigaction action = {.sa_handler = on_signal};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSignals); i++) {
    sigaction(kSignals[i], &action, NULL);
  }
}

int fc_tool_interrupted(void) { return interrupted; }

static int start(const char *const *argv, const char *directory,
                 const char *log, pid_t *out_child) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions)) return ENOMEM;
  int failed = posix_spawn_file_actions_addchdir_np(&actions, directory);
  if (!failed) {
    failed =
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  }
  if (!failed) {
    failed = posix_spawn_file_actions_addopen(
        &actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  if (!failed) failed = posix_spawn_file_actions_adddup2(&actions, 1, 2);
  if (!failed) {
    // posix_spawn takes char *const[] but, like exec, does not write to it.
    char *const *spelled = (char *const *)(uintptr_t)argv;
    failed = posix_spawn(out_child, argv[0], &actions, NULL, spelled, environ);
  }
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

fc_status_t fc_tool_run(const char *const *argv, const char *directory,
                        const char *log, int *out_wait, fc_error_t *err) {
  if (interrupted) return fc_fail(err, FC_CODE_MODULE_LOAD, "interrupted");
  pid_t child;
  int failed = start(argv, directory, log, &child);
  if (failed) {
    return fc_fail(err, FC_CODE_MODULE_LOAD, "cannot run %s: %s", argv[0],
                   strerror(failed));
  }
  while (waitpid(child, out_wait, 0) != child) {
    if (errno != EINTR) {
      return fc_fail(err, FC_CODE_INTERNAL, "lost sight of %s: %s", argv[0],
                     strerror(errno));
    }
    if (interrupted) kill(child, SIGKILL);
  }
  // A signal to the whole group may have ended the tool and not the wait.
  if (interrupted) return fc_fail(err, FC_CODE_MODULE_LOAD, "interrupted");
  return FC_OK;
}
