// SPDX-License-Identifier: Apache-2.0
//
// After the sums of --trust were read again: unloads the modules whose sum is gone. The
// loop's thread.
#ifndef FARCALL_SERVER_MODULES_DISTRUST_H_
#define FARCALL_SERVER_MODULES_DISTRUST_H_

#include "modules/modules.h"

// Asks options.open.admit about a module that is open, which may have been opened before
// the sums changed.
fc_status_t fc_modules_admit(const fc_modules_t *modules,
                             const fc_module_t *module,
                             fc_error_t *err) FC_MUST_CHECK;
// Unloads the modules that may not be loaded any more; calls that were accepted go on to
// their end. A module that is still being loaded or described is refused when that is
// done (fc_modules_on_added, fc_demand_on_described).
void fc_modules_distrust(fc_modules_t *modules);

#endif  // FARCALL_SERVER_MODULES_DISTRUST_H_
