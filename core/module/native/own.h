// SPDX-License-Identifier: Apache-2.0
//
// The blocks that a module allocated during one call and has not freed. A
// result must be freed by farcall if its `allocated` pointer is in this table,
// unless the sidecar declares the result as borrowed. One call, one thread.
#ifndef FARCALL_MODULE_NATIVE_OWN_H_
#define FARCALL_MODULE_NATIVE_OWN_H_

#include "farcall/base.h"

typedef struct fc_own_block_t {
  void *data;  // NULL: the place is free
  size_t size;
  bool returned;  // it is memory of a result: freed after the result is encoded
} fc_own_block_t;

// True when all of `bytes` lies in `block`.
static inline bool fc_span_holds(fc_span_t block, fc_span_t bytes) {
  return bytes.data >= block.data && bytes.size <= block.size &&
         (size_t)(bytes.data - block.data) <= block.size - bytes.size;
}

// The table: open addressing with linear probing. A table that is zeroed except for its
// allocator is empty.
typedef struct fc_own_t {
  fc_allocator_t allocator;
  fc_own_block_t *blocks;
  size_t capacity;  // a power of two, or 0
  size_t count;
  size_t lowest;  // all places before this one are free
} fc_own_t;

void fc_own_init(fc_own_t *own, fc_allocator_t allocator);
void fc_own_deinit(fc_own_t *own);  // the blocks are forgotten, not freed

// Adds a block. `data` is not NULL. If the address is already in the table, its old block
// was freed by code whose free() is not seen here (the C library, a thread of the
// module), and the new block replaces it. False when the table cannot grow.
bool fc_own_add(fc_own_t *own, void *data, size_t size) FC_MUST_CHECK;
// Removes a block. False if it was not in the table.
bool fc_own_remove(fc_own_t *own, const void *data);
// Finds a block; NULL if it is not in the table. Valid until the next add or remove.
fc_own_block_t *fc_own_find(const fc_own_t *own, const void *data);

// Forgets every block and passes each to `visit`, which then owns its memory.
void fc_own_clear(fc_own_t *own,
                  void (*visit)(void *context, const fc_own_block_t *block),
                  void *context);

#endif  // FARCALL_MODULE_NATIVE_OWN_H_
