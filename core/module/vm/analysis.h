// SPDX-License-Identifier: Apache-2.0
//
// Finds out facts about verified bytecode without running it.
#ifndef FARCALL_CORE_MODULE_VM_ANALYSIS_H_
#define FARCALL_CORE_MODULE_VM_ANALYSIS_H_

#include "module/vm/vmfb.h"
#include "module/vm/natives.h"

// Finds out whether a call of an exported function (except __init and __deinit) can
// change what another call sees. *out_stateful is true when the exported functions, or
// functions that they call, do one of these:
// - they store a global, or move an object out of one
// - they load an object from a global, and write into objects of a kind that can be
//   reached from it: a list, a !vm.buffer, a fence, or a command buffer that the
//   function did not make itself
// - they load an object from a global, a !hal.buffer can be reached from this object,
//   they write into !hal.buffers, and __init makes a buffer that can be written later:
//   a !vm.buffer, or a !hal.buffer that is not immutable
// - they make a !hal.buffer over a !vm.buffer, which may be a constant, and write into
//   buffers
// - they call an import whose effect is unknown
//
// With vm.state=auto, calls of a stateful module run one at a time, and calls of other
// modules share a context without a lock. `natives` are the modules to which the
// imports are bound.
fc_status_t fc_vm_module_is_stateful(
    const fc_vm_module_t *module, const fc_vm_native_module_t *const *natives,
    bool *out_stateful, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_ANALYSIS_H_
