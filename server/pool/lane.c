// SPDX-License-Identifier: Apache-2.0
//
// The lane: calls that the loop runs itself. Meanwhile no other client is served. So with
// --lane=auto a call is run here only if its time is bounded before it begins: by a
// proof, or by a budget, after which the attempt is given up and the call is queued as if
// it had not begun. With --lane=always the operator declares that all calls are quick.
#include "base/inflate.h"
#include "config/limits.h"
#include "pool/module_queue.h"

// No bound is known for a function that stands for several (fc_sizes_t), nor for a call
// whose tensors are mapped separately (guard).
fc_bound_t fc_lane_bound(const fc_pool_t *pool, const fc_module_t *module,
                         size_t function) {
  const fc_module_info_t *info = fc_module_get_info(module);
  if (!info->bounds || pool->options.guard == FC_GUARD_ON ||
      function >= info->count ||
      info->signatures[function] !=
          fc_module_function(module, function)->signature) {
    return FC_BOUND_NONE;
  }
  return (fc_bound_t)info->bounds[function];
}

// May an attempt be made, which may have to be given up? Not while earlier given-up
// attempts exceed their share of the loop's time.
static bool may_attempt(fc_pool_t *pool) {
  if (!pool->attempts_from_ns) return true;
  if (fc_clock_ns() < pool->attempts_from_ns) return false;
  pool->attempts_from_ns = 0;
  return true;
}

// With --lane=auto: is the time of the call bounded before it begins, and were past calls
// of the function quick? DECODE is bounded by the size of the body: the slowest body of
// 16 KB, all of "NaN", took 0.13 ms.
static bool is_quick_inline(fc_pool_t *pool, const fc_job_t *job,
                            const fc_cost_t *cost) {
  return cost->bound != FC_BOUND_NONE && cost->samples >= cost->needed &&
         cost->average_ns < FC_LIMIT_INLINE_COST_NS &&
         job->call.body.size < FC_LIMIT_INLINE_BODY &&
         !(job->call.flags & FC_CALL_PROFILE) &&
         pool->inline_spent_ns < FC_LIMIT_INLINE_TURN_NS &&
         (cost->bound == FC_BOUND_PROVED || may_attempt(pool));
}

static bool belongs_inline(fc_pool_t *pool, const fc_job_t *job) {
  if (pool->options.lane == FC_LANE_NEVER || job->call.parts) return false;
  const fc_module_queue_t *queue = pool->queues[job->call.generation];
  // A call must not overtake others of its module.
  if (!queue->host->hosts->class_->run || queue->waiting) return false;
  // Decompressing the body takes time, however quick the function is.
  if (job->call.body_coding) return false;
  return pool->options.lane == FC_LANE_ALWAYS ||
         is_quick_inline(pool, job, &queue->costs[job->call.function]);
}

// Counts the time of a call on the loop. If the time was long, the function leaves the
// lane.
static void spend(fc_pool_t *pool, fc_cost_t *cost, uint64_t spent_ns) {
  pool->inline_spent_ns += spent_ns;
  if (spent_ns > FC_LIMIT_INLINE_WORST_NS) fc_cost_doubt(cost);
}

// Gives up an attempt: the job is as before.
static void give_up(fc_pool_t *pool, fc_module_queue_t *queue, fc_job_t *job) {
  fc_cost_t *cost = &queue->costs[job->call.function];
  const uint64_t lost_ns = fc_outcome_worker_ns(job->outcome);
  pool->inline_spent_ns += lost_ns;
  pool->attempts_from_ns =
      fc_clock_ns() + lost_ns * (FC_LIMIT_INLINE_LOST_SHARE - 1);
  fc_cost_doubt(cost);
  queue->host->hosts->class_->finish(queue->host, job);
  job->outcome = NULL;
}

bool fc_pool_try_inline(fc_pool_t *pool, fc_job_t *job) {
  if (!belongs_inline(pool, job)) return false;
  fc_module_queue_t *queue = pool->queues[job->call.generation];
  fc_cost_t *cost = &queue->costs[job->call.function];
  const bool attempt =
      pool->options.lane == FC_LANE_AUTO && cost->bound != FC_BOUND_PROVED;
  // Most clients accept a compressed answer. That is no reason to use a worker, because
  // compressing is optional.
  const uint8_t coding = job->call.answer_coding;
  job->call.answer_coding = FC_CODING_NONE;
  const fc_ran_t ran = queue->host->hosts->class_->run(
      queue->host, job, attempt ? FC_LIMIT_INLINE_WORST_NS : 0);
  if (ran == FC_RAN_OVER) give_up(pool, queue, job);
  if (ran != FC_RAN) {
    job->call.answer_coding = coding;
    return false;
  }
  job->retry_s = 0;
  job->state = FC_JOB_RUNNING;
  fc_pool_note_outcome(queue->host, job->outcome, false);
  spend(pool, cost, fc_outcome_worker_ns(job->outcome));
  return true;
}
