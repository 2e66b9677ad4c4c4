// SPDX-License-Identifier: Apache-2.0
//
// The work in each turn of the loop for the processes of all modules together.
#include "pool/process_hosts.h"

#include "config/limits.h"

static bool has_calls(const fc_process_host_t *host) {
  for (const fc_child_t *child = host->children; child; child = child->next) {
    if (child->count || !child->notified) return true;
  }
  return false;
}

// Tells the sessions that had references in processes that have ended, as many as one turn
// allows.
static void lose_sessions(const fc_process_hosts_t *all) {
  uint32_t left = FC_LIMIT_LOSSES;
  fc_child_t *next;
  for (fc_child_t *child = all->closed; child && left; child = next) {
    next = child->next;  // it leaves the list if it is freed
    left -= fc_home_lose(&child->home, left);
    fc_child_let_go(child);
  }
}

static bool has_losses(const fc_process_hosts_t *all) {
  const fc_child_t *child = all->closed;
  while (child && !child->home.first) child = child->next;
  return child != NULL;
}

// The most replies of the nursery that a turn of the loop handles. A reply may take time:
// calls are answered, lines are logged.
#define REPLIES 16

// Hosts leave the list of busy ones here, or when they are retired, but not between
// fc_process_hosts_sleep and _wake, which both iterate over it.
void fc_process_hosts_collect(fc_hosts_t *hosts, bool awake) {
  fc_process_hosts_t *all = (fc_process_hosts_t *)hosts;
  fc_process_host_t **at = &all->busy;
  (void)awake;
  all->copy_left = FC_LIMIT_COPY;
  all->batch_left = FC_LIMIT_COPY_BATCH;
  (void)fc_nursery_collect(&all->nursery, REPLIES);
  fc_cradles_free_files(all);
  lose_sessions(all);
  while (*at) {
    fc_process_host_t *host = *at;
    fc_child_t *next;
    for (fc_child_t *child = host->children; child; child = next) {
      next = child->next;  // it leaves the list if it is settled
      if (child->giving.active && !child->ended) fc_child_give_on(child);
      if (child->ended) {
        fc_child_settle(child);
        continue;
      }
      if (child->count) fc_child_collect(child);
      fc_child_pass_waiting(child);
    }
    host->busy = has_calls(host);
    if (host->busy) at = &host->next_busy;
    else *at = host->next_busy;
  }
}

static fc_process_host_t *busy_of(const fc_hosts_t *hosts) {
  return ((const fc_process_hosts_t *)hosts)->busy;
}

void fc_process_hosts_notify(fc_hosts_t *hosts) {
  for (fc_process_host_t *host = busy_of(hosts); host; host = host->next_busy) {
    for (fc_child_t *child = host->children; child; child = child->next) {
      if (child->notified) continue;
      child->notified = true;
      fc_child_close_batch(child);
      fc_ring_notify(&child->ring);
    }
  }
}

bool fc_process_hosts_sleep(fc_hosts_t *hosts) {
  fc_process_hosts_t *all = (fc_process_hosts_t *)hosts;
  bool quiet = !atomic_load(&all->nursery.replied) && !has_losses(all);
  atomic_store_explicit(&all->calls, hosts->running != 0, memory_order_relaxed);
  for (fc_process_host_t *host = busy_of(hosts); host; host = host->next_busy) {
    for (fc_child_t *child = host->children; child; child = child->next) {
      if (child->ended) quiet = false;
      if (child->count == 0 || child->ended || child->cause == FC_CAUSE_LIE) {
        continue;
      }
      if (child->giving.active || child->taking.active) quiet = false;
      child->asleep = true;
      // The calls of a process are collected in the order in which they were given, so
      // only the oldest can be collected next.
      if (!fc_ring_sleep(&child->ring, child->first, 1)) quiet = false;
    }
  }
  return quiet;
}

void fc_process_hosts_wake(fc_hosts_t *hosts) {
  for (fc_process_host_t *host = busy_of(hosts); host; host = host->next_busy) {
    for (fc_child_t *child = host->children; child; child = child->next) {
      if (!child->asleep) continue;
      child->asleep = false;
      fc_ring_wake(&child->ring);
    }
  }
}
