// SPDX-License-Identifier: Apache-2.0
//
// Asks `admit` of fc_module_options_t again about the files of a module that is open.
#ifndef FARCALL_MODULE_ADMIT_H_
#define FARCALL_MODULE_ADMIT_H_

#include "farcall/module.h"

// Asks `options`->admit, if it is set, again about the module's file and its sidecars, by
// the sums they had when they were read.
fc_status_t fc_module_admit(const fc_module_t *module,
                            const fc_module_options_t *options,
                            fc_error_t *err) FC_MUST_CHECK;
// Copies the sums of the sidecars from `from`, of whose files (fc_module_get_files) the
// module was loaded: only when `from` was loaded was `admit` asked about sidecars.
void fc_module_take_sums(fc_module_t *module, const fc_module_t *from);

#endif  // FARCALL_MODULE_ADMIT_H_
