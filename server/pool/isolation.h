// SPDX-License-Identifier: Apache-2.0
//
// Which host a module's calls run in: --isolation=auto|process|thread, then
// NAME=MODE for single modules, separated by commas.
#ifndef FARCALL_SERVER_POOL_ISOLATION_H_
#define FARCALL_SERVER_POOL_ISOLATION_H_

#include "config/choice.h"
#include "farcall/base.h"

// Checks the text of the option. FC_CODE_NOT_ACCEPTABLE.
fc_status_t fc_isolation_check(fc_str_t text, fc_error_t *err) FC_MUST_CHECK;
// Does a module with this mode run in processes?
static inline bool fc_isolation_process(unsigned mode, bool runs_native) {
  return mode == FC_ISOLATION_PROCESS ||
         (mode == FC_ISOLATION_AUTO && runs_native);
}

#endif  // FARCALL_SERVER_POOL_ISOLATION_H_
