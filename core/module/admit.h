// SPDX-License-Identifier: Apache-2.0
//
// Asks again whether the files of an open module may be used (fc_module_options_t.admit).
#ifndef FARCALL_MODULE_ADMIT_H_
#define FARCALL_MODULE_ADMIT_H_

#include "farcall/module.h"

// Calls `options`->admit, if it is set, again for the module's file and its sidecars,
// with the SHA-256 sums that they had when they were read.
fc_status_t fc_module_admit(const fc_module_t *module,
                            const fc_module_options_t *options,
                            fc_error_t *err) FC_MUST_CHECK;
// Copies the sums of the sidecars from `from`. The module was loaded from the files of
// `from` (fc_module_get_files), and `admit` was asked about the sidecars only when `from`
// was loaded.
void fc_module_take_sums(fc_module_t *module, const fc_module_t *from);

#endif  // FARCALL_MODULE_ADMIT_H_
