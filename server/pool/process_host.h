// SPDX-License-Identifier: Apache-2.0
//
// The process host: the worker processes of one generation, their calls, and what happens
// when one ends. A crash fails only the running call; calls that had not begun return to
// the head of the queue, at most FC_LIMIT_ATTEMPTS times. A module that keeps crashing is
// quarantined, without affecting others. The host learns about a process from its eventfd
// (it has finished calls), from the nursery (it was made, has printed, has ended), and,
// if it does nothing, from time (the host's timer and the pool's checks). Loop thread,
// except process_nursery.c. Its parts: process_hosts.h.
#ifndef FARCALL_SERVER_POOL_PROCESS_HOST_H_
#define FARCALL_SERVER_POOL_PROCESS_HOST_H_

#include <uv.h>

#include "control/nursery.h"
#include "jail/jail.h"
#include "obs/log.h"
#include "pool/pool.h"
#include "pool/ring.h"

// How processes are made, and what is done after crashes: one struct for all modules. The
// pool and its hosts keep a pointer to it, so it must outlive them.
typedef struct fc_process_options_t {
  uv_loop_t *uv;
  fc_log_t *log;
  const char *program;
  // Returns which parts of the jail exist; called before each process. NULL: no jail.
  const fc_jail_facts_t *(*jail)(void *context);
  void *jail_context;
  const fc_groups_t *groups;  // NULL: none
  fc_ring_setup_t setup;
  // The most calls of a module at once, unless its policy says it.
  uint32_t workers;
  // Crashes in a minute that lead to a quarantine; 0: none.
  uint32_t crash_limit;
  uint64_t quarantine_ms;
  // Ends the process of a running call that nobody waits for.
  bool kill_dropped;
} fc_process_options_t;

// Makes the hosts. The pool's options say how processes are made.
fc_status_t fc_process_hosts_create(fc_pool_t *pool, fc_hosts_t **out_hosts,
                                    fc_error_t *err) FC_MUST_CHECK;

// Returns the nursery, which starts with the first host, or when other code needs it.
fc_nursery_t *fc_process_hosts_nursery(fc_hosts_t *hosts);
fc_status_t fc_process_hosts_start_nursery(fc_hosts_t *hosts,
                                           fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_POOL_PROCESS_HOST_H_
