// SPDX-License-Identifier: Apache-2.0
//
// The calls are made by a child, which a module may end or keep from ending; it tells each
// verdict through a pipe.
#include "doctor/rows.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/print.h"
#include "local.h"
#include "module/prove.h"

#define SECONDS 60  // for all functions
#define UNTRIED FC_BATCH_OFF "they cannot be tried here"

#define BEGINS UINT32_MAX  // told before the first function is tried

typedef struct told_t {
  uint32_t function;
  char verdict[FC_VERDICT_SIZE];
} told_t;
_Static_assert(sizeof(told_t) <= PIPE_BUF, "a write is whole");

static bool tell(const told_t *told, int pipe) {
  return write(pipe, told, sizeof *told) == (ssize_t)sizeof *told;
}

static bool try_function(const fc_function_t *function, int pipe) {
  fc_local_bound_t bound = {0};
  told_t told = {.function = (uint32_t)function->index};
  fc_status_t status = fc_local_bind(function, &bound, NULL);
  if (status == FC_OK) {
    const fc_prove_t prove = {
        .function = function, .instance = bound.instance, .frame = bound.frame};
    status = fc_rows_prove(&prove, told.verdict, NULL);
    fc_local_unbind(&bound);
  }
  if (status != FC_OK) memcpy(told.verdict, UNTRIED, sizeof UNTRIED);
  return tell(&told, pipe);
}

static void try_all(const char *path, int pipe) {
  static const told_t kBegins = {.function = BEGINS};
  fc_module_t *module;
  alarm(SECONDS);
  if (fc_module_load(NULL, fc_str(path), NULL, fc_allocator_system(), &module,
                     NULL) != FC_OK) {
    return;
  }
  bool goes_on = tell(&kBegins, pipe);
  for (size_t i = 0; goes_on && i < fc_module_function_count(module); i++) {
    const fc_function_t *function = fc_module_function(module, i);
    if (fc_rows_may_batch(function)) goes_on = try_function(function, pipe);
  }
}

static void add(fc_checkup_t *checkup, const fc_function_t *function,
                const char *verdict) {
  const fc_str_t name = fc_arena_copy(checkup->arena, function->name);
  if (!strcmp(verdict, FC_BATCH_EXACT) ||
      !strcmp(verdict, FC_BATCH_APPROXIMATE)) {
    fc_checkup_add(checkup, FC_LEVEL_NOTE, FC_SUBJECT_SPEED, name, "",
                   fc_checkup_print(checkup,
                                    "its rows do not depend on each other "
                                    "(%s): it takes any number of them",
                                    verdict),
                   "");
    return;
  }
  fc_checkup_add(checkup, FC_LEVEL_NOTE, FC_SUBJECT_SPEED, name, "",
                 fc_checkup_print(checkup, "its rows are not batched: %s",
                                  verdict + strlen(FC_BATCH_OFF)),
                 "");
}

// Has the child begun?
static bool read_told(fc_checkup_t *checkup, const fc_module_t *module,
                      int pipe, bool *tried) {
  bool begun = false;
  const uint64_t end_ns = fc_clock_ns() + (SECONDS + 1) * UINT64_C(1000000000);
  struct pollfd watched = {pipe, POLLIN, 0};
  told_t told;
  uint64_t now_ns;
  while ((now_ns = fc_clock_ns()) < end_ns &&
         poll(&watched, 1, (int)((end_ns - now_ns) / 1000000) + 1) > 0 &&
         read(pipe, &told, sizeof told) == (ssize_t)sizeof told &&
         (told.function == BEGINS ||
          told.function < fc_module_function_count(module))) {
    begun = true;
    if (told.function == BEGINS) continue;
    told.verdict[sizeof told.verdict - 1] = '\0';
    tried[told.function] = true;
    add(checkup, fc_module_function(module, told.function), told.verdict);
  }
  return begun;
}

static pid_t start(const char *path, int *out_pipe) {
  int ends[2];
  if (pipe(ends)) return -1;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
      try_all(path, ends[1]);
    _exit(0);
  }
  close(ends[1]);
  *out_pipe = ends[0];
  if (child < 0) close(ends[0]);
  return child;
}

void fc_doctor_rows(fc_checkup_t *checkup, const fc_module_t *module) {
  const size_t count = fc_module_function_count(module);
  bool *tried = fc_arena_alloc_array(checkup->arena, count + 1, sizeof *tried);
  int pipe = -1;
  bool begun = false;
  if (!fc_module_has_rows(module)) return;
  if (!tried) {
    checkup->out_of_memory = true;
    return;
  }
  const pid_t child = start(checkup->path, &pipe);
  if (child > 0) {
    begun = read_told(checkup, module, pipe, tried);
    close(pipe);
    (void)kill(child, SIGKILL);  // it may have had no SIGALRM
    (void)waitpid(child, NULL, 0);
  }
  for (size_t i = 0; i < count; i++) {
    const fc_function_t *function = fc_module_function(module, i);
    if (fc_rows_may_batch(function) && !tried[i]) {
      add(checkup, function,
          begun ? FC_BATCH_OFF "its random rows end the process, or take "
                               "too long"
                : UNTRIED);
    }
  }
}
