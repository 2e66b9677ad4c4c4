// SPDX-License-Identifier: Apache-2.0
//
// The interpreter. Runs only verified bytecode; verify.c lists what the
// interpreter relies on.
#ifndef FARCALL_CORE_MODULE_VM_INTERP_H_
#define FARCALL_CORE_MODULE_VM_INTERP_H_

#include "module/vm/context.h"

// Does the same as fc_vm_call, except that __init need not have run: context.c calls
// __init itself by this function. The globals and bindings of `context` must be there.
fc_status_t fc_vm_interpret(fc_vm_context_t *context,
                            fc_vm_invocation_t *invocation, uint32_t function,
                            const fc_vm_raw_t *arguments, fc_vm_raw_t *results,
                            fc_error_t *err) FC_MUST_CHECK;

// Does the same as fc_vm_interpret, and notes in invocation->profile which functions are
// called.
fc_status_t fc_vm_interpret_profiled(fc_vm_context_t *context,
                                     fc_vm_invocation_t *invocation,
                                     uint32_t function,
                                     const fc_vm_raw_t *arguments,
                                     fc_vm_raw_t *results,
                                     fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_INTERP_H_
