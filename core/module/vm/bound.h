// SPDX-License-Identifier: Apache-2.0
//
// How long may a call of verified bytecode take? Found without running it, for calls that
// are made where nobody may be kept waiting (fc_bound_t).
#ifndef FARCALL_CORE_MODULE_VM_BOUND_H_
#define FARCALL_CORE_MODULE_VM_BOUND_H_

#include "module/vm/vmfb.h"
#include "module/vm/natives.h"

// Between two steps (fc_vm_invocation_t.steps_since_poll) the interpreter runs code of one
// function, and clears one frame. The weight of a function is how long that may take at
// most, in bytes of code; one byte is some 3 ns. A call with a budget runs no function
// above the first limit; a call of a function that is proved, with all that it calls,
// weighs no more than the second.
#define FC_VM_BUDGET_WEIGHT 4096u
#define FC_VM_PROVED_WEIGHT 8192u

// Is a function of the module above FC_VM_BUDGET_WEIGHT?
bool fc_vm_module_is_heavy(const fc_vm_module_t *module);

// Writes a fc_bound_t for each function of the module.
//  - PROVED: it and what it calls have no branch that goes back, no recursion, no import
//    and no register for objects, so no instruction whose time depends on a size
//  - BUDGET: all that works long, or many times, takes steps. Not so what is recursive,
//    too heavy, or calls an import whose time nobody counts (FC_VM_EFFECT_LONG).
// Functions that no export calls, and hooks, are NONE. It is not looked at whether calls
// leave state behind: a call of a module that has state must not be given up.
fc_status_t fc_vm_module_bound(const fc_vm_module_t *module,
                               const fc_vm_native_module_t *const *natives,
                               uint8_t *out_bounds,
                               fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_BOUND_H_
