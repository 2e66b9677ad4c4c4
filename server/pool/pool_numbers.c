// SPDX-License-Identifier: Apache-2.0
//
// Reports the numbers of the pool, and of each module's calls and workers.
#include "pool/module_queue.h"
#include "pool/threads_host.h"

uint32_t fc_pool_threads(const fc_pool_t *pool) {
  return fc_thread_hosts_count(pool->hosts[FC_HOSTS_THREAD]);
}

uint32_t fc_pool_lost_threads(const fc_pool_t *pool) {
  return fc_thread_hosts_lost(pool->hosts[FC_HOSTS_THREAD]);
}

uint32_t fc_pool_running(const fc_pool_t *pool) {
  uint32_t running = 0;
  for (int i = 0; i < FC_HOSTS_COUNT; i++) running += pool->hosts[i]->running;
  return running;
}

uint32_t fc_pool_references(const fc_pool_t *pool) {
  uint32_t references = 0;
  for (uint32_t i = 0; i < pool->queue_count; i++) {
    fc_host_facts_t facts;
    if (!pool->queues[i] || !pool->queues[i]->host) continue;
    fc_host_describe(pool->queues[i]->host, &facts);
    references += facts.references;
  }
  return references;
}

uint32_t fc_pool_in_threads(const fc_pool_t *pool) {
  return pool->hosts[FC_HOSTS_THREAD]->running;
}

uint64_t fc_pool_cpu_ns(const fc_pool_t *pool, uint32_t module) {
  if (module >= pool->queue_count || !pool->queues[module]) return 0;
  const fc_module_queue_t *queue = pool->queues[module];
  const fc_host_class_t *class_ = queue->host->hosts->class_;
  return class_->cpu_ns ? class_->cpu_ns(queue->host) : queue->spent_ns;
}

void fc_pool_numbers(const fc_pool_t *pool, uint32_t module,
                     fc_pool_numbers_t *out) {
  *out = (fc_pool_numbers_t){0};
  if (module >= pool->queue_count || !pool->queues[module]) return;
  const fc_module_queue_t *queue = pool->queues[module];
  fc_host_facts_t facts;
  fc_host_describe(queue->host, &facts);
  out->waiting = queue->waiting;
  out->running = queue->host->running;
  out->timeouts = queue->timeouts;
  out->unlike = queue->unlike;
  out->cancels = queue->cancels;
  out->lost = facts.lost_threads;
  out->crashes = facts.crashes;
  out->restarts = facts.restarts;
  out->quarantines = facts.quarantines;
  out->quarantined = facts.quarantined_ns != 0;
  fc_host_worker_t worker;
  while (fc_host_worker(queue->host, (uint32_t)out->workers, &worker)) {
    out->workers++;
  }
}

const fc_host_t *fc_pool_host(const fc_pool_t *pool, uint32_t module) {
  if (module >= pool->queue_count || !pool->queues[module]) return NULL;
  return pool->queues[module]->host;
}

uint64_t fc_pool_audience(const fc_pool_t *pool, uint32_t module) {
  const fc_host_t *host = fc_pool_host(pool, module);
  return host ? host->audience : FC_AUDIENCE_NONE;
}
