// SPDX-License-Identifier: Apache-2.0
//
// Admission and queues. Calls wait here, not in slots, so that a deadline or a
// client that hangs up costs nothing: a slot is filled when a worker is about
// to be free. Modules take turns; within one, first come, first served.
#include "pool/pool.h"

#include "config/limits.h"
#include "pool/cost.h"
#include "pool/host.h"

// Slots for each worker: functions that are known to be quick are handed over
// in batches this large, others two at a time.
#define SLOTS_PER_WORKER 16
#define SLOW_SLOTS_PER_WORKER 2
#define QUICK_NS 100000u
#define SERIAL_QUICK 4  // calls of a serial module in slots, if quick

typedef struct fc_module_queue_t {
  fc_job_t *first;
  fc_job_t *last;
  uint32_t waiting;
  uint32_t running;
  bool serial;
  bool native;         // a thread in it cannot be stopped
  bool slow_instance;  // the loop must not make one
  uint64_t timeouts;   // running calls ended for their deadline
  uint64_t cancels;    // running calls ended because nobody waited for them
  uint64_t lost;       // threads
  bool active;
  bool retiring;     // taken down once nothing runs
  fc_host_t *host;   // NULL: threads run it, and the loop may
  fc_job_t loading;  // then this makes the first instance
  struct fc_module_queue_t *next_active;
  fc_cost_t *costs;  // by function
} module_queue_t;

fc_status_t fc_pool_init(fc_pool_t *pool, fc_allocator_t allocator,
                         const fc_pool_options_t *options, fc_blocks_t *blocks,
                         const fc_dialect_worker_t *const *dialects,
                         const fc_pool_events_t *events, fc_error_t *err) {
  *pool = (fc_pool_t){
      .allocator = allocator, .options = *options, .events = *events};
  // One for the loop's own lane and one for what processes answer.
  uint32_t slots = options->workers * SLOTS_PER_WORKER + 2;
  fc_status_t status = fc_region_init(&pool->region, allocator, slots, err);
  if (status != FC_OK) return status;
  pool->region.blocks = blocks;
  pool->region.dialects = dialects;
  pool->region.guard = options->guard;
  if (options->host) pool->region.spin_ns = options->host->setup.spin_ns;
  pool->region.ring = events->ring;
  pool->region.ring_context = events->context;
  pool->jobs = fc_alloc_array(allocator, slots, sizeof(void *));
  pool->free_slots = fc_alloc_array(allocator, slots, sizeof *pool->free_slots);
  pool->lost_slots = fc_alloc_array(allocator, slots, sizeof(bool));
  if (!pool->jobs || !pool->free_slots || !pool->lost_slots) {
    fc_pool_deinit(pool);
    return fc_fail_memory(err);
  }
  pool->delivery = slots - 1;
  while (pool->free_count < slots - 1) {
    pool->free_slots[pool->free_count] = slots - 2 - pool->free_count;
    pool->free_count++;
  }
  if (options->tiles > 1) {
    status = fc_helpers_create(allocator, options->tiles, &pool->helpers, err);
    if (status == FC_OK) pool->region.tiles = fc_helpers_tiles(pool->helpers);
  }
  pool->region.worker_count = options->workers + FC_LIMIT_LOST_THREADS + 1;
  if (status == FC_OK) {
    status = fc_worker_init(&pool->inline_worker, &pool->region,
                            pool->region.worker_count - 1, err);
  }
  if (status == FC_OK) {
    status = fc_threads_start(&pool->threads, &pool->region, options->workers,
                              FC_LIMIT_LOST_THREADS, err);
  }
  if (status != FC_OK) fc_pool_deinit(pool);
  return status;
}

static void free_queue(fc_pool_t *pool, uint32_t index) {
  fc_free(pool->allocator, pool->queues[index]->costs);
  fc_free(pool->allocator, pool->queues[index]);
  pool->queues[index] = NULL;
}

void fc_pool_deinit(fc_pool_t *pool) {
  for (uint32_t i = 0; i < pool->queue_count; i++) {
    if (!pool->queues[i]) continue;
    fc_host_destroy(pool->queues[i]->host);
    pool->queues[i]->host = NULL;
  }
  pool->busy_hosts = NULL;
  fc_threads_stop(&pool->threads);
  if (pool->jobs && pool->free_slots && pool->lost_slots) {
    memset(pool->jobs, 0, pool->region.slot_count * sizeof(void *));
    fc_pool_collect(pool, true);
  }
  fc_worker_deinit(&pool->inline_worker);
  fc_helpers_destroy(pool->helpers);
  for (uint32_t i = 0; i < pool->queue_count; i++) {
    if (pool->queues[i]) free_queue(pool, i);
  }
  fc_free(pool->allocator, (void *)pool->queues);
  fc_free(pool->allocator, pool->jobs);
  fc_free(pool->allocator, pool->free_slots);
  fc_free(pool->allocator, pool->lost_slots);
  fc_region_deinit(&pool->region);
  *pool = (fc_pool_t){0};
}

bool fc_pool_wants_process(const fc_pool_t *pool, const fc_module_t *module) {
  return fc_isolation_process(&pool->options.isolation,
                              fc_module_get_name(module),
                              fc_module_get_info(module)->runs_native);
}

// A place for the queue of generation `index`.
static fc_status_t make_place(fc_pool_t *pool, uint32_t index,
                              fc_error_t *err) {
  if (index < pool->queue_count) return FC_OK;
  uint32_t count = pool->queue_count ? pool->queue_count * 2 : 8;
  if (count <= index) count = index + 1;
  module_queue_t **grown =
      fc_realloc(pool->allocator, (void *)pool->queues,
                 pool->queue_count * sizeof *grown, count * sizeof *grown);
  if (!grown) return fc_fail_memory(err);
  for (uint32_t i = pool->queue_count; i < count; i++) grown[i] = NULL;
  pool->queues = grown;
  pool->queue_count = count;
  return FC_OK;
}

static module_queue_t *create_queue(fc_pool_t *pool,
                                    const fc_module_t *module) {
  const fc_module_info_t *info = fc_module_get_info(module);
  size_t functions = fc_module_function_count(module);
  module_queue_t *queue = fc_alloc(pool->allocator, sizeof *queue);
  if (!queue) return NULL;
  queue->serial = info->serial;
  queue->native = info->runs_native;
  queue->costs = fc_alloc_array(pool->allocator, functions ? functions : 1,
                                sizeof *queue->costs);
  if (!queue->costs) {
    fc_free(pool->allocator, queue);
    return NULL;
  }
  for (size_t f = 0; f < functions; f++) {
    queue->costs[f].needed = FC_LIMIT_INLINE_SAMPLES;
  }
  return queue;
}

// In a thread the first instance is made by a job of the queue's own.
static fc_status_t open_host(fc_pool_t *pool, uint32_t index,
                             fc_module_t *module, fc_error_t *err) {
  module_queue_t *queue = pool->queues[index];
  if (fc_pool_wants_process(pool, module)) {
    return fc_host_create(pool, index, module, pool->options.host, &queue->host,
                          err);
  }
  FC_TRY(fc_region_add(&pool->region, index, module, err));
  queue->loading = (fc_job_t){.call = {.generation = index,
                                       .flags = FC_CALL_PREPARE,
                                       .body = {.block = FC_BLOCK_NONE}}};
  fc_pool_enqueue(pool, &queue->loading);
  return FC_OK;
}

fc_status_t fc_pool_add(fc_pool_t *pool, uint32_t index, fc_module_t *module,
                        fc_error_t *err) {
  FC_TRY(make_place(pool, index, err));
  FC_ASSERT(!pool->queues[index]);
  pool->queues[index] = create_queue(pool, module);
  if (!pool->queues[index]) return fc_fail_memory(err);
  fc_status_t status = open_host(pool, index, module, err);
  if (status != FC_OK) free_queue(pool, index);
  return status;
}

void fc_pool_on_host(fc_pool_t *pool, uint32_t module,
                     const fc_error_t *error) {
  pool->events.on_added(pool->events.context, module, error);
}

// ---------------------------------------------------------------------------

fc_status_t fc_pool_admit(const fc_pool_t *pool, uint32_t module,
                          uint32_t function, uint64_t deadline_ns,
                          uint64_t now_ns, uint32_t *out_retry_s,
                          fc_error_t *err) {
  const module_queue_t *queue = pool->queues[module];
  if (queue->host) FC_TRY(fc_host_admit(queue->host, out_retry_s, err));
  if (queue->waiting == 0) return FC_OK;
  const uint64_t wait_ns =
      fc_cost_wait_ns(&queue->costs[function], queue->waiting,
                      queue->serial ? 1 : pool->options.workers);
  *out_retry_s = fc_cost_retry_s(wait_ns);
  // Calls of this turn that workers are free for are not waiting, only staged.
  uint32_t slots = SLOW_SLOTS_PER_WORKER * pool->options.workers;
  uint32_t running = queue->host ? queue->running : pool->threads_running;
  uint32_t staged = slots > running ? slots - running : 0;
  if (queue->waiting >= pool->options.queue_limit + staged) {
    return fc_fail(err, FC_CODE_OVERLOADED,
                   "%u calls of this module are waiting, the limit",
                   pool->options.queue_limit);
  }
  if (deadline_ns && wait_ns &&
      (deadline_ns <= now_ns || wait_ns > deadline_ns - now_ns)) {
    return fc_fail(err, FC_CODE_OVERLOADED,
                   "the queue is %llu ms long, more than the deadline",
                   (unsigned long long)(wait_ns / 1000000u));
  }
  return FC_OK;
}

static uint64_t loading_end_ns(const fc_pool_t *pool) {
  return fc_clock_ns() + pool->options.load_ms * 1000000u;
}

// False when no slot is free.
static bool fill_slot(fc_pool_t *pool, fc_job_t *job) {
  if (pool->free_count == 0) return false;
  uint32_t index = pool->free_slots[--pool->free_count];
  fc_slot_t *slot = &pool->region.slots[index];
  slot->loop = 0;
  slot->call = job->call;
  slot->answer_block = FC_BLOCK_NONE;
  atomic_store_explicit(&slot->cancel, 0, memory_order_relaxed);
  atomic_store_explicit(&slot->begun, FC_BEGUN_NOT, memory_order_relaxed);
  slot->piece_count = 0;
  if (job->call.flags & FC_CALL_PREPARE) {
    slot->call.deadline_ns = loading_end_ns(pool);
    fc_pool_note_due(pool, slot->call.deadline_ns);
  }
  job->call.body.block = FC_BLOCK_NONE;
  job->slot = index;
  job->state = FC_JOB_RUNNING;
  pool->jobs[index] = job;
  return true;
}

static bool is_quick(const fc_cost_t *cost) {
  return cost->samples && cost->average_ns < QUICK_NS;
}

static bool belongs_inline(const fc_pool_t *pool, const fc_job_t *job) {
  if (pool->options.lane == FC_LANE_NEVER) return false;
  const module_queue_t *queue = pool->queues[job->call.generation];
  // Not past others of its module, nor while one may hold its lock.
  if (queue->host || queue->waiting) return false;
  if (queue->serial && queue->running) return false;
  if (pool->options.lane == FC_LANE_ALWAYS) return true;
  if (queue->slow_instance) return false;
  const fc_cost_t *cost = &queue->costs[job->call.function];
  return cost->samples >= cost->needed &&
         cost->average_ns < FC_LIMIT_INLINE_COST_NS &&
         job->call.body.size < FC_LIMIT_INLINE_BODY &&
         pool->inline_spent_ns < FC_LIMIT_INLINE_TURN_NS;
}

static uint64_t worker_ns(const fc_slot_t *slot) {
  return slot->spent_ns[FC_STAGE_DECODE] + slot->spent_ns[FC_STAGE_CALL] +
         slot->spent_ns[FC_STAGE_ENCODE];
}

bool fc_pool_try_inline(fc_pool_t *pool, fc_job_t *job) {
  if (!belongs_inline(pool, job) || !fill_slot(pool, job)) return false;
  job->retry_s = 0;
  fc_slot_t *slot = &pool->region.slots[job->slot];
  fc_worker_run(&pool->inline_worker, slot);
  fc_pool_note_outcome(pool, job->call.generation, slot, false);
  uint64_t spent_ns = worker_ns(slot);
  pool->inline_spent_ns += spent_ns;
  if (spent_ns > FC_LIMIT_INLINE_WORST_NS) {
    // Demoted: it must prove itself again, for longer each time.
    fc_cost_t *cost =
        &pool->queues[job->call.generation]->costs[job->call.function];
    cost->samples = 0;
    if (cost->needed < 1u << 16) cost->needed *= 2;
  }
  return true;
}

static void activate(fc_pool_t *pool, module_queue_t *queue) {
  if (queue->active) return;
  queue->active = true;
  queue->next_active = NULL;
  if (pool->active_last) pool->active_last->next_active = queue;
  else pool->active_first = queue;
  pool->active_last = queue;
}

static module_queue_t *pop_active(fc_pool_t *pool) {
  module_queue_t *queue = pool->active_first;
  if (!queue) return NULL;
  pool->active_first = queue->next_active;
  if (!pool->active_first) pool->active_last = NULL;
  queue->active = false;
  return queue;
}

void fc_pool_note_due(fc_pool_t *pool, uint64_t due_ns) {
  if (due_ns && (!pool->earliest_due_ns || due_ns < pool->earliest_due_ns)) {
    pool->earliest_due_ns = due_ns;
  }
}

// ---------------------------------------------------------------------------
// Retiring

static void deactivate(fc_pool_t *pool, const module_queue_t *queue) {
  module_queue_t *before = NULL;
  module_queue_t **at = &pool->active_first;
  if (!queue->active) return;
  for (; *at != queue; at = &before->next_active) before = *at;
  *at = queue->next_active;
  if (pool->active_last == queue) pool->active_last = before;
}

void fc_pool_retire(fc_pool_t *pool, uint32_t index) {
  module_queue_t *queue = pool->queues[index];
  FC_ASSERT(!queue->retiring && queue->waiting == 0);
  queue->retiring = true;
  pool->retiring++;
}

void fc_pool_on_retired(fc_pool_t *pool, uint32_t index) {
  deactivate(pool, pool->queues[index]);
  fc_region_remove(&pool->region, index);
  free_queue(pool, index);
  pool->events.on_retired(pool->events.context, index);
}

// What a call has left is done with before its queue goes, so this is a step of
// its own. A call nobody waits for any more may still have a worker.
static void retire_idle(fc_pool_t *pool) {
  for (uint32_t i = 0; i < pool->queue_count && pool->retiring; i++) {
    module_queue_t *queue = pool->queues[i];
    if (!queue || !queue->retiring || queue->running || queue->waiting)
      continue;
    queue->retiring = false;
    pool->retiring--;
    if (queue->host) fc_host_retire(queue->host);
    else fc_pool_on_retired(pool, i);
  }
}

// ---------------------------------------------------------------------------

void fc_pool_enqueue(fc_pool_t *pool, fc_job_t *job) {
  module_queue_t *queue = pool->queues[job->call.generation];
  job->state = FC_JOB_QUEUED;
  // Jobs are used again and again, and not all of them end here.
  job->attempts = 0;
  job->looked_up = 0;
  job->retry_s = 0;
  job->next = NULL;
  job->previous = queue->last;
  if (queue->last) queue->last->next = job;
  else queue->first = job;
  queue->last = job;
  queue->waiting++;
  pool->waiting++;
  fc_pool_note_due(pool, job->call.deadline_ns);
  activate(pool, queue);
}

static void unlink_job(fc_pool_t *pool, fc_job_t *job) {
  module_queue_t *queue = pool->queues[job->call.generation];
  if (job->previous) job->previous->next = job->next;
  else queue->first = job->next;
  if (job->next) job->next->previous = job->previous;
  else queue->last = job->previous;
  job->next = job->previous = NULL;
  job->state = FC_JOB_NEW;
  queue->waiting--;
  pool->waiting--;
}

// May the first call of this queue be given to a thread now?
static bool may_dispatch(const fc_pool_t *pool, const module_queue_t *queue) {
  bool quick = is_quick(&queue->costs[queue->first->call.function]);
  if (queue->serial && queue->running >= (quick ? SERIAL_QUICK : 1)) {
    return false;
  }
  uint32_t per_worker = quick ? SLOTS_PER_WORKER : SLOW_SLOTS_PER_WORKER;
  uint32_t busy = pool->threads_running - pool->threads.lost;
  return pool->free_count && busy < per_worker * fc_pool_threads(pool);
}

// The slots of this turn, linked.
typedef struct batch_t {
  uint32_t first;
  uint32_t last;
  uint32_t count;
} batch_t;

static bool give_to_thread(fc_pool_t *pool, module_queue_t *queue,
                           batch_t *batch) {
  fc_job_t *job = queue->first;
  if (!may_dispatch(pool, queue)) return false;
  unlink_job(pool, job);
  (void)fill_slot(pool, job);
  queue->running++;
  pool->running++;
  pool->threads_running++;
  if (batch->count++ == 0) batch->first = job->slot;
  else pool->region.slots[batch->last].next = job->slot;
  batch->last = job->slot;
  return true;
}

static bool give_to_process(fc_pool_t *pool, module_queue_t *queue) {
  fc_job_t *job = queue->first;
  bool quick = is_quick(&queue->costs[job->call.function]);
  uint32_t ahead = quick ? FC_RING_SLOTS : SLOW_SLOTS_PER_WORKER;
  const fc_offer_t offer = fc_host_offer(queue->host, job, ahead);
  if (offer == FC_OFFER_FULL) return false;
  unlink_job(pool, job);
  if (offer == FC_OFFER_BLAMED) {
    fc_host_refuse(queue->host, job);
    return true;
  }
  job->state = FC_JOB_RUNNING;
  queue->running++;
  pool->running++;
  return true;
}

void fc_pool_flush(fc_pool_t *pool) {
  pool->inline_spent_ns = 0;
  if (pool->retiring) retire_idle(pool);
  if (!pool->active_first) return;
  batch_t batch = {FC_SLOT_NONE, FC_SLOT_NONE, 0};
  uint32_t passed = 0;  // queues in a row that had to wait
  while (pool->active_first && passed < pool->queue_count) {
    module_queue_t *queue = pop_active(pool);
    if (queue->waiting == 0) continue;
    bool given = queue->host ? give_to_process(pool, queue)
                             : give_to_thread(pool, queue, &batch);
    passed = given ? 0 : passed + 1;
    if (queue->waiting) activate(pool, queue);
  }
  if (batch.count) {
    fc_ready_submit(&pool->region.ready, pool->region.slots, batch.first,
                    batch.last, batch.count);
  }
  fc_hosts_ring(pool);
}

void fc_pool_drop(fc_pool_t *pool, fc_job_t *job) {
  if (job->state == FC_JOB_QUEUED) unlink_job(pool, job);
  if (job->child) {
    fc_host_drop(pool->queues[job->call.generation]->host, job);
    job->state = FC_JOB_NEW;
  }
  if (job->state == FC_JOB_RUNNING) {
    fc_slot_t *slot = &pool->region.slots[job->slot];
    atomic_store_explicit(&slot->cancel, 1, memory_order_relaxed);
    pool->jobs[job->slot] = NULL;
    job->state = FC_JOB_NEW;
    return;
  }
  fc_block_give(pool->region.blocks, job->call.body.block);
  job->call.body.block = FC_BLOCK_NONE;
}

// ---------------------------------------------------------------------------

static void learn(fc_pool_t *pool, const fc_slot_t *slot) {
  fc_cost_learn(
      &pool->queues[slot->call.generation]->costs[slot->call.function],
      worker_ns(slot));
}

static void free_slot(fc_pool_t *pool, uint32_t index) {
  fc_slot_t *slot = &pool->region.slots[index];
  // What only checked the arguments says nothing of what a call costs.
  if (slot->status == FC_OK &&
      !(slot->call.flags & (FC_CALL_VALIDATE | FC_CALL_PREPARE))) {
    learn(pool, slot);
  }
  fc_block_give(pool->region.blocks, slot->call.body.block);
  for (uint32_t i = 0; i < slot->piece_count; i++) {
    fc_block_give(pool->region.blocks, slot->pieces[i].block);
  }
  slot->piece_count = 0;
  slot->call.body.block = FC_BLOCK_NONE;
  slot->call.deadline_ns = 0;
  pool->jobs[index] = NULL;
  if (index != pool->delivery) pool->free_slots[pool->free_count++] = index;
}

static void find_thread(fc_pool_t *pool, uint32_t slot) {
  pool->lost_slots[slot] = false;
  fc_threads_find(&pool->threads);
}

static void finish_loading(fc_pool_t *pool, fc_job_t *job) {
  const fc_slot_t *slot = fc_pool_slot(pool, job);
  fc_error_t error = slot->error;
  bool failed = slot->status != FC_OK;
  // With shared state others cost nothing.
  pool->queues[job->call.generation]->slow_instance =
      fc_module_get_info(fc_region_module(&pool->region, job->call.generation))
          ->private_state &&
      worker_ns(slot) > FC_LIMIT_INLINE_WORST_NS;
  fc_pool_finish(pool, job);
  fc_pool_on_host(pool, job->call.generation, failed ? &error : NULL);
}

void fc_pool_collect(fc_pool_t *pool, bool awake) {
  fc_slot_t *slots = pool->region.slots;
  uint32_t index = fc_done_take(&pool->region.done, slots, awake);
  while (index != FC_SLOT_NONE) {
    uint32_t next = slots[index].next;
    pool->threads_running--;
    fc_job_t *job = pool->jobs[index];
    if (pool->lost_slots[index]) find_thread(pool, index);
    else
      fc_pool_note_outcome(pool, slots[index].call.generation, &slots[index],
                           !job);
    fc_pool_note_end(pool, slots[index].call.generation);
    if (!job) free_slot(pool, index);
    else if (job->call.flags & FC_CALL_PREPARE) finish_loading(pool, job);
    else pool->events.on_done(pool->events.context, job);
    index = next;
  }
  fc_hosts_collect(pool);
}

uint32_t fc_pool_threads(const fc_pool_t *pool) {
  uint32_t threads = pool->threads.count - pool->threads.lost;
  return threads < pool->threads.wanted ? threads : pool->threads.wanted;
}

void fc_pool_metrics(const fc_pool_t *pool, uint32_t module,
                     fc_module_metrics_t *out) {
  *out = (fc_module_metrics_t){0};
  if (module >= pool->queue_count || !pool->queues[module]) return;
  const module_queue_t *queue = pool->queues[module];
  out->waiting = queue->waiting;
  out->running = queue->running;
  out->timeouts = queue->timeouts;
  out->cancels = queue->cancels;
  out->lost = queue->lost;
  if (!queue->host) return;
  fc_host_counts_t counts = fc_host_counts(queue->host);
  out->crashes = counts.crashes;
  out->restarts = counts.restarts;
  out->quarantines = counts.quarantines;
  out->quarantined = fc_host_quarantined_ns(queue->host) != 0;
  fc_host_worker_t worker;
  while (fc_host_worker(queue->host, (uint32_t)out->workers, &worker)) {
    out->workers++;
  }
}

bool fc_pool_sleep(fc_pool_t *pool) { return fc_hosts_sleep(pool); }

void fc_pool_wake(fc_pool_t *pool) { fc_hosts_wake(pool); }

// ---------------------------------------------------------------------------
// For hosts

fc_slot_t *fc_pool_delivery(fc_pool_t *pool, const fc_job_t *job) {
  fc_slot_t *slot = &pool->region.slots[pool->delivery];
  if (job) slot->call = job->call;
  slot->status = FC_OK;
  slot->piece_count = 0;
  return slot;
}

void fc_pool_deliver(fc_pool_t *pool, fc_job_t *job) {
  fc_slot_t *slot = &pool->region.slots[pool->delivery];
  slot->call.body = job->call.body;
  job->call.body.block = FC_BLOCK_NONE;
  job->child = NULL;
  job->slot = pool->delivery;
  job->state = FC_JOB_RUNNING;
  pool->events.on_done(pool->events.context, job);
}

void fc_pool_fail(fc_pool_t *pool, fc_job_t *job, fc_stage_t stage,
                  const fc_error_t *error) {
  fc_slot_t *slot = fc_pool_delivery(pool, job);
  slot->status = error->status;
  slot->error = *error;
  slot->stage = (uint8_t)stage;
  slot->began_ns = fc_clock_ns();
  memset(slot->spent_ns, 0, sizeof slot->spent_ns);
  fc_pool_deliver(pool, job);
}

void fc_pool_requeue(fc_pool_t *pool, fc_job_t *job) {
  module_queue_t *queue = pool->queues[job->call.generation];
  job->child = NULL;
  job->state = FC_JOB_QUEUED;
  job->previous = NULL;
  job->next = queue->first;
  if (queue->first) queue->first->previous = job;
  else queue->last = job;
  queue->first = job;
  queue->waiting++;
  pool->waiting++;
  fc_pool_note_due(pool, job->call.deadline_ns);
  activate(pool, queue);
}

void fc_pool_note_end(fc_pool_t *pool, uint32_t module) {
  pool->running--;
  if (pool->queue_count) pool->queues[module]->running--;
}

void fc_pool_note_stopped(fc_pool_t *pool, uint32_t module, bool dropped) {
  module_queue_t *queue = pool->queues[module];
  if (dropped) queue->cancels++;
  else queue->timeouts++;
}

void fc_pool_note_outcome(fc_pool_t *pool, uint32_t module,
                          const fc_slot_t *slot, bool dropped) {
  if (slot->status == FC_OK || slot->stage != FC_STAGE_CALL) return;
  bool late = slot->error.code == FC_CODE_DEADLINE_EXCEEDED;
  if (!late && !(dropped && slot->status == FC_CANCELLED)) return;
  fc_pool_note_stopped(pool, module, !late);
}

void fc_pool_fail_waiting(fc_pool_t *pool, uint32_t module, uint32_t retry_s,
                          const fc_error_t *error) {
  module_queue_t *queue = pool->queues[module];
  // Whoever is told may queue its next call at once.
  for (uint32_t left = queue->waiting; left && queue->first; left--) {
    fc_job_t *job = queue->first;
    unlink_job(pool, job);
    job->retry_s = retry_s;
    fc_pool_fail(pool, job, FC_STAGE_QUEUE, error);
  }
}

uint32_t fc_pool_waiting(const fc_pool_t *pool, uint32_t module) {
  return pool->queues[module]->waiting;
}

const fc_host_t *fc_pool_host(const fc_pool_t *pool, uint32_t module) {
  if (module >= pool->queue_count || !pool->queues[module]) return NULL;
  return pool->queues[module]->host;
}

// ---------------------------------------------------------------------------

fc_slot_t *fc_pool_slot(fc_pool_t *pool, const fc_job_t *job) {
  return &pool->region.slots[job->slot];
}

void fc_pool_finish(fc_pool_t *pool, fc_job_t *job) {
  job->state = FC_JOB_NEW;
  free_slot(pool, job->slot);
}

static void expire_queue(fc_pool_t *pool, module_queue_t *queue,
                         uint64_t now_ns) {
  fc_job_t *next;
  for (fc_job_t *job = queue->first; job; job = next) {
    next = job->next;
    if (!job->call.deadline_ns) continue;
    if (job->call.deadline_ns <= now_ns) {
      unlink_job(pool, job);
      pool->events.on_expired(pool->events.context, job);
    } else {
      fc_pool_note_due(pool, job->call.deadline_ns);
    }
  }
}

static void lose_thread(fc_pool_t *pool, uint32_t index) {
  fc_slot_t *slot = &pool->region.slots[index];
  atomic_store_explicit(&slot->cancel, 1, memory_order_relaxed);
  pool->lost_slots[index] = true;
  fc_pool_note_stopped(pool, slot->call.generation, false);
  pool->queues[slot->call.generation]->lost++;
  fc_threads_lose(&pool->threads);
  pool->events.on_lost(pool->events.context, slot->call.generation,
                       slot->call.function);
}

// A first instance is not made in time. Before its thread has begun, the time does
// not count; after, the thread is lost, and the module cannot be called.
static void expire_loading(fc_pool_t *pool, uint32_t index) {
  fc_slot_t *slot = &pool->region.slots[index];
  if (atomic_load_explicit(&slot->begun, memory_order_relaxed) ==
      FC_BEGUN_NOT) {
    slot->call.deadline_ns = loading_end_ns(pool);
    fc_pool_note_due(pool, slot->call.deadline_ns);
    return;
  }
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_MODULE_LOAD,
                "loading it takes longer than %llu ms",
                (unsigned long long)pool->options.load_ms);
  lose_thread(pool, index);
  pool->jobs[index] = NULL;
  fc_pool_on_host(pool, slot->call.generation, &error);
}

// The deadline of a call in a thread has passed. One that waits is answered, and
// so is one in native code, whose thread keeps its slot until it returns, if it
// does. Bytecode ends itself.
static void expire_slot(fc_pool_t *pool, uint32_t index) {
  fc_job_t *job = pool->jobs[index];
  fc_slot_t *slot = &pool->region.slots[index];
  if (slot->call.flags & FC_CALL_PREPARE) {
    expire_loading(pool, index);
    return;
  }
  bool waits = fc_slot_begin(&slot->begun, FC_BEGUN_NEVER);
  if (!waits && !pool->queues[slot->call.generation]->native) return;
  if (!waits) lose_thread(pool, index);
  if (!job) return;  // it was dropped
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_DEADLINE_EXCEEDED, "the deadline passed %s",
                waits ? "in the queue" : "while it ran");
  pool->jobs[index] = NULL;
  fc_pool_fail(pool, job, waits ? FC_STAGE_QUEUE : FC_STAGE_CALL, &error);
}

// A call that was dropped keeps its thread as well, so slots are looked at and
// not who waits for them. Free ones have no deadline.
static bool can_expire(const fc_pool_t *pool, uint32_t index) {
  const fc_slot_t *slot = &pool->region.slots[index];
  return slot->call.deadline_ns && !pool->lost_slots[index] &&
         atomic_load_explicit(&slot->begun, memory_order_relaxed) !=
             FC_BEGUN_NEVER;
}

static void expire_threads(fc_pool_t *pool, uint64_t now_ns) {
  for (uint32_t i = 0; i < pool->delivery; i++) {
    if (!can_expire(pool, i)) continue;
    uint64_t due_ns = pool->region.slots[i].call.deadline_ns +
                      FC_LIMIT_KILL_GRACE_MS * 1000000u;
    if (due_ns <= now_ns) expire_slot(pool, i);
    else fc_pool_note_due(pool, due_ns);
  }
}

// What a process does with memory it shares nobody else notices.
static void look(fc_pool_t *pool, uint64_t now_ns) {
  if (now_ns < pool->look_ns) return;
  pool->look_ns = now_ns + FC_LIMIT_LOOK_MS * 1000000u;
  for (uint32_t i = 0; i < pool->queue_count; i++) {
    fc_host_t *host = pool->queues[i] ? pool->queues[i]->host : NULL;
    if (host) fc_host_look(host, now_ns);
  }
}

uint64_t fc_pool_due_ns(const fc_pool_t *pool, uint64_t now_ns) {
  uint64_t due_ns = pool->earliest_due_ns;
  bool running = pool->running > pool->threads_running;
  uint64_t look_ns =
      now_ns +
      (running ? FC_LIMIT_LOOK_MS : FC_LIMIT_IDLE_LOOK_MS) * 1000000ull;
  if (!running && !pool->processes) return due_ns;
  return due_ns && due_ns < look_ns ? due_ns : look_ns;
}

void fc_pool_expire(fc_pool_t *pool, uint64_t now_ns) {
  look(pool, now_ns);
  if (!pool->earliest_due_ns || now_ns < pool->earliest_due_ns) {
    return;
  }
  // Whoever is told may queue its next call at once.
  pool->earliest_due_ns = 0;
  expire_threads(pool, now_ns);
  for (uint32_t i = 0; i < pool->queue_count; i++) {
    module_queue_t *queue = pool->queues[i];
    if (!queue) continue;
    expire_queue(pool, queue, now_ns);
    if (queue->host) {
      fc_pool_note_due(pool, fc_host_expire(queue->host, now_ns));
    }
  }
}
