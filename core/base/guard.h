// SPDX-License-Identifier: Apache-2.0
//
// Blocks that end at a page nobody may touch: machine code that reads on past the
// end of one is stopped by SIGSEGV. Each is a fresh mapping, so zeroed, and costs
// whole pages and three system calls (one of them to free it). The fault ends the
// process, so use such blocks only where no other call would end with it. Any thread.
#ifndef FARCALL_CORE_BASE_GUARD_H_
#define FARCALL_CORE_BASE_GUARD_H_

#include "farcall/base.h"

// The largest alignment of a block. A block whose size is not a multiple of its
// alignment ends before the page, by less than the alignment. The bytes between
// are FC_GUARD_FILL: as f16, bf16, f32 or f64 they are a NaN. Most arithmetic gives
// that NaN again, so most results that were made from those bytes can be told.
#define FC_GUARD_ALIGNMENT ((size_t)64)
#define FC_GUARD_FILL 0xFF

// NULL when out of memory. Size 0 gives the address of the page. `alignment`: a
// power of two up to FC_GUARD_ALIGNMENT.
void *fc_guard_alloc(size_t size, size_t alignment) FC_MUST_CHECK;
// `size` and `alignment` as they were asked for. `memory` may be NULL.
void fc_guard_free(void *memory, size_t size, size_t alignment);

#endif  // FARCALL_CORE_BASE_GUARD_H_
