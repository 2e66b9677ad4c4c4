// SPDX-License-Identifier: Apache-2.0
//
// What a worker process gives up before it touches a module, and what it says
// when a signal ends it. All of it concerns the calling process.
#ifndef FARCALL_SERVER_POOL_SANDBOX_H_
#define FARCALL_SERVER_POOL_SANDBOX_H_

#include "pool/ring.h"

// `memory` limits the bytes of the address space, 0: no limit. `parent` is the
// server's process id: if that process has gone, this does not return.
fc_status_t fc_sandbox_enter(uint64_t memory, int parent,
                             fc_error_t *err) FC_MUST_CHECK;

// From now on a signal that is about to end the process is described in `fault`
// first.
void fc_fault_watch(fc_fault_t *fault);
// Objects loaded between the two are the module's.
void fc_fault_before_load(void);
void fc_fault_after_load(void);

#endif  // FARCALL_SERVER_POOL_SANDBOX_H_
