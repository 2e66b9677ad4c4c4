// SPDX-License-Identifier: Apache-2.0
//
// What may be known about verified bytecode without running it.
#ifndef FARCALL_CORE_MODULE_VM_ANALYSIS_H_
#define FARCALL_CORE_MODULE_VM_ANALYSIS_H_

#include "module/vm/module.h"

// Whether a call of some exported function (__init and __deinit apart) can
// change what another call sees: it stores a global, moves one out, loads an
// object from one and somewhere writes to a buffer or list, or loads a buffer of
// the HAL from one, somewhere writes to such a buffer, and __init makes any that
// is not immutable. Such a module takes one call at a time; others share a
// context without a lock.
fc_status_t fc_vm_module_is_stateful(const fc_vm_module_t *module,
                                     bool *out_stateful,
                                     fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_ANALYSIS_H_
