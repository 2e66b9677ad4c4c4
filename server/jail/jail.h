// SPDX-License-Identifier: Apache-2.0
//
// What a worker process may do (--sandbox). The worker calls fc_jail_enter before it
// touches the module, and fc_jail_lock when the module is loaded. Both change the calling
// process, and their restrictions cannot be undone. The server calls the other functions.
//
// The files: jail.c (the order in which rights are given up), filter.c (the filters of
// system calls, made from call.def and basic.def), landlock.c and readable.c (files),
// threads.c (the number of threads), stop.c (refused calls), probe.c (what the kernel
// supports).
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

// What the kernel supports, and allows this process to use.
typedef struct fc_jail_facts_t {
  // The user that workers run as (fc_jail_t); fc_jail_probe_begin keeps the value.
  uint32_t user;
  uint32_t parts;  // bits of fc_jail_part_t
  // The errno with which a part failed; 0: the part works, or these workers do not need
  // it.
  int errors[FC_JAIL_PARTS];
  int network;  // a network namespace without devices, for all workers; -1: none
  pthread_t thread;  // the thread that finds out the facts, while `probing`
  bool probing;      // between fc_jail_probe_begin and fc_jail_know
  bool known;        // the fields above are set
} fc_jail_facts_t;

// Refused system calls: one bit for each number, set by the worker and read by the loop.
// Calls with higher numbers set the last bit.
#define FC_JAIL_CALL_NUMBERS 512u
typedef struct fc_jail_stops_t {
  _Atomic uint64_t calls[FC_JAIL_CALL_NUMBERS / 64];
} fc_jail_stops_t;

typedef struct fc_jail_t {
  fc_sandbox_t sandbox;
  uint32_t parts;  // AUTO and STRICT: the parts that must work
  // Limits the bytes of the address space, 0: no limit.
  uint64_t memory;
  uint64_t cpu_s;  // limits processor time, 0: no limit
  // The server's process id. If that process has ended, fc_jail_enter does not return.
  int parent;
  const char *module;      // its path; NULL: nothing may be read
  int file;                // the module's file, borrowed
  const char *parameters;  // archives, as --parameters names them
  int network;  // the namespace to enter, closed then; used if `parts` has NETWORK
  int procs;  // file of the control group to enter, closed then; 0: none
  uint32_t user, group;    // to run as; user 0: as it runs already
  fc_jail_stops_t *stops;  // borrowed; NULL: nothing is noted
} fc_jail_t;

// Call it before the module is loaded, in a process with only one thread.
fc_status_t fc_jail_enter(const fc_jail_t *jail, fc_error_t *err) FC_MUST_CHECK;
// Call it when the module is loaded, before its first call.
fc_status_t fc_jail_lock(const fc_jail_t *jail, fc_error_t *err) FC_MUST_CHECK;

// Finds out what the kernel supports by trying it, in a thread that ends afterwards. This
// takes half a millisecond, nearly all of it for the namespace. The caller can do other
// work until it needs the facts. The facts must not be moved until fc_jail_know returns.
void fc_jail_probe_begin(fc_jail_facts_t *facts);
// Waits for the end of the probe. If `facts` is zeroed, probes now. Returns `facts`.
const fc_jail_facts_t *fc_jail_know(fc_jail_facts_t *facts);
// Closes the namespace, also while the probe runs. Accepts zeroed facts.
void fc_jail_forget(fc_jail_facts_t *facts);
// Can the server keep `sandbox`? FC_CODE_MODULE_UNAVAILABLE names the missing part.
fc_status_t fc_jail_check(fc_sandbox_t sandbox, const fc_jail_facts_t *facts,
                          fc_error_t *err) FC_MUST_CHECK;

// Can the number of threads be limited in a worker that runs as `user` (fc_jail_t)?
// Without a limit, strict lets the worker begin no thread once its module is loaded.
bool fc_jail_bounds_threads(uint32_t parts, uint32_t user);
// Can a call with this number have been refused in a process with this jail? If `locked`,
// at any time; else while its module is loaded. A number that call.def does not have can
// be refused.
bool fc_jail_may_stop(fc_sandbox_t sandbox, uint32_t parts, bool locked,
                      uint32_t number);
// Returns a name such as "socket"; NULL for a number that call.def does not have.
const char *fc_jail_call_name(uint32_t number);

#endif  // FARCALL_SERVER_JAIL_JAIL_H_
