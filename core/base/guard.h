// SPDX-License-Identifier: Apache-2.0
//
// Blocks that end at a page nobody may touch: machine code that reads on past the
// end of one is stopped by SIGSEGV. Each is fresh, so zeroed, and costs whole
// pages and system calls. The fault ends the
// process, so use such blocks only where no other call would end with it. Any thread.
#ifndef FARCALL_CORE_BASE_GUARD_H_
#define FARCALL_CORE_BASE_GUARD_H_

#include "farcall/base.h"

// The largest alignment of a block. If a block's size is no multiple of its alignment,
// a few bytes (fewer than the alignment) lie between its end and the page. They are
// FC_GUARD_FILL, which is a NaN as f16, bf16, f32 and f64. Most arithmetic passes a NaN on,
// so most results that were computed from these bytes are that NaN too.
#define FC_GUARD_ALIGNMENT ((size_t)64)
#define FC_GUARD_FILL 0xFF

// NULL when out of memory. Size 0 gives the address of the page. `alignment`: a
// power of two up to FC_GUARD_ALIGNMENT.
void *fc_guard_alloc(size_t size, size_t alignment) FC_MUST_CHECK;
// `size` and `alignment` as they were asked for. `memory` may be NULL.
void fc_guard_free(void *memory, size_t size, size_t alignment);

// Many such blocks in one mapping, made and freed at once: an inaccessible stretch of
// memory in which each block opens its own pages. A zeroed one is empty. One thread at a
// time.
typedef struct fc_guard_arena_t {
  uint8_t *base;
  size_t size;
  size_t used;
} fc_guard_arena_t;

// Bytes that one block takes there; 0 when they overflow.
size_t fc_guard_extent(size_t size, size_t alignment);
// Reserves addresses for blocks of `size` bytes together (fc_guard_extent). False when out
// of memory.
bool fc_guard_arena_open(fc_guard_arena_t *arena, size_t size) FC_MUST_CHECK;
// As fc_guard_alloc; the arena must have room for the block.
void *fc_guard_arena_alloc(fc_guard_arena_t *arena, size_t size,
                           size_t alignment) FC_MUST_CHECK;
// Frees all blocks.
void fc_guard_arena_close(fc_guard_arena_t *arena);

#endif  // FARCALL_CORE_BASE_GUARD_H_
