// SPDX-License-Identifier: Apache-2.0
//
// A host runs the calls of one generation. There are two kinds: threads, which all
// generations share (threads_host.c), and processes, which each generation has separately
// (process_host.c). The pool uses both through this interface. Loop thread.
//
// The life of a call. The pool offers the next call of a queue; the host takes it,
// refuses it, or has no room. (A call in the lane is not offered: it ends when `run`
// returns, or its attempt is given up and the call is offered like others.) A call that
// the host has taken leaves its job by one of these events, whichever comes first:
//   - The call has ended: fc_pool_deliver, or fc_pool_fail if its process ended first.
//     The outcome stays unchanged until `finish`.
//   - Its deadline has passed: fc_pool_fail.
//   - It was not begun, and its worker has ended, or is busy or stuck: fc_pool_requeue,
//     and the pool offers it again.
//   - Nobody waits for it: the pool calls `drop`, and nothing is delivered.
// A call may go on without its job, and counts as running until the host reports that it
// has left its worker (fc_pool_note_end). A call that has begun is never begun a second
// time, with two exceptions: an attempt that was given up, which leaves no effects, and
// once after a failed batch.
//
// A batch is several calls of one function that one worker begins together. The pool
// offers the first one with FC_AHEAD_NONE, then lets others join in the order in which
// they would be made, and `notify` closes the batch. Each call stays separate:
//   - It has its own slot, and leaves it when its own answer is there.
//   - Its deadline, or the leaving of its client, ends only its own wait. The worker goes
//     on while anybody waits for another call of the batch.
//   - The operator's deadline of any call of the batch ends the process, and so does a
//     crash. Then each call that was begun and is still waited for is made again, once
//     and outside a batch, whatever the cause (fc_job_t.alone), and is judged by that
//     result. The end of the batch blames no call and counts for no quarantine. No
//     batches are formed for a while.
//   - A batch that takes much longer than such calls do (fc_invocation_t.batch_ns) is
//     given up with its process. A call that hangs then hangs outside a batch.
//   - Calls that were not begun are put back like any other.
// Threads form no batches of a .so, which may loop for ever: a lost thread would take all
// calls of its batch with it, and none could be made again. IREE's kernels end, and the
// bytecode between them checks whether it must stop. Batches have only calls without
// flags, sessions or parts, because these can be made again.
//
// A turn of the loop calls, in this order: collect, offer for waiting calls, notify,
// sleep; the same once more if `sleep` says that there is work; then, after waiting for
// events, wake. `expire` is called when a time from fc_pool_note_due has passed, `look`
// now and then.
//
// A waiter that gets an outcome may request the next call, or drop another one, before it
// returns. So a host must be consistent before it delivers anything, and must not rely
// afterwards on earlier knowledge about its calls.
#ifndef FARCALL_SERVER_POOL_HOST_H_
#define FARCALL_SERVER_POOL_HOST_H_

#include "farcall/farcall.h"
#include "pool/groups.h"
#include "pool/job.h"

typedef struct fc_pool_t fc_pool_t;
typedef struct fc_host_t fc_host_t;
typedef struct fc_hosts_t fc_hosts_t;

// The most calls that one worker has at a time if they are not known to be quick: one
// that runs, and one to continue with.
#define FC_HOST_SLOW_AHEAD 2

// How many calls a worker may already have when it gets another one.
typedef enum fc_ahead_t {
  FC_AHEAD_FEW,   // fewer than FC_HOST_SLOW_AHEAD calls
  FC_AHEAD_MANY,  // the function is known to take little time: many
  FC_AHEAD_NONE,  // no call: others may join this one until `notify`
} fc_ahead_t;

typedef enum fc_offer_t {
  FC_OFFER_FULL,     // there is no room for the call now
  FC_OFFER_TAKEN,    // the host has the call
  FC_OFFER_REFUSED,  // the call must not be made: the error says why
  // The only worker that may have the call has no room. When the worker has some, the
  // host passes the claim of the call's session.
  FC_OFFER_WAITS,
} fc_offer_t;

// Properties of a host, and what has happened in it since it was made.
typedef struct fc_host_facts_t {
  bool in_process;
  bool fresh;       // each process makes one call
  uint8_t sandbox;  // fc_sandbox_t, of its processes
  uint64_t lost_threads;
  uint64_t crashes;
  uint64_t restarts;  // processes that serve in the place of one that had ended
  uint64_t quarantines;
  uint64_t quarantined_ns;  // when a quarantine ends, 0: there is none
  // If no worker is left: when the next one is started. 0: a worker is left, or no time
  // is set.
  uint64_t restart_ns;
  // Workers that have spent a second or longer in a call that nobody waits for; lost
  // threads count, too.
  uint32_t stuck;
  uint32_t references;  // that its workers keep for sessions
  // The times when these happened last; 0: never. blamed_ns: until then calls that
  // crashed are refused.
  uint64_t crashed_ns;
  uint64_t memory_ns;  // a process ended for want of memory
  uint64_t budget_ns;  // a process had taken --worker-cpu-time
  uint64_t blamed_ns;
  const char *crash;  // how it crashed last; borrowed, NULL: never
} fc_host_facts_t;

typedef struct fc_host_worker_t {
  int pid;
  const char *state;  // "starting", "idle", "busy" or "ending"
  uint64_t calls;
} fc_host_worker_t;

// How a generation is hosted: set by the policy of its module, and for its self-test by
// modules/trial.c.
typedef struct fc_hosting_t {
  bool process;      // in processes of its own
  bool trial;        // for a self-test: crashes neither blame nor quarantine
  bool fresh;        // each process makes one call and ends
  bool apart;        // the calls are not computed in batches
  uint32_t workers;  // most calls at once; 0: as many as the pool's workers
  uint32_t tiles;    // most threads for one call; 1: only its own
  uint8_t sandbox;   // fc_sandbox_t, of its processes
  fc_group_limits_t group;  // of its processes together
  uint64_t heap;           // bytes, of each instance of a .vmfb; 0: the default
  const char *parameters;  // archives, as --parameters names them; NULL: none
} fc_hosting_t;

typedef enum fc_ran_t {
  FC_RAN,      // the outcome is set
  FC_RAN_NOT,  // the call cannot be run there now
  FC_RAN_OVER,  // its budget was used up: the outcome has nothing but its times, and
                // the call can be made again
} fc_ran_t;

typedef struct fc_host_class_t {
  // Functions of one generation

  // Makes a host for a generation. The host calls fc_pool_on_host once, maybe before this
  // returns, when the generation can be called or could not be loaded.
  // FC_CODE_OUT_OF_MEMORY: there is no host.
  fc_status_t (*create)(fc_hosts_t *hosts, uint32_t generation,
                        fc_module_t *module, const fc_hosting_t *hosting,
                        fc_host_t **out_host, fc_error_t *err);
  // May a call be made? *out_room is the number of further calls for which workers have
  // room. If the call may not be made, *out_retry_s says after how many seconds the
  // client may try again.
  fc_status_t (*admit)(const fc_host_t *host, uint32_t *out_room,
                       uint32_t *out_retry_s, fc_error_t *err);
  // Runs a call on the loop's thread. The call has not waited. With `budget_ns` the call
  // is an attempt, and the budget limits its function; 0: no budget. After FC_RAN and
  // FC_RAN_OVER the pool calls `finish`. NULL: this kind of host runs no calls there.
  fc_ran_t (*run)(fc_host_t *host, fc_job_t *job, uint32_t budget_ns);
  // Gives a call to a worker. If the call is refused, `err` says why.
  fc_offer_t (*offer)(fc_host_t *host, fc_job_t *job, fc_ahead_t ahead,
                      fc_error_t *err);
  // Could the call be begun together with others now?
  bool (*may_join)(const fc_host_t *host, const fc_job_t *job);
  // Gives a call to the worker that got `first` with FC_AHEAD_NONE since the last
  // `notify`, so that both are begun together. False: the call must be offered
  // separately.
  bool (*join)(fc_host_t *host, const fc_job_t *first, fc_job_t *job);
  // The outcome has been read: the host may reuse the memory it is in.
  void (*finish)(fc_host_t *host, fc_job_t *job);
  // Nobody waits any more for a call that the host has. The host takes over the job's
  // count until the call has ended.
  void (*drop)(fc_host_t *host, fc_job_t *job);
  // The generation has no calls and gets no more: frees everything without waiting, and
  // calls fc_pool_on_retired at the end, maybe before this returns.
  void (*retire)(fc_host_t *host);
  void (*describe)(const fc_host_t *host, fc_host_facts_t *out_facts);
  // Returns the processor time of the generation's processes, including those that have
  // ended. NULL: this kind has no processes.
  uint64_t (*cpu_ns)(const fc_host_t *host);
  // Ends all processes of the generation because they took too much memory. NULL: this
  // kind has none.
  void (*end_workers)(fc_host_t *host);
  // Describes the worker at `position` of the generation's own workers; false after the
  // last one.
  bool (*worker)(const fc_host_t *host, uint32_t position,
                 fc_host_worker_t *out_worker);

  // Functions of all hosts of one kind

  // Notifies workers about the calls given to them since the last time. No further
  // calls may join the batches among these.
  void (*notify)(fc_hosts_t *hosts);
  // Takes calls that have ended, in the order in which each worker ended them, as far as
  // one turn allows. `awake`: called because a worker woke the loop.
  void (*collect)(fc_hosts_t *hosts, bool awake);
  // The loop is about to wait for events: a worker that ends a call from now on wakes the
  // loop. False: there is work already, so the loop must not wait.
  bool (*sleep)(fc_hosts_t *hosts);
  void (*wake)(fc_hosts_t *hosts);
  // Ends the calls whose time is over, and reports with fc_pool_note_due when `expire`
  // must be called again.
  void (*expire)(fc_hosts_t *hosts, uint64_t now_ns);
  // Checks processes for conditions that no event reports.
  void (*look)(fc_hosts_t *hosts, uint64_t now_ns);
  // Ends every worker and waits for it. Nothing is delivered. The loop must have
  // stopped.
  void (*destroy)(fc_hosts_t *hosts);
} fc_host_class_t;

// All hosts of one kind. Each kind embeds this as the first member of its own struct.
struct fc_hosts_t {
  const fc_host_class_t *class_;
  fc_pool_t *pool;
  fc_host_t *first;
  // Calls that the hosts have, also those that nobody waits for.
  uint32_t running;
  uint32_t watched;  // workers that `look` checks
};

// One host. Each kind embeds this as the first member of its own struct.
struct fc_host_t {
  fc_hosts_t *hosts;
  fc_pool_t *pool;
  fc_host_t *next;
  uint32_t generation;
  // Calls that the host has, also those that nobody waits for.
  uint32_t running;
  uint64_t audience;  // of its bodies (block.h)
};

static inline void fc_host_describe(const fc_host_t *host,
                                    fc_host_facts_t *out_facts) {
  host->hosts->class_->describe(host, out_facts);
}

static inline fc_status_t fc_host_admit(const fc_host_t *host,
                                        uint32_t *out_room,
                                        uint32_t *out_retry_s,
                                        fc_error_t *err) {
  return host->hosts->class_->admit(host, out_room, out_retry_s, err);
}

static inline bool fc_host_worker(const fc_host_t *host, uint32_t position,
                                  fc_host_worker_t *out_worker) {
  return host->hosts->class_->worker(host, position, out_worker);
}

// Adds a host to the list of its kind, and removes it again.
void fc_hosts_link(fc_hosts_t *hosts, uint32_t generation, fc_host_t *host);
void fc_hosts_unlink(fc_host_t *host);

// ---------------------------------------------------------------------------
// Reports of a host to the pool (pool.c)

// The generation can be called now. With an `error`, it could not be loaded.
void fc_pool_on_host(fc_host_t *host, const fc_error_t *error);
// The host was freed.
void fc_pool_on_retired(fc_pool_t *pool, uint32_t generation);
// One of the calls that the host has taken has left its worker.
void fc_pool_note_end(fc_host_t *host);
// A call that went on without its job has ended: it no longer counts for its caller
// (fc_job_t.count).
void fc_pool_uncount(fc_host_t *host, fc_owner_count_t *count);
// Counts a call that the server no longer waits for, because its deadline passed or its
// client left (`dropped`): its process is killed, or its thread counts as lost. Also
// counts a load that took too long.
void fc_pool_note_stopped(fc_host_t *host, bool dropped);
// Counts a call that has ended by itself, if its outcome says that CALL stopped because
// of its deadline, or was cancelled because nobody waits for it (`dropped`).
void fc_pool_note_outcome(fc_host_t *host, const fc_outcome_t *outcome,
                          bool dropped);
// Delivers a call's outcome to its waiter. The host owns `outcome` until `finish`. The
// waiter may take over the outcome's blocks; the pool frees the others.
void fc_pool_deliver(fc_host_t *host, fc_job_t *job, fc_outcome_t *outcome);
// Delivers an outcome that says that the call failed in `stage` with `error`.
void fc_pool_fail(fc_host_t *host, fc_job_t *job, fc_stage_t stage,
                  const fc_error_t *error);
// Does any call wait in the queue of the host's generation?
bool fc_pool_is_waited_for(const fc_host_t *host);
// Charges `caller` for a call that nobody waited for and that occupied a worker for
// `cost_ns`: further calls of the caller let others go first.
void fc_pool_charge(fc_host_t *host, const fc_owner_t *caller,
                    uint64_t cost_ns);
// Charges a turn of a call in parts that occupied a worker for `spent_ns`, and that was
// not charged yet.
void fc_pool_charge_turn(fc_host_t *host, const fc_owner_t *caller,
                         uint64_t spent_ns);
// Puts a call that was not begun back into its queue, before all others of its priority.
void fc_pool_requeue(fc_host_t *host, fc_job_t *job);
// A turn of the call that holds the claim has left its worker with `outcome`: does the
// call still hold the claim? `job` is NULL if nobody waits for the call.
bool fc_claim_stays(const fc_job_t *job, const fc_outcome_t *outcome);
// The call that holds the claim has left its worker, or will not be made: the next call
// of its session gets its turn when calls are next handed over.
void fc_pool_pass_claim(fc_pool_t *pool, fc_claim_t *claim);
// The call that holds the claim may never leave its worker. The calls that wait for their
// turn are refused when calls are next handed over, and later calls are refused too.
void fc_pool_condemn_claim(fc_pool_t *pool, fc_claim_t *claim);
// Makes the pool call `expire` at `due_ns`; 0 changes nothing.
void fc_pool_note_due(fc_pool_t *pool, uint64_t due_ns);
// Fails every call that waits now in the queue of the host's generation. `retry_s` says
// after how many seconds their clients may try again.
void fc_pool_fail_waiting(fc_host_t *host, uint32_t retry_s,
                          const fc_error_t *error);

#endif  // FARCALL_SERVER_POOL_HOST_H_
