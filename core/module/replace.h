// SPDX-License-Identifier: Apache-2.0
//
// May a module take the place of another one without its callers noticing?
#ifndef FARCALL_CORE_MODULE_REPLACE_H_
#define FARCALL_CORE_MODULE_REPLACE_H_

#include "farcall/module.h"

// Each function of `before` that can be called must be in `after`, which may have
// more, with a signature that replaces its own (abi/narrow.h).
// FC_CODE_SIGNATURE_NARROWED names the first that is not.
fc_status_t fc_module_check_replaces(const fc_module_t *before,
                                     const fc_module_t *after,
                                     fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_REPLACE_H_
