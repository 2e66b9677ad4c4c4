// SPDX-License-Identifier: Apache-2.0
//
// !hal.executable: kernels, either machine code (an embedded ELF) or VMVX, a bytecode
// module that runs in the interpreter. Immutable once made, except for the globals of a
// VMVX module. If it has globals, each dispatch holds a lock.
#ifndef FARCALL_CORE_MODULE_VM_HAL_EXECUTABLE_H_
#define FARCALL_CORE_MODULE_VM_HAL_EXECUTABLE_H_

#include "module/vm/hal/objects.h"

// The compilers' name for machine code for this processor in an embedded ELF.
#if defined(__x86_64__)
#define FC_HAL_ELF_FORMAT "embedded-elf-x86_64"
#elif defined(__aarch64__)
#define FC_HAL_ELF_FORMAT "embedded-elf-arm_64"
#else
#define FC_HAL_ELF_FORMAT ""
#endif

typedef struct fc_hal_executable_t fc_hal_executable_t;

// True when this processor runs executables of that format, even if native code is not
// allowed: a module without any executable also asks, and would fail if it were told no.
bool fc_hal_format_is_supported(fc_str_t format);

// Makes an executable. `data` (the file) and `constants` (32-bit words) are copied.
// Costs fuel as fc_vm_work does, and runs __init and __set_constants of a VMVX
// executable. UNIMPLEMENTED when the format does not run here, or when it is machine
// code and native code is not allowed.
fc_status_t fc_hal_executable_create(const fc_hal_state_t *state,
                                     fc_vm_heap_t *heap,
                                     fc_vm_invocation_t *invocation,
                                     fc_str_t format, fc_str_t data,
                                     fc_str_t constants,
                                     fc_hal_executable_t **out,
                                     fc_error_t *err) FC_MUST_CHECK;

// Does the same as fc_hal_executable_create for a native call: operands `first` to
// `first` + 2 are format, data and constants; result 0 is the executable. The call's
// state is a fc_hal_state_t. INVALID_ARGUMENT when the data is not a constant of the
// module.
fc_status_t fc_hal_executable_from_call(fc_vm_native_call_t *call,
                                        uint32_t first,
                                        fc_error_t *err) FC_MUST_CHECK;

typedef struct fc_hal_dispatch_t {
  int64_t function;
  uint32_t count[3];
  const uint32_t *constants;
  uint32_t constant_count;
  void *const *bindings;
  const size_t *binding_sizes;
  uint32_t binding_count;
} fc_hal_dispatch_t;

// Checks the function's number, that the function takes this many constants and
// bindings, and that the grid has at most UINT16_MAX workgroups in z. Then runs every
// workgroup, until one fails.
fc_status_t fc_hal_executable_run(fc_hal_executable_t *executable,
                                  fc_vm_invocation_t *invocation,
                                  const fc_hal_dispatch_t *dispatch,
                                  fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_HAL_EXECUTABLE_H_
