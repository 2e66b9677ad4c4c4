// SPDX-License-Identifier: Apache-2.0
//
// The loop's side of the workers: admission, the queues that calls wait in, the
// lane (calls on the loop's own thread), and the batched hand-over both ways, through
// hosts (host.h). All of this but the event `wake` is for the loop's thread only.
#ifndef FARCALL_SERVER_POOL_POOL_H_
#define FARCALL_SERVER_POOL_POOL_H_

#include "config/choice.h"
#include "pool/flow.h"
#include "pool/host.h"
#include "pool/region.h"

// What the pool tells the loop. All but `wake` are called on the loop's thread.
typedef struct fc_pool_events_t {
  // Called on a worker's thread: the loop must call fc_pool_collect.
  void (*wake)(void *context);
  // A call has ended, or was failed: the loop reads job->outcome and calls
  // fc_pool_finish.
  void (*on_done)(void *context, fc_job_t *job);
  // The deadline of a waiting call has passed: the call is in no queue any more.
  void (*on_expired)(void *context, fc_job_t *job);
  // A generation that was added can be called now; or, with an `error`, its
  // first process or thread could not load it, and the loop must retire it.
  void (*on_added)(void *context, uint32_t module, const fc_error_t *error);
  // A generation is gone: its processes have ended, its instances and its queue
  // are destroyed, and its index may be added again.
  void (*on_retired)(void *context, uint32_t module);
  // A process of a generation that can be called has crashed: the generation has
  // `crashes` crashes in `calls` calls now. `quarantined`: its calls are refused from now
  // on. May be NULL.
  void (*on_crashed)(void *context, uint32_t module, uint64_t crashes,
                     uint64_t calls, bool quarantined);
  // A thread is lost: its call of a native function, or its loading of the module, goes
  // on past the deadline.
  void (*on_lost)(void *context, uint32_t module, uint32_t function);
  // A call had another result with others than by itself: from now on calls of the
  // function are made one by one. May be NULL.
  void (*on_unlike)(void *context, uint32_t module, uint32_t function);
  void *context;
} fc_pool_events_t;

typedef struct fc_pool_options_t {
  uint32_t workers;  // threads
  // Calls of one module that may wait; each caller may have its share of them even when
  // others fill the queue, up to twice as many in all.
  uint32_t queue_limit;
  uint64_t flow_key;  // random (flow.h)
  fc_lane_t lane;
  fc_guard_policy_t guard;
  uint32_t tiles;  // threads for one call; 0 and 1: only its own
  // Time that a thread may take to make a module's first instance.
  uint64_t load_ms;
  const struct fc_process_options_t *process;  // how processes are made
  // Where the counts of jobs are (job.h); NULL: none has one. Borrowed.
  fc_owners_t *client_calls;
} fc_pool_options_t;

// The queue_limit by --queue; if that is 0, 8 for each of `workers`, and at least 128.
static inline uint32_t fc_pool_queue_limit(uint64_t said, uint32_t workers) {
  if (said) return (uint32_t)said;
  return workers * 8 > 128 ? workers * 8 : 128;
}

// The kinds of hosts.
enum { FC_HOSTS_THREAD, FC_HOSTS_PROCESS, FC_HOSTS_COUNT };

struct fc_pool_t {
  fc_allocator_t allocator;
  fc_pool_options_t options;
  fc_blocks_t *blocks;
  const fc_dialect_worker_t *const *dialects;
  fc_hosts_t *hosts[FC_HOSTS_COUNT];
  struct fc_module_queue_t **queues;  // by generation, NULL: there is none
  uint32_t queue_count;
  // Queues that may have waiting calls, in turn.
  struct fc_module_queue_t *active_first;
  struct fc_module_queue_t *active_last;
  fc_flow_table_t flows;
  fc_claim_t *passed;  // sessions whose next call has its turn
  // How many queues are to be taken down once none of their calls runs.
  uint32_t retiring;
  uint32_t waiting;
  uint64_t look_ns;          // processes are not looked at before this time
  uint64_t inline_spent_ns;  // what calls on the loop have taken in this turn
  // Before this time no attempt is made that may be given up; 0: there is no such time.
  uint64_t attempts_from_ns;
  // When a deadline or a host's time is over, or earlier; 0: never.
  uint64_t earliest_due_ns;
  fc_outcome_t failure;  // outcome of a call that failed and is being delivered
  fc_pool_events_t events;
};

// Starts the threads. `blocks`, `dialects` and what `options` points to are
// borrowed.
fc_status_t fc_pool_init(fc_pool_t *pool, fc_allocator_t allocator,
                         const fc_pool_options_t *options, fc_blocks_t *blocks,
                         const fc_dialect_worker_t *const *dialects,
                         const fc_pool_events_t *events,
                         fc_error_t *err) FC_MUST_CHECK;
// Kills the processes, and waits for the calls that threads have. A zeroed pool is
// allowed.
void fc_pool_deinit(fc_pool_t *pool);
// Adds generation `index` of a module that is open, or described: starts its first
// process if `hosting` wants one, else has a thread make its first instance. When
// that has succeeded or failed, on_added is called, maybe before this returns. The
// module is held until the generation is retired. FC_CODE_OUT_OF_MEMORY: nothing was
// added.
fc_status_t fc_pool_add(fc_pool_t *pool, uint32_t index, fc_module_t *module,
                        const fc_hosting_t *hosting,
                        fc_error_t *err) FC_MUST_CHECK;
// Fails the calls of a generation that wait; their clients may come back after
// `retry_s` seconds.
void fc_pool_refuse(fc_pool_t *pool, uint32_t index, uint32_t retry_s,
                    const fc_error_t *error);
// Takes a generation down. No call of it may wait, and none may be submitted
// any more. Once its last call has ended, also one that nobody waits for,
// on_retired is called, in a later turn.
void fc_pool_retire(fc_pool_t *pool, uint32_t index);

// May a call be accepted and wait? Reads generation, function, deadline, caller and
// priority of `job`. If not: FC_CODE_OVERLOADED; FC_CODE_TOO_MANY_REQUESTS if the queue
// is full and the caller has its share of it; or the host's error. Then *out_retry_s says
// after how many seconds the client may come back.
fc_status_t fc_pool_admit(const fc_pool_t *pool, const fc_job_t *job,
                          uint64_t now_ns, uint32_t *out_retry_s,
                          fc_error_t *err);

// The audience of the bodies of the generation's calls (fc_block_take_shared).
uint64_t fc_pool_audience(const fc_pool_t *pool, uint32_t module);

// Runs the call on the loop, at once, if the lane takes the call (lane.c) and its host
// can run it there. True: job->outcome is set, and the caller must
// fc_pool_finish the job.
bool fc_pool_try_inline(fc_pool_t *pool, fc_job_t *job);
// Puts the job into its module's queue, behind its caller's others of its priority.
void fc_pool_enqueue(fc_pool_t *pool, fc_job_t *job);
// Hands waiting calls to free workers, in one batch. Called in each turn of the loop.
void fc_pool_flush(fc_pool_t *pool);
// Nobody waits for the job's call any more. A queued call is forgotten. The worker of
// a running one is told, and the answer will be thrown away. The job's body is given
// back, unless a worker has it.
void fc_pool_drop(fc_pool_t *pool, fc_job_t *job);

// Calls on_done for finished calls that somebody waits for, oldest first of each worker,
// as far as one turn allows. `awake`: called because a worker woke the loop.
void fc_pool_collect(fc_pool_t *pool, bool awake);
// fc_pool_sleep is called before the loop waits for events, after fc_pool_flush; false:
// there is something to do already, so the loop must not wait. fc_pool_wake is called
// after waiting.
bool fc_pool_sleep(fc_pool_t *pool);
void fc_pool_wake(fc_pool_t *pool);
// The caller has read the outcome: gives back the call's body and every block that the
// outcome still owns (a caller that takes the answer over sets piece_count to 0), and
// learns from a call with results what its function costs.
void fc_pool_finish(fc_pool_t *pool, fc_job_t *job);
// Does the same with the outcome of a turn that others follow (turn.h), but the job keeps
// its body, the carry, which counts as its caller's from now on. Its flow pays for the
// time that the turn took. FC_CODE_TOO_MANY_REQUESTS: the caller holds more than its
// share; the call ends.
fc_status_t fc_pool_pause(fc_pool_t *pool, fc_job_t *job,
                          fc_error_t *err) FC_MUST_CHECK;
// Queues the next turn of a call that was paused. Fails if its host makes no calls now, as
// fc_pool_admit does; but no queue is too full for it.
fc_status_t fc_pool_go_on(fc_pool_t *pool, fc_job_t *job, uint32_t *out_retry_s,
                          fc_error_t *err) FC_MUST_CHECK;

// Ends the calls whose deadline has passed: those that wait, those of
// processes, and those of threads in native code. Bytecode in threads ends its own
// calls. Also has the hosts look at their processes.
void fc_pool_expire(fc_pool_t *pool, uint64_t now_ns);
// When to call fc_pool_expire; 0: there is nothing to wait for.
uint64_t fc_pool_due_ns(const fc_pool_t *pool, uint64_t now_ns);

// Ends the worker processes of a module: one of them took memory that it was not granted.
void fc_pool_end_workers(fc_pool_t *pool, uint32_t module);

// How many threads take calls, and how many are lost.
uint32_t fc_pool_threads(const fc_pool_t *pool);
uint32_t fc_pool_lost_threads(const fc_pool_t *pool);
// How many calls workers have.
uint32_t fc_pool_running(const fc_pool_t *pool);
// How many calls threads have. A native call in a thread cannot be stopped.
uint32_t fc_pool_in_threads(const fc_pool_t *pool);
// The numbers of a module since its generation was added.
typedef struct fc_pool_numbers_t {
  uint64_t waiting;   // calls in its queue
  uint64_t running;   // calls that workers have
  uint64_t unlike;    // functions that batches gave another result than alone
  uint64_t timeouts;  // running calls that were ended: their deadline passed
  uint64_t cancels;   // running calls that were ended: their client had gone
  uint64_t workers;   // processes
  uint64_t lost;      // threads
  uint64_t crashes;
  uint64_t restarts;
  uint64_t quarantines;
  bool quarantined;
} fc_pool_numbers_t;
// All 0 while the pool does not have the module.
void fc_pool_numbers(const fc_pool_t *pool, uint32_t module,
                     fc_pool_numbers_t *out);
// Processor time that the processes of a module have taken; for a module in threads,
// the time that its calls with results have taken. Asks the system for each process.
uint64_t fc_pool_cpu_ns(const fc_pool_t *pool, uint32_t module);
// The host of a generation; NULL while the pool does not have the generation.
const fc_host_t *fc_pool_host(const fc_pool_t *pool, uint32_t module);

#endif  // FARCALL_SERVER_POOL_POOL_H_
