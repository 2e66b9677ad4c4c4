// SPDX-License-Identifier: Apache-2.0
//
// The bytecode verifier: the interpreter may run verified code without checking it
// again. IREE's own verifier has gaps (scalar register and type ranges, f64 globals, a
// sum that can overflow); this one has none of these.
#ifndef FARCALL_CORE_MODULE_VM_VERIFY_H_
#define FARCALL_CORE_MODULE_VM_VERIFY_H_

#include "module/vm/vmfb.h"
#include "module/vm/ops.h"

// Checks every function of the module. FC_CODE_VMFB_INVALID names the function,
// offset, instruction and rule. Any thread.
fc_status_t fc_vm_verify(const fc_vm_module_t *module,
                         fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_VERIFY_H_
