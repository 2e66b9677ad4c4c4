// SPDX-License-Identifier: Apache-2.0
//
// The members that executables of all formats have, and the functions that each format
// provides. Included only in this folder.
#ifndef FARCALL_CORE_MODULE_VM_HAL_EXECUTABLE_KIND_H_
#define FARCALL_CORE_MODULE_VM_HAL_EXECUTABLE_KIND_H_

#include "module/vm/hal/executable.h"

// A function of an executable, and the counts that a dispatch of it must have.
typedef struct fc_hal_kernel_t {
  fc_str_t name;
  uint32_t constant_count;
  uint32_t binding_count;
} fc_hal_kernel_t;

// A format. Its executables have `size` zeroed bytes, which begin with a
// fc_hal_executable_t. `open` fills them in from a copy of the file; if `keeps_file`,
// the copy stays as long as the executable. `close` is called even if `open` failed, or
// if it was not called because memory ran out. `run` runs every workgroup of a dispatch,
// which was checked and has at least one workgroup.
typedef struct fc_hal_kind_t {
  fc_str_t format;  // "": no processor runs it
  bool native;      // machine code: refused if that is not allowed
  bool keeps_file;
  size_t size;
  fc_status_t (*open)(fc_hal_executable_t *executable,
                      const fc_hal_state_t *state,
                      fc_vm_invocation_t *invocation, fc_str_t file,
                      fc_str_t constants, fc_error_t *err);
  void (*close)(fc_hal_executable_t *executable);
  uint32_t (*count)(const fc_hal_executable_t *executable);
  fc_hal_kernel_t (*at)(const fc_hal_executable_t *executable, uint32_t index);
  fc_status_t (*run)(fc_hal_executable_t *executable,
                     fc_vm_invocation_t *invocation,
                     const fc_hal_dispatch_t *dispatch, fc_error_t *err);
} fc_hal_kind_t;

extern const fc_hal_kind_t fc_hal_kind_elf;   // executable_elf.c
extern const fc_hal_kind_t fc_hal_kind_vmvx;  // executable_vmvx.c

struct fc_hal_executable_t {
  fc_vm_object_t object;
  const fc_hal_kind_t *kind;
  uint8_t *file;  // the copy of the file, or NULL
  size_t file_size;
};

#endif  // FARCALL_CORE_MODULE_VM_HAL_EXECUTABLE_KIND_H_
