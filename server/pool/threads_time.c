// SPDX-License-Identifier: Apache-2.0
//
// Handles calls of threads whose time is over.
#include "config/limits.h"
#include "pool/order.h"
#include "pool/threads_hosts.h"

// The thread may go on writing. So until it comes back, the call keeps its claim, and the
// session keeps all memory that the thread may write to.
static void condemn(fc_thread_hosts_t *all, uint32_t index) {
  const fc_thread_held_t *held = &all->held[index];
  const fc_module_t *module =
      fc_region_module(&all->region, held->host->base.generation);
  const uint32_t function = all->region.slots[index].call.function;
  held->claim->class_->condemn(held->claim, fc_order_function(module, function),
                               FC_LOSS_DEADLINE);
  fc_pool_condemn_claim(all->base.pool, held->claim);
}

static void lose_thread(fc_thread_host_t *self, uint32_t index) {
  fc_thread_hosts_t *all = fc_thread_hosts_of(&self->base);
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

// The time for making a first instance has passed. If no thread has begun to make it, the
// time starts again; otherwise the thread is lost, and the module could not be loaded.
static void expire_loading(fc_thread_host_t *self, uint32_t index) {
  fc_thread_hosts_t *all = fc_thread_hosts_of(&self->base);
  fc_pool_t *pool = self->base.pool;
  fc_slot_t *slot = &all->region.slots[index];
  if (atomic_load_explicit(&slot->begun, memory_order_relaxed) ==
      FC_BEGUN_NOT) {
    slot->call.deadline_ns = fc_thread_host_load_end_ns(pool);
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

// Is the thread of the call's batch lost already? It counts once, whichever call is late.
static bool is_lost(const fc_thread_hosts_t *all, uint32_t index) {
  uint32_t mate = index;
  if (all->region.slots[index].mate == FC_SLOT_NONE) return false;
  do {
    if (all->held[mate].lost) return true;
    mate = all->held[mate].mate;
  } while (mate != index);
  return false;
}

// The deadline of a call in a thread has passed. A call that no thread has begun is
// answered. So is a call in native code, whose thread keeps the slot until the code
// returns, if it ever does. Bytecode ends its own call. A call of a batch is answered
// here, because its bytecode checks only the last deadline of the batch.
static void expire_slot(fc_thread_hosts_t *all, uint32_t index) {
  fc_slot_t *slot = &all->region.slots[index];
  fc_thread_host_t *self = all->held[index].host;
  fc_job_t *job = all->held[index].job;
  if (slot->call.flags & FC_CALL_PREPARE) {
    expire_loading(self, index);
    return;
  }
  bool waits = fc_slot_begin(&slot->begun, FC_BEGUN_NEVER);
  const bool batched = slot->mate != FC_SLOT_NONE;
  if (!waits && !self->native && !batched) return;
  if (!waits && self->native && !is_lost(all, index)) lose_thread(self, index);
  if (!job) return;  // it was dropped
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_DEADLINE_EXCEEDED, "the deadline passed %s",
                waits ? "in the queue" : "while it ran");
  job->call.steps = atomic_load_explicit(&slot->steps, memory_order_relaxed);
  if (waits) all->held[index].job = NULL;
  else fc_thread_held_forget(&all->held[index]);
  fc_thread_hosts_leave(all, index);
  job->slot = FC_SLOT_NONE;
  fc_pool_fail(&self->base, job, waits ? FC_STAGE_QUEUE : FC_STAGE_CALL,
               &error);
}

// A dropped call keeps its thread too, so slots are checked whether somebody waits for
// their call or not. Free slots have no deadline.
static bool can_expire(const fc_thread_hosts_t *all, uint32_t index) {
  const fc_slot_t *slot = &all->region.slots[index];
  return slot->call.deadline_ns && !all->held[index].lost &&
         atomic_load_explicit(&slot->begun, memory_order_relaxed) !=
             FC_BEGUN_NEVER;
}

// The client's deadline of a session's call has passed: it is answered. A call that has
// begun goes on; another is never begun.
static void expire_wait(fc_thread_hosts_t *all, uint32_t index,
                        uint64_t now_ns) {
  fc_thread_held_t *held = &all->held[index];
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
  fc_thread_held_forget(held);
  job->slot = FC_SLOT_NONE;
  fc_pool_fail(&held->host->base, job, waits ? FC_STAGE_QUEUE : FC_STAGE_CALL,
               &error);
}

void fc_thread_hosts_expire(fc_hosts_t *hosts, uint64_t now_ns) {
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
