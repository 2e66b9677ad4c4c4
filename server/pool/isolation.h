// SPDX-License-Identifier: Apache-2.0
//
// Decides which kind of host a module has, from --isolation and "isolation" of a module.
#ifndef FARCALL_SERVER_POOL_ISOLATION_H_
#define FARCALL_SERVER_POOL_ISOLATION_H_

#include "config/choice.h"
#include "farcall/base.h"

// Does a module with this mode run in processes?
static inline bool fc_isolation_process(unsigned mode, bool runs_native) {
  return mode == FC_ISOLATION_PROCESS ||
         (mode == FC_ISOLATION_AUTO && runs_native);
}

#endif  // FARCALL_SERVER_POOL_ISOLATION_H_
