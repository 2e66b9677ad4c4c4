// SPDX-License-Identifier: Apache-2.0
//
// Blocks that end at an inaccessible page: machine code that reads past the end of a
// block is stopped by SIGSEGV. Each block is fresh and therefore zeroed, and costs
// whole pages and system calls. The fault ends the process, so use such blocks only in
// a process that runs no other call. Any thread.
#ifndef FARCALL_CORE_BASE_GUARD_H_
#define FARCALL_CORE_BASE_GUARD_H_

#include "farcall/base.h"

// The largest alignment of a block. If a block's size is not a multiple of its alignment,
// a few bytes (fewer than the alignment) lie between its end and the page. They are
// FC_GUARD_FILL, which is a NaN as f16, bf16, f32 and f64. Most arithmetic passes a NaN
// on, so most results that were computed from these bytes are also that NaN.
#define FC_GUARD_ALIGNMENT ((size_t)64)
#define FC_GUARD_FILL 0xFF

// Returns NULL when out of memory. For size 0 it returns the address of the
// inaccessible page. `alignment` is a power of two up to FC_GUARD_ALIGNMENT.
void *fc_guard_alloc(size_t size, size_t alignment) FC_MUST_CHECK;
// Frees a block. `size` and `alignment` must be those of its allocation. `memory` may be
// NULL.
void fc_guard_free(void *memory, size_t size, size_t alignment);

// Many guarded blocks in one mapping, made and freed together: an inaccessible range of
// addresses in which each block opens its own pages. A zeroed arena is empty. One
// thread at a time.
typedef struct fc_guard_arena_t {
  uint8_t *base;
  size_t size;
  size_t used;
} fc_guard_arena_t;

// Returns how many bytes one block needs in an arena; 0 when the number overflows.
size_t fc_guard_extent(size_t size, size_t alignment);
// Reserves addresses for blocks that take `size` bytes together (the sum of their
// fc_guard_extent). False when out of memory.
bool fc_guard_arena_open(fc_guard_arena_t *arena, size_t size) FC_MUST_CHECK;
// Does the same as fc_guard_alloc; the arena must have room for the block.
void *fc_guard_arena_alloc(fc_guard_arena_t *arena, size_t size,
                           size_t alignment) FC_MUST_CHECK;
// Frees all blocks.
void fc_guard_arena_close(fc_guard_arena_t *arena);

#endif  // FARCALL_CORE_BASE_GUARD_H_
