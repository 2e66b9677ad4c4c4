// SPDX-License-Identifier: Apache-2.0
//
// A child process makes the calls, because a module may end its process or never return.
// The child reports each verdict through a pipe.
#include "doctor/rows.h"

#include <limits.h>
#include <unistd.h>

#include "abi/print.h"
#include "tryout.h"
#include "local.h"
#include "module/prove.h"

#define SECONDS 30  // for all functions
#define UNTRIED FC_BATCH_OFF "they cannot be tried here"

#define BEGINS UINT32_MAX  // sent before the first function is tried

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

static void try_all(const void *path, int pipe) {
  static const told_t kBegins = {.function = BEGINS};
  fc_module_t *module;
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

// Reads the child's verdicts. False: the child has not begun.
static bool read_told(fc_checkup_t *checkup, const fc_module_t *module,
                      const fc_tryout_t *tryout, bool *tried) {
  bool begun = false;
  told_t told;
  while (fc_tryout_hear(tryout, &told, sizeof told) &&
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

void fc_doctor_rows(fc_checkup_t *checkup, const fc_module_t *module) {
  const size_t count = fc_module_function_count(module);
  bool *tried = fc_arena_alloc_array(checkup->arena, count + 1, sizeof *tried);
  fc_tryout_t tryout;
  bool begun = false;
  if (!fc_module_has_rows(module)) return;
  if (!tried) {
    checkup->out_of_memory = true;
    return;
  }
  if (fc_tryout_start(&tryout, SECONDS, try_all, checkup->path)) {
    begun = read_told(checkup, module, &tryout, tried);
    fc_tryout_end(&tryout);
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
