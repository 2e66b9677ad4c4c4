// SPDX-License-Identifier: Apache-2.0
//
// Small blocks that a worker keeps from call to call, so that a warm call takes
// the objects it makes from there and not from the C library. One belongs to each
// instance and is its thread's while a call runs: no lock, no atomics. A heap asks
// the cache of the thread it is used on (object.c), so a block may come back to
// another worker's than it was taken from.
#ifndef FARCALL_CORE_MODULE_VM_CACHE_H_
#define FARCALL_CORE_MODULE_VM_CACHE_H_

#include "farcall/base.h"

// Larger blocks are not kept, nor more than this in all.
#define FC_VM_CACHE_BLOCK_MAX ((size_t)64 << 10)
#define FC_VM_CACHE_SIZE ((size_t)1 << 20)

#define FC_VM_CACHE_SMALLEST_BITS 6
#define FC_VM_CACHE_CLASSES (4 * (16 - FC_VM_CACHE_SMALLEST_BITS) + 1)

// Size classes, four to a power of two: s, 5/4 s, 3/2 s, 7/4 s. Of the one that
// holds `size`: its number, and its size.
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

// Zeroed is empty.
typedef struct fc_vm_cache_t {
  fc_vm_spare_t *free[FC_VM_CACHE_CLASSES];
  size_t kept;  // bytes
} fc_vm_cache_t;

// Makes it this thread's until the next time; NULL: none. Returns what was.
fc_vm_cache_t *fc_vm_cache_use(fc_vm_cache_t *cache);
// Gives back what is kept. No thread uses it any more.
void fc_vm_cache_deinit(fc_vm_cache_t *cache);

// Whether blocks from there may be kept. Only the system's: an allocator of
// tests or of somebody else's program sees every allocation. Never under the
// address sanitizer, which is to see every use after a release.
bool fc_vm_cache_takes(fc_allocator_t allocator);

// At least `size` bytes, 64-byte aligned or more, from this thread's cache or from
// the system; not zeroed, NULL when out of memory. `size` at most BLOCK_MAX.
void *fc_vm_cache_alloc(size_t size, size_t alignment) FC_MUST_CHECK;
// `size` as it was asked for.
void fc_vm_cache_free(void *block, size_t size);

#endif  // FARCALL_CORE_MODULE_VM_CACHE_H_
