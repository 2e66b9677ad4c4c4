// SPDX-License-Identifier: Apache-2.0
//
// The `io_parameters` module: weights in archives, which are separate files.
#ifndef FARCALL_CORE_MODULE_VM_HAL_IO_PARAMETERS_H_
#define FARCALL_CORE_MODULE_VM_HAL_IO_PARAMETERS_H_

#include "parameters/parameters.h"
#include "module/vm/hal/objects.h"

typedef struct fc_hal_archive_t {
  fc_str_t scope;  // data NULL: the archive is for every scope
  fc_parameters_t file;
  fc_vm_buffer_t owner;  // owns buffers over the mapping; never released
} fc_hal_archive_t;

// The archives of one module.
typedef struct fc_hal_archives_t {
  fc_allocator_t allocator;
  fc_arena_t arena;
  fc_hal_archive_t *items;
  size_t count;
} fc_hal_archives_t;

// Opens "[SCOPE=]FILE,…"; with "" there are no archives. Must be closed, even
// after a failure.
fc_status_t fc_hal_archives_open(fc_hal_archives_t *archives, fc_str_t list,
                                 fc_allocator_t allocator,
                                 fc_error_t *err) FC_MUST_CHECK;
void fc_hal_archives_close(fc_hal_archives_t *archives);  // may be zeroed

// The module's `shared` must be its fc_hal_archives_t. If it is NULL, no parameter is
// found.
extern const fc_vm_native_module_t fc_vm_io_parameters;

#endif  // FARCALL_CORE_MODULE_VM_HAL_IO_PARAMETERS_H_
