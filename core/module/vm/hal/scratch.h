// SPDX-License-Identifier: Apache-2.0
//
// The local memory of a dispatch.
#ifndef FARCALL_CORE_MODULE_VM_HAL_SCRATCH_H_
#define FARCALL_CORE_MODULE_VM_HAL_SCRATCH_H_

#include "module/vm/hal/pool.h"

// Local memory that one dispatch uses. It comes from the worker's pool, if there is one,
// so that a warm worker need not allocate it.
typedef struct fc_hal_scratch_t {
  void *memory;
  size_t size;
} fc_hal_scratch_t;

fc_status_t fc_hal_scratch_take(fc_vm_heap_t *heap, fc_hal_pool_t *pool,
                                size_t size, fc_hal_scratch_t *out,
                                fc_error_t *err) FC_MUST_CHECK;
void fc_hal_scratch_give(fc_vm_heap_t *heap, fc_hal_pool_t *pool,
                         const fc_hal_scratch_t *scratch);

#endif  // FARCALL_CORE_MODULE_VM_HAL_SCRATCH_H_
