// SPDX-License-Identifier: Apache-2.0
//
// The native modules that fc_backend_vm (farcall/backend.h) provides to modules.
#ifndef FARCALL_CORE_MODULE_VM_BACKEND_H_
#define FARCALL_CORE_MODULE_VM_BACKEND_H_

#include "farcall/backend.h"
#include "module/vm/natives.h"

// The native modules; NULL-terminated.
extern const fc_vm_native_module_t *const fc_vm_natives[];

#endif  // FARCALL_CORE_MODULE_VM_BACKEND_H_
