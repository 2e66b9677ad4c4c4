// SPDX-License-Identifier: Apache-2.0
//
// Facts about verified bytecode that are found without running it.
#ifndef FARCALL_CORE_MODULE_VM_ANALYSIS_H_
#define FARCALL_CORE_MODULE_VM_ANALYSIS_H_

#include "module/vm/vmfb.h"
#include "module/vm/natives.h"

// Whether a call of some exported function (__init and __deinit apart) can
// change what another call sees. It can when
//  - it stores a global, or moves an object out of one
//  - it loads an object from a global, and an object that may be reached from that
//    one is of a kind that calls write into: a list, a !vm.buffer, a fence, or a
//    command buffer that the call did not make itself
//  - it loads an object from a global, a !hal.buffer may be reached from that object,
//    and __init makes a !hal.buffer that is not immutable
//  - it calls an import of which nobody knows what it does
// With vm.state=auto, calls of such a module run one at a time, and calls of others
// share a context without a lock. `natives` are what its imports are bound to.
fc_status_t fc_vm_module_is_stateful(
    const fc_vm_module_t *module, const fc_vm_native_module_t *const *natives,
    bool *out_stateful, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_ANALYSIS_H_
