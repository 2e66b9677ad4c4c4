// SPDX-License-Identifier: Apache-2.0
//
// What whoever loads a module says of its dims is put into its sidecar, as the member
// "configured": a list as "functions" has it in a sidecar that names (docs/abi.md). So
// those who are given the module's files (fc_module_get_files) have it, too. On the
// thread that loads.
#ifndef FARCALL_CORE_MODULE_CONFIGURED_H_
#define FARCALL_CORE_MODULE_CONFIGURED_H_

#include "farcall/module.h"

// Does what fc_module_load does, with dims that hold besides what the sidecar says: a
// list as JSON; "": none. `err` as in fc_configured_add.
fc_status_t fc_module_load_configured(const fc_backend_t *const *backends,
                                      fc_str_t path, fc_str_t dims,
                                      const fc_module_options_t *options,
                                      fc_allocator_t allocator,
                                      fc_module_t **out_module,
                                      fc_error_t *err) FC_MUST_CHECK;
// Replaces *sidecar, a descriptor or -1, by one of a file in memory that has both; the
// old one is closed. `dims` is the list as JSON. FC_CODE_ABI_METADATA,
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_configured_add(int *sidecar, fc_str_t dims,
                              fc_allocator_t allocator,
                              fc_error_t *err) FC_MUST_CHECK;
// Does `dims` say something that can be said? FC_CODE_ABI_METADATA. Whether it fits a
// module is found when that is loaded.
fc_status_t fc_configured_check(fc_str_t dims, fc_allocator_t allocator,
                                fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_CONFIGURED_H_
