// SPDX-License-Identifier: Apache-2.0
//
// A worker process, as the loop sees it. It is started, killed and waited for
// by a descriptor (pidfd), so that another process which gets its number later
// is never meant. What it inherits is the table below and nothing else; the
// environment is empty. Also the main function of `farcalld --worker`.
#ifndef FARCALL_SERVER_POOL_PROCESS_H_
#define FARCALL_SERVER_POOL_PROCESS_H_

#include <sys/types.h>

#include "pool/region.h"
#include "pool/ring.h"

// The descriptors of a worker.
enum {
  FC_PROCESS_RING = 3,
  FC_PROCESS_BELL,     // eventfd: written when a slot is DONE
  FC_PROCESS_INBOX,    // socket: files for calls (handoff.h)
  FC_PROCESS_MODULE,   // the module's file
  FC_PROCESS_SIDECAR,  // the sidecar, which may be absent
  FC_PROCESS_FILES
};

typedef struct fc_process_t {
  pid_t pid;
  int pidfd;
  int bell;     // eventfd, readable once written
  int handoff;  // socket: files for calls
  int output;   // its stdout and stderr, not blocking
} fc_process_t;

typedef struct fc_process_start_t {
  const char *program;  // farcalld
  const char *path;     // of the module: its name and kind follow from it
  const char *parameters;
  int ring;                 // borrowed, as are the files
  fc_module_files_t files;  // of the module
} fc_process_start_t;

fc_status_t fc_process_spawn(const fc_process_start_t *start,
                             fc_process_t *out_process,
                             fc_error_t *err) FC_MUST_CHECK;
void fc_process_kill(const fc_process_t *process);

// How a process ended: of signal and code at most one is not zero.
typedef struct fc_process_end_t {
  int signal;
  int code;
  uint64_t cpu_ns;  // processor time that it has taken
} fc_process_end_t;

// True once it has ended; it is reaped then. `wait` blocks until it has.
bool fc_process_reap(fc_process_t *process, bool wait,
                     fc_process_end_t *out_end);
// Processor time that a process has taken until now.
uint64_t fc_process_cpu_ns(const fc_process_t *process);
// Closes the descriptors. A process that has none is allowed.
void fc_process_close(fc_process_t *process);

// Runs as `farcalld --worker …`, for modules of these kinds (NULL-terminated)
// and calls of these dialects, by the index in a slot; never returns.
_Noreturn void fc_process_main(int argc, char **argv,
                               const fc_backend_t *const *backends,
                               const fc_dialect_worker_t *const *dialects);

#endif  // FARCALL_SERVER_POOL_PROCESS_H_
