// SPDX-License-Identifier: Apache-2.0
//
// A host is where the calls of one generation run. There are two kinds: threads,
// which all generations share (threads_host.c), and processes, which each
// generation has of its own (process_host.c). The pool gives calls to both by this
// interface. Everything here is the loop's and runs on its thread.
//
// The life of a call. The pool offers the next one of a queue; the host takes it, refuses
// it, or has no room. (A call in the lane is not offered, and is over when `run` returns;
// or its attempt was given up, and the call is offered like others.) A call that the host
// has taken leaves its job by one of these, whichever comes first:
//   - it has ended: fc_pool_deliver, or fc_pool_fail if its process ended first. The
//     outcome stays as it is until `finish`.
//   - its deadline has passed: fc_pool_fail.
//   - it was not begun, and its worker is gone, busy or stuck: fc_pool_requeue, and the
//     pool offers it again.
//   - nobody waits for it: the pool calls `drop`, and nothing is delivered.
// A call may go on without its job, and counts as running until the host says that it has
// left its worker (fc_pool_note_end). A call that has begun is never begun a second time,
// but for an attempt that was given up, which leaves nothing behind, and once after a
// batch.
//
// A batch is calls of one function that one worker begins together: the pool offers the
// first one ahead of nothing (FC_AHEAD_NONE), lets others join, in the order in which they
// would be made, and `notify` closes the batch. Each call keeps what is its own:
//   - it has its own slot, and leaves it when its own answer is there.
//   - its deadline, or its client's leaving, ends the wait for it alone. Its worker goes on
//     while anybody waits for another call of the batch.
//   - the operator's deadline of any of them ends a process, and so does a crash: then each
//     call that was begun and is still waited for is made again by itself, once, whoever
//     was at fault (fc_job_t.alone). What happens to it then is its own: the batch's end
//     blames no call and counts for no quarantine. No batches are formed for a while.
//   - it is given up when it takes much longer than such calls do (fc_invocation_t.batch_ns),
//     and so is its process: what hangs does so by itself.
//   - calls that were not begun are put back like any other.
// Threads form no batches of a .so, which may loop for ever: a thread that is lost takes all
// along, and none can be made again. IREE's kernels end, and its bytecode between them is
// told to. Batches are for calls without flags, sessions or parts: these
// can be made again.
//
// A turn of the loop calls, in this order: collect, offer for what waits, notify, sleep;
// the same once more if `sleep` says that there is something to do; then, after waiting
// for events, wake. `expire` comes when a time that was said with fc_pool_note_due has
// passed, `look` now and then.
//
// A waiter that is told of an outcome may ask for the next call, or drop another one,
// before it returns. So a host must be consistent before it delivers anything, and must
// not rely afterwards on what it knew of its calls before.
#ifndef FARCALL_SERVER_POOL_HOST_H_
#define FARCALL_SERVER_POOL_HOST_H_

#include "farcall/farcall.h"
#include "pool/groups.h"
#include "pool/job.h"

typedef struct fc_pool_t fc_pool_t;
typedef struct fc_host_t fc_host_t;
typedef struct fc_hosts_t fc_hosts_t;

// Most calls that one worker is given at a time when they are not known to be quick: one
// to run, and one to go on with.
#define FC_HOST_SLOW_AHEAD 2

// How many calls a worker may have when it gets another one.
typedef enum fc_ahead_t {
  FC_AHEAD_FEW,   // fewer than FC_HOST_SLOW_AHEAD calls
  FC_AHEAD_MANY,  // the function is known to take little time: many
  FC_AHEAD_NONE,  // no call: others may join this one until `notify`
} fc_ahead_t;

typedef enum fc_offer_t {
  FC_OFFER_FULL,     // there is no room for the call now
  FC_OFFER_TAKEN,    // the host has the call
  FC_OFFER_REFUSED,  // the call must not be made: the error says why
} fc_offer_t;

// What a host is, and what has happened in it since it was made.
typedef struct fc_host_facts_t {
  bool in_process;
  bool fresh;       // each process makes one call
  uint8_t sandbox;  // fc_sandbox_t, of its processes
  uint64_t lost_threads;
  uint64_t crashes;
  uint64_t restarts;  // processes that serve in the place of one that had ended
  uint64_t quarantines;
  uint64_t quarantined_ns;  // when a quarantine ends, 0: there is none
  uint64_t
      restart_ns;  // no worker is left, and none starts before then; 0: not so
  // Workers in a call that nobody waits for, for a second or longer; threads that are
  // lost.
  uint32_t stuck;
  // When these happened last, 0: never; and until when calls that crashed are refused.
  uint64_t crashed_ns;
  uint64_t memory_ns;  // a process ended for want of memory
  uint64_t budget_ns;  // a process had taken --worker-cpu-time
  uint64_t blamed_ns;
  const char *crash;  // how it crashed last; borrowed, NULL: never
} fc_host_facts_t;

typedef struct fc_host_worker_t {
  int pid;
  const char *state;  // "starting", "idle", "busy", "ending"
  uint64_t calls;
} fc_host_worker_t;

// How a generation is hosted: by the policy of its module, and for its self-test by
// modules/trial.c.
typedef struct fc_hosting_t {
  bool process;      // in processes of its own
  bool trial;        // for a self-test: crashes neither blame nor quarantine
  bool fresh;        // each process makes one call and ends
  bool apart;        // calls are not computed together
  uint32_t workers;  // most calls at once; 0: as many as the pool's workers
  uint32_t tiles;    // most threads for one call; 1: only its own
  uint8_t sandbox;   // fc_sandbox_t, of its processes
  fc_group_limits_t group;  // of its processes together
  uint64_t heap;           // bytes, of each instance of a .vmfb; 0: the default
  const char *parameters;  // archives, as --parameters names them; NULL: none
} fc_hosting_t;

typedef enum fc_ran_t {
  FC_RAN,      // the outcome is set
  FC_RAN_NOT,  // it cannot run there now
  FC_RAN_OVER,  // its budget was used up: the outcome has nothing but its times, and
                // the call can be made again
} fc_ran_t;

typedef struct fc_host_class_t {
  // Of one generation

  // Makes a host for a generation. The host calls fc_pool_on_host once, maybe before
  // this returns, to say that the generation can be called or could not be loaded.
  // FC_CODE_OUT_OF_MEMORY: there is no host.
  fc_status_t (*create)(fc_hosts_t *hosts, uint32_t generation,
                        fc_module_t *module, const fc_hosting_t *hosting,
                        fc_host_t **out_host, fc_error_t *err);
  // May a call be made? *out_room is for how many more calls workers have room. If it may
  // not be made, *out_retry_s says after how many seconds the client may come back.
  fc_status_t (*admit)(const fc_host_t *host, uint32_t *out_room,
                       uint32_t *out_retry_s, fc_error_t *err);
  // Runs a call on the loop's thread. The call has not waited. `budget_ns`: the call is an
  // attempt, whose function is bounded by its budget; 0: it has none. After FC_RAN and
  // FC_RAN_OVER the pool calls `finish`. NULL: no call to such a host ever runs there.
  fc_ran_t (*run)(fc_host_t *host, fc_job_t *job, uint32_t budget_ns);
  // Gives a call to a worker. If the call is refused, `err` says why.
  fc_offer_t (*offer)(fc_host_t *host, fc_job_t *job, fc_ahead_t ahead,
                      fc_error_t *err);
  // Gives a call to the worker that was given `first` since the last `notify`, with
  // FC_AHEAD_NONE, to be begun with it. False: it must be offered by itself.
  bool (*join)(fc_host_t *host, const fc_job_t *first, fc_job_t *job);
  // The outcome has been read: the host may reuse the memory it is in.
  void (*finish)(fc_host_t *host, fc_job_t *job);
  // Nobody waits any more for a call that the host has. The host takes the job's count
  // over until the call has ended.
  void (*drop)(fc_host_t *host, fc_job_t *job);
  // The generation has no calls and gets no more: takes everything down without
  // waiting, and at last calls fc_pool_on_retired, maybe before this returns.
  void (*retire)(fc_host_t *host);
  void (*describe)(const fc_host_t *host, fc_host_facts_t *out_facts);
  // Processor time that the processes of the generation have taken, with those that
  // have ended. NULL: this kind has no processes.
  uint64_t (*cpu_ns)(const fc_host_t *host);
  // Ends all processes of the generation for their greed. NULL: this kind has none.
  void (*end_workers)(fc_host_t *host);
  // Describes the worker at `position` of the generation's own; false past the last.
  bool (*worker)(const fc_host_t *host, uint32_t position,
                 fc_host_worker_t *out_worker);

  // Of all of one kind

  // Tells workers of what they were given since the last time. Batches are complete.
  void (*notify)(fc_hosts_t *hosts);
  // Takes calls that have ended, in the order in which each worker ended them, as far as
  // one turn allows. `awake`: called because a worker woke the loop.
  void (*collect)(fc_hosts_t *hosts, bool awake);
  // The loop is about to wait for events: a worker that ends a call from now on wakes
  // the loop. False: there is something to do already, so the loop must not wait.
  bool (*sleep)(fc_hosts_t *hosts);
  void (*wake)(fc_hosts_t *hosts);
  // Ends the calls whose time is over, and says by fc_pool_note_due when `expire` must be
  // called again.
  void (*expire)(fc_hosts_t *hosts, uint64_t now_ns);
  // Checks on processes, for what no event tells.
  void (*look)(fc_hosts_t *hosts, uint64_t now_ns);
  // Ends every worker and waits for it. Nothing is delivered. The loop must have
  // stopped.
  void (*destroy)(fc_hosts_t *hosts);
} fc_host_class_t;

// All hosts of one kind. The first member of the kind's own struct for them.
struct fc_hosts_t {
  const fc_host_class_t *class_;
  fc_pool_t *pool;
  fc_host_t *first;
  uint32_t running;  // calls that they have, dropped ones included
  uint32_t watched;  // workers that `look` checks
};

// One host. The first member of the kind's own struct for it.
struct fc_host_t {
  fc_hosts_t *hosts;
  fc_pool_t *pool;
  fc_host_t *next;
  uint32_t generation;
  uint32_t running;   // calls that it has, dropped ones included
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

// Adds a host to those of its kind, and takes it out again.
void fc_hosts_link(fc_hosts_t *hosts, uint32_t generation, fc_host_t *host);
void fc_hosts_unlink(fc_host_t *host);

// ---------------------------------------------------------------------------
// What a host tells the pool (pool.c)

// The generation can be called now; with an `error`, it could not be loaded, and the
// error says why.
void fc_pool_on_host(fc_host_t *host, const fc_error_t *error);
// The host is gone.
void fc_pool_on_retired(fc_pool_t *pool, uint32_t generation);
// One of the calls that the host has taken has left its worker.
void fc_pool_note_end(fc_host_t *host);
// A call that went on without its job has ended: it counts no more among its caller's,
// if it did (fc_job_t.count).
void fc_pool_uncount(fc_host_t *host, fc_owner_count_t *count);
// Counts a call that the server waits for no more, past its deadline or because its
// client has gone (`dropped`): its process is killed, or its thread counts as lost. Also
// a load that took too long.
void fc_pool_note_stopped(fc_host_t *host, bool dropped);
// Counts a call that has ended by itself, if its outcome says that CALL stopped for its
// deadline, or was cancelled because nobody waits for it (`dropped`).
void fc_pool_note_outcome(fc_host_t *host, const fc_outcome_t *outcome,
                          bool dropped);
// Hands a call's outcome to its waiter. `outcome` is the host's until `finish`. The
// waiter may take the outcome's blocks over; those it leaves, the pool gives back.
void fc_pool_deliver(fc_host_t *host, fc_job_t *job, fc_outcome_t *outcome);
// Delivers an outcome which says that the call failed in `stage` with `error`.
void fc_pool_fail(fc_host_t *host, fc_job_t *job, fc_stage_t stage,
                  const fc_error_t *error);
// Does any call wait in the queue of the host's generation?
bool fc_pool_is_waited_for(const fc_host_t *host);
// A call of `caller`, for which nobody waited, has had a worker for `cost_ns`: the
// caller's further calls let those of others pass for it.
void fc_pool_charge(fc_host_t *host, const fc_owner_t *caller,
                    uint64_t cost_ns);
// A turn of a call in parts has had a worker for `spent_ns`, and nobody has paid for it.
void fc_pool_charge_turn(fc_host_t *host, const fc_owner_t *caller,
                         uint64_t spent_ns);
// Puts a call that was not begun back into its queue, before all others of its priority.
void fc_pool_requeue(fc_host_t *host, fc_job_t *job);
// A turn of the call that holds the claim has left its worker with `outcome`: does the call
// go on to hold it? `job` is NULL when nobody waits for it.
bool fc_claim_stays(const fc_job_t *job, const fc_outcome_t *outcome);
// The call that holds the claim has left its worker, or will not be made: the next one of
// its session has its turn when calls are handed over next.
void fc_pool_pass_claim(fc_pool_t *pool, fc_claim_t *claim);
// The call that holds the claim may never leave its worker: those that wait for their turn
// are refused when calls are handed over next, and so are all that come.
void fc_pool_condemn_claim(fc_pool_t *pool, fc_claim_t *claim);
// `expire` must be called at `due_ns`; 0 changes nothing.
void fc_pool_note_due(fc_pool_t *pool, uint64_t due_ns);
// Fails every call that waits now in the queue of the host's generation; `retry_s` is
// after how many seconds their clients may come back.
void fc_pool_fail_waiting(fc_host_t *host, uint32_t retry_s,
                          const fc_error_t *error);

#endif  // FARCALL_SERVER_POOL_HOST_H_
