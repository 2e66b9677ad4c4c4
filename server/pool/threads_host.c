// SPDX-License-Identifier: Apache-2.0
//
// Calls are passed in slots of one region (region.h). A call of the host itself makes the
// first instance of a generation, so that a failure to make an instance is a failure to
// load.
#include "pool/threads_host.h"

#include "config/limits.h"
#include "pool/order.h"
#include "pool/pool.h"
#include "pool/process_host.h"
#include "pool/threads_hosts.h"

// The most calls that one thread has at a time if they are known to be quick.
#define QUICK_AHEAD 16
// The most quick calls of a serial module, which runs them one by one, that threads have
// at a time.
#define SERIAL_QUICK 4

// ---------------------------------------------------------------------------
// Slots

// For fc_region_t. The session owns the file, and stays while its call has a slot.
static void find_desk(void *context, const fc_slot_t *slot, fc_desk_t *out) {
  const fc_thread_hosts_t *all = context;
  const size_t index = (size_t)(slot - all->region.slots);
  const fc_claim_slab_t *slab = all->held[index].slab;
  *out = (fc_desk_t){&all->desks[index], slab->file, slab->serial};
}

// Lays the desk of a call that was put into a slot. The client's deadline ends the wait
// for the call, not the call itself, which may write values.
static void lay_desk(fc_thread_hosts_t *all, fc_job_t *job, uint32_t index) {
  fc_thread_held_t *held = &all->held[index];
  held->claim = job->claim;
  held->slab = job->claim->slab;
  all->region.slots[index].call.deadline_ns = job->limit_ns;
  held->claim->later = job->call.flags & FC_CALL_LATER;
  fc_store_desk_t *desk = &all->desks[index];
  held->claim->class_->lay(held->claim, desk);
  fc_home_grant(&held->host->home, held->claim,
                fc_order_references(
                    fc_region_module(&all->region, held->host->base.generation),
                    job->call.function),
                desk);
  fc_pool_note_due(all->base.pool, job->call.deadline_ns);
}

// Makes the desks, before the first call of a session.
static bool has_desks(fc_thread_hosts_t *all, fc_error_t *err) {
  if (all->desks) return true;
  all->desks = fc_alloc_array(all->base.pool->allocator, all->region.slot_count,
                              sizeof *all->desks);
  if (all->desks) return true;
  (void)fc_fail_memory(err);
  return false;
}

static fc_slot_t *begin_slot(fc_thread_hosts_t *all, uint32_t index,
                             const fc_invocation_t *call) {
  fc_slot_t *slot = &all->region.slots[index];
  slot->loop = 0;
  slot->call = *call;
  slot->mate = FC_SLOT_NONE;
  slot->answer_block = slot->carry_block = FC_BLOCK_NONE;
  atomic_store_explicit(&slot->steps, call->steps, memory_order_relaxed);
  atomic_store_explicit(&slot->cancel, 0, memory_order_relaxed);
  atomic_store_explicit(&slot->left, 0, memory_order_relaxed);
  atomic_store_explicit(&slot->begun, FC_BEGUN_NOT, memory_order_relaxed);
  slot->outcome.piece_count = 0;
  return slot;
}

// Puts a call into a slot. False: no slot is free.
static bool fill_slot(fc_thread_host_t *self, fc_job_t *job) {
  fc_thread_hosts_t *all = fc_thread_hosts_of(&self->base);
  if (all->free_count == 0) return false;
  uint32_t index = all->free_slots[--all->free_count];
  fc_slot_t *slot = begin_slot(all, index, &job->call);
  if (job->call.flags & FC_CALL_PREPARE) {
    slot->call.deadline_ns = fc_thread_host_load_end_ns(all->base.pool);
    fc_pool_note_due(all->base.pool, slot->call.deadline_ns);
  }
  job->call.body.block = FC_BLOCK_NONE;
  job->slot = index;
  all->held[index] = (fc_thread_held_t){.host = self, .job = job};
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
  all->held[index] = (fc_thread_held_t){0};
  all->free_slots[all->free_count++] = index;
}

// Adds a slot to those that threads are notified of next.
static void put_last(fc_thread_hosts_t *all, uint32_t index) {
  if (all->count++ == 0) all->first = index;
  else all->region.slots[all->last].next = index;
  all->last = index;
}

static void finish(fc_host_t *host, fc_job_t *job) {
  if (job->slot == FC_SLOT_NONE) return;
  free_slot(fc_thread_hosts_of(host), job->slot);
  job->slot = FC_SLOT_NONE;
}

// ---------------------------------------------------------------------------
// References

static fc_thread_host_t *of_home(const fc_home_t *home) {
  return (fc_thread_host_t *)(void *)((char *)(uintptr_t)home -
                                      offsetof(fc_thread_host_t, home));
}

static fc_references_t *references_of(const fc_thread_host_t *self) {
  return fc_region_references(&fc_thread_hosts_of(&self->base)->region,
                              self->base.generation);
}

// Has a thread free the references that have gone. If no slot is free, `notify` tries it
// again.
static void free_references(fc_thread_host_t *self) {
  fc_thread_hosts_t *all = fc_thread_hosts_of(&self->base);
  const fc_invocation_t call = {.generation = self->base.generation,
                                .flags = FC_CALL_FREE,
                                .body = {.block = FC_BLOCK_NONE}};
  if (self->frees) return;
  all->frees_wait |= !all->free_count;
  if (!all->free_count) return;
  const uint32_t index = all->free_slots[--all->free_count];
  (void)begin_slot(all, index, &call);
  all->held[index] = (fc_thread_held_t){.host = self};
  self->frees = true;
  self->base.running++;
  self->base.hosts->running++;
  put_last(all, index);
}

static void drop_reference(fc_home_t *home, uint64_t number) {
  fc_thread_host_t *self = of_home(home);
  if (fc_references_drop(references_of(self), number)) free_references(self);
}

static void free_what_waits(fc_thread_hosts_t *all) {
  all->frees_wait = false;
  for (fc_host_t *host = all->base.first; host; host = host->next) {
    fc_thread_host_t *self = (fc_thread_host_t *)host;
    if (fc_references_gone(references_of(self))) free_references(self);
  }
}

static uint32_t count_references(const fc_home_t *home) {
  return fc_references_count(references_of(of_home(home)));
}

static void make_home(fc_thread_host_t *self, const fc_module_info_t *info) {
  static const fc_home_class_t kHome = {drop_reference, count_references};
  fc_home_init(
      &self->home, &kHome, self->base.pool->allocator, self->base.generation,
      info->private_state ? FC_STORE_REFUSES_PRIVATE : FC_STORE_REFUSES_NONE);
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

// Do threads have as many calls of the module as may run at once? Each call may begin at
// once, so all count, except calls of lost threads. A batch counts as one.
static bool is_full(const fc_thread_host_t *self) {
  const uint32_t running = self->base.running - self->mates;
  return self->most && running - self->missing >= self->most;
}

// Returns how many calls a thread may have when it gets one more. While a call waits for
// room, other calls get no more room than this call, so that its turn comes.
static uint32_t most_of(const fc_thread_hosts_t *all, fc_ahead_t ahead) {
  if (ahead == FC_AHEAD_NONE || all->batch_waits) return 1;
  return ahead == FC_AHEAD_MANY && !all->slow_waits ? QUICK_AHEAD
                                                    : FC_HOST_SLOW_AHEAD;
}

// Has a thread room for a call, and may the module have one more? A serial module may
// have SERIAL_QUICK quick calls, which wait for each other in the threads. While a call
// that is not quick waits for room, quick calls get no more room than others: otherwise a
// steady stream of quick calls would make it wait for ever.
static bool has_room(const fc_host_t *host, fc_ahead_t ahead) {
  fc_thread_hosts_t *all = fc_thread_hosts_of(host);
  const fc_thread_host_t *self = (const fc_thread_host_t *)host;
  const uint32_t serial = ahead == FC_AHEAD_MANY ? SERIAL_QUICK : 1;
  if (self->serial && host->running >= serial) return false;
  if (is_full(self)) return false;
  const uint32_t busy = all->base.running - all->mates - all->threads.lost;
  const uint32_t threads = fc_thread_hosts_count(&all->base);
  if (busy < most_of(all, ahead) * threads) return true;
  all->slow_waits |= ahead == FC_AHEAD_FEW;
  all->batch_waits |= ahead == FC_AHEAD_NONE;
  return false;
}

static fc_offer_t offer(fc_host_t *host, fc_job_t *job, fc_ahead_t ahead,
                        fc_error_t *err) {
  fc_thread_hosts_t *all = fc_thread_hosts_of(host);
  if (!has_room(host, ahead)) return FC_OFFER_FULL;
  if (FC_UNLIKELY(job->claim) && !has_desks(all, err)) return FC_OFFER_REFUSED;
  if (!fill_slot((fc_thread_host_t *)host, job)) return FC_OFFER_FULL;
  put_last(all, job->slot);
  return FC_OFFER_TAKEN;
}

static bool may_join(const fc_host_t *host, const fc_job_t *job) {
  (void)job;
  return !((const fc_thread_host_t *)host)->apart;
}

// slot.mate is the worker's list, whose last slot names itself. held.mate is the loop's
// ring of the calls that have not come back.
static bool join(fc_host_t *host, const fc_job_t *first, fc_job_t *job) {
  fc_thread_hosts_t *all = fc_thread_hosts_of(host);
  fc_thread_host_t *self = (fc_thread_host_t *)host;
  fc_slot_t *slots = all->region.slots;
  uint32_t last = first->slot;
  if (!may_join(host, job) || !fill_slot(self, job)) return false;
  if (slots[last].mate == FC_SLOT_NONE) {
    all->held[last].mate = last;
  } else {
    while (slots[last].mate != last) last = slots[last].mate;
  }
  slots[last].mate = slots[job->slot].mate = job->slot;
  all->held[job->slot].mate = all->held[last].mate;
  all->held[last].mate = job->slot;
  all->mates++;
  self->mates++;
  return true;
}

// A call of a batch has come back. The batch keeps its thread until all have.
static void leave_mates(fc_thread_hosts_t *all, uint32_t index) {
  fc_thread_held_t *held = all->held;
  uint32_t before = index;
  while (held[before].mate != index) before = held[before].mate;
  if (before == index) return;
  held[before].mate = held[index].mate;
  all->mates--;
  held[index].host->mates--;
}

void fc_thread_hosts_leave(fc_thread_hosts_t *all, uint32_t index) {
  uint32_t mate = index;
  if (FC_LIKELY(all->region.slots[index].mate == FC_SLOT_NONE)) return;
  do {
    if (all->held[mate].job) return;
    mate = all->held[mate].mate;
  } while (mate != index);
  do {
    atomic_store_explicit(&all->region.slots[mate].left, 1,
                          memory_order_relaxed);
    mate = all->held[mate].mate;
  } while (mate != index);
}

static void notify(fc_hosts_t *hosts) {
  fc_thread_hosts_t *all = (fc_thread_hosts_t *)hosts;
  all->slow_waits = all->batch_waits = false;
  if (FC_UNLIKELY(all->frees_wait)) free_what_waits(all);
  if (!all->count) return;
  fc_ready_submit(&all->region.ready, all->region.slots, all->first, all->last,
                  all->count);
  all->count = 0;
}

static fc_ran_t run(fc_host_t *host, fc_job_t *job, uint32_t budget_ns) {
  fc_thread_hosts_t *all = fc_thread_hosts_of(host);
  fc_thread_host_t *self = (fc_thread_host_t *)host;
  // A thread that runs a serial module holds the module's lock, and the loop would wait
  // for it.
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

static void drop(fc_host_t *host, fc_job_t *job) {
  fc_thread_hosts_t *all = fc_thread_hosts_of(host);
  fc_slot_t *slot = &all->region.slots[job->slot];
  // A call of a session that has begun goes on.
  if (!job->claim || fc_slot_begin(&slot->begun, FC_BEGUN_NEVER)) {
    atomic_store_explicit(&slot->cancel, 1, memory_order_relaxed);
  }
  fc_thread_held_forget(&all->held[job->slot]);
  fc_thread_hosts_leave(all, job->slot);
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

// Tells the job the result of a turn: the number of steps, and the state for the next
// turn.
static void note_turn(fc_slot_t *slot, fc_job_t *job) {
  job->call.steps = atomic_load_explicit(&slot->steps, memory_order_relaxed);
  if (!slot->outcome.more) return;
  job->call.body = slot->call.body;
  slot->call.body.block = FC_BLOCK_NONE;
}

static void take_desk(fc_thread_hosts_t *all, uint32_t index) {
  fc_outcome_t *outcome = &all->region.slots[index].outcome;
  const fc_thread_held_t *held = &all->held[index];
  fc_claim_t *claim = held->claim;
  if (held->lost) {
    claim->class_->lose(claim, FC_STR(""), FC_LOSS_DEADLINE);  // condemned
  } else if (!claim->class_->take(claim, &all->desks[index], outcome,
                                  &outcome->error)) {
    outcome->status = outcome->error.status;
    claim->class_->lose(claim, FC_STR(""), FC_LOSS_LIE);
  }
  fc_home_end_grant(claim, all->desks[index].reference);
  if (outcome->status != FC_OK) fc_outcome_drop(outcome, all->region.blocks);
  if (!held->lost && fc_claim_stays(held->job, outcome)) {
    held->job->keeps_claim = true;
  } else {
    fc_pool_pass_claim(all->base.pool, claim);
  }
}

// A thread has freed references. Meanwhile others may have gone.
static void end_freeing(fc_thread_hosts_t *all, uint32_t index) {
  fc_thread_host_t *self = all->held[index].host;
  free_slot(all, index);
  fc_pool_note_end(&self->base);
  self->frees = false;
  if (fc_references_gone(references_of(self))) free_references(self);
}

static void collect_slot(fc_thread_hosts_t *all, uint32_t index) {
  fc_slot_t *slot = &all->region.slots[index];
  fc_thread_host_t *self = all->held[index].host;
  if (FC_UNLIKELY(slot->call.flags == FC_CALL_FREE)) {
    end_freeing(all, index);
    return;
  }
  fc_job_t *job = all->held[index].job;
  if (FC_UNLIKELY(all->held[index].claim)) take_desk(all, index);
  if (FC_UNLIKELY(slot->mate != FC_SLOT_NONE)) leave_mates(all, index);
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
  if (job == &self->loading) finish_loading(self, &slot->outcome);
  else if (job) fc_pool_deliver(&self->base, job, &slot->outcome);
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

// Sleeping needs no preparation: a thread that finishes a call wakes the loop, unless a
// wake-up is already pending (fc_done_push).
static bool sleep_(fc_hosts_t *hosts) {
  (void)hosts;
  return true;
}

static void wake(fc_hosts_t *hosts) { (void)hosts; }

// ---------------------------------------------------------------------------

static void look(fc_hosts_t *hosts, uint64_t now_ns) {
  (void)hosts;
  (void)now_ns;
}

// ---------------------------------------------------------------------------
// Beginning and end

static void describe(const fc_host_t *host, fc_host_facts_t *out_facts) {
  const fc_thread_host_t *self = (const fc_thread_host_t *)host;
  *out_facts = (fc_host_facts_t){.lost_threads = self->lost,
                                 .stuck = self->missing,
                                 .references = count_references(&self->home)};
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
  self->apart = info->endless;
  fc_hosts_link(hosts, generation, &self->base);
  make_home(self, info);
  *out_host = &self->base;
  self->loading = (fc_job_t){.call = {.generation = generation,
                                      .flags = FC_CALL_PREPARE,
                                      .body = {.block = FC_BLOCK_NONE}}};
  fc_pool_enqueue(hosts->pool, &self->loading);
  return FC_OK;
}

static void free_host(fc_host_t *host) {
  fc_home_leave(&((fc_thread_host_t *)host)->home);
  fc_region_remove(&fc_thread_hosts_of(host)->region, host->generation);
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
                                       .may_join = may_join,
                                       .join = join,
                                       .finish = finish,
                                       .drop = drop,
                                       .retire = retire,
                                       .describe = describe,
                                       .worker = worker,
                                       .notify = notify,
                                       .collect = collect,
                                       .sleep = sleep_,
                                       .wake = wake,
                                       .expire = fc_thread_hosts_expire,
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
  // One more slot, for the loop's own lane.
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
