// SPDX-License-Identifier: Apache-2.0
//
// Finds out, without running it, how long a call of verified bytecode may take. The
// server needs this for calls on a thread that must not be blocked (fc_bound_t).
#ifndef FARCALL_CORE_MODULE_VM_BOUND_H_
#define FARCALL_CORE_MODULE_VM_BOUND_H_

#include "module/vm/vmfb.h"
#include "module/vm/natives.h"

// Limits for the weight of a function. Between two steps
// (fc_vm_invocation_t.steps_since_poll) the interpreter runs code of one function, and
// clears one frame. The weight is the longest time that this may take, in bytes of
// code; one byte is about 3 ns. A call with a budget runs no function above the first
// limit. A call of a function that is proved weighs at most the second limit, including
// all functions that it calls.
#define FC_VM_BUDGET_WEIGHT 4096u
#define FC_VM_PROVED_WEIGHT 8192u

// True when the weight of any function of the module is above FC_VM_BUDGET_WEIGHT.
bool fc_vm_module_is_heavy(const fc_vm_module_t *module);

// Writes a fc_bound_t for each function of the module.
// - PROVED: the function and its callees have no backward branch, no recursion, no
//   import and no register for objects. So no instruction's time depends on a size.
// - BUDGET: all work that takes long, or is repeated, counts as steps. This excludes
//   functions that are recursive or too heavy, or that call an import whose time is not
//   counted (FC_VM_EFFECT_LONG).
// - NONE: any other function, hooks, and functions that no export calls.
//
// State is not examined here: a call of a module that has state must not be given up.
fc_status_t fc_vm_module_bound(const fc_vm_module_t *module,
                               const fc_vm_native_module_t *const *natives,
                               uint8_t *out_bounds,
                               fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_BOUND_H_
