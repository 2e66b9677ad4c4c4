// SPDX-License-Identifier: Apache-2.0
//
// Unloads modules whose sum is missing after --trust was read again. Loop thread.
#ifndef FARCALL_SERVER_MODULES_DISTRUST_H_
#define FARCALL_SERVER_MODULES_DISTRUST_H_

#include "modules/modules.h"

// Asks options.open.admit again about an open module, because the sums may have changed
// since it was opened.
fc_status_t fc_modules_admit(const fc_modules_t *modules,
                             const fc_module_t *module,
                             fc_error_t *err) FC_MUST_CHECK;
// Unloads the modules that fc_modules_admit now refuses; accepted calls run to their end.
// A module that is being loaded or described now is checked when it is ready
// (fc_modules_on_added, fc_demand_on_described).
void fc_modules_distrust(fc_modules_t *modules);

#endif  // FARCALL_SERVER_MODULES_DISTRUST_H_
