// SPDX-License-Identifier: Apache-2.0
//
// Facts about verified bytecode that are found without running it.
#ifndef FARCALL_CORE_MODULE_VM_ANALYSIS_H_
#define FARCALL_CORE_MODULE_VM_ANALYSIS_H_

#include "module/vm/vmfb.h"
#include "module/vm/natives.h"

// Can a call of some exported function (__init and __deinit apart) change what another
// call sees? *out_stateful: true when the exported functions, or functions they call,
//  - store a global, or move an object out of one
//  - load an object from a global, and an object that can be reached from that one is of
//    a kind that they write into: a list, a !vm.buffer, a fence, or a command buffer that
//    the function did not make itself
//  - load an object from a global, a !hal.buffer can be reached from that object, they
//    write into !hal.buffers, and __init makes a buffer that can be written later: a
//    !vm.buffer, or a !hal.buffer that is not immutable
//  - make a !hal.buffer over a !vm.buffer, which may be a constant, and write into buffers
//  - call an import of which nobody knows what it does
// With vm.state=auto, calls of such a module run one at a time, and calls of others
// share a context without a lock. `natives` are what its imports are bound to.
fc_status_t fc_vm_module_is_stateful(
    const fc_vm_module_t *module, const fc_vm_native_module_t *const *natives,
    bool *out_stateful, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_ANALYSIS_H_
