// SPDX-License-Identifier: Apache-2.0
//
// The helpers of --tiles. The thread of a call and the helpers claim parts under the
// lock and run them until none is left; then the call's thread waits for those still
// running.
#include "pool/tiles.h"

#include <pthread.h>
#include <signal.h>

#include "pool/fault.h"

struct fc_helpers_t {
  fc_allocator_t allocator;
  fc_tiles_t tiles;
  pthread_t threads[FC_TILES_MAX];
  uint32_t started;
  pthread_mutex_t taken;  // held by the call that has the helpers
  pthread_mutex_t lock;   // protects all members below
  pthread_cond_t work;
  pthread_cond_t done;
  bool leave;
  // What to run; NULL before the first call.
  void (*part)(void *argument, uint32_t index);
  void *argument;
  uint32_t count;
  uint32_t next;
  uint32_t running;
};

// Runs parts until all are claimed. Called under the lock, which is released
// while a part runs.
static void run_parts(fc_helpers_t *helpers) {
  while (helpers->next < helpers->count) {
    const uint32_t index = helpers->next++;
    helpers->running++;
    pthread_mutex_unlock(&helpers->lock);
    helpers->part(helpers->argument, index);
    pthread_mutex_lock(&helpers->lock);
    helpers->running--;
  }
}

static void *help(void *context) {
  fc_helpers_t *helpers = context;
  // At the end of the thread's stack that is filled last.
  _Alignas(16) uint8_t reports[FC_FAULT_STACK_SIZE];
  stack_t before;
  fc_fault_cover(reports, &before);
  pthread_mutex_lock(&helpers->lock);
  while (!helpers->leave) {
    run_parts(helpers);
    if (helpers->running == 0) pthread_cond_signal(&helpers->done);
    pthread_cond_wait(&helpers->work, &helpers->lock);
  }
  pthread_mutex_unlock(&helpers->lock);
  fc_fault_uncover(&before);
  return NULL;
}

static void run(void *context, uint32_t count,
                void (*part)(void *argument, uint32_t index), void *argument) {
  fc_helpers_t *helpers = context;
  if (pthread_mutex_trylock(&helpers->taken)) {
    for (uint32_t i = 0; i < count; i++) part(argument, i);
    return;
  }
  pthread_mutex_lock(&helpers->lock);
  helpers->part = part;
  helpers->argument = argument;
  helpers->next = 0;
  helpers->count = count;
  pthread_cond_broadcast(&helpers->work);
  run_parts(helpers);
  while (helpers->running) pthread_cond_wait(&helpers->done, &helpers->lock);
  helpers->count = 0;
  pthread_mutex_unlock(&helpers->lock);
  pthread_mutex_unlock(&helpers->taken);
}

fc_status_t fc_helpers_create(fc_allocator_t allocator, uint32_t count,
                              fc_helpers_t **out_helpers, fc_error_t *err) {
  FC_ASSERT(count >= 2 && count <= FC_TILES_MAX);
  fc_helpers_t *helpers = fc_alloc(allocator, sizeof *helpers);
  if (!helpers) return fc_fail_memory(err);
  helpers->allocator = allocator;
  helpers->tiles = (fc_tiles_t){helpers, count, run};
  pthread_mutex_init(&helpers->taken, NULL);
  pthread_mutex_init(&helpers->lock, NULL);
  pthread_cond_init(&helpers->work, NULL);
  pthread_cond_init(&helpers->done, NULL);
  // The helpers block all signals but faults: other threads handle those that
  // are sent to the process. By SIGSYS the jail refuses a system call.
  sigset_t all, before;
  sigfillset(&all);
  static const int kFaults[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                SIGABRT, SIGTRAP, SIGSYS};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFaults); i++) {
    sigdelset(&all, kFaults[i]);
  }
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (helpers->started < count - 1 &&
         !pthread_create(&helpers->threads[helpers->started], NULL, help,
                         helpers)) {
    helpers->started++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (helpers->started < count - 1) {
    fc_helpers_destroy(helpers);
    return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "cannot start %u threads",
                   count - 1);
  }
  *out_helpers = helpers;
  return FC_OK;
}

void fc_helpers_destroy(fc_helpers_t *helpers) {
  if (!helpers) return;
  pthread_mutex_lock(&helpers->lock);
  helpers->leave = true;
  pthread_cond_broadcast(&helpers->work);
  pthread_mutex_unlock(&helpers->lock);
  for (uint32_t i = 0; i < helpers->started; i++) {
    pthread_join(helpers->threads[i], NULL);
  }
  pthread_cond_destroy(&helpers->done);
  pthread_cond_destroy(&helpers->work);
  pthread_mutex_destroy(&helpers->lock);
  pthread_mutex_destroy(&helpers->taken);
  fc_free(helpers->allocator, helpers);
}

const fc_tiles_t *fc_helpers_tiles(const fc_helpers_t *helpers) {
  return &helpers->tiles;
}
