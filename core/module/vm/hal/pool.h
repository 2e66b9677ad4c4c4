// SPDX-License-Identifier: Apache-2.0
//
// The memory of the HAL buffers and dispatches of calls: blocks of size classes, which
// one worker keeps between its calls, so that a warm worker need not allocate them.
// A kept block is zeroed when it is taken, as far as it is asked for, since what a module
// does not write can be in a result. A buffer may live longer than the worker's instance,
// and another worker may release it.
#ifndef FARCALL_CORE_MODULE_VM_HAL_POOL_H_
#define FARCALL_CORE_MODULE_VM_HAL_POOL_H_

#include "module/vm/object.h"

// The pools of a heap together keep at most the limit of the heap divided by this, and no
// more than 256 MiB. An allocation that does not fit beside the kept blocks has all of them
// freed first.
#define FC_HAL_POOL_SHARE 4

typedef struct fc_hal_pool_t fc_hal_pool_t;

// On `heap`, which must outlive the pool and every block of it.
fc_status_t fc_hal_pool_create(fc_vm_heap_t *heap, fc_hal_pool_t **out,
                               fc_error_t *err) FC_MUST_CHECK;
// Frees the kept blocks. The pool itself is freed once no block of it is in use. NULL
// is allowed.
void fc_hal_pool_release(fc_hal_pool_t *pool);

// At least `size` bytes, 64-byte aligned, `size` of them zeroed. *out_size is the size
// that fc_hal_pool_give must get. On failure NULL, with the error of fc_vm_heap_alloc.
void *fc_hal_pool_take(fc_hal_pool_t *pool, size_t size, size_t *out_size,
                       fc_error_t *err) FC_MUST_CHECK;
// Gives a block back, with the size that take wrote. Any thread.
void fc_hal_pool_give(fc_hal_pool_t *pool, void *block, size_t size);

#endif  // FARCALL_CORE_MODULE_VM_HAL_POOL_H_
