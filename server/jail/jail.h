// SPDX-License-Identifier: Apache-2.0
//
// What a worker process may do (--sandbox). The worker calls fc_jail_enter before it
// touches the module and fc_jail_lock when the module is loaded; both are about the
// calling process, and what they take away cannot be had again. The other functions are
// the server's.
//
// The parts: jail.c (the order in which things are given up), filter.c (the filters of
// system calls, made from call.def and basic.def), landlock.c and readable.c (files),
// threads.c (how many threads), stop.c (what was stopped), probe.c (what the kernel has).
#ifndef FARCALL_SERVER_JAIL_JAIL_H_
#define FARCALL_SERVER_JAIL_JAIL_H_

#include <pthread.h>
#include <stdatomic.h>

#include "config/choice.h"
#include "farcall/base.h"

// Parts of the jail that a kernel may lack (part.def), as bits.
typedef enum fc_jail_part_t {
#define FC_JAIL_PART(name, text, needed, what) FC_JAIL_##name,
#include "jail/part.def"
#undef FC_JAIL_PART
  FC_JAIL_PARTS
} fc_jail_part_t;

typedef struct fc_jail_part_row_t {
  const char *text;
  bool needed;  // --sandbox=strict does not start without it
  const char *what;
} fc_jail_part_row_t;

extern const fc_jail_part_row_t fc_jail_parts[FC_JAIL_PARTS];

// What the kernel has, and lets this process have.
typedef struct fc_jail_facts_t {
  // That workers are to run as (fc_jail_t); kept by fc_jail_probe_begin.
  uint32_t user;
  uint32_t parts;  // bits of fc_jail_part_t
  // Why a part is missing: errno; 0: it is there, or these workers do without it.
  int errors[FC_JAIL_PARTS];
  int network;  // a network namespace without devices, for all workers; -1: none
  pthread_t thread;  // that finds this out, if `probing`
  bool probing;      // between fc_jail_probe_begin and fc_jail_know
  bool known;        // the fields above hold
} fc_jail_facts_t;

// What was stopped: a bit for each number of a system call, set by the worker and read
// by the loop. A call with a higher number sets the last bit.
#define FC_JAIL_CALL_NUMBERS 512u
typedef struct fc_jail_stops_t {
  _Atomic uint64_t calls[FC_JAIL_CALL_NUMBERS / 64];
} fc_jail_stops_t;

typedef struct fc_jail_t {
  fc_sandbox_t sandbox;
  uint32_t parts;  // with AUTO and STRICT, those that must hold
  // Limits the bytes of the address space, 0: no limit.
  uint64_t memory;
  uint64_t cpu_s;  // limits processor time, 0: no limit
  // The server's process id: if that process has gone, fc_jail_enter does not return.
  int parent;
  const char *module;      // its path; NULL: nothing may be read
  int file;                // its file, borrowed
  const char *parameters;  // archives, as --parameters names them
  int network;  // the namespace to enter, closed then; used if `parts` has NETWORK
  int procs;  // file of the control group to enter, closed then; 0: none
  uint32_t user, group;    // to run as; user 0: as it runs already
  fc_jail_stops_t *stops;  // borrowed; NULL: nothing is noted
} fc_jail_t;

// Before the module is loaded. May be called by a process with one thread only.
fc_status_t fc_jail_enter(const fc_jail_t *jail, fc_error_t *err) FC_MUST_CHECK;
// When it is loaded, before its first call.
fc_status_t fc_jail_lock(const fc_jail_t *jail, fc_error_t *err) FC_MUST_CHECK;

// Finds out what the kernel has, by trying, in a thread that ends then. That takes half a
// millisecond, nearly all of it for the namespace, so that the caller can do something
// else until it needs the facts, which may not be moved before.
void fc_jail_probe_begin(fc_jail_facts_t *facts);
// Waits for the end of the probe. Zeroed facts are probed now. Returns `facts`.
const fc_jail_facts_t *fc_jail_know(fc_jail_facts_t *facts);
// Closes the namespace, also of facts that are still being found out. Zeroed facts are
// allowed.
void fc_jail_forget(fc_jail_facts_t *facts);
// Can `sandbox` be kept? FC_CODE_MODULE_UNAVAILABLE names what is missing.
fc_status_t fc_jail_check(fc_sandbox_t sandbox, const fc_jail_facts_t *facts,
                          fc_error_t *err) FC_MUST_CHECK;

// Are the threads of a worker bounded that runs as `user` (fc_jail_t)? Without a bound,
// strict lets it begin none once its module is loaded.
bool fc_jail_bounds_threads(uint32_t parts, uint32_t user);
// Can a process with this jail have been stopped at a call? `locked`: at any time, else
// while its module is loaded. A number that call.def does not have can be stopped.
bool fc_jail_may_stop(fc_sandbox_t sandbox, uint32_t parts, bool locked,
                      uint32_t number);
// "socket", NULL for a number that call.def does not have.
const char *fc_jail_call_name(uint32_t number);

#endif  // FARCALL_SERVER_JAIL_JAIL_H_
