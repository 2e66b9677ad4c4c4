// SPDX-License-Identifier: Apache-2.0
//
// A worker process as the server sees it. The nursery (control/nursery.h) makes it and
// waits for it; the loop may kill it. Both use a descriptor (pidfd), because the process
// number may belong to another process later. The standard input is /dev/null;
// output and error are a pipe to the server. The process has no other descriptors than
// those below, and an empty environment. Its main function is in process_main.h.
#ifndef FARCALL_SERVER_POOL_PROCESS_H_
#define FARCALL_SERVER_POOL_PROCESS_H_

#include <sys/types.h>

#include "farcall/module.h"
#include "pool/ring.h"

// The descriptors of a worker, after the standard ones.
enum {
  FC_PROCESS_RING = 3,  // the memfd of its ring (ring.h)
  FC_PROCESS_BELL,      // eventfd: written when a slot is DONE
  FC_PROCESS_INBOX,     // socket: files for calls (handoff.h)
  FC_PROCESS_MODULE,    // the module's file
  FC_PROCESS_SIDECAR,   // the sidecar, which may be absent
  // A network namespace, closed after it is entered; may be absent.
  FC_PROCESS_NETWORK,
  // cgroup.procs of its control group, closed after it is entered; may be absent.
  FC_PROCESS_GROUP,
  FC_PROCESS_FILES
};

typedef struct fc_process_t {
  pid_t pid;
  int pidfd;
  int bell;     // eventfd, readable once written
  int handoff;  // socket: files for calls
  int output;   // its stdout and stderr, not blocking
  bool reaped;  // `pid` may be another process by now
} fc_process_t;

typedef struct fc_process_start_t {
  const char *program;  // path of farcalld
  const char *path;     // of the module: its name and kind follow from it
  const char *parameters;
  int ring;                 // borrowed, as are all descriptors here
  fc_module_files_t files;  // of the module
  int network;              // -1: none
  int group;                // -1: none
} fc_process_start_t;

fc_status_t fc_process_spawn(const fc_process_start_t *start,
                             fc_process_t *out_process,
                             fc_error_t *err) FC_MUST_CHECK;
void fc_process_kill(const fc_process_t *process);

// How a process ended. At most one of signal and code is not zero.
typedef struct fc_process_end_t {
  int signal;
  int code;
  uint64_t cpu_ns;  // processor time that it has taken
} fc_process_end_t;

// Has the process ended? It is not reaped, so its number stays valid and it may still be
// killed.
bool fc_process_look(const fc_process_t *process, fc_process_end_t *out_end);
// Reaps the process if it has ended; `wait` blocks until it has. False: it still runs.
bool fc_process_reap(fc_process_t *process, bool wait,
                     fc_process_end_t *out_end);
// Returns the processor time of a process until now; 0 if the system does not report it.
uint64_t fc_process_cpu_ns(const fc_process_t *process);
// Closes the descriptors that are open.
void fc_process_close(fc_process_t *process);

#endif  // FARCALL_SERVER_POOL_PROCESS_H_
