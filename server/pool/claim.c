// SPDX-License-Identifier: Apache-2.0
//
// Calls of a session that wait for their turn are in no flow, so the links of a flow are
// used to link them.
#include "pool/claim.h"

#include "pool/module_queue.h"

bool fc_claim_enter(fc_claim_t *claim, fc_job_t *job) {
  if (claim->condemned || job->call.flags & FC_CALL_LATER) return true;
  if (!claim->held && !claim->first) return claim->held = true;
  job->parked = true;
  job->flow_next = NULL;
  job->flow_previous = claim->last;
  if (claim->last) claim->last->flow_next = job;
  else claim->first = job;
  claim->last = job;
  return false;
}

void fc_claim_wait(fc_claim_t *claim, fc_job_t *job) {
  job->parked = true;
  job->flow_previous = NULL;
  job->flow_next = claim->first;
  if (claim->first) claim->first->flow_previous = job;
  else claim->last = job;
  claim->first = job;
  fc_home_wait(claim);
}

void fc_claim_unpark(fc_claim_t *claim, fc_job_t *job) {
  if (job->flow_previous) job->flow_previous->flow_next = job->flow_next;
  else claim->first = job->flow_next;
  if (job->flow_next) job->flow_next->flow_previous = job->flow_previous;
  else claim->last = job->flow_previous;
  job->flow_next = job->flow_previous = NULL;
  job->parked = false;
}

void fc_pool_pass_claim(fc_pool_t *pool, fc_claim_t *claim) {
  claim->next = pool->passed;
  pool->passed = claim;
}

bool fc_claim_stays(const fc_job_t *job, const fc_outcome_t *outcome) {
  return job && outcome->status == FC_OK && outcome->more;
}

void fc_pool_pass_claims(fc_pool_t *pool) {
  fc_error_t error;
  while (pool->passed) {
    fc_claim_t *claim = pool->passed;
    fc_job_t *job = claim->first;
    if (!job) {
      pool->passed = claim->next;
      claim->held = claim->bond.waited = false;
      claim->class_->idle(claim);
      continue;
    }
    fc_module_queue_t *queue = pool->queues[job->call.generation];
    fc_claim_unpark(claim, job);
    if (claim->class_->refuse(claim, &error)) {
      fc_queue_unlink(pool, queue, job);
      fc_pool_fail(queue->host, job, FC_STAGE_QUEUE, &error);
      continue;
    }
    pool->passed = claim->next;
    // Its turn has come before, when its home had no room.
    if (claim->bond.waited) fc_flows_put_back(&queue->flows, job);
    else fc_flows_put(&queue->flows, job);
    claim->bond.waited = false;
    fc_queue_activate(pool, queue);
  }
}

void fc_pool_condemn_claim(fc_pool_t *pool, fc_claim_t *claim) {
  claim->condemned = true;
  while (claim->first) {
    fc_job_t *job = claim->first;
    fc_module_queue_t *queue = pool->queues[job->call.generation];
    fc_claim_unpark(claim, job);
    fc_flows_put(&queue->flows, job);
    fc_queue_activate(pool, queue);
  }
}

void fc_pool_end_workers(fc_pool_t *pool, uint32_t module) {
  if (module >= pool->queue_count || !pool->queues[module]) return;
  fc_host_t *host = pool->queues[module]->host;
  const fc_host_class_t *class_ = host->hosts->class_;
  if (class_->end_workers) class_->end_workers(host);
}
