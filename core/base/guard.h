// SPDX-License-Identifier: Apache-2.0
//
// Blocks that end at a page nobody may touch: machine code that reads past one
// is stopped by SIGSEGV before it sees anything else. Fresh, so zeroed, each
// time; two system calls and a page or more each, for calls that need it.
// Where the fault would take other calls with it, do not use them. Any thread.
#ifndef FARCALL_CORE_BASE_GUARD_H_
#define FARCALL_CORE_BASE_GUARD_H_

#include "farcall/base.h"

// The largest alignment of a block. Up to one less than its alignment bytes stand
// between the end of what was asked for and the page. They are FC_GUARD_FILL: not
// a number in f16, bf16, f32 and f64, and what is computed from one is the same
// again.
#define FC_GUARD_ALIGNMENT ((size_t)64)
#define FC_GUARD_FILL 0xFF

// NULL when out of memory. Size 0 gives the address of the page. `alignment`: a
// power of two up to FC_GUARD_ALIGNMENT.
void *fc_guard_alloc(size_t size, size_t alignment) FC_MUST_CHECK;
// Both as they were asked for; NULL is allowed.
void fc_guard_free(void *memory, size_t size, size_t alignment);

#endif  // FARCALL_CORE_BASE_GUARD_H_
