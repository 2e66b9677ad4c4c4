// SPDX-License-Identifier: Apache-2.0
//
// What machine code a module carries and what it asks of the processor, found
// before any of it runs. Used at load, any thread.
#ifndef FARCALL_CORE_MODULE_VM_HAL_PREFLIGHT_H_
#define FARCALL_CORE_MODULE_VM_HAL_PREFLIGHT_H_

#include "hal/cpu.h"
#include "module/vm/vmfb.h"

// Checks that this processor has the instructions that the module's machine code uses.
// Compiled modules themselves check the executable format only. Which instructions the
// code uses is said in the text that a module fails with when no device fits. A
// device lists one target or several, one of which must do.
// FC_CODE_CPU_FEATURES names what is missing for the first. *out_stated is
// false when no text says anything, so nothing was checked. The module must be
// verified.
fc_status_t fc_hal_check_features(const fc_vm_module_t *module,
                                  const fc_cpu_t *cpu, bool *out_stated,
                                  fc_error_t *err) FC_MUST_CHECK;

// Whether every device that the module names in such a text has a target whose
// executables run here; a module that names none passes. The message says what it
// was compiled for, and is the reason why none of its functions can be called:
// __init would fail. The module must be verified.
fc_status_t fc_hal_check_formats(const fc_vm_module_t *module,
                                 fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_HAL_PREFLIGHT_H_
