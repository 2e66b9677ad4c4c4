// SPDX-License-Identifier: Apache-2.0
//
// The queue of one generation, only for pool.c, mates.c, claim.c, admit.c and lane.c.
// Loop thread.
#ifndef FARCALL_SERVER_POOL_MODULE_QUEUE_H_
#define FARCALL_SERVER_POOL_MODULE_QUEUE_H_

#include "pool/cost.h"
#include "pool/pool.h"

typedef struct fc_module_queue_t {
  fc_job_t *first;  // waiting calls: those put back, then others as they came
  fc_job_t *last;
  // The call whose deadline is checked next. A waiter that is told about one call may
  // drop any other, so a call that leaves the queue is skipped.
  fc_job_t *expiring;
  fc_flows_t flows;  // the same calls, in the order in which they are made
  fc_cost_t mean;    // the average cost of the module's calls
  uint32_t waiting;
  uint32_t workers;   // most calls that run at once
  uint64_t timeouts;  // running calls ended for their deadline
  uint64_t cancels;   // running calls ended because nobody waited for them
  uint64_t unlike;    // functions with another result in a batch than alone
  uint64_t spent_ns;  // time that workers have spent on calls with results
  bool active;
  bool retiring;  // removed when none of its calls runs any more
  const fc_module_t *module;
  fc_host_t *host;
  struct fc_module_queue_t *next_active;
  fc_cost_t *costs;  // by function; the last one is for calls that run none
} fc_module_queue_t;

// Notes that the queue has calls that may be given to its host.
void fc_queue_activate(fc_pool_t *pool, fc_module_queue_t *queue);
// Removes the job from the list of all waiting calls. It must be in no flow any more.
void fc_queue_unlink(fc_pool_t *pool, fc_module_queue_t *queue, fc_job_t *job);
// Gives the turn to the next call of each session whose last call has left its worker.
void fc_pool_pass_claims(fc_pool_t *pool);

// Returns what bounds the time of a call of the function on the loop.
fc_bound_t fc_lane_bound(const fc_pool_t *pool, const fc_module_t *module,
                         size_t function);

// mates.c: batches

// Sets the most calls of the function in a batch, 0 for no batches, and how long a call
// waits for others.
void fc_mates_begin(const fc_module_t *module, size_t function,
                    const fc_hosting_t *hosting, fc_cost_t *cost);
// May the call be begun together with others of its function?
static inline bool fc_mates_may_join(const fc_module_queue_t *queue,
                                     const fc_job_t *job) {
  return queue->costs[job->call.function].together > 1 && !job->alone &&
         !job->claim && !job->call.parts && !job->call.flags &&
         job->call.rows != FC_ROWS_PROVE;
}
// Must the call still wait for others to join it? It waits from the time when it was
// queued, for the time that its module sets, but only until enough calls are there and
// while its deadline allows that.
bool fc_mates_wait(fc_pool_t *pool, const fc_module_queue_t *queue,
                   fc_job_t *job);
// If allowed, gives the host a call to be begun with `first`, after `last`.
bool fc_mates_join(fc_module_queue_t *queue, const fc_job_t *first,
                   const fc_job_t *last, fc_job_t *job, uint64_t now_ns);
// A call had a different result outside a batch: calls of its function, and the rows of
// such calls, are no longer batched.
void fc_mates_note_unlike(fc_pool_t *pool, fc_module_queue_t *queue,
                          const fc_job_t *job);

#endif  // FARCALL_SERVER_POOL_MODULE_QUEUE_H_
