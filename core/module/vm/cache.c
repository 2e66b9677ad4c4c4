// SPDX-License-Identifier: Apache-2.0
//
// The cache: a stack of free blocks for each size class. On workers.
#include "module/vm/cache.h"

#include "base/sanitize.h"

#define ALIGNMENT 64

struct fc_vm_spare_t {
  fc_vm_spare_t *next;
};

static _Thread_local fc_vm_cache_t *current;

fc_vm_cache_t *fc_vm_cache_use(fc_vm_cache_t *cache) {
  fc_vm_cache_t *before = current;
  current = cache;
  return before;
}

void fc_vm_cache_deinit(fc_vm_cache_t *cache) {
  for (uint32_t i = 0; i < FC_VM_CACHE_CLASSES; i++) {
    for (fc_vm_spare_t *spare = cache->free[i], *next; spare; spare = next) {
      next = spare->next;
      fc_free(fc_allocator_system(), spare);
    }
    cache->free[i] = NULL;
  }
  cache->kept = 0;
}

bool fc_vm_cache_takes(fc_allocator_t allocator) {
  return !FC_ASAN && allocator.allocate == fc_allocator_system().allocate;
}

void *fc_vm_cache_alloc(size_t size, size_t alignment) {
  size_t whole;
  const uint32_t index =
      fc_vm_size_class(size, FC_VM_CACHE_SMALLEST_BITS, &whole);
  if (alignment < ALIGNMENT) alignment = ALIGNMENT;
  const bool fits = current && alignment == ALIGNMENT;
  fc_vm_spare_t *spare = fits ? current->free[index] : NULL;
  if (!spare) return fc_alloc_aligned(fc_allocator_system(), whole, alignment);
  current->free[index] = spare->next;
  current->kept -= whole;
  return spare;
}

void fc_vm_cache_free(void *block, size_t size) {
  size_t whole;
  const uint32_t index =
      fc_vm_size_class(size, FC_VM_CACHE_SMALLEST_BITS, &whole);
  if (!current || current->kept + whole > FC_VM_CACHE_SIZE) {
    fc_free(fc_allocator_system(), block);
    return;
  }
  fc_vm_spare_t *spare = block;
  spare->next = current->free[index];
  current->free[index] = spare;
  current->kept += whole;
}
