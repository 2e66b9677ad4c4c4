// SPDX-License-Identifier: Apache-2.0
//
// The loop's side of the workers: admission, the queues of waiting calls, the lane (calls
// on the loop's own thread), and the batched hand-over in both directions, through hosts
// (host.h). Loop thread only, except the event `wake`.
#ifndef FARCALL_SERVER_POOL_POOL_H_
#define FARCALL_SERVER_POOL_POOL_H_

#include "config/choice.h"
#include "pool/flow.h"
#include "pool/host.h"
#include "pool/region.h"

// Events that the pool reports to the loop. All except `wake` are called on the loop's
// thread.
typedef struct fc_pool_events_t {
  // Called on a worker's thread: the loop must call fc_pool_collect.
  void (*wake)(void *context);
  // A call has ended or failed: the loop reads job->outcome and calls fc_pool_finish.
  void (*on_done)(void *context, fc_job_t *job);
  // The deadline of a waiting call has passed. The call is no longer in a queue.
  void (*on_expired)(void *context, fc_job_t *job);
  // An added generation can be called now. With an `error`, its first process or thread
  // could not load it, and the loop must retire it.
  void (*on_added)(void *context, uint32_t module, const fc_error_t *error);
  // A generation was removed: its processes have ended, its instances and its queue are
  // destroyed, and its index may be added again.
  void (*on_retired)(void *context, uint32_t module);
  // A process of a callable generation has crashed. The generation now has `crashes`
  // crashes in `calls` calls. `quarantined`: its calls are refused from now on. May be
  // NULL.
  void (*on_crashed)(void *context, uint32_t module, uint64_t crashes,
                     uint64_t calls, bool quarantined);
  // A thread is lost: it continues a call of a native function, or the loading of the
  // module, past the deadline.
  void (*on_lost)(void *context, uint32_t module, uint32_t function);
  // A call had a different result in a batch than outside: from now on calls of the
  // function are made one by one. May be NULL.
  void (*on_unlike)(void *context, uint32_t module, uint32_t function);
  void *context;
} fc_pool_events_t;

typedef struct fc_pool_options_t {
  uint32_t workers;  // threads
  // The most calls of one module that may wait. If other callers fill the queue, a caller
  // may still have its share of this number; at most twice the number wait in total.
  uint32_t queue_limit;
  uint64_t flow_key;  // random (flow.h)
  fc_lane_t lane;
  fc_guard_policy_t guard;
  uint32_t tiles;  // threads for one call; 0 and 1: only its own
  // The time that a thread may take to make a module's first instance.
  uint64_t load_ms;
  const struct fc_process_options_t *process;  // how processes are made
  // The table of the jobs' counts (job.h); NULL: calls are not counted. Borrowed.
  fc_owners_t *client_calls;
} fc_pool_options_t;

// Returns the queue_limit for --queue; if that is 0, 8 for each of `workers`, and at
// least 128.
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
  // How many queues are to be retired when none of their calls runs any more.
  uint32_t retiring;
  uint32_t waiting;
  uint64_t look_ns;          // processes are not looked at before this time
  uint64_t inline_spent_ns;  // what calls on the loop have taken in this turn
  // Before this time no attempt that may be given up is made; 0: there is no such time.
  uint64_t attempts_from_ns;
  // The next deadline, or time of a host, or an earlier time; 0: never.
  uint64_t earliest_due_ns;
  fc_outcome_t failure;  // outcome of a call that failed and is being delivered
  fc_pool_events_t events;
};

// Starts the threads. Borrows `blocks`, `dialects` and everything that `options` points
// to.
fc_status_t fc_pool_init(fc_pool_t *pool, fc_allocator_t allocator,
                         const fc_pool_options_t *options, fc_blocks_t *blocks,
                         const fc_dialect_worker_t *const *dialects,
                         const fc_pool_events_t *events,
                         fc_error_t *err) FC_MUST_CHECK;
// Kills the processes, and waits for the calls of threads. Accepts a zeroed pool.
void fc_pool_deinit(fc_pool_t *pool);
// Adds generation `index` of an opened or described module. Starts its first process if
// `hosting` wants processes, otherwise makes a thread create its first instance. When
// that has succeeded or failed, on_added is called, maybe before this returns. The module
// is held until the generation is retired. FC_CODE_OUT_OF_MEMORY: nothing was added.
fc_status_t fc_pool_add(fc_pool_t *pool, uint32_t index, fc_module_t *module,
                        const fc_hosting_t *hosting,
                        fc_error_t *err) FC_MUST_CHECK;
// Fails the waiting calls of a generation; their clients may try again after `retry_s`
// seconds.
void fc_pool_refuse(fc_pool_t *pool, uint32_t index, uint32_t retry_s,
                    const fc_error_t *error);
// Retires a generation. None of its calls may wait, and no more may be submitted. When
// its last call has ended, even one that nobody waits for, on_retired is called in a
// later turn.
void fc_pool_retire(fc_pool_t *pool, uint32_t index);

// May a call be accepted and wait? Reads generation, function, deadline, caller and
// priority of `job`. FC_CODE_OVERLOADED: it may not. FC_CODE_TOO_MANY_REQUESTS: the queue
// is full and the caller has its share of it. Or the host's error. After a failure
// *out_retry_s says after how many seconds the client may try again.
fc_status_t fc_pool_admit(const fc_pool_t *pool, const fc_job_t *job,
                          uint64_t now_ns, uint32_t *out_retry_s,
                          fc_error_t *err);

// Returns the audience for the bodies of the generation's calls (fc_block_take_shared).
uint64_t fc_pool_audience(const fc_pool_t *pool, uint32_t module);

// Runs the call at once on the loop, if the lane accepts the call (lane.c) and its host
// can run it there. True: job->outcome is set, and the caller must call fc_pool_finish.
bool fc_pool_try_inline(fc_pool_t *pool, fc_job_t *job);
// Puts the job into its module's queue, after the other calls of its caller and priority.
void fc_pool_enqueue(fc_pool_t *pool, fc_job_t *job);
// Hands waiting calls to free workers, in one batch. Called in each turn of the loop.
void fc_pool_flush(fc_pool_t *pool);
// Call it when nobody waits for the job's call any more. A queued call is removed. The
// worker of a running call is notified, and the answer will be dropped. The job's body is
// freed, unless a worker has it.
void fc_pool_drop(fc_pool_t *pool, fc_job_t *job);

// Calls on_done for finished calls that somebody waits for, the oldest of each worker
// first, as far as one turn allows. `awake`: called because a worker woke the loop.
void fc_pool_collect(fc_pool_t *pool, bool awake);
// fc_pool_sleep is called before the loop waits for events, after fc_pool_flush. False:
// there is work already, so the loop must not wait. fc_pool_wake is called after waiting.
bool fc_pool_sleep(fc_pool_t *pool);
void fc_pool_wake(fc_pool_t *pool);
// Call it after the outcome was read. Frees the call's body and every block that the
// outcome still owns (a caller that takes the answer over sets piece_count to 0). From a
// call with results, learns the cost of its function.
void fc_pool_finish(fc_pool_t *pool, fc_job_t *job);
// Does the same with the outcome of a turn that is not the call's last (turn.h). But the
// job keeps its body, the carry, which counts for its caller from now on. Its flow pays
// for the time of the turn. FC_CODE_TOO_MANY_REQUESTS: the caller exceeds its share, and
// the call ends.
fc_status_t fc_pool_pause(fc_pool_t *pool, fc_job_t *job,
                          fc_error_t *err) FC_MUST_CHECK;
// Queues the next turn of a paused call. Fails like fc_pool_admit if its host makes no
// calls now; a full queue is no failure.
fc_status_t fc_pool_go_on(fc_pool_t *pool, fc_job_t *job, uint32_t *out_retry_s,
                          fc_error_t *err) FC_MUST_CHECK;

// Ends the calls whose deadline has passed: waiting calls, calls in processes, and calls
// of threads in native code. Bytecode in threads ends its own calls. Also makes the hosts
// check their processes.
void fc_pool_expire(fc_pool_t *pool, uint64_t now_ns);
// Returns when to call fc_pool_expire; 0: there is nothing to wait for.
uint64_t fc_pool_due_ns(const fc_pool_t *pool, uint64_t now_ns);

// Ends the worker processes of a module, one of which used memory that it was not
// granted.
void fc_pool_end_workers(fc_pool_t *pool, uint32_t module);

// Return how many threads take calls, and how many are lost.
uint32_t fc_pool_threads(const fc_pool_t *pool);
uint32_t fc_pool_lost_threads(const fc_pool_t *pool);
// Returns how many opaque references workers keep for sessions.
uint32_t fc_pool_references(const fc_pool_t *pool);
// Returns how many calls workers have.
uint32_t fc_pool_running(const fc_pool_t *pool);
// Returns how many calls threads have. A native call in a thread cannot be stopped.
uint32_t fc_pool_in_threads(const fc_pool_t *pool);
// The numbers of a module since its generation was added.
typedef struct fc_pool_numbers_t {
  uint64_t waiting;   // calls in its queue
  uint64_t running;   // calls that workers have
  uint64_t unlike;    // functions with another result in a batch than alone
  uint64_t timeouts;  // running calls that were ended: their deadline passed
  uint64_t cancels;   // running calls that were ended: their client had gone
  uint64_t workers;   // processes
  uint64_t lost;      // threads
  uint64_t crashes;
  uint64_t restarts;
  uint64_t quarantines;
  bool quarantined;
} fc_pool_numbers_t;
// Gives the numbers; all are 0 while the pool does not have the module.
void fc_pool_numbers(const fc_pool_t *pool, uint32_t module,
                     fc_pool_numbers_t *out);
// Returns the processor time of a module's processes; for a module in threads, the time
// of its calls with results. Asks the system for each process.
uint64_t fc_pool_cpu_ns(const fc_pool_t *pool, uint32_t module);
// Returns the host of a generation; NULL while the pool does not have the generation.
const fc_host_t *fc_pool_host(const fc_pool_t *pool, uint32_t module);

#endif  // FARCALL_SERVER_POOL_POOL_H_
