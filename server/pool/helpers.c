// SPDX-License-Identifier: Apache-2.0
//
// The helpers of --tiles. The thread of a call and the helpers claim parts until none is
// left; then the call's thread waits for the running parts.
//
// A call runs many grids in close succession, and waking a thread takes longer than many
// grids. So threads poll for a while before they sleep: helpers for the next grid, the
// call's thread for the end of the last part.
#include "pool/helpers.h"

#include <pthread.h>
#include <signal.h>

#include "control/signal_mask.h"
#include "pool/fault.h"
#include "pool/spin.h"

#define LOOK_NS \
  100000u         // longer than the time that passes between most calls' grids
#define LOOKS 64  // between two looks at the clock

// A helper polls this many times longer than a worker, because a grid that is not split
// may come between two split grids.
#define LONGER 5

struct fc_helpers_t {
  fc_allocator_t allocator;
  fc_tiles_t tiles;
  pthread_t threads[FC_TILES_MAX];
  uint32_t started;
  pthread_mutex_t taken;  // held by the call that has the helpers
  fc_spin_t spin;         // of that call's thread
  // A thread that goes to sleep holds the lock from its last check until it sleeps. A
  // thread that wakes others takes the lock too.
  pthread_mutex_t lock;
  pthread_cond_t work;
  pthread_cond_t done;
  atomic_uint helpers_asleep;
  atomic_bool call_asleep;
  atomic_bool leave;
  // The work. The call's thread writes it while no part is claimed or runs.
  void (*part)(void *argument, uint32_t index);
  void *argument;
  uint32_t count;
  // The number of unclaimed parts, and of parts that have not ended. A thread that has
  // claimed a part may read the members above until that part has ended.
  atomic_uint unclaimed;
  atomic_uint unfinished;
};

// Claims a part. False: no part is left. Parts are numbered from 0 in the order of the
// claims.
static bool claim(fc_helpers_t *helpers, uint32_t *out_index) {
  unsigned left = atomic_load(&helpers->unclaimed);
  while (left &&
         !atomic_compare_exchange_weak(&helpers->unclaimed, &left, left - 1)) {
  }
  if (left) *out_index = helpers->count - left;
  return left;
}

static void end_part(fc_helpers_t *helpers) {
  if (atomic_fetch_sub(&helpers->unfinished, 1) != 1) return;
  if (!atomic_load(&helpers->call_asleep)) return;
  pthread_mutex_lock(&helpers->lock);
  pthread_cond_signal(&helpers->done);
  pthread_mutex_unlock(&helpers->lock);
}

static void run_parts(fc_helpers_t *helpers) {
  uint32_t index;
  while (claim(helpers, &index)) {
    helpers->part(helpers->argument, index);
    end_part(helpers);
  }
}

// Returns whether `ready` became true while the thread polled.
static bool look(fc_helpers_t *helpers, fc_spin_t *spin,
                 bool (*ready)(fc_helpers_t *helpers)) {
  for (bool on = fc_spin_begin(spin); on; on = fc_spin_more(spin)) {
    if (ready(helpers)) return fc_spin_hit(spin);
  }
  return false;
}

static bool has_work(fc_helpers_t *helpers) {
  return atomic_load(&helpers->unclaimed) || atomic_load(&helpers->leave);
}

static bool is_done(fc_helpers_t *helpers) {
  return !atomic_load(&helpers->unfinished);
}

static void await_work(fc_helpers_t *helpers, fc_spin_t *spin) {
  if (look(helpers, spin, has_work)) return;
  pthread_mutex_lock(&helpers->lock);
  atomic_fetch_add(&helpers->helpers_asleep, 1);
  while (!has_work(helpers)) {
    pthread_cond_wait(&helpers->work, &helpers->lock);
  }
  atomic_fetch_sub(&helpers->helpers_asleep, 1);
  pthread_mutex_unlock(&helpers->lock);
}

static void await_end(fc_helpers_t *helpers) {
  if (look(helpers, &helpers->spin, is_done)) return;
  pthread_mutex_lock(&helpers->lock);
  atomic_store(&helpers->call_asleep, true);
  while (!is_done(helpers)) pthread_cond_wait(&helpers->done, &helpers->lock);
  atomic_store(&helpers->call_asleep, false);
  pthread_mutex_unlock(&helpers->lock);
}

static void wake_helpers(fc_helpers_t *helpers) {
  if (!atomic_load(&helpers->helpers_asleep)) return;
  pthread_mutex_lock(&helpers->lock);
  pthread_cond_broadcast(&helpers->work);
  pthread_mutex_unlock(&helpers->lock);
}

static void *help(void *context) {
  fc_helpers_t *helpers = context;
  // These are at the end of the thread's stack that is used last.
  _Alignas(16) uint8_t reports[FC_FAULT_STACK_SIZE];
  stack_t before;
  fc_spin_t spin = {.ns = helpers->spin.ns};
  fc_fault_cover(reports, &before);
  while (!atomic_load(&helpers->leave)) {
    run_parts(helpers);
    await_work(helpers, &spin);
  }
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
  helpers->part = part;
  helpers->argument = argument;
  helpers->count = count;
  atomic_store(&helpers->unfinished, count);
  atomic_store(&helpers->unclaimed, count);
  wake_helpers(helpers);
  run_parts(helpers);
  await_end(helpers);
  pthread_mutex_unlock(&helpers->taken);
}

fc_status_t fc_helpers_create(fc_allocator_t allocator, uint32_t count,
                              uint32_t spin_ns, fc_helpers_t **out_helpers,
                              fc_error_t *err) {
  FC_ASSERT(count >= 2 && count <= FC_TILES_MAX);
  fc_helpers_t *helpers = fc_alloc(allocator, sizeof *helpers);
  if (!helpers) return fc_fail_memory(err);
  helpers->allocator = allocator;
  helpers->tiles = (fc_tiles_t){helpers, count, run};
  helpers->spin.ns = spin_ns * LONGER;
  pthread_mutex_init(&helpers->taken, NULL);
  pthread_mutex_init(&helpers->lock, NULL);
  pthread_cond_init(&helpers->work, NULL);
  pthread_cond_init(&helpers->done, NULL);
  sigset_t before;
  fc_signal_mask_leave_faults(&before);
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
  atomic_store(&helpers->leave, true);
  wake_helpers(helpers);
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
