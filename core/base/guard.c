// SPDX-License-Identifier: Apache-2.0
//
// Guarded blocks, each a mapping of its own. What comes before a block is the
// rest of its first page; only its end is guarded.
#include "base/guard.h"

#include <sys/mman.h>
#include <unistd.h>

typedef struct guard_layout_t {
  size_t page;
  size_t block;  // the block, with the padding behind it
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

void *fc_guard_alloc(size_t size, size_t alignment) {
  guard_layout_t layout;
  if (!lay_out(size, alignment, &layout)) return NULL;
  // The whole mapping begins inaccessible and the body is opened afterwards, so
  // the guard page is never accessible, not for a moment.
  uint8_t *base = mmap(NULL, layout.body + layout.page, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return NULL;
  if (layout.body && mprotect(base, layout.body, PROT_READ | PROT_WRITE)) {
    munmap(base, layout.body + layout.page);
    return NULL;
  }
  uint8_t *block = base + layout.body - layout.block;
  memset(block + size, FC_GUARD_FILL, layout.block - size);
  return block;
}

void fc_guard_free(void *memory, size_t size, size_t alignment) {
  guard_layout_t layout;
  if (!memory || !lay_out(size, alignment, &layout)) return;
  uint8_t *base = (uint8_t *)memory + layout.block - layout.body;
  munmap(base, layout.body + layout.page);
}
