// SPDX-License-Identifier: Apache-2.0
//
// Small blocks that a worker keeps from call to call, so that a warm call makes its
// objects without asking the C library for memory. Each instance has one cache. While a
// call of the instance runs, the cache belongs to the thread that runs it, so it needs
// neither a lock nor atomics. A heap takes blocks from the cache of the thread that uses
// the heap, and returns blocks to it (object.c). So a block may return to the cache of
// another worker than the one from which it was taken.
#ifndef FARCALL_CORE_MODULE_VM_CACHE_H_
#define FARCALL_CORE_MODULE_VM_CACHE_H_

#include "farcall/base.h"

// Blocks larger than this (in bytes) are not kept. In total at most FC_VM_CACHE_SIZE
// bytes are kept.
#define FC_VM_CACHE_BLOCK_MAX ((size_t)64 << 10)
#define FC_VM_CACHE_SIZE ((size_t)1 << 20)

#define FC_VM_CACHE_SMALLEST_BITS 6
#define FC_VM_CACHE_CLASSES (4 * (16 - FC_VM_CACHE_SMALLEST_BITS) + 1)

// Size classes, four to a power of two: s, 5/4 s, 3/2 s, 7/4 s. Returns the
// number of the class that holds `size`; *out_size is the class's own size.
static inline uint32_t fc_vm_size_class(size_t size, uint32_t smallest_bits,
                                        size_t *out_size) {
  const size_t smallest = (size_t)1 << smallest_bits;
  if (size < smallest) size = smallest;
  const uint32_t bits = 63 - (uint32_t)__builtin_clzll(size);
  const size_t step = (size_t)1 << (bits - 2);
  const size_t steps = (size - ((size_t)1 << bits) + step - 1) / step;
  *out_size = ((size_t)1 << bits) + steps * step;
  return 4 * (bits - smallest_bits) + (uint32_t)steps;
}

typedef struct fc_vm_spare_t fc_vm_spare_t;

// A zeroed cache is empty.
typedef struct fc_vm_cache_t {
  fc_vm_spare_t *free[FC_VM_CACHE_CLASSES];
  size_t kept;  // bytes
} fc_vm_cache_t;

// Makes `cache` the cache of this thread and returns the previous one. Both may be NULL:
// no cache.
fc_vm_cache_t *fc_vm_cache_use(fc_vm_cache_t *cache);
// Frees the kept blocks. No thread may use the cache any more.
void fc_vm_cache_deinit(fc_vm_cache_t *cache);

// True when blocks of this allocator may be kept. Only blocks of the system's allocator
// are kept: tests and other programs rely on seeing all their allocations. Under the
// address sanitizer no blocks are kept, so that it notices each use of a freed block.
bool fc_vm_cache_takes(fc_allocator_t allocator);

// Returns at least `size` bytes, from this thread's cache or from the system, aligned
// to 64 or to `alignment`, whichever is greater. Not zeroed; NULL when out of memory.
// `size` is at most FC_VM_CACHE_BLOCK_MAX.
void *fc_vm_cache_alloc(size_t size, size_t alignment) FC_MUST_CHECK;
// Keeps or frees a block of fc_vm_cache_alloc. `size` is the size that was
// passed to fc_vm_cache_alloc.
void fc_vm_cache_free(void *block, size_t size);

#endif  // FARCALL_CORE_MODULE_VM_CACHE_H_
