// SPDX-License-Identifier: Apache-2.0
//
// What a worker process reports when a signal ends it.
#ifndef FARCALL_SERVER_POOL_FAULT_H_
#define FARCALL_SERVER_POOL_FAULT_H_

#include "pool/ring.h"

// From now on a fault or an abort (kFaults in fault.c) is described in `fault` before it
// ends the process.
void fc_fault_watch(fc_fault_t *fault);
// The first object that is loaded between these two calls is the module's.
void fc_fault_before_load(void);
void fc_fault_after_load(void);

#endif  // FARCALL_SERVER_POOL_FAULT_H_
