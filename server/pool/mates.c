// SPDX-License-Identifier: Apache-2.0
//
// Decides which calls are computed in a batch (host.h): fc_cost_gains says whether that
// pays, and the host whether it has room (may_join, join). Loop thread.
#include "marshal/batch.h"
#include "pool/module_queue.h"

// A batch has at most as many calls as the largest bucket has rows. So the calls that
// wait are shared by the free workers.
void fc_mates_begin(const fc_module_t *module, size_t function,
                    const fc_hosting_t *hosting, fc_cost_t *cost) {
  const fc_plan_t *plan = fc_module_function(module, function)->plan;
  if (hosting->apart || hosting->trial || hosting->fresh || !plan ||
      !plan->batch || !plan->batch->on || !plan->batch->count) {
    return;
  }
  const int64_t rows = plan->batch->buckets[plan->batch->count - 1].rows;
  cost->together = rows < FC_BATCH_CALLS ? (uint8_t)rows : FC_BATCH_CALLS;
  cost->delay_ns = plan->batch->delay_ns;
}

bool fc_mates_wait(fc_pool_t *pool, const fc_module_queue_t *queue,
                   fc_job_t *job) {
  const fc_cost_t *cost = &queue->costs[job->call.function];
  if (FC_LIKELY(!cost->delay_ns) || queue->waiting >= cost->together) {
    return false;
  }
  const uint64_t end_ns = job->came_ns + cost->delay_ns;
  if (fc_clock_ns() >= end_ns ||
      !fc_cost_allows(cost, job->call.deadline_ns, end_ns)) {
    return false;
  }
  fc_pool_note_due(pool, end_ns);
  return true;
}

bool fc_mates_join(fc_module_queue_t *queue, const fc_job_t *first,
                   const fc_job_t *last, fc_job_t *job, uint64_t now_ns) {
  const fc_cost_t *cost = &queue->costs[first->call.function];
  if (job->call.function != first->call.function ||
      !fc_mates_may_join(queue, job) ||
      !fc_cost_allows(cost, last->call.deadline_ns, now_ns) ||
      !fc_cost_allows(cost, job->call.deadline_ns, now_ns)) {
    return false;
  }
  job->call.batch_ns = first->call.batch_ns;
  return queue->host->hosts->class_->join(queue->host, first, job);
}

void fc_mates_note_unlike(fc_pool_t *pool, fc_module_queue_t *queue,
                          const fc_job_t *job) {
  const fc_pool_events_t *events = &pool->events;
  const uint32_t function = job->call.function;
  if (!queue->costs[function].together) return;  // another call has told it
  queue->costs[function].together = 0;
  fc_batch_part(fc_module_function(queue->module, function)->plan->batch);
  queue->unlike++;
  if (events->on_unlike) {
    events->on_unlike(events->context, job->call.generation, function);
  }
}
