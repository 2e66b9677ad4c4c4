// SPDX-License-Identifier: Apache-2.0
//
// Checks whether this processor can run the machine code of a module, before any of it
// runs. Used at load, any thread.
#ifndef FARCALL_CORE_MODULE_VM_HAL_PREFLIGHT_H_
#define FARCALL_CORE_MODULE_VM_HAL_PREFLIGHT_H_

#include "kernels/cpu.h"
#include "module/vm/vmfb.h"

// Checks that this processor has the instructions that the module's machine code uses.
// Compiled modules themselves check only the executable format. The features are found
// in the text with which a module fails when one of its devices is missing: it lists
// the targets of that device. If some of these have this processor's format and state
// their features, the processor must have the features of at least one of them.
// FC_CODE_CPU_FEATURES names what is missing for the first. *out_stated is false when no
// target states its features, so nothing was checked. The module must be verified.
fc_status_t fc_hal_check_features(const fc_vm_module_t *module,
                                  const fc_cpu_t *cpu, bool *out_stated,
                                  fc_error_t *err) FC_MUST_CHECK;

// Checks every device that the module names in a text of that kind: at least one of its
// targets must have a format that runs here. A module that names no device passes.
// FC_CODE_UNSUPPORTED_TYPE names the format of the first target of a device for which no
// target runs. The message is the reason why no function of the module can be called:
// __init would fail. The module must be verified.
fc_status_t fc_hal_check_formats(const fc_vm_module_t *module,
                                 fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_HAL_PREFLIGHT_H_
