// SPDX-License-Identifier: Apache-2.0
//
// A module file in memory.
#ifndef FARCALL_CORE_MODULE_VM_FILE_H_
#define FARCALL_CORE_MODULE_VM_FILE_H_

#include "farcall/base.h"

// The whole file, 64-byte aligned, to be given to fc_free. A copy: what was
// verified must not change when somebody writes to the file.
// FC_CODE_MODULE_PATH when it cannot be read.
fc_status_t fc_vm_file_read(const char *path, fc_allocator_t allocator,
                            fc_span_t *out, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VM_FILE_H_
