// SPDX-License-Identifier: Apache-2.0
//
// The process host of one module: its worker processes, which calls they have,
// and what is done when one ends. A crash costs the call that ran; what had not
// begun goes back to the head of the queue. A module that keeps crashing is
// quarantined, alone. The loop's thread.
#ifndef FARCALL_SERVER_POOL_HOST_H_
#define FARCALL_SERVER_POOL_HOST_H_

#include <uv.h>

#include "obs/log.h"
#include "pool/pool.h"
#include "pool/ring.h"

// How processes are made, the same for every module. Borrowed.
typedef struct fc_host_options_t {
  uv_loop_t *uv;
  fc_log_t *log;
  const char *program;
  const char *parameters;
  fc_ring_setup_t setup;
  uint32_t workers;      // most processes of one module
  uint32_t crash_limit;  // crashes in a minute before quarantine; 0: any
  uint64_t quarantine_ms;
  bool kill_dropped;  // end the process of a running call nobody waits for
} fc_host_options_t;

// Since the start of the server.
typedef struct fc_host_counts_t {
  uint64_t crashes;
  uint64_t restarts;  // in the place of one that had ended
  uint64_t quarantines;
} fc_host_counts_t;

// Starts the first process of generation `index`.
fc_status_t fc_host_create(fc_pool_t *pool, uint32_t index, fc_module_t *module,
                           const fc_host_options_t *options,
                           fc_host_t **out_host, fc_error_t *err) FC_MUST_CHECK;
// Ends every process and waits for it. The loop must have stopped. NULL is
// allowed.
void fc_host_destroy(fc_host_t *host);

// Its processes have no calls and get no more: ends them, without waiting. Once
// they are gone, so is the host, and fc_pool_on_retired is called.
void fc_host_retire(fc_host_t *host);

// May a call be made? FC_CODE_MODULE_QUARANTINED, then *out_retry_s is set.
fc_status_t fc_host_admit(const fc_host_t *host, uint32_t *out_retry_s,
                          fc_error_t *err);
typedef enum fc_offer_t {
  FC_OFFER_FULL,    // no process has room; more are started if there may be
  FC_OFFER_TAKEN,   // a process has it
  FC_OFFER_BLAMED,  // the same has crashed the module: see fc_host_refuse
} fc_offer_t;

// Gives a waiting call to a process, `ahead` at most to one.
fc_offer_t fc_host_offer(fc_host_t *host, fc_job_t *job, uint32_t ahead);
// Answers a call that was blamed and does not wait any more.
void fc_host_refuse(fc_host_t *host, fc_job_t *job);
// Nobody waits for a call any more that a process has.
void fc_host_drop(fc_host_t *host, fc_job_t *job);
// Ends the calls whose deadline has passed, and those nobody waits for if that is
// wanted; takes back those that wait behind a slow one. Returns when to call it
// again, 0: not before there are other calls.
uint64_t fc_host_expire(fc_host_t *host, uint64_t now_ns);
// Ends processes that take more shared memory than their calls need, and takes
// calls back from those that do not run. Every FC_LIMIT_LOOK_MS.
void fc_host_look(fc_host_t *host, uint64_t now_ns);

// Of all hosts whose processes have calls:
// Takes finished calls and delivers them.
void fc_hosts_collect(fc_pool_t *pool);
// Wakes the processes that were given calls.
void fc_hosts_ring(fc_pool_t *pool);
// Around waiting for events; false when a call is finished already.
bool fc_hosts_sleep(fc_pool_t *pool);
void fc_hosts_wake(fc_pool_t *pool);

fc_host_counts_t fc_host_counts(const fc_host_t *host);
// When a quarantine ends, 0: there is none.
uint64_t fc_host_quarantined_ns(const fc_host_t *host);

typedef struct fc_host_worker_t {
  int pid;
  const char *state;  // "starting", "idle", "busy", "ending"
  uint64_t calls;
} fc_host_worker_t;

// The processes there are, by position; false past the last.
bool fc_host_worker(const fc_host_t *host, uint32_t position,
                    fc_host_worker_t *out_worker);

#endif  // FARCALL_SERVER_POOL_HOST_H_
