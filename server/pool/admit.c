// SPDX-License-Identifier: Apache-2.0
//
// Admission: may a call be accepted although it must wait?
#include "pool/module_queue.h"

// Is there room in the queue? If it is full, a caller with fewer calls than its share of
// the queue is still accepted, up to twice the limit. So the calls of other callers
// cannot keep it out.
static fc_status_t check_room(const fc_pool_t *pool,
                              const fc_module_queue_t *queue,
                              const fc_job_t *job, uint32_t staged,
                              fc_error_t *err) {
  const uint32_t limit = pool->options.queue_limit;
  // Workers have room for `staged` more calls, so that many calls do not really wait.
  if (queue->waiting < limit + staged) return FC_OK;
  const fc_flow_share_t has = fc_flows_share(&queue->flows, job);
  if (!has.others || queue->waiting >= 2 * limit + staged) {
    return fc_fail(err, FC_CODE_OVERLOADED,
                   "%u calls of this module are waiting, the limit",
                   queue->waiting - staged);
  }
  const uint32_t share = limit / (has.others + 1);
  if (has.own < (share ? share : 1)) return FC_OK;
  return fc_fail(err, FC_CODE_TOO_MANY_REQUESTS,
                 "%u calls of one client wait for this module, its share of "
                 "the queue",
                 has.own);
}

// Would the call end in time, by the past cost of calls? A quarter of the time is
// reserved for calls that cost more now. Without this check the queue would grow until
// its wait is as long as the deadline: most calls would miss it, and would take workers
// from calls that could meet it.
static bool is_in_time(uint64_t deadline_ns, uint64_t now_ns, uint64_t wait_ns,
                       uint64_t cost_ns) {
  if (!deadline_ns) return true;
  if (deadline_ns <= now_ns) return false;
  const uint64_t left_ns = deadline_ns - now_ns;
  const uint64_t most_ns = left_ns - left_ns / 4;
  return wait_ns <= most_ns && cost_ns <= most_ns - wait_ns;
}

fc_status_t fc_pool_admit(const fc_pool_t *pool, const fc_job_t *job,
                          uint64_t now_ns, uint32_t *out_retry_s,
                          fc_error_t *err) {
  const fc_module_queue_t *queue = pool->queues[job->call.generation];
  const uint64_t deadline_ns = job->call.deadline_ns;
  uint32_t staged;
  FC_TRY(fc_host_admit(queue->host, &staged, out_retry_s, err));
  if (queue->waiting == 0) return FC_OK;
  const fc_flow_place_t place = fc_flows_place(&queue->flows, job);
  const fc_cost_t *cost = &queue->costs[job->call.function];
  // Calls that workers already have are ahead too.
  const uint64_t wait_ns =
      fc_cost_wait_ns(cost, place.ahead + queue->host->running, queue->workers);
  fc_status_t status = check_room(pool, queue, job, staged, err);
  if (status == FC_OK && wait_ns &&
      !is_in_time(deadline_ns, now_ns, wait_ns, cost->average_ns)) {
    status = fc_fail(err, FC_CODE_OVERLOADED,
                     "the queue is %llu ms long, too long for the deadline",
                     (unsigned long long)(wait_ns / 1000000u));
  }
  if (status != FC_OK) *out_retry_s = fc_cost_retry_s(wait_ns);
  return status;
}
