// SPDX-License-Identifier: Apache-2.0
//
// What a worker process reports when a signal ends it.
#ifndef FARCALL_SERVER_POOL_FAULT_H_
#define FARCALL_SERVER_POOL_FAULT_H_

#include <signal.h>

#include "pool/ring.h"

// From now on a fault or an abort (kFaults in fault.c) is described in `fault` before it
// ends the process.
void fc_fault_watch(fc_fault_t *fault);
// Gives the calling thread a second stack for the handler, so that the handler can report
// that the thread's own stack is full. `memory` must have FC_FAULT_STACK_SIZE bytes, and
// stay until the thread calls fc_fault_uncover, which it must do before it ends.
// fc_fault_uncover restores the earlier second stack (*before).
#define FC_FAULT_STACK_SIZE ((size_t)64 << 10)
void fc_fault_cover(void *memory, stack_t *before);
void fc_fault_uncover(const stack_t *before);
// The first object that is loaded between these two calls is the module.
void fc_fault_before_load(void);
void fc_fault_after_load(void);

#endif  // FARCALL_SERVER_POOL_FAULT_H_
