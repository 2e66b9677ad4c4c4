// SPDX-License-Identifier: Apache-2.0
//
// Shared by threads_host.c and threads_time.c. Loop thread.
#ifndef FARCALL_SERVER_POOL_THREADS_HOSTS_H_
#define FARCALL_SERVER_POOL_THREADS_HOSTS_H_

#include "pool/helpers.h"
#include "pool/pool.h"
#include "pool/threads.h"
#include "pool/threads_host.h"
#include "pool/worker.h"

typedef struct fc_thread_hosts_t {
  fc_hosts_t base;
  fc_region_t region;
  fc_threads_t threads;
  fc_helpers_t *helpers;   // of --tiles; NULL: none
  fc_store_desk_t *desks;  // of each slot; NULL: no session has had a call yet
  fc_worker_t inline_worker;      // the worker that the loop itself is
  struct fc_thread_held_t *held;  // the data of each slot's call
  uint32_t *free_slots;           // a stack of the free slots
  uint32_t free_count;
  // Slots whose threads are not notified yet, as a linked list
  uint32_t first;
  uint32_t last;
  uint32_t count;
  // Batched calls that share a thread with another call: all calls of each batch except
  // one.
  uint32_t mates;
  // Set if no room was found since `notify`: for a call that is not quick, and for one
  // with FC_AHEAD_NONE.
  bool slow_waits;
  bool batch_waits;
  bool frees_wait;  // no slot was free to free references that have gone
} fc_thread_hosts_t;

typedef struct fc_thread_host_t {
  fc_host_t base;
  bool serial;
  // The most calls that run at once; 0: as many as there are threads.
  uint32_t most;
  bool native;    // it runs machine code, so a thread in it cannot be stopped
  bool apart;     // its calls may loop for ever, so they are not batched
  uint64_t lost;  // threads lost in its calls, ever
  uint32_t missing;  // threads lost in its calls that have not come back
  uint32_t mates;    // the part of fc_thread_hosts_t.mates that are its calls
  fc_job_t loading;  // makes the first instance
  fc_home_t home;    // of the references of its sessions
  bool frees;        // a thread frees those that have gone
} fc_thread_host_t;

// A call in a slot.
typedef struct fc_thread_held_t {
  fc_thread_host_t *host;
  fc_job_t *job;           // NULL: nobody waits for the call any more
  bool lost;               // the thread that has the call counts as lost
  fc_owner_t caller;       // of a call that nobody waits for
  fc_owner_count_t count;  // of a call that nobody waits for
  fc_claim_t *claim;       // of its session; NULL: none
  const fc_claim_slab_t *slab;
  // The next slot of the batch, in a ring of those not ended yet.
  uint32_t mate;
} fc_thread_held_t;

static inline fc_thread_hosts_t *fc_thread_hosts_of(const fc_host_t *host) {
  return (fc_thread_hosts_t *)host->hosts;
}

static inline uint64_t fc_thread_host_load_end_ns(const fc_pool_t *pool) {
  return fc_clock_ns() + pool->options.load_ms * 1000000u;
}

// Call it when nobody waits for the call any more: the call goes on without its job.
static inline void fc_thread_held_forget(fc_thread_held_t *held) {
  held->caller = held->job->caller;
  held->count = fc_owner_count_take(&held->job->count);
  held->job = NULL;
}

// Call it when nobody waits for the slot's call any more. If nobody waits for any call
// of the batch, the whole batch is told to stop.
void fc_thread_hosts_leave(fc_thread_hosts_t *all, uint32_t index);
// threads_time.c
void fc_thread_hosts_expire(fc_hosts_t *hosts, uint64_t now_ns);

#endif  // FARCALL_SERVER_POOL_THREADS_HOSTS_H_
