// SPDX-License-Identifier: Apache-2.0
//
// Bytes that a connection has received and cannot use yet: an incomplete head, a head
// whose request waits for a module, and requests that came while another was being
// answered. They are in one block, which is taken when there are bytes and released when
// there are none. Loop thread.
#ifndef FARCALL_SERVER_HTTP1_STASH_H_
#define FARCALL_SERVER_HTTP1_STASH_H_

#include "pool/block.h"

typedef struct fc_stash_t {
  uint32_t block;  // FC_BLOCK_NONE: empty
  uint32_t begin;
  uint32_t end;
} fc_stash_t;

#define FC_STASH_EMPTY ((fc_stash_t){.block = FC_BLOCK_NONE})

static inline uint32_t fc_stash_size(const fc_stash_t *stash) {
  return stash->end - stash->begin;
}

// Returns the stashed bytes; valid until the stash changes.
fc_str_t fc_stash_bytes(const fc_stash_t *stash, const fc_blocks_t *blocks);
// Appends a copy of `bytes`. Fails like fc_block_take_for, and then changes nothing.
fc_status_t fc_stash_put(fc_stash_t *stash, fc_blocks_t *blocks,
                         const fc_owner_t *owner, fc_str_t bytes,
                         fc_error_t *err) FC_MUST_CHECK;
// Appends a copy of each of the parts, or of none.
fc_status_t fc_stash_put_parts(fc_stash_t *stash, fc_blocks_t *blocks,
                               const fc_owner_t *owner, const fc_str_t *parts,
                               size_t count, fc_error_t *err) FC_MUST_CHECK;
// Drops the first `size` bytes.
void fc_stash_drop(fc_stash_t *stash, fc_blocks_t *blocks, size_t size);
// Drops all bytes.
void fc_stash_clear(fc_stash_t *stash, fc_blocks_t *blocks);

#endif  // FARCALL_SERVER_HTTP1_STASH_H_
