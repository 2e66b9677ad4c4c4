// SPDX-License-Identifier: Apache-2.0
//
// Guarded blocks. A block ends at its guard page. The bytes before a block, on its first
// page, can be read and written: only the end of a block is guarded.
#include "base/guard.h"

#include <sys/mman.h>
#include <unistd.h>

typedef struct guard_layout_t {
  size_t page;
  size_t block;  // the block, with the padding after it
  size_t body;   // the whole pages that hold the block
} guard_layout_t;

static bool lay_out(size_t size, size_t alignment, guard_layout_t *out) {
  FC_ASSERT(alignment <= FC_GUARD_ALIGNMENT);
  out->page = (size_t)sysconf(_SC_PAGESIZE);
  size_t total;
  return fc_size_align(size, alignment, &out->block) &&
         fc_size_align(out->block, out->page, &out->body) &&
         fc_size_add(out->body, out->page, &total);
}

size_t fc_guard_extent(size_t size, size_t alignment) {
  guard_layout_t layout;
  return lay_out(size, alignment, &layout) ? layout.body + layout.page : 0;
}

bool fc_guard_arena_open(fc_guard_arena_t *arena, size_t size) {
  uint8_t *base =
      mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return false;
  *arena = (fc_guard_arena_t){.base = base, .size = size};
  return true;
}

// At first the whole range is inaccessible; then the pages of each block are opened. So a
// guard page is never accessible.
void *fc_guard_arena_alloc(fc_guard_arena_t *arena, size_t size,
                           size_t alignment) {
  guard_layout_t layout;
  if (!lay_out(size, alignment, &layout)) return NULL;
  FC_ASSERT(layout.body + layout.page <= arena->size - arena->used);
  uint8_t *base = arena->base + arena->used;
  if (layout.body && mprotect(base, layout.body, PROT_READ | PROT_WRITE)) {
    return NULL;
  }
  arena->used += layout.body + layout.page;
  uint8_t *block = base + layout.body - layout.block;
  memset(block + size, FC_GUARD_FILL, layout.block - size);
  return block;
}

void fc_guard_arena_close(fc_guard_arena_t *arena) {
  if (arena->base) munmap(arena->base, arena->size);
  *arena = (fc_guard_arena_t){0};
}

void *fc_guard_alloc(size_t size, size_t alignment) {
  fc_guard_arena_t arena;
  const size_t extent = fc_guard_extent(size, alignment);
  if (!extent || !fc_guard_arena_open(&arena, extent)) return NULL;
  void *block = fc_guard_arena_alloc(&arena, size, alignment);
  if (!block) fc_guard_arena_close(&arena);
  return block;
}

void fc_guard_free(void *memory, size_t size, size_t alignment) {
  guard_layout_t layout;
  if (!memory || !lay_out(size, alignment, &layout)) return;
  uint8_t *base = (uint8_t *)memory + layout.block - layout.body;
  munmap(base, layout.body + layout.page);
}
