// SPDX-License-Identifier: Apache-2.0
//
// Calls change hands in slots of one region (region.h). The first instance of a
// generation is made by a call of the host's own, so that an instance that
// cannot be made is a failure to load.
#include "pool/threads_host.h"

#include "config/limits.h"
#include "pool/helpers.h"
#include "pool/order.h"
#include "pool/pool.h"
#include "pool/process_host.h"
#include "pool/threads.h"
#include "pool/worker.h"

// Calls that one thread is given at a time when they are known to be quick.
#define QUICK_AHEAD 16
// Quick calls of a serial module, which run one by one, that threads have at a time.
#define SERIAL_QUICK 4

typedef struct fc_thread_hosts_t {
  fc_hosts_t base;
  fc_region_t region;
  fc_threads_t threads;
  fc_helpers_t *helpers;      // of the threads; NULL: none
  fc_store_desk_t *desks;     // of each slot; NULL: no session had a call yet
  fc_worker_t inline_worker;  // the worker that the loop itself is
  struct held_t *held;        // what each slot holds
  uint32_t *free_slots;       // a stack of the free slots
  uint32_t free_count;
  // Slots that threads have not been told of yet, linked
  uint32_t first;
  uint32_t last;
  uint32_t count;
  bool slow_waits;  // since `notify`, a call that is not quick found no room
} fc_thread_hosts_t;

typedef struct fc_thread_host_t {
  fc_host_t base;
  bool serial;
  uint32_t most;     // calls that run at once; 0: as many as there are threads
  bool native;       // it runs machine code: a thread in it cannot be stopped
  uint64_t lost;     // threads lost in its calls, ever
  uint32_t missing;  // threads lost in its calls that have not come back
  fc_job_t loading;  // makes the first instance
} fc_thread_host_t;

// A call that a slot holds.
typedef struct held_t {
  fc_thread_host_t *host;
  fc_job_t *job;           // NULL when nobody waits for it
  bool lost;               // the thread that has it is counted as lost
  fc_owner_t caller;       // of a call without a job
  fc_owner_count_t count;  // of a job that was over before the call
  fc_claim_t *claim;       // of its session; NULL: none
  const fc_claim_slab_t *slab;
} held_t;

static fc_thread_hosts_t *all_of(const fc_host_t *host) {
  return (fc_thread_hosts_t *)host->hosts;
}

// ---------------------------------------------------------------------------
// Slots

static uint64_t loading_end_ns(const fc_pool_t *pool) {
  return fc_clock_ns() + pool->options.load_ms * 1000000u;
}

// Of fc_region_t: the file is the session's, which stays while its call has a slot.
static void find_desk(void *context, const fc_slot_t *slot, fc_desk_t *out) {
  const fc_thread_hosts_t *all = context;
  const size_t index = (size_t)(slot - all->region.slots);
  const fc_claim_slab_t *slab = all->held[index].slab;
  *out = (fc_desk_t){&all->desks[index], slab->file, slab->serial};
}

// Lays the desk of a call that was put into a slot. The client's deadline ends the wait
// for the call, not the call itself, which may write to values.
static void lay_desk(fc_thread_hosts_t *all, fc_job_t *job, uint32_t index) {
  held_t *held = &all->held[index];
  held->claim = job->claim;
  held->slab = job->claim->slab;
  all->region.slots[index].call.deadline_ns = job->limit_ns;
  held->claim->later = job->call.flags & FC_CALL_LATER;
  held->claim->class_->lay(held->claim, &all->desks[index]);
  fc_pool_note_due(all->base.pool, job->call.deadline_ns);
}

// Before the first call of a session.
static bool has_desks(fc_thread_hosts_t *all, fc_error_t *err) {
  if (all->desks) return true;
  all->desks = fc_alloc_array(all->base.pool->allocator, all->region.slot_count,
                              sizeof *all->desks);
  if (all->desks) return true;
  (void)fc_fail_memory(err);
  return false;
}

// Puts a call into a slot. False when none is free.
static bool fill_slot(fc_thread_host_t *self, fc_job_t *job) {
  fc_thread_hosts_t *all = all_of(&self->base);
  if (all->free_count == 0) return false;
  uint32_t index = all->free_slots[--all->free_count];
  fc_slot_t *slot = &all->region.slots[index];
  slot->loop = 0;
  slot->call = job->call;
  slot->answer_block = slot->carry_block = FC_BLOCK_NONE;
  atomic_store_explicit(&slot->steps, job->call.steps, memory_order_relaxed);
  atomic_store_explicit(&slot->cancel, 0, memory_order_relaxed);
  atomic_store_explicit(&slot->begun, FC_BEGUN_NOT, memory_order_relaxed);
  slot->outcome.piece_count = 0;
  if (job->call.flags & FC_CALL_PREPARE) {
    slot->call.deadline_ns = loading_end_ns(all->base.pool);
    fc_pool_note_due(all->base.pool, slot->call.deadline_ns);
  }
  job->call.body.block = FC_BLOCK_NONE;
  job->slot = index;
  all->held[index] = (held_t){.host = self, .job = job};
  if (FC_UNLIKELY(job->claim)) lay_desk(all, job, index);
  return true;
}

static void free_slot(fc_thread_hosts_t *all, uint32_t index) {
  fc_slot_t *slot = &all->region.slots[index];
  fc_blocks_t *blocks = all->region.blocks;
  fc_outcome_drop(&slot->outcome, blocks);
  fc_block_give(blocks, slot->call.body.block);
  slot->call.body.block = FC_BLOCK_NONE;
  slot->call.deadline_ns = 0;
  all->held[index] = (held_t){0};
  all->free_slots[all->free_count++] = index;
}

static void finish(fc_host_t *host, fc_job_t *job) {
  if (job->slot == FC_SLOT_NONE) return;
  free_slot(all_of(host), job->slot);
  job->slot = FC_SLOT_NONE;
}

// ---------------------------------------------------------------------------
// Giving

static fc_status_t admit(const fc_host_t *host, uint32_t *out_room,
                         uint32_t *out_retry_s, fc_error_t *err) {
  (void)out_retry_s;
  (void)err;
  const uint32_t most = FC_HOST_SLOW_AHEAD * host->pool->options.workers;
  const uint32_t running = host->hosts->running;
  *out_room = most > running ? most - running : 0;
  return FC_OK;
}

// Do threads have as many calls of the module as may run at once? Each may begin at once,
// so all count but those that lost threads have.
static bool is_full(const fc_thread_host_t *self) {
  return self->most && self->base.running - self->missing >= self->most;
}

// Has a thread room for a call, and may the module have one more? A serial module
// may have SERIAL_QUICK quick calls, which wait for each other in the threads. While a
// call that is not quick waits for room, there is no more room for quick ones than for
// others: a steady stream of quick ones would keep that call waiting for ever.
static bool has_room(const fc_host_t *host, bool quick) {
  fc_thread_hosts_t *all = all_of(host);
  const fc_thread_host_t *self = (const fc_thread_host_t *)host;
  if (self->serial && host->running >= (quick ? SERIAL_QUICK : 1)) {
    return false;
  }
  if (is_full(self)) return false;
  const uint32_t ahead =
      quick && !all->slow_waits ? QUICK_AHEAD : FC_HOST_SLOW_AHEAD;
  const uint32_t busy = all->base.running - all->threads.lost;
  if (busy < ahead * fc_thread_hosts_count(&all->base)) return true;
  if (!quick) all->slow_waits = true;
  return false;
}

static fc_offer_t offer(fc_host_t *host, fc_job_t *job, bool quick,
                        fc_error_t *err) {
  fc_thread_hosts_t *all = all_of(host);
  if (!has_room(host, quick)) return FC_OFFER_FULL;
  if (FC_UNLIKELY(job->claim) && !has_desks(all, err)) return FC_OFFER_REFUSED;
  if (!fill_slot((fc_thread_host_t *)host, job)) return FC_OFFER_FULL;
  if (all->count++ == 0) all->first = job->slot;
  else all->region.slots[all->last].next = job->slot;
  all->last = job->slot;
  return FC_OFFER_TAKEN;
}

static void notify(fc_hosts_t *hosts) {
  fc_thread_hosts_t *all = (fc_thread_hosts_t *)hosts;
  all->slow_waits = false;
  if (!all->count) return;
  fc_ready_submit(&all->region.ready, all->region.slots, all->first, all->last,
                  all->count);
  all->count = 0;
}

static fc_ran_t run(fc_host_t *host, fc_job_t *job, uint32_t budget_ns) {
  fc_thread_hosts_t *all = all_of(host);
  fc_thread_host_t *self = (fc_thread_host_t *)host;
  // A thread that runs a serial module holds the module's lock, and the loop would wait
  // for the lock.
  if (self->serial && host->running) return FC_RAN_NOT;
  if (is_full(self)) return FC_RAN_NOT;
  if (!fill_slot(self, job)) return FC_RAN_NOT;
  fc_slot_t *slot = &all->region.slots[job->slot];
  all->inline_worker.budget_ns = budget_ns;
  fc_worker_run(&all->inline_worker, slot);
  job->outcome = &slot->outcome;
  if (FC_LIKELY(!all->inline_worker.budget.over)) return FC_RAN;
  job->call.body.block = slot->call.body.block;
  slot->call.body.block = FC_BLOCK_NONE;
  return FC_RAN_OVER;
}

// Nobody waits for the job's call any more, which goes on.
static void forget(held_t *held) {
  held->caller = held->job->caller;
  held->count = fc_owner_count_take(&held->job->count);
  held->job = NULL;
}

static void drop(fc_host_t *host, fc_job_t *job) {
  fc_thread_hosts_t *all = all_of(host);
  fc_slot_t *slot = &all->region.slots[job->slot];
  // A call of a session that has begun goes on.
  if (!job->claim || fc_slot_begin(&slot->begun, FC_BEGUN_NEVER)) {
    atomic_store_explicit(&slot->cancel, 1, memory_order_relaxed);
  }
  forget(&all->held[job->slot]);
}

// ---------------------------------------------------------------------------
// Taking

static void finish_loading(fc_thread_host_t *self,
                           const fc_outcome_t *outcome) {
  fc_error_t error = outcome->error;
  bool failed = outcome->status != FC_OK;
  finish(&self->base, &self->loading);
  fc_pool_on_host(&self->base, failed ? &error : NULL);
}

static void find_thread(fc_thread_hosts_t *all, uint32_t slot) {
  all->held[slot].lost = false;
  all->held[slot].host->missing--;
  fc_threads_find(&all->threads);
}

// What the job learns of a turn: how far it came, and what it has left.
static void note_turn(fc_slot_t *slot, fc_job_t *job) {
  job->call.steps = atomic_load_explicit(&slot->steps, memory_order_relaxed);
  if (!slot->outcome.more) return;
  job->call.body = slot->call.body;
  slot->call.body.block = FC_BLOCK_NONE;
}

static void take_desk(fc_thread_hosts_t *all, uint32_t index) {
  fc_outcome_t *outcome = &all->region.slots[index].outcome;
  const held_t *held = &all->held[index];
  fc_claim_t *claim = held->claim;
  if (held->lost) {
    claim->class_->lose(claim, FC_STR(""), FC_LOSS_DEADLINE);  // condemned
  } else if (!claim->class_->take(claim, &all->desks[index], outcome,
                                  &outcome->error)) {
    fc_outcome_drop(outcome, all->region.blocks);
    outcome->status = outcome->error.status;
    claim->class_->lose(claim, FC_STR(""), FC_LOSS_LIE);
  }
  if (!held->lost && fc_claim_stays(held->job, outcome)) {
    held->job->keeps_claim = true;
  } else {
    fc_pool_pass_claim(all->base.pool, claim);
  }
}

static void collect_slot(fc_thread_hosts_t *all, uint32_t index) {
  fc_slot_t *slot = &all->region.slots[index];
  fc_thread_host_t *self = all->held[index].host;
  fc_job_t *job = all->held[index].job;
  if (FC_UNLIKELY(all->held[index].claim)) take_desk(all, index);
  if (all->held[index].lost) find_thread(all, index);
  else fc_pool_note_outcome(&self->base, &slot->outcome, !job);
  fc_pool_uncount(&self->base, &all->held[index].count);
  fc_pool_note_end(&self->base);
  if (FC_UNLIKELY(slot->call.parts)) {
    if (job) note_turn(slot, job);
    else
      fc_pool_charge_turn(&self->base, &all->held[index].caller,
                          fc_outcome_worker_ns(&slot->outcome));
  }
  if (!job) free_slot(all, index);
  else if (job == &self->loading) finish_loading(self, &slot->outcome);
  else fc_pool_deliver(&self->base, job, &slot->outcome);
}

static void collect(fc_hosts_t *hosts, bool awake) {
  fc_thread_hosts_t *all = (fc_thread_hosts_t *)hosts;
  const fc_slot_t *slots = all->region.slots;
  uint32_t index = fc_done_take(&all->region.done, all->region.slots, awake);
  while (index != FC_SLOT_NONE) {
    uint32_t next = slots[index].next;
    collect_slot(all, index);
    index = next;
  }
}

// Nothing need be prepared for sleeping: a thread that finishes a call wakes
// the loop, unless a wake-up is on its way already (fc_done_push).
static bool sleep_(fc_hosts_t *hosts) {
  (void)hosts;
  return true;
}

static void wake(fc_hosts_t *hosts) { (void)hosts; }

// ---------------------------------------------------------------------------
// Time

// The thread may go on writing: until it is back the call keeps its claim, and all that it
// may write to stays the session's.
static void condemn(fc_thread_hosts_t *all, uint32_t index) {
  const held_t *held = &all->held[index];
  const fc_module_t *module =
      fc_region_module(&all->region, held->host->base.generation);
  const uint32_t function = all->region.slots[index].call.function;
  held->claim->class_->condemn(held->claim, fc_order_function(module, function),
                               FC_LOSS_DEADLINE);
  fc_pool_condemn_claim(all->base.pool, held->claim);
}

static void lose_thread(fc_thread_host_t *self, uint32_t index) {
  fc_thread_hosts_t *all = all_of(&self->base);
  const fc_pool_events_t *events = &self->base.pool->events;
  fc_slot_t *slot = &all->region.slots[index];
  atomic_store_explicit(&slot->cancel, 1, memory_order_relaxed);
  all->held[index].lost = true;
  if (all->held[index].claim) condemn(all, index);
  self->lost++;
  self->missing++;
  fc_pool_note_stopped(&self->base, false);
  fc_threads_lose(&all->threads);
  events->on_lost(events->context, slot->call.generation, slot->call.function);
}

// The time for making a first instance has passed. If no thread has begun to, the time
// starts again; else the thread is lost, and the module could not be loaded.
static void expire_loading(fc_thread_host_t *self, uint32_t index) {
  fc_thread_hosts_t *all = all_of(&self->base);
  fc_pool_t *pool = self->base.pool;
  fc_slot_t *slot = &all->region.slots[index];
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
  lose_thread(self, index);
  all->held[index].job = NULL;
  fc_pool_on_host(&self->base, &error);
}

// The deadline of a call that threads were given has passed. A call that no thread has
// begun is answered, and so is a call in native code, whose thread keeps the slot until
// the code returns, if it ever does. Bytecode ends its own call.
static void expire_slot(fc_thread_hosts_t *all, uint32_t index) {
  fc_slot_t *slot = &all->region.slots[index];
  fc_thread_host_t *self = all->held[index].host;
  fc_job_t *job = all->held[index].job;
  if (slot->call.flags & FC_CALL_PREPARE) {
    expire_loading(self, index);
    return;
  }
  bool waits = fc_slot_begin(&slot->begun, FC_BEGUN_NEVER);
  if (!waits && !self->native) return;
  if (!waits) lose_thread(self, index);
  if (!job) return;  // it was dropped
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_DEADLINE_EXCEEDED, "the deadline passed %s",
                waits ? "in the queue" : "while it ran");
  job->call.steps = atomic_load_explicit(&slot->steps, memory_order_relaxed);
  if (waits) all->held[index].job = NULL;
  else forget(&all->held[index]);
  job->slot = FC_SLOT_NONE;
  fc_pool_fail(&self->base, job, waits ? FC_STAGE_QUEUE : FC_STAGE_CALL,
               &error);
}

// A call that was dropped keeps its thread too, so slots are checked whether somebody
// waits for their call or not. Free slots have no deadline.
static bool can_expire(const fc_thread_hosts_t *all, uint32_t index) {
  const fc_slot_t *slot = &all->region.slots[index];
  return slot->call.deadline_ns && !all->held[index].lost &&
         atomic_load_explicit(&slot->begun, memory_order_relaxed) !=
             FC_BEGUN_NEVER;
}

// The client's deadline of a call of a session: it is answered. A call that has begun goes
// on, and another is never begun.
static void expire_wait(fc_thread_hosts_t *all, uint32_t index,
                        uint64_t now_ns) {
  held_t *held = &all->held[index];
  fc_job_t *job = held->job;
  if (!held->claim || !job || !job->call.deadline_ns) return;
  if (job->call.deadline_ns > now_ns) {
    fc_pool_note_due(all->base.pool, job->call.deadline_ns);
    return;
  }
  fc_error_t error;
  const bool waits =
      fc_slot_begin(&all->region.slots[index].begun, FC_BEGUN_NEVER);
  (void)fc_fail(&error, FC_CODE_DEADLINE_EXCEEDED, "the deadline passed%s",
                waits ? " in the queue" : "; the call of the session goes on");
  forget(held);
  job->slot = FC_SLOT_NONE;
  fc_pool_fail(&held->host->base, job, waits ? FC_STAGE_QUEUE : FC_STAGE_CALL,
               &error);
}

static void expire(fc_hosts_t *hosts, uint64_t now_ns) {
  fc_thread_hosts_t *all = (fc_thread_hosts_t *)hosts;
  for (uint32_t i = 0; i < all->region.slot_count; i++) {
    if (FC_UNLIKELY(all->held[i].claim)) expire_wait(all, i, now_ns);
    if (!can_expire(all, i)) continue;
    uint64_t due_ns = all->region.slots[i].call.deadline_ns +
                      FC_LIMIT_KILL_GRACE_MS * 1000000u;
    if (due_ns <= now_ns) expire_slot(all, i);
    else fc_pool_note_due(hosts->pool, due_ns);
  }
}

static void look(fc_hosts_t *hosts, uint64_t now_ns) {
  (void)hosts;
  (void)now_ns;
}

// ---------------------------------------------------------------------------
// Beginning and end

static void describe(const fc_host_t *host, fc_host_facts_t *out_facts) {
  const fc_thread_host_t *self = (const fc_thread_host_t *)host;
  *out_facts =
      (fc_host_facts_t){.lost_threads = self->lost, .stuck = self->missing};
}

// Threads belong to no generation, so a host here has no workers of its own.
static bool worker(const fc_host_t *host, uint32_t position,
                   fc_host_worker_t *out_worker) {
  (void)host;
  (void)position;
  (void)out_worker;
  return false;
}

static fc_status_t create(fc_hosts_t *hosts, uint32_t generation,
                          fc_module_t *module, const fc_hosting_t *hosting,
                          fc_host_t **out_host, fc_error_t *err) {
  fc_thread_hosts_t *all = (fc_thread_hosts_t *)hosts;
  fc_allocator_t allocator = hosts->pool->allocator;
  const fc_module_info_t *info = fc_module_get_info(module);
  fc_thread_host_t *self = fc_alloc(allocator, sizeof *self);
  if (!self) return fc_fail_memory(err);
  fc_status_t status =
      fc_region_add(&all->region, generation, module, hosting->tiles, err);
  if (status != FC_OK) {
    fc_free(allocator, self);
    return status;
  }
  self->serial = info->serial;
  self->most =
      hosting->workers < hosts->pool->options.workers ? hosting->workers : 0;
  self->native = info->runs_native;
  fc_hosts_link(hosts, generation, &self->base);
  *out_host = &self->base;
  self->loading = (fc_job_t){.call = {.generation = generation,
                                      .flags = FC_CALL_PREPARE,
                                      .body = {.block = FC_BLOCK_NONE}}};
  fc_pool_enqueue(hosts->pool, &self->loading);
  return FC_OK;
}

static void free_host(fc_host_t *host) {
  fc_region_remove(&all_of(host)->region, host->generation);
  fc_hosts_unlink(host);
  fc_free(host->pool->allocator, host);
}

static void retire(fc_host_t *host) {
  fc_pool_t *pool = host->pool;
  const uint32_t generation = host->generation;
  free_host(host);
  fc_pool_on_retired(pool, generation);
}

static void destroy(fc_hosts_t *hosts) {
  fc_thread_hosts_t *all = (fc_thread_hosts_t *)hosts;
  fc_allocator_t allocator = hosts->pool->allocator;
  fc_threads_stop(&all->threads);
  for (uint32_t i = 0; all->held && i < all->region.slot_count; i++) {
    fc_outcome_drop(&all->region.slots[i].outcome, all->region.blocks);
    fc_block_give(all->region.blocks, all->region.slots[i].call.body.block);
  }
  fc_worker_deinit(&all->inline_worker);
  fc_helpers_destroy(all->helpers);
  while (hosts->first) free_host(hosts->first);
  fc_free(allocator, all->held);
  fc_free(allocator, all->desks);
  fc_free(allocator, all->free_slots);
  fc_region_deinit(&all->region);
  fc_free(allocator, all);
}

static const fc_host_class_t kClass = {.create = create,
                                       .admit = admit,
                                       .run = run,
                                       .offer = offer,
                                       .finish = finish,
                                       .drop = drop,
                                       .retire = retire,
                                       .describe = describe,
                                       .worker = worker,
                                       .notify = notify,
                                       .collect = collect,
                                       .sleep = sleep_,
                                       .wake = wake,
                                       .expire = expire,
                                       .look = look,
                                       .destroy = destroy};

static fc_status_t make_slots(fc_thread_hosts_t *all, uint32_t count,
                              fc_error_t *err) {
  fc_allocator_t allocator = all->base.pool->allocator;
  for (uint32_t i = 0; i < count; i++) {
    all->region.slots[i].call.body.block = FC_BLOCK_NONE;
  }
  all->held = fc_alloc_array(allocator, count, sizeof *all->held);
  all->free_slots = fc_alloc_array(allocator, count, sizeof *all->free_slots);
  if (!all->held || !all->free_slots) return fc_fail_memory(err);
  for (uint32_t i = 0; i < count; i++) all->free_slots[i] = count - 1 - i;
  all->free_count = count;
  return FC_OK;
}

static fc_status_t start(fc_thread_hosts_t *all, fc_error_t *err) {
  fc_pool_t *pool = all->base.pool;
  const fc_pool_options_t *options = &pool->options;
  fc_region_t *region = &all->region;
  // One slot more, for the loop's own lane.
  const uint32_t slots = options->workers * QUICK_AHEAD + 1;
  FC_TRY(fc_region_init(region, pool->allocator, slots, err));
  region->blocks = pool->blocks;
  region->dialects = pool->dialects;
  region->guard = options->guard;
  region->find_desk = find_desk;
  region->desk_context = all;
  if (options->process) region->spin_ns = options->process->setup.spin_ns;
  region->wake = pool->events.wake;
  region->wake_context = pool->events.context;
  FC_TRY(make_slots(all, slots, err));
  if (options->tiles > 1) {
    FC_TRY(fc_helpers_create(pool->allocator, options->tiles, region->spin_ns,
                             &all->helpers, err));
    region->tiles = fc_helpers_tiles(all->helpers);
  }
  region->worker_count = options->workers + FC_LIMIT_LOST_THREADS + 1;
  FC_TRY(fc_worker_init(&all->inline_worker, region, region->worker_count - 1,
                        err));
  return fc_threads_start(&all->threads, region, options->workers,
                          FC_LIMIT_LOST_THREADS, err);
}

fc_status_t fc_thread_hosts_create(fc_pool_t *pool, fc_hosts_t **out_hosts,
                                   fc_error_t *err) {
  fc_thread_hosts_t *all = fc_alloc(pool->allocator, sizeof *all);
  if (!all) return fc_fail_memory(err);
  all->base = (fc_hosts_t){.class_ = &kClass, .pool = pool};
  fc_status_t status = start(all, err);
  if (status == FC_OK) *out_hosts = &all->base;
  else destroy(&all->base);
  return status;
}

uint32_t fc_thread_hosts_count(const fc_hosts_t *hosts) {
  const fc_threads_t *threads = &((const fc_thread_hosts_t *)hosts)->threads;
  uint32_t count = threads->count - threads->lost;
  return count < threads->wanted ? count : threads->wanted;
}

uint32_t fc_thread_hosts_lost(const fc_hosts_t *hosts) {
  return ((const fc_thread_hosts_t *)hosts)->threads.lost;
}
