// SPDX-License-Identifier: Apache-2.0
//
// The system allocator and the helpers that work with any allocator. This is the
// only place where farcall's code calls malloc for its own memory. Any thread.
#include "farcall/base.h"

#include <stdlib.h>

#define DEFAULT_ALIGNMENT 16

static void *system_allocate(void *context, size_t size, size_t alignment) {
  (void)context;
  if (size == 0) size = 1;
  if (alignment <= DEFAULT_ALIGNMENT) return malloc(size);
  if (!fc_size_align(size, alignment, &size)) return NULL;
  return aligned_alloc(alignment, size);
}

static void system_release(void *context, void *memory) {
  (void)context;
  free(memory);
}

fc_allocator_t fc_allocator_system(void) {
  return (fc_allocator_t){NULL, system_allocate, system_release};
}

void *fc_alloc(fc_allocator_t allocator, size_t size) {
  void *memory = allocator.allocate(allocator.context, size, DEFAULT_ALIGNMENT);
  if (memory) memset(memory, 0, size);
  return memory;
}

void *fc_alloc_array(fc_allocator_t allocator, size_t count, size_t size) {
  size_t total;
  return fc_size_mul(count, size, &total) ? fc_alloc(allocator, total) : NULL;
}

void *fc_alloc_aligned(fc_allocator_t allocator, size_t size,
                       size_t alignment) {
  return allocator.allocate(allocator.context, size, alignment);
}

void *fc_realloc(fc_allocator_t allocator, void *memory, size_t old_size,
                 size_t new_size) {
  void *moved =
      allocator.allocate(allocator.context, new_size, DEFAULT_ALIGNMENT);
  if (!moved) return NULL;
  if (memory && old_size) {
    memcpy(moved, memory, old_size < new_size ? old_size : new_size);
  }
  fc_free(allocator, memory);
  return moved;
}

void fc_free(fc_allocator_t allocator, void *memory) {
  if (memory) allocator.release(allocator.context, memory);
}
