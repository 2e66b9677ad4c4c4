// SPDX-License-Identifier: Apache-2.0
//
// The `hal` module of IREE for a synchronous CPU. Work is done when it is
// requested; fences only tell whether it succeeded; memory is the host's.
#ifndef FARCALL_CORE_MODULE_VM_HAL_HAL_H_
#define FARCALL_CORE_MODULE_VM_HAL_HAL_H_

#include "module/vm/natives.h"

// Runs VMVX and embedded machine code.
extern const fc_vm_native_module_t fc_vm_hal;
// Runs only VMVX: everything that the module does is checked as bytecode.
extern const fc_vm_native_module_t fc_vm_hal_sandboxed;

// Modules of the execution model inline-dynamic use `hal_inline` and `hal_loader`
// instead of `hal`; those of inline-static use only `hal_inline`.
extern const fc_vm_native_module_t fc_vm_hal_inline;
extern const fc_vm_native_module_t fc_vm_hal_loader;
extern const fc_vm_native_module_t fc_vm_hal_loader_sandboxed;

// These make and free the fc_hal_state_t of a context, for `hal` and `hal_loader`.
fc_status_t fc_hal_state_create(fc_vm_context_t *context, void **out_state,
                                fc_error_t *err);
fc_status_t fc_hal_state_create_sandboxed(fc_vm_context_t *context,
                                          void **out_state, fc_error_t *err);
void fc_hal_state_destroy(fc_vm_context_t *context, void *state_pointer);

#endif  // FARCALL_CORE_MODULE_VM_HAL_HAL_H_
