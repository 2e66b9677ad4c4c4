// SPDX-License-Identifier: Apache-2.0
//
// Calls `admit` of fc_module_options_t again for the files of a module that is open.
#ifndef FARCALL_MODULE_ADMIT_H_
#define FARCALL_MODULE_ADMIT_H_

#include "farcall/module.h"

// Calls `options`->admit, if it is set, again for the module's file and its sidecars,
// with the sums that they had when they were read.
fc_status_t fc_module_admit(const fc_module_t *module,
                            const fc_module_options_t *options,
                            fc_error_t *err) FC_MUST_CHECK;
// Copies the sums of the sidecars from `from`, from whose files (fc_module_get_files)
// the module was loaded. This is needed because `admit` was asked about sidecars only
// when `from` was loaded.
void fc_module_take_sums(fc_module_t *module, const fc_module_t *from);

#endif  // FARCALL_MODULE_ADMIT_H_
