// SPDX-License-Identifier: Apache-2.0
//
// Whose sums `admit` of fc_module_options_t vouches for, once the module is open.
#ifndef FARCALL_MODULE_ADMIT_H_
#define FARCALL_MODULE_ADMIT_H_

#include "farcall/module.h"

// Asks `options`->admit, if it is set, again about the module's file and its sidecars, by
// the sums they had when they were read.
fc_status_t fc_module_admit(const fc_module_t *module,
                            const fc_module_options_t *options,
                            fc_error_t *err) FC_MUST_CHECK;
// The module was loaded of the files of `from` (fc_module_get_files), which alone knows
// the sums that its sidecars had.
void fc_module_take_sums(fc_module_t *module, const fc_module_t *from);

#endif  // FARCALL_MODULE_ADMIT_H_
