// SPDX-License-Identifier: Apache-2.0
//
// What a worker process reports when a signal ends it.
#ifndef FARCALL_SERVER_POOL_FAULT_H_
#define FARCALL_SERVER_POOL_FAULT_H_

#include "pool/ring.h"

// From now on a signal that is about to end the process is described in `fault`
// first.
void fc_fault_watch(fc_fault_t *fault);
// Objects loaded between the two are the module's.
void fc_fault_before_load(void);
void fc_fault_after_load(void);

#endif  // FARCALL_SERVER_POOL_FAULT_H_
