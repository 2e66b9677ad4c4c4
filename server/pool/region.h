// SPDX-License-Identifier: Apache-2.0
//
// A region: what the loop and its workers share. Slots, blocks, the two queues,
// and what the indices in a slot stand for. Threads share one fc_region_t with
// the loop; a worker process has one of its own whose slots and blocks lie in
// shared memory (ring.h). Also what a worker does with a slot: DECODE, CALL and
// ENCODE and nothing else.
#ifndef FARCALL_SERVER_POOL_REGION_H_
#define FARCALL_SERVER_POOL_REGION_H_

#include "farcall/farcall.h"
#include "pool/queue.h"

// The worker's half of a front: spans in, spans out. It sees no connection.
typedef struct fc_front_worker_t {
  fc_status_t (*decode)(fc_frame_t *frame, fc_str_t body, fc_error_t *err);
  fc_status_t (*encode)(fc_frame_t *frame, fc_sink_t *sink, fc_error_t *err);
} fc_front_worker_t;

// Which calls have their tensors end at an unmapped page (fc_frame_set_guard).
typedef enum fc_guard_policy_t {
  FC_GUARD_AUTO,  // of functions that are not memory-safe, in a process
  FC_GUARD_ON,
  FC_GUARD_OFF
} fc_guard_policy_t;

typedef struct fc_region_t {
  fc_allocator_t allocator;
  fc_blocks_t *blocks;
  fc_slot_t *slots;
  uint32_t slot_count;
  fc_ready_t ready;
  fc_done_t done;
  // Wakes the loop; any thread.
  void (*ring)(void *context);
  void *ring_context;
  // Set before the first call and not changed after.
  const fc_registry_t *registry;
  const fc_module_t *module;  // the only one, of a worker process; else NULL
  uint32_t generation;
  const fc_front_worker_t *fronts;
  fc_limits_t limits;
  fc_guard_policy_t guard;
  const fc_tiles_t *tiles;  // NULL: a call keeps to its worker's thread
  uint32_t spin_ns;         // time a thread looks for calls before it sleeps
} fc_region_t;

// `blocks`, `registry` and `fronts` are borrowed.
fc_status_t fc_region_init(fc_region_t *region, fc_allocator_t allocator,
                           uint32_t slot_count, fc_error_t *err) FC_MUST_CHECK;
// No worker may be left. A zeroed region is allowed.
void fc_region_deinit(fc_region_t *region);
const fc_module_t *fc_region_module(const fc_region_t *region, uint32_t index);

// One worker's own things: a frame and an instance of each module it has
// called, created when it first calls it. Used by one thread.
typedef struct fc_worker_t {
  fc_region_t *region;
  fc_frame_t *frame;
  fc_spin_t spin;
  void **instances;  // by module index
  size_t instance_count;
} fc_worker_t;

fc_status_t fc_worker_init(fc_worker_t *worker, fc_region_t *region,
                           fc_error_t *err) FC_MUST_CHECK;
void fc_worker_deinit(fc_worker_t *worker);
// The worker's instance of a module, created when it is first asked for.
fc_status_t fc_worker_instance(fc_worker_t *worker, uint32_t index,
                               const fc_module_t *module, void **out_instance,
                               fc_error_t *err);
// Before the first call: makes the instance, so that what it lacks is a failure
// to load the module. A module of which no function can be called needs none.
fc_status_t fc_worker_prepare(fc_worker_t *worker, uint32_t index,
                              const fc_module_t *module, fc_error_t *err);
// DECODE, CALL and ENCODE of one slot. Afterwards its answer fields are set.
void fc_worker_run(fc_worker_t *worker, fc_slot_t *slot);
// Runs slots until the region's ready queue is stopped.
void fc_worker_main(fc_worker_t *worker);

// ---------------------------------------------------------------------------
// The thread host: workers in threads of this process.

typedef struct fc_threads_t {
  fc_region_t *region;
  struct fc_thread_t *threads;
  uint32_t wanted;    // that take calls
  uint32_t count;     // started
  uint32_t capacity;  // most there may ever be
  // In a native call whose deadline has passed: nobody waits for it, and it
  // cannot be stopped.
  uint32_t lost;
} fc_threads_t;

// `spare` more may be started later, for those that are lost.
fc_status_t fc_threads_start(fc_threads_t *threads, fc_region_t *region,
                             uint32_t count, uint32_t spare,
                             fc_error_t *err) FC_MUST_CHECK;
// One thread is lost: another takes its place if there may be one.
void fc_threads_lose(fc_threads_t *threads);
// A lost one came back.
void fc_threads_find(fc_threads_t *threads);
// Stops the ready queue and waits for every worker to return.
void fc_threads_stop(fc_threads_t *threads);

#endif  // FARCALL_SERVER_POOL_REGION_H_
