// SPDX-License-Identifier: Apache-2.0
//
// Chooses the source of an exported function's signature, if several sources
// describe the function.
#ifndef FARCALL_CORE_MODULE_VM_SIGNATURE_H_
#define FARCALL_CORE_MODULE_VM_SIGNATURE_H_

#include "abi/names.h"
#include "module/vm/vmfb.h"

// Makes the signature of an export of a verified module. If the sidecar has types, they
// must fit the calling convention. Otherwise the first of these sources that fits it is
// used: iree.abi; sip with f; f; iree.abi.declaration; the asserts of the bytecode; only
// the convention. The warning has the first problem: a source that was skipped, and
// why, or a type for which the module has another one. With a `reason` the function is
// listed, but not callable. With `machine_code` the function is not memory safe, because
// kernels check nothing. `names`, if not NULL, are added to what the source says, and
// must fit it. `budget` is what fc_vm_recover may spend; the caller resets `scratch`.
fc_status_t fc_vm_signature_create(const fc_vm_module_t *module,
                                   const fc_vm_export_t *export,
                                   fc_str_t reason, bool machine_code,
                                   fc_names_t *names, fc_builder_t *builder,
                                   size_t *budget, fc_arena_t *scratch,
                                   fc_signature_t **out_signature,
                                   fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_SIGNATURE_H_
