// SPDX-License-Identifier: Apache-2.0
//
// The memory of the HAL buffers and dispatches of calls: blocks of size classes. One
// worker keeps them between its calls, so that a warm worker need not allocate. A kept
// block is zeroed when it is taken, as far as it was requested, since bytes that a
// module does not write may appear in a result. A buffer may live longer than the
// worker's instance, and another worker may release it.
#ifndef FARCALL_CORE_MODULE_VM_HAL_POOL_H_
#define FARCALL_CORE_MODULE_VM_HAL_POOL_H_

#include "module/vm/object.h"

// The pools of a heap together keep at most the limit of the heap divided by this, and
// at most 256 MiB. If an allocation does not fit beside the kept blocks, all of them
// are freed first.
#define FC_HAL_POOL_SHARE 4

typedef struct fc_hal_pool_t fc_hal_pool_t;

// Makes a pool on `heap`, which must outlive the pool and all its blocks.
fc_status_t fc_hal_pool_create(fc_vm_heap_t *heap, fc_hal_pool_t **out,
                               fc_error_t *err) FC_MUST_CHECK;
// Frees the kept blocks. The pool itself is freed once none of its blocks is in use.
// NULL is allowed.
void fc_hal_pool_release(fc_hal_pool_t *pool);

// Takes at least `size` bytes, 64-byte aligned; the first `size` are zeroed. *out_size
// is the size that must be passed to fc_hal_pool_give. On failure NULL, with the error
// of fc_vm_heap_alloc.
void *fc_hal_pool_take(fc_hal_pool_t *pool, size_t size, size_t *out_size,
                       fc_error_t *err) FC_MUST_CHECK;
// Returns a block, with the size that fc_hal_pool_take wrote. Any thread.
void fc_hal_pool_give(fc_hal_pool_t *pool, void *block, size_t size);

#endif  // FARCALL_CORE_MODULE_VM_HAL_POOL_H_
