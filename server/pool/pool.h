// SPDX-License-Identifier: Apache-2.0
//
// The loop's side of the workers: admission, the queues calls wait in, lanes,
// and the batched hand-over both ways. Everything here is one loop's and is
// used on its thread only; what is shared with workers is the region.
#ifndef FARCALL_SERVER_POOL_POOL_H_
#define FARCALL_SERVER_POOL_POOL_H_

#include "pool/region.h"

typedef enum fc_job_state_t {
  FC_JOB_NEW,
  FC_JOB_QUEUED,   // waits in its module's queue
  FC_JOB_RUNNING,  // has a slot
} fc_job_state_t;

// A call as the loop sees it. Embedded in whoever asked for it; zeroed is new.
typedef struct fc_job_t {
  uint32_t module;
  uint32_t function;
  uint8_t front;
  uint8_t flags;  // FC_SLOT_VALIDATE
  uint64_t deadline_ns;
  fc_piece_t body;  // owned by the job until it runs
  // The pool's
  uint8_t state;
  uint32_t slot;
  struct fc_job_t *next;
  struct fc_job_t *previous;
} fc_job_t;

typedef enum fc_lane_t {
  FC_LANE_AUTO,
  FC_LANE_ALWAYS,
  FC_LANE_NEVER
} fc_lane_t;

typedef struct fc_pool_options_t {
  uint32_t workers;
  uint32_t queue_limit;  // calls of one module that may wait
  fc_lane_t lane;
} fc_pool_options_t;

typedef struct fc_pool_t {
  fc_allocator_t allocator;
  fc_pool_options_t options;
  fc_region_t region;
  fc_threads_t threads;
  fc_worker_t inline_worker;
  struct fc_module_queue_t *queues;  // by module index
  uint32_t queue_count;
  struct fc_module_queue_t *active_first;  // queues with waiting calls, in turn
  struct fc_module_queue_t *active_last;
  fc_job_t **jobs;       // by slot; NULL when nobody waits for it
  uint32_t *free_slots;  // a stack
  uint32_t free_count;
  uint32_t waiting;
  uint32_t running;               // in slots that workers have
  uint64_t inline_spent_ns;       // of this loop turn
  uint64_t earliest_deadline_ns;  // of a waiting call, 0 = none; may be too low
} fc_pool_t;

// Starts the workers. `blocks` and `fronts` are borrowed; `ring(context)` is
// called on a worker's thread and must make the loop call fc_pool_collect.
fc_status_t fc_pool_init(fc_pool_t *pool, fc_allocator_t allocator,
                         const fc_pool_options_t *options, fc_blocks_t *blocks,
                         const fc_front_worker_t *fronts,
                         void (*ring)(void *context), void *context,
                         fc_error_t *err) FC_MUST_CHECK;
// Waits for running calls. Accepts a zeroed pool.
void fc_pool_deinit(fc_pool_t *pool);
// All modules are loaded: calls may be submitted from now on.
fc_status_t fc_pool_open(fc_pool_t *pool, const fc_registry_t *registry,
                         fc_error_t *err) FC_MUST_CHECK;

// May a call of this module wait? FC_CODE_OVERLOADED, then *out_retry_s says
// when to come back.
fc_status_t fc_pool_admit(const fc_pool_t *pool, uint32_t module,
                          uint32_t function, uint64_t deadline_ns,
                          uint32_t *out_retry_s, fc_error_t *err);

// Runs the call here and now if its lane is the loop's. True: job->slot holds
// the answer, the caller must fc_pool_finish it.
bool fc_pool_try_inline(fc_pool_t *pool, fc_job_t *job);
// Puts the job at the end of its module's queue.
void fc_pool_enqueue(fc_pool_t *pool, fc_job_t *job);
// Hands waiting calls to free workers, in one batch. Once a loop turn.
void fc_pool_flush(fc_pool_t *pool);
// Nobody waits for the job any more. A queued one is forgotten and its body
// given back; a running one is told, and its answer will be thrown away.
void fc_pool_drop(fc_pool_t *pool, fc_job_t *job);

// Takes finished calls, oldest first. `on_done` must fc_pool_finish its slot.
void fc_pool_collect(fc_pool_t *pool, bool awake,
                     void (*on_done)(void *context, fc_job_t *job),
                     void *context);
fc_slot_t *fc_pool_slot(fc_pool_t *pool, const fc_job_t *job);
// Gives the job's slot back, and every block it still owns (a caller that takes
// the answer over sets piece_count to 0). Learns the function's cost.
void fc_pool_finish(fc_pool_t *pool, fc_job_t *job);

// Takes the waiting calls whose deadline has passed out of their queues.
void fc_pool_expire(fc_pool_t *pool, uint64_t now_ns,
                    void (*on_expired)(void *context, fc_job_t *job),
                    void *context);

#endif  // FARCALL_SERVER_POOL_POOL_H_
