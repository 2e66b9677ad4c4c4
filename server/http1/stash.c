// SPDX-License-Identifier: Apache-2.0
//
// Bytes are moved to the front of their block before a larger block is taken. Otherwise a
// client that always sends one request and a piece of the next would need larger and
// larger blocks.
#include "http1/stash.h"

fc_str_t fc_stash_bytes(const fc_stash_t *stash, const fc_blocks_t *blocks) {
  if (stash->block == FC_BLOCK_NONE) return FC_STR("");
  const char *data = (const char *)fc_block_data(blocks, stash->block);
  return fc_str_make(data + stash->begin, fc_stash_size(stash));
}

void fc_stash_clear(fc_stash_t *stash, fc_blocks_t *blocks) {
  fc_block_give(blocks, stash->block);
  *stash = FC_STASH_EMPTY;
}

void fc_stash_drop(fc_stash_t *stash, fc_blocks_t *blocks, size_t size) {
  FC_ASSERT(size <= fc_stash_size(stash));
  stash->begin += (uint32_t)size;
  if (stash->begin == stash->end) fc_stash_clear(stash, blocks);
}

// Makes room for `size` more bytes.
static fc_status_t make_room(fc_stash_t *stash, fc_blocks_t *blocks,
                             const fc_owner_t *owner, size_t size,
                             fc_error_t *err) {
  fc_str_t kept = fc_stash_bytes(stash, blocks);
  uint64_t need = (uint64_t)kept.size + size;
  uint32_t block = stash->block;
  size_t room = block == FC_BLOCK_NONE ? 0 : fc_block_size(blocks, block);
  if (stash->end + size <= room) return FC_OK;
  if (need > room) {
    FC_TRY(fc_block_take_for(blocks, owner, need, need, &block, err));
  }
  if (kept.size) memmove(fc_block_data(blocks, block), kept.data, kept.size);
  if (block != stash->block) fc_block_give(blocks, stash->block);
  *stash = (fc_stash_t){.block = block, .end = (uint32_t)kept.size};
  return FC_OK;
}

fc_status_t fc_stash_put(fc_stash_t *stash, fc_blocks_t *blocks,
                         const fc_owner_t *owner, fc_str_t bytes,
                         fc_error_t *err) {
  return fc_stash_put_parts(stash, blocks, owner, &bytes, 1, err);
}

fc_status_t fc_stash_put_parts(fc_stash_t *stash, fc_blocks_t *blocks,
                               const fc_owner_t *owner, const fc_str_t *parts,
                               size_t count, fc_error_t *err) {
  size_t size = 0;
  for (size_t i = 0; i < count; i++) size += parts[i].size;
  if (size == 0) return FC_OK;
  FC_TRY(make_room(stash, blocks, owner, size, err));
  FC_ASSERT(stash->end + size <= fc_block_size(blocks, stash->block));
  uint8_t *to = fc_block_data(blocks, stash->block) + stash->end;
  for (size_t i = 0; i < count; i++) {
    if (parts[i].size) memcpy(to, parts[i].data, parts[i].size);
    to += parts[i].size;
  }
  stash->end += (uint32_t)size;
  return FC_OK;
}
