// SPDX-License-Identifier: Apache-2.0
//
// The loop's side of the workers: admission, the queues calls wait in, lanes,
// and the batched hand-over both ways. Everything here is one loop's and is
// used on its thread only; what is shared with workers is the region.
#ifndef FARCALL_SERVER_POOL_POOL_H_
#define FARCALL_SERVER_POOL_POOL_H_

#include "obs/metrics.h"
#include "pool/isolation.h"
#include "pool/region.h"
#include "pool/tiles.h"

typedef struct fc_host_t fc_host_t;  // pool/host.h

typedef enum fc_job_state_t {
  FC_JOB_NEW,
  FC_JOB_QUEUED,   // waits in its module's queue
  FC_JOB_RUNNING,  // has a slot
} fc_job_state_t;

// A call as the loop sees it. Embedded in whoever asked for it; zeroed is new.
typedef struct fc_job_t {
  // Its body is the job's until a thread runs it. A process runs a copy.
  fc_invocation_t call;
  // The pool's
  uint8_t state;
  uint8_t attempts;    // processes that ended before they began it
  uint32_t looked_up;  // fc_blame_t.changes when its body was, 0: never
  uint32_t retry_s;    // of an error: when to come back, 0: as its code says
  uint32_t slot;  // once it has one; a process has it until the answer is there
  struct fc_child_t *child;  // the process that has it, NULL if none
  struct fc_job_t *next;
  struct fc_job_t *previous;
} fc_job_t;

typedef enum fc_lane_t {
  FC_LANE_AUTO,
  FC_LANE_ALWAYS,
  FC_LANE_NEVER
} fc_lane_t;

// What the pool tells the loop. All but `ring` on the loop's thread.
typedef struct fc_pool_events_t {
  // On a worker's thread: the loop must call fc_pool_collect.
  void (*ring)(void *context);
  // A call has ended: the listener must fc_pool_finish its slot.
  void (*on_done)(void *context, fc_job_t *job);
  // The deadline of a waiting call has passed.
  void (*on_expired)(void *context, fc_job_t *job);
  // A generation that was added can be called now, or, with an `error`, its first
  // process or thread could not load it: then it is the listener's to retire.
  void (*on_added)(void *context, uint32_t module, const fc_error_t *error);
  // A generation is gone: its processes have ended, its instances and its queue
  // are destroyed, and its index may be added again.
  void (*on_retired)(void *context, uint32_t module);
  // A thread is lost in a native function past its deadline.
  void (*on_lost)(void *context, uint32_t module, uint32_t function);
  void *context;
} fc_pool_events_t;

typedef struct fc_pool_options_t {
  uint32_t workers;
  uint32_t queue_limit;  // calls of one module that may wait
  fc_lane_t lane;
  fc_guard_policy_t guard;
  uint32_t tiles;    // threads for one call; 0 and 1: its own
  uint64_t load_ms;  // a thread may take to make a first instance
  fc_isolation_t isolation;
  const struct fc_host_options_t *host;  // how processes are made
} fc_pool_options_t;

typedef struct fc_pool_t {
  fc_allocator_t allocator;
  fc_pool_options_t options;
  fc_region_t region;
  fc_threads_t threads;
  fc_helpers_t *helpers;  // of the threads; NULL: none
  fc_worker_t inline_worker;
  struct fc_module_queue_t **queues;  // by generation, NULL: there is none
  uint32_t queue_count;
  struct fc_module_queue_t *active_first;  // queues with waiting calls, in turn
  struct fc_module_queue_t *active_last;
  fc_job_t **jobs;       // by slot; NULL when nobody waits for it
  uint32_t delivery;     // the slot answers of processes are delivered in
  uint32_t *free_slots;  // a stack
  bool *lost_slots;      // by slot: the thread that has it is counted as lost
  uint32_t free_count;
  uint32_t retiring;  // queues that go once nothing runs
  uint32_t waiting;
  uint32_t running;          // that workers have
  uint32_t threads_running;  // of them, threads
  fc_host_t *busy_hosts;     // whose processes may have calls
  uint32_t processes;        // of all hosts
  uint64_t look_ns;          // not to look at them before
  uint64_t inline_spent_ns;  // of this loop turn
  uint64_t earliest_due_ns;  // of any call, 0 = none; may be too low
  fc_pool_events_t events;
} fc_pool_t;

// Starts the threads. `blocks`, `dialects` and what `options` points to are
// borrowed.
fc_status_t fc_pool_init(fc_pool_t *pool, fc_allocator_t allocator,
                         const fc_pool_options_t *options, fc_blocks_t *blocks,
                         const fc_dialect_worker_t *const *dialects,
                         const fc_pool_events_t *events,
                         fc_error_t *err) FC_MUST_CHECK;
// Waits for running calls. Accepts a zeroed pool.
void fc_pool_deinit(fc_pool_t *pool);
bool fc_pool_wants_process(const fc_pool_t *pool, const fc_module_t *module);
// Generation `index` of a module is loaded, or described: starts its first process
// if it belongs in one, else has a thread make its first instance. Then on_added
// is called, maybe from here, and calls may be submitted. The module is held
// until the generation is retired. FC_CODE_OUT_OF_MEMORY: nothing was added.
fc_status_t fc_pool_add(fc_pool_t *pool, uint32_t index, fc_module_t *module,
                        fc_error_t *err) FC_MUST_CHECK;
// No more calls will be submitted and none waits. Once the last has ended, also
// those nobody waits for, everything is taken down and on_retired is called, in a
// later turn.
void fc_pool_retire(fc_pool_t *pool, uint32_t index);

// May a call of this module wait? FC_CODE_OVERLOADED, then *out_retry_s says
// when to come back.
fc_status_t fc_pool_admit(const fc_pool_t *pool, uint32_t module,
                          uint32_t function, uint64_t deadline_ns,
                          uint64_t now_ns, uint32_t *out_retry_s,
                          fc_error_t *err);

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

// Tells of finished calls, oldest first of each worker.
void fc_pool_collect(fc_pool_t *pool, bool awake);
// Around waiting for events, after fc_pool_flush. False: there is something to
// collect already.
bool fc_pool_sleep(fc_pool_t *pool);
void fc_pool_wake(fc_pool_t *pool);
fc_slot_t *fc_pool_slot(fc_pool_t *pool, const fc_job_t *job);
// Gives the job's slot back, and every block it still owns (a caller that takes
// the answer over sets piece_count to 0). Learns the function's cost.
void fc_pool_finish(fc_pool_t *pool, fc_job_t *job);

// Ends the calls whose deadline has passed: those that wait, those of processes,
// and those of threads in native code. Bytecode ends its own. Also looks at what
// processes do, now and then.
void fc_pool_expire(fc_pool_t *pool, uint64_t now_ns);
// When to call it, 0: there is nothing to wait for.
uint64_t fc_pool_due_ns(const fc_pool_t *pool, uint64_t now_ns);

// Threads that take calls.
uint32_t fc_pool_threads(const fc_pool_t *pool);
// Of a module: everything but what the host knows by itself is 0 before
// fc_pool_add.
void fc_pool_metrics(const fc_pool_t *pool, uint32_t module,
                     fc_module_metrics_t *out);
// The process host of a module, NULL when threads run it.
const fc_host_t *fc_pool_host(const fc_pool_t *pool, uint32_t module);

// ---------------------------------------------------------------------------
// For hosts

// The slot to deliver a call of `job` in; the caller fills in the outcome. NULL:
// nobody is to be told, the outcome is only looked at.
fc_slot_t *fc_pool_delivery(fc_pool_t *pool, const fc_job_t *job);
// Delivers it.
void fc_pool_deliver(fc_pool_t *pool, fc_job_t *job);
// Delivers an error instead.
void fc_pool_fail(fc_pool_t *pool, fc_job_t *job, fc_stage_t stage,
                  const fc_error_t *error);
// Back to the head of its queue: it was not begun.
void fc_pool_requeue(fc_pool_t *pool, fc_job_t *job);
// fc_pool_expire must be called then, 0: never mind.
void fc_pool_note_due(fc_pool_t *pool, uint64_t due_ns);
// A process no longer has a call of this module.
void fc_pool_note_end(fc_pool_t *pool, uint32_t module);
// A running call of this module was ended, for its deadline or because nobody
// waits for it (`dropped`).
void fc_pool_note_stopped(fc_pool_t *pool, uint32_t module, bool dropped);
// The same for a call that has ended itself, if the slot says so.
void fc_pool_note_outcome(fc_pool_t *pool, uint32_t module,
                          const fc_slot_t *slot, bool dropped);
// Fails every waiting call of the module; `retry_s` is when to come back.
void fc_pool_fail_waiting(fc_pool_t *pool, uint32_t module, uint32_t retry_s,
                          const fc_error_t *error);
uint32_t fc_pool_waiting(const fc_pool_t *pool, uint32_t module);
// The host of a retiring generation is gone.
void fc_pool_on_retired(fc_pool_t *pool, uint32_t module);
// A module's first process serves, or a thread has its first instance; else
// `error` says why not.
void fc_pool_on_host(fc_pool_t *pool, uint32_t module, const fc_error_t *error);

#endif  // FARCALL_SERVER_POOL_POOL_H_
