// SPDX-License-Identifier: Apache-2.0
//
// fc_arena_t: a chain of blocks, bump allocation, one reset for all. One thread
// at a time. The arena tells the address sanitizer which bytes of a block are
// handed out, because the sanitizer sees the whole block as one allocation.
#include "base/sanitize.h"
#include "farcall/base.h"

// The address sanitizer forbids to touch this many bytes after each allocation, if the
// block has room for them.
#define GAP ((size_t)(FC_ASAN ? 16 : 0))

struct fc_arena_block_t {
  fc_arena_block_t *next;
  size_t capacity;  // of data
  size_t used;
  // 64-byte aligned, like the block, so that tensor memory may be placed here.
  _Alignas(64) unsigned char data[];
};

void fc_arena_init(fc_arena_t *arena, fc_allocator_t allocator,
                   size_t block_size, size_t limit) {
  *arena = (fc_arena_t){
      .allocator = allocator, .block_size = block_size, .limit = limit};
}

static void release_from(fc_arena_t *arena, fc_arena_block_t *block) {
  while (block) {
    fc_arena_block_t *next = block->next;
    FC_UNPOISON(block->data, block->capacity);
    fc_free(arena->allocator, block);
    block = next;
  }
}

void fc_arena_deinit(fc_arena_t *arena) {
  release_from(arena, arena->first);
  arena->first = arena->current = NULL;
  arena->used = 0;
}

void fc_arena_reset(fc_arena_t *arena) {
  fc_arena_block_t *first = arena->first;
  arena->used = 0;
  if (!first) return;
  release_from(arena, first->next);
  first->next = NULL;
  first->used = 0;
  FC_POISON(first->data, first->capacity);
  arena->current = first;
  // Keeping an oversized first block would keep the memory of one big request.
  if (first->capacity <= arena->block_size) return;
  fc_arena_deinit(arena);
}

static bool fits_at(const fc_arena_block_t *block, size_t begin, size_t size,
                    size_t alignment, size_t *out_offset) {
  size_t offset, end;
  if (!fc_size_align(begin, alignment, &offset)) return false;
  if (!fc_size_add(offset, size, &end) || end > block->capacity) return false;
  *out_offset = offset;
  return true;
}

static bool fits(const fc_arena_block_t *block, size_t size, size_t alignment,
                 size_t *out_offset) {
  const size_t used = block->used;
  return (GAP && used &&
          fits_at(block, used + GAP, size, alignment, out_offset)) ||
         fits_at(block, used, size, alignment, out_offset);
}

// Marks the block's data as used up to `end`, and hands out the last `size` bytes of it.
static void *hand_out(fc_arena_t *arena, fc_arena_block_t *block, size_t end,
                      size_t size) {
  arena->used += size;
  block->used = end;
  FC_UNPOISON(block->data + end - size, size);
  return block->data + end - size;
}

// Not inlined: otherwise every call of fc_arena_alloc would save registers for
// this rare case.
static __attribute__((noinline)) void *alloc_in_new(fc_arena_t *arena,
                                                    size_t size) {
  size_t capacity = size > arena->block_size ? size : arena->block_size;
  size_t total;
  if (!fc_size_add(sizeof(fc_arena_block_t), capacity, &total)) return NULL;
  fc_arena_block_t *block = fc_alloc_aligned(arena->allocator, total, 64);
  if (!block) return NULL;
  block->next = NULL;
  block->capacity = capacity;
  FC_POISON(block->data, capacity);
  if (arena->current) arena->current->next = block;
  else arena->first = block;
  arena->current = block;
  return hand_out(arena, block, size, size);
}

void *fc_arena_alloc(fc_arena_t *arena, size_t size, size_t alignment) {
  FC_ASSERT(alignment && alignment <= 64 && !(alignment & (alignment - 1)));
  if (size > arena->limit || arena->used > arena->limit - size) return NULL;
  fc_arena_block_t *block = arena->current;
  size_t offset = 0;
  if (!block || !fits(block, size, alignment, &offset)) {
    return alloc_in_new(arena, size);
  }
  return hand_out(arena, block, offset + size, size);
}

void *fc_arena_alloc_array(fc_arena_t *arena, size_t count, size_t size) {
  size_t total;
  if (!fc_size_mul(count, size, &total)) return NULL;
  void *memory = fc_arena_alloc(arena, total, 16);
  if (memory) memset(memory, 0, total);
  return memory;
}

void fc_arena_trim(fc_arena_t *arena, void *memory, size_t old_size,
                   size_t size) {
  fc_arena_block_t *block = arena->current;
  FC_ASSERT(size <= old_size);
  if (!block || !memory) return;
  if (block->data + block->used != (unsigned char *)memory + old_size) return;
  block->used -= old_size - size;
  FC_POISON((unsigned char *)memory + size, old_size - size);
  arena->used -= old_size - size;
}

bool fc_arena_extend(fc_arena_t *arena, void *memory, size_t old_size,
                     size_t size) {
  fc_arena_block_t *block = arena->current;
  FC_ASSERT(size >= old_size);
  const size_t more = size - old_size;
  if (!block || !memory || more > block->capacity - block->used ||
      more > arena->limit - arena->used ||
      block->data + block->used != (unsigned char *)memory + old_size) {
    return false;
  }
  FC_UNPOISON(block->data + block->used, more);
  block->used += more;
  arena->used += more;
  return true;
}

fc_str_t fc_arena_copy(fc_arena_t *arena, fc_str_t text) {
  size_t total;
  if (!fc_size_add(text.size, 1, &total)) return (fc_str_t){0};
  char *copy = fc_arena_alloc(arena, total, 1);
  if (!copy) return (fc_str_t){0};
  if (text.size) memcpy(copy, text.data, text.size);
  copy[text.size] = '\0';
  return (fc_str_t){copy, text.size};
}
