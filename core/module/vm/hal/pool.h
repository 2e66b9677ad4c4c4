// SPDX-License-Identifier: Apache-2.0
//
// Where the bytes of a call's HAL buffers come from: blocks of size classes that
// one worker keeps between its calls, so that a warm worker allocates nothing.
// Blocks never leave their context, so what a module finds in one (transients
// begin undefined, as in IREE) are bytes that it wrote or zeroes. A buffer may
// outlive the worker's instance, and be released by another worker.
#ifndef FARCALL_CORE_MODULE_VM_HAL_POOL_H_
#define FARCALL_CORE_MODULE_VM_HAL_POOL_H_

#include "module/vm/object.h"

// The blocks all pools of a heap keep may take this part of its limit. Whoever
// needs more than is left, of pools or not, has all of them given back first.
#define FC_HAL_POOL_SHARE 4

typedef struct fc_hal_pool_t fc_hal_pool_t;

// On `heap`, which must outlive the pool and every block of it.
fc_status_t fc_hal_pool_create(fc_vm_heap_t *heap, fc_hal_pool_t **out,
                               fc_error_t *err) FC_MUST_CHECK;
// Gives back what is kept; the pool goes with its last block. NULL is allowed.
void fc_hal_pool_release(fc_hal_pool_t *pool);

// At least `size` bytes, 64-byte aligned, zeroed only when they are new;
// *out_size is for give. NULL as fc_vm_heap_alloc.
void *fc_hal_pool_take(fc_hal_pool_t *pool, size_t size, size_t *out_size,
                       fc_error_t *err) FC_MUST_CHECK;
// Any thread.
void fc_hal_pool_give(fc_hal_pool_t *pool, void *block, size_t size);

#endif  // FARCALL_CORE_MODULE_VM_HAL_POOL_H_
