// SPDX-License-Identifier: Apache-2.0
//
// Tells whether a module may replace another one without its callers noticing.
#ifndef FARCALL_CORE_MODULE_REPLACE_H_
#define FARCALL_CORE_MODULE_REPLACE_H_

#include "farcall/module.h"

// Compares two versions of a module. FC_OK when `after` has each callable function of
// `before`, under the same name and with a signature that may replace the old one
// (abi/narrow.h). `after` may have more functions. FC_CODE_SIGNATURE_NARROWED names the
// first function that is missing or has another signature.
fc_status_t fc_module_check_replaces(const fc_module_t *before,
                                     const fc_module_t *after,
                                     fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_REPLACE_H_
