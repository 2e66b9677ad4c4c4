// SPDX-License-Identifier: Apache-2.0
//
// The part of the pool to which hosts report calls (host.h): counts and costs. Loop
// thread.
#include "config/limits.h"
#include "pool/host.h"
#include "pool/module_queue.h"

void fc_pool_note_end(fc_host_t *host) {
  host->running--;
  host->hosts->running--;
}

void fc_pool_uncount(fc_host_t *host, fc_owner_count_t *count) {
  if (count->counts) fc_owners_uncount(host->pool->options.client_calls, count);
}

void fc_pool_note_stopped(fc_host_t *host, bool dropped) {
  fc_module_queue_t *queue = host->pool->queues[host->generation];
  if (dropped) queue->cancels++;
  else queue->timeouts++;
}

void fc_pool_note_outcome(fc_host_t *host, const fc_outcome_t *outcome,
                          bool dropped) {
  if (outcome->status == FC_OK || outcome->stage != FC_STAGE_CALL) return;
  bool late = outcome->error.code == FC_CODE_DEADLINE_EXCEEDED;
  if (!late && !(dropped && outcome->status == FC_CANCELLED)) return;
  fc_pool_note_stopped(host, !late);
}

bool fc_pool_is_waited_for(const fc_host_t *host) {
  return host->pool->queues[host->generation]->flows.count > 0;
}

void fc_pool_charge(fc_host_t *host, const fc_owner_t *caller,
                    uint64_t cost_ns) {
  fc_module_queue_t *queue = host->pool->queues[host->generation];
  const uint64_t mean_ns = queue->mean.average_ns;
  fc_flows_charge(&queue->flows, host->generation, caller, cost_ns,
                  mean_ns ? mean_ns : 1);
}

// A turn is many calls, so its time says nothing about the cost of one.
void fc_pool_charge_turn(fc_host_t *host, const fc_owner_t *caller,
                         uint64_t spent_ns) {
  fc_module_queue_t *queue = host->pool->queues[host->generation];
  queue->spent_ns += spent_ns;
  fc_flows_charge_turn(&queue->flows, host->generation, caller, spent_ns,
                       FC_LIMIT_TURNS_OWED_NS);
}
