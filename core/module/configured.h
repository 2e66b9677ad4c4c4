// SPDX-License-Identifier: Apache-2.0
//
// Dims that the loader of a module declares are put into the module's sidecar, as the
// member "configured": a list like "functions" in a sidecar whose "abi" is "module"
// (docs/abi.md). So a process that is given the module's files (fc_module_get_files) has
// the list, too. On the thread that loads.
#ifndef FARCALL_CORE_MODULE_CONFIGURED_H_
#define FARCALL_CORE_MODULE_CONFIGURED_H_

#include "farcall/module.h"

// Does what fc_module_load does. Besides what the sidecar says, the module has `dims`, a
// list as JSON; "": none. Fails also as fc_configured_add does.
fc_status_t fc_module_load_configured(const fc_backend_t *const *backends,
                                      fc_str_t path, fc_str_t dims,
                                      const fc_module_options_t *options,
                                      fc_allocator_t allocator,
                                      fc_module_t **out_module,
                                      fc_error_t *err) FC_MUST_CHECK;
// Replaces *sidecar, a descriptor or -1, by a descriptor of memory that holds the text of
// the sidecar and `dims`, the list as JSON, and closes the old one. If `dims` is "",
// *sidecar stays and is only checked. FC_CODE_ABI_METADATA if the sidecar cannot be read
// or has a member "configured" already, FC_CODE_OUT_OF_MEMORY. A sidecar that is too
// large or no JSON object is let through: opening the module refuses it.
fc_status_t fc_configured_add(int *sidecar, fc_str_t dims,
                              fc_allocator_t allocator,
                              fc_error_t *err) FC_MUST_CHECK;
// Checks the form of `dims`: FC_CODE_ABI_METADATA. Whether the dims fit a module is
// found when the module is loaded.
fc_status_t fc_configured_check(fc_str_t dims, fc_allocator_t allocator,
                                fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_CONFIGURED_H_
