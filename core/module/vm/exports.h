// SPDX-License-Identifier: Apache-2.0
//
// What a module says of an export besides its types: whether callers may see it, and how
// much scratch memory it needs. Of verified modules; any thread.
#ifndef FARCALL_CORE_MODULE_VM_EXPORTS_H_
#define FARCALL_CORE_MODULE_VM_EXPORTS_H_

#include "module/vm/vmfb.h"

// The bytes of scratch memory (iree.abi.transients) that a call of a function needs.
typedef struct fc_vm_transients_t {
  bool any;
  // Computes the number of bytes and returns it as i64 or i32. It is called with the
  // function's arguments, and null for its further arguments. NULL: the number is always
  // `size`.
  const fc_vm_export_t *size_function;
  int64_t size;
} fc_vm_transients_t;

// Finds the transients of an export, or of the "x$async" that "x" calls.
fc_vm_transients_t fc_vm_transients_find(const fc_vm_module_t *module,
                                         const fc_vm_export_t *export);

// False for exports that are not for callers: "__x", the entry of a benchmark,
// "x$async" if there is an "x", and functions that compute the size of
// transients.
bool fc_vm_export_is_listed(const fc_vm_module_t *module,
                            const fc_vm_export_t *export);

#endif  // FARCALL_CORE_MODULE_VM_EXPORTS_H_
