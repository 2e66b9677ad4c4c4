// SPDX-License-Identifier: Apache-2.0
//
// Admission and queues. Calls wait in queues and not in slots, so a call whose deadline
// passes or whose client leaves costs a worker nothing: a slot is filled only when a
// worker is about to be free. Modules take turns; within a module, callers do (flow.h).
#include "pool/pool.h"

#include "config/limits.h"
#include "pool/module_queue.h"
#include "pool/process_host.h"
#include "pool/threads_host.h"
#include "pool/turn.h"

#define QUICK_NS 100000u  // functions that take less on average are quick

typedef fc_module_queue_t module_queue_t;

typedef fc_status_t (*create_hosts_t)(fc_pool_t *pool, fc_hosts_t **out_hosts,
                                      fc_error_t *err);

static const create_hosts_t kKinds[FC_HOSTS_COUNT] = {
    [FC_HOSTS_THREAD] = fc_thread_hosts_create,
    [FC_HOSTS_PROCESS] = fc_process_hosts_create,
};

fc_status_t fc_pool_init(fc_pool_t *pool, fc_allocator_t allocator,
                         const fc_pool_options_t *options, fc_blocks_t *blocks,
                         const fc_dialect_worker_t *const *dialects,
                         const fc_pool_events_t *events, fc_error_t *err) {
  *pool = (fc_pool_t){.allocator = allocator,
                      .options = *options,
                      .blocks = blocks,
                      .dialects = dialects,
                      .flows = {.key = options->flow_key},
                      .events = *events};
  for (int i = 0; i < FC_HOSTS_COUNT; i++) {
    fc_status_t status = kKinds[i](pool, &pool->hosts[i], err);
    if (status == FC_OK) continue;
    fc_pool_deinit(pool);
    return status;
  }
  return FC_OK;
}

static void free_queue(fc_pool_t *pool, uint32_t index) {
  fc_flows_forgive(&pool->flows, index);
  fc_free(pool->allocator, pool->queues[index]->costs);
  fc_free(pool->allocator, pool->queues[index]);
  pool->queues[index] = NULL;
}

void fc_pool_deinit(fc_pool_t *pool) {
  // Processes are ended first: they are killed, while threads must be waited for, which
  // may take long.
  for (int i = FC_HOSTS_COUNT; i-- > 0;) {
    if (pool->hosts[i]) pool->hosts[i]->class_->destroy(pool->hosts[i]);
  }
  for (uint32_t i = 0; i < pool->queue_count; i++) {
    if (pool->queues[i]) free_queue(pool, i);
  }
  fc_free(pool->allocator, (void *)pool->queues);
  *pool = (fc_pool_t){0};
}

void fc_hosts_link(fc_hosts_t *hosts, uint32_t generation, fc_host_t *host) {
  host->hosts = hosts;
  host->pool = hosts->pool;
  host->generation = generation;
  host->next = hosts->first;
  hosts->first = host;
}

void fc_hosts_unlink(fc_host_t *host) {
  fc_host_t **at = &host->hosts->first;
  while (*at != host) at = &(*at)->next;
  *at = host->next;
}

static const fc_host_class_t *class_of(const fc_host_t *host) {
  return host->hosts->class_;
}

// Makes `queues` long enough for generation `index`.
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

static module_queue_t *create_queue(fc_pool_t *pool, const fc_module_t *module,
                                    const fc_hosting_t *hosting) {
  const fc_module_info_t *info = fc_module_get_info(module);
  size_t functions = fc_module_function_count(module);
  module_queue_t *queue = fc_alloc(pool->allocator, sizeof *queue);
  if (!queue) return NULL;
  queue->flows.table = &pool->flows;
  queue->module = module;
  queue->workers = hosting->workers ? hosting->workers : pool->options.workers;
  if (info->serial && !hosting->fresh) queue->workers = 1;
  queue->costs =
      fc_alloc_array(pool->allocator, functions + 1, sizeof *queue->costs);
  if (!queue->costs) {
    fc_free(pool->allocator, queue);
    return NULL;
  }
  for (size_t f = 0; f < functions; f++) {
    queue->costs[f].needed = FC_LIMIT_INLINE_SAMPLES;
    queue->costs[f].bound = (uint8_t)fc_lane_bound(pool, module, f);
    fc_mates_begin(module, f, hosting, &queue->costs[f]);
  }
  return queue;
}

fc_status_t fc_pool_add(fc_pool_t *pool, uint32_t index, fc_module_t *module,
                        const fc_hosting_t *hosting, fc_error_t *err) {
  FC_TRY(make_place(pool, index, err));
  FC_ASSERT(!pool->queues[index]);
  pool->queues[index] = create_queue(pool, module, hosting);
  if (!pool->queues[index]) return fc_fail_memory(err);
  const int kind = hosting->process ? FC_HOSTS_PROCESS : FC_HOSTS_THREAD;
  fc_hosts_t *hosts = pool->hosts[kind];
  fc_status_t status = hosts->class_->create(hosts, index, module, hosting,
                                             &pool->queues[index]->host, err);
  if (status != FC_OK) free_queue(pool, index);
  return status;
}

void fc_pool_refuse(fc_pool_t *pool, uint32_t index, uint32_t retry_s,
                    const fc_error_t *error) {
  fc_pool_fail_waiting(pool->queues[index]->host, retry_s, error);
}

void fc_pool_on_host(fc_host_t *host, const fc_error_t *error) {
  fc_pool_t *pool = host->pool;
  pool->events.on_added(pool->events.context, host->generation, error);
}

// ---------------------------------------------------------------------------
// The list of active queues, and the earliest deadline

void fc_queue_activate(fc_pool_t *pool, module_queue_t *queue) {
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
  free_queue(pool, index);
  pool->events.on_retired(pool->events.context, index);
}

// Retires those of the queues to be retired that have no calls left. A worker may still
// run a call that was dropped; its queue must stay until then.
static void retire_idle(fc_pool_t *pool) {
  for (uint32_t i = 0; i < pool->queue_count && pool->retiring; i++) {
    module_queue_t *queue = pool->queues[i];
    if (!queue || !queue->retiring || queue->host->running || queue->waiting) {
      continue;
    }
    queue->retiring = false;
    pool->retiring--;
    class_of(queue->host)->retire(queue->host);
  }
}

// ---------------------------------------------------------------------------
// Queueing calls, and giving them to hosts

void fc_pool_enqueue(fc_pool_t *pool, fc_job_t *job) {
  module_queue_t *queue = pool->queues[job->call.generation];
  job->state = FC_JOB_QUEUED;
  // A job is reused for its client's next call, so values of the last call must not stay.
  job->attempts = 0;
  job->alone = false;
  job->looked_up = 0;
  job->keeps_claim = false;
  job->came_ns = 0;
  if (FC_UNLIKELY(queue->costs[job->call.function].delay_ns)) {
    job->came_ns = fc_clock_ns();
  }
  job->retry_s = 0;
  job->slot = FC_SLOT_NONE;
  job->child = NULL;
  job->next = NULL;
  job->previous = queue->last;
  if (queue->last) queue->last->next = job;
  else queue->first = job;
  queue->last = job;
  queue->waiting++;
  pool->waiting++;
  fc_pool_note_due(pool, job->call.deadline_ns);
  if (FC_UNLIKELY(job->claim) && !fc_claim_enter(job->claim, job)) return;
  fc_flows_put(&queue->flows, job);
  fc_queue_activate(pool, queue);
}

void fc_queue_unlink(fc_pool_t *pool, module_queue_t *queue, fc_job_t *job) {
  if (queue->expiring == job) queue->expiring = job->next;
  if (job->previous) job->previous->next = job->next;
  else queue->first = job->next;
  if (job->next) job->next->previous = job->previous;
  else queue->last = job->previous;
  job->next = job->previous = NULL;
  job->state = FC_JOB_NEW;
  queue->waiting--;
  pool->waiting--;
}

// Passes the claim on, because the call that holds it ends in the queue.
static void pass_claim(fc_pool_t *pool, const fc_job_t *job) {
  if (!job->claim || job->claim->condemned) return;
  fc_pool_pass_claim(pool, job->claim);
}

static void unlink_job(fc_pool_t *pool, fc_job_t *job) {
  module_queue_t *queue = pool->queues[job->call.generation];
  if (job->parked) fc_claim_unpark(job->claim, job);
  else {
    fc_flows_remove(&queue->flows, job);
    pass_claim(pool, job);
  }
  fc_queue_unlink(pool, queue, job);
}

// Takes the job out of the queue because its call is made now. The cost is charged to its
// flow, whose turn goes on or ends.
static void take_first(fc_pool_t *pool, module_queue_t *queue, fc_job_t *job) {
  // A turn is paid when it is over (pay_turn).
  const uint64_t cost_ns =
      job->call.parts ? 0 : queue->costs[job->call.function].average_ns;
  const uint64_t mean_ns = queue->mean.average_ns;
  fc_flows_take(&queue->flows, job, cost_ns ? cost_ns : 1,
                mean_ns ? mean_ns : 1);
  fc_queue_unlink(pool, queue, job);
}

// Returns how many calls a worker may have when it gets the call. If batching the
// function is worthwhile, none: the first call of a batch waits for a free worker.
static fc_ahead_t ahead_of(const module_queue_t *queue, fc_job_t *job) {
  fc_cost_t *cost = &queue->costs[job->call.function];
  if (FC_UNLIKELY(fc_mates_may_join(queue, job)) &&
      class_of(queue->host)->may_join(queue->host, job) &&
      fc_cost_gains(cost)) {
    job->call.batch_ns = fc_cost_limit_ns(cost);
    if (job->call.batch_ns) return FC_AHEAD_NONE;
  }
  const bool quick = cost->samples && cost->average_ns < QUICK_NS;
  return quick && !job->call.parts ? FC_AHEAD_MANY : FC_AHEAD_FEW;
}

static void take_given(fc_pool_t *pool, module_queue_t *queue, fc_job_t *job) {
  take_first(pool, queue, job);
  job->state = FC_JOB_RUNNING;
  queue->host->running++;
  queue->host->hosts->running++;
}

// Lets the next calls join the given one, as long as they may.
static void give_mates(fc_pool_t *pool, module_queue_t *queue,
                       const fc_job_t *first) {
  const uint32_t most = queue->costs[first->call.function].together;
  const fc_job_t *last = first;
  if (queue->flows.count == 0) return;
  const uint64_t now_ns = fc_clock_ns();
  for (uint32_t i = 1; i < most; i++) {
    fc_job_t *job = fc_flows_first(&queue->flows);
    if (!job || !fc_mates_join(queue, first, last, job, now_ns)) return;
    last = job;
    take_given(pool, queue, job);
  }
}

// Offers the call to its host. REFUSED: pool->failure says why.
static fc_offer_t offer(fc_pool_t *pool, const module_queue_t *queue,
                        fc_job_t *job, fc_ahead_t ahead) {
  fc_error_t *error = &pool->failure.error;
  if (FC_UNLIKELY(job->claim) &&
      job->claim->class_->refuse(job->claim, error)) {
    return FC_OFFER_REFUSED;
  }
  return class_of(queue->host)->offer(queue->host, job, ahead, error);
}

static void take_refused(fc_pool_t *pool, module_queue_t *queue,
                         fc_job_t *job) {
  take_first(pool, queue, job);
  pass_claim(pool, job);
  fc_pool_fail(queue->host, job, FC_STAGE_QUEUE, &pool->failure.error);
}

static void begin(fc_pool_t *pool, module_queue_t *queue, fc_job_t *job,
                  fc_ahead_t ahead) {
  take_given(pool, queue, job);
  if (FC_UNLIKELY(ahead == FC_AHEAD_NONE)) give_mates(pool, queue, job);
  else if (FC_UNLIKELY(fc_mates_may_join(queue, job))) {
    fc_cost_note_single(&queue->costs[job->call.function]);
  }
}

// Gives the next call to its host, answers the call if the host refuses it, or puts it
// aside until its home has room. False: the host has no room, or the call waits for others
// to join it.
static bool give_first(fc_pool_t *pool, module_queue_t *queue) {
  fc_job_t *job = fc_flows_first(&queue->flows);
  const fc_ahead_t ahead = ahead_of(queue, job);
  if (FC_UNLIKELY(ahead == FC_AHEAD_NONE) && fc_mates_wait(pool, queue, job)) {
    return false;
  }
  const fc_offer_t answer = offer(pool, queue, job, ahead);
  if (answer == FC_OFFER_FULL) return false;
  if (FC_LIKELY(answer == FC_OFFER_TAKEN)) begin(pool, queue, job, ahead);
  else if (answer == FC_OFFER_REFUSED) take_refused(pool, queue, job);
  else {
    fc_flows_remove(&queue->flows, job);
    fc_claim_wait(job->claim, job);
  }
  return true;
}

void fc_pool_flush(fc_pool_t *pool) {
  pool->inline_spent_ns = 0;
  if (FC_UNLIKELY(pool->passed)) fc_pool_pass_claims(pool);
  if (pool->retiring) retire_idle(pool);
  // The first queue that gave no call since a call was given last. When this queue is at
  // the head again, no queue can give a call, and the queues are in their original order.
  const module_queue_t *stuck = NULL;
  while (pool->active_first && pool->active_first != stuck) {
    module_queue_t *queue = pop_active(pool);
    if (queue->flows.count == 0) continue;
    if (give_first(pool, queue)) stuck = NULL;
    else if (!stuck) stuck = queue;
    if (queue->flows.count) fc_queue_activate(pool, queue);
  }
  for (int i = 0; i < FC_HOSTS_COUNT; i++) {
    pool->hosts[i]->class_->notify(pool->hosts[i]);
  }
}

// Releases the claim, because the next turn of the call is not made.
static void leave_claim(fc_pool_t *pool, fc_job_t *job) {
  if (FC_LIKELY(!job->keeps_claim)) return;
  job->keeps_claim = false;
  fc_pool_pass_claim(pool, job->claim);
}

void fc_pool_drop(fc_pool_t *pool, fc_job_t *job) {
  leave_claim(pool, job);
  if (job->state == FC_JOB_QUEUED) unlink_job(pool, job);
  if (job->state == FC_JOB_RUNNING) {
    fc_host_t *host = pool->queues[job->call.generation]->host;
    class_of(host)->drop(host, job);
    job->state = FC_JOB_NEW;
  }
  fc_block_give(pool->blocks, job->call.body.block);
  job->call.body.block = FC_BLOCK_NONE;
}

// ---------------------------------------------------------------------------
// Collecting outcomes from hosts, and finishing calls

void fc_pool_collect(fc_pool_t *pool, bool awake) {
  for (int i = 0; i < FC_HOSTS_COUNT; i++) {
    pool->hosts[i]->class_->collect(pool->hosts[i], awake);
  }
}

bool fc_pool_sleep(fc_pool_t *pool) {
  bool quiet = true;
  for (int i = 0; i < FC_HOSTS_COUNT; i++) {
    if (!pool->hosts[i]->class_->sleep(pool->hosts[i])) quiet = false;
  }
  return quiet;
}

void fc_pool_wake(fc_pool_t *pool) {
  for (int i = 0; i < FC_HOSTS_COUNT; i++) {
    pool->hosts[i]->class_->wake(pool->hosts[i]);
  }
}

// Frees everything except the job's body.
static void leave_host(fc_pool_t *pool, fc_job_t *job) {
  module_queue_t *queue = pool->queues[job->call.generation];
  fc_outcome_drop(job->outcome, pool->blocks);
  job->outcome = NULL;
  job->state = FC_JOB_NEW;
  class_of(queue->host)->finish(queue->host, job);
}

static void pay_turn(module_queue_t *queue, const fc_job_t *job) {
  fc_pool_charge_turn(queue->host, &job->caller,
                      fc_outcome_worker_ns(job->outcome));
}

void fc_pool_finish(fc_pool_t *pool, fc_job_t *job) {
  module_queue_t *queue = pool->queues[job->call.generation];
  const fc_outcome_t *outcome = job->outcome;
  if (FC_UNLIKELY(outcome->batch.differs)) {
    fc_mates_note_unlike(pool, queue, job);
  }
  // Calls in parts, and calls that only check their arguments, do not show what a call
  // costs.
  if (job->call.parts) {
    pay_turn(queue, job);
  } else if (outcome->status == FC_OK &&
             !(job->call.flags & (FC_CALL_VALIDATE | FC_CALL_PREPARE))) {
    const uint64_t spent_ns = fc_outcome_worker_ns(outcome);
    fc_cost_t *cost = &queue->costs[job->call.function];
    queue->spent_ns += spent_ns;
    fc_cost_learn(cost, spent_ns);
    if (FC_UNLIKELY(outcome->batch.calls)) {
      fc_cost_learn_batch(cost, outcome->batch.calls,
                          outcome->spent_ns[FC_STAGE_CALL],
                          outcome->spent_ns[FC_STAGE_DECODE] +
                              outcome->spent_ns[FC_STAGE_ENCODE]);
    }
    fc_cost_learn(&queue->mean, spent_ns);
  }
  fc_block_give(pool->blocks, job->call.body.block);
  job->call.body.block = FC_BLOCK_NONE;
  leave_claim(pool, job);
  leave_host(pool, job);
}

fc_status_t fc_pool_pause(fc_pool_t *pool, fc_job_t *job, fc_error_t *err) {
  fc_turn_set_pace(&job->call, fc_outcome_worker_ns(job->outcome));
  pay_turn(pool->queues[job->call.generation], job);
  leave_host(pool, job);
  return fc_block_own(pool->blocks, &job->caller, job->call.body.block, err);
}

fc_status_t fc_pool_go_on(fc_pool_t *pool, fc_job_t *job, uint32_t *out_retry_s,
                          fc_error_t *err) {
  const module_queue_t *queue = pool->queues[job->call.generation];
  uint32_t room;
  const fc_status_t status =
      fc_host_admit(queue->host, &room, out_retry_s, err);
  if (status != FC_OK) leave_claim(pool, job);
  else fc_pool_enqueue(pool, job);
  return status;
}

// ---------------------------------------------------------------------------
// For hosts

void fc_pool_deliver(fc_host_t *host, fc_job_t *job, fc_outcome_t *outcome) {
  const fc_pool_events_t *events = &host->pool->events;
  job->outcome = outcome;
  job->state = FC_JOB_RUNNING;
  events->on_done(events->context, job);
}

void fc_pool_fail(fc_host_t *host, fc_job_t *job, fc_stage_t stage,
                  const fc_error_t *error) {
  fc_outcome_t *outcome = &host->pool->failure;
  outcome->status = error->status;
  outcome->stage = (uint8_t)stage;
  outcome->more = false;
  outcome->piece_count = 0;
  outcome->name_size = 0;
  outcome->batch = (fc_batched_t){0};
  outcome->began_ns = fc_clock_ns();
  memset(outcome->spent_ns, 0, sizeof outcome->spent_ns);
  if (error != &outcome->error) outcome->error = *error;
  fc_pool_deliver(host, job, outcome);
}

void fc_pool_requeue(fc_host_t *host, fc_job_t *job) {
  fc_pool_t *pool = host->pool;
  module_queue_t *queue = pool->queues[host->generation];
  job->state = FC_JOB_QUEUED;
  job->previous = NULL;
  job->next = queue->first;
  if (queue->first) queue->first->previous = job;
  else queue->last = job;
  queue->first = job;
  queue->waiting++;
  pool->waiting++;
  fc_flows_put_back(&queue->flows, job);
  fc_pool_note_due(pool, job->call.deadline_ns);
  fc_queue_activate(pool, queue);
}

void fc_pool_fail_waiting(fc_host_t *host, uint32_t retry_s,
                          const fc_error_t *error) {
  fc_pool_t *pool = host->pool;
  module_queue_t *queue = pool->queues[host->generation];
  // A waiter may queue its next call at once: only the calls that wait now are failed.
  for (uint32_t left = queue->waiting; left && queue->first; left--) {
    fc_job_t *job = queue->first;
    unlink_job(pool, job);
    job->retry_s = retry_s;
    fc_pool_fail(host, job, FC_STAGE_QUEUE, error);
  }
}

// ---------------------------------------------------------------------------
// Time

static void expire_queue(fc_pool_t *pool, module_queue_t *queue,
                         uint64_t now_ns) {
  queue->expiring = queue->first;
  while (queue->expiring) {
    fc_job_t *job = queue->expiring;
    queue->expiring = job->next;
    if (!job->call.deadline_ns) continue;
    if (job->call.deadline_ns <= now_ns) {
      unlink_job(pool, job);
      pool->events.on_expired(pool->events.context, job);
    } else {
      fc_pool_note_due(pool, job->call.deadline_ns);
    }
  }
}

// Makes the hosts check their processes, at most every FC_LIMIT_LOOK_MS, for conditions
// that no event reports: too much shared memory, a call that is not begun, a process that
// is no longer needed.
static void look(fc_pool_t *pool, uint64_t now_ns) {
  if (now_ns < pool->look_ns) return;
  pool->look_ns = now_ns + FC_LIMIT_LOOK_MS * 1000000u;
  for (int i = 0; i < FC_HOSTS_COUNT; i++) {
    pool->hosts[i]->class_->look(pool->hosts[i], now_ns);
  }
}

uint64_t fc_pool_due_ns(const fc_pool_t *pool, uint64_t now_ns) {
  uint64_t due_ns = pool->earliest_due_ns;
  for (int i = 0; i < FC_HOSTS_COUNT; i++) {
    const fc_hosts_t *hosts = pool->hosts[i];
    if (!hosts->watched) continue;
    const uint64_t look_ms =
        hosts->running ? FC_LIMIT_LOOK_MS : FC_LIMIT_IDLE_LOOK_MS;
    const uint64_t look_ns = now_ns + look_ms * 1000000u;
    if (!due_ns || look_ns < due_ns) due_ns = look_ns;
  }
  return due_ns;
}

void fc_pool_expire(fc_pool_t *pool, uint64_t now_ns) {
  look(pool, now_ns);
  if (!pool->earliest_due_ns || now_ns < pool->earliest_due_ns) return;
  // Reset before the loop: a waiter may queue its next call at once, and the deadline of
  // that call must count.
  pool->earliest_due_ns = 0;
  for (uint32_t i = 0; i < pool->queue_count; i++) {
    if (pool->queues[i]) expire_queue(pool, pool->queues[i], now_ns);
  }
  for (int i = 0; i < FC_HOSTS_COUNT; i++) {
    pool->hosts[i]->class_->expire(pool->hosts[i], now_ns);
  }
}
