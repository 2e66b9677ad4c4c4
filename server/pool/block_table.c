// SPDX-License-Identifier: Apache-2.0
//
// The store: its entries, the indices that name them, and its numbers.
#include "pool/block_table.h"

#include <sys/mman.h>

#include "pool/shared.h"

fc_status_t fc_blocks_create(fc_allocator_t allocator, uint64_t limit,
                             uint64_t budget, fc_blocks_t **out_blocks,
                             fc_error_t *err) {
  fc_blocks_t *blocks = fc_alloc(allocator, sizeof *blocks);
  if (!blocks) return fc_fail_memory(err);
  blocks->allocator = allocator;
  blocks->limit = limit;
  blocks->share = limit;
  blocks->owners.allocator = allocator;
  blocks->budget = budget;
  blocks->dying = blocks->dying_files = FC_BLOCK_NONE;
  blocks->free_index = FC_BLOCK_NONE;
  blocks->kept_files = blocks->all_files = FC_BLOCK_NONE;
  for (unsigned i = 0; i < FC_BLOCK_CLASSES; i++)
    blocks->heads[i] = FC_BLOCK_NONE;
  pthread_mutex_init(&blocks->lock, NULL);
  *out_blocks = blocks;
  return FC_OK;
}

fc_status_t fc_blocks_create_fixed(fc_allocator_t allocator, uint64_t limit,
                                   const fc_span_t *spans, uint32_t count,
                                   fc_blocks_t **out_blocks, fc_error_t *err) {
  FC_ASSERT(count <= FC_BLOCK_CHUNK);
  fc_blocks_t *blocks;
  FC_TRY(fc_blocks_create(allocator, limit, 0, &blocks, err));
  blocks->fixed = true;
  blocks->chunks[0] =
      fc_alloc_array(allocator, count, sizeof *blocks->chunks[0]);
  if (!blocks->chunks[0]) {
    fc_blocks_destroy(blocks);
    return fc_fail_memory(err);
  }
  for (uint32_t i = 0; i < count; i++) {
    FC_ASSERT(spans[i].size > FC_BLOCK_TAIL);
    blocks->chunks[0][i] =
        (fc_block_entry_t){.data = spans[i].data,
                           .size = spans[i].size - FC_BLOCK_TAIL,
                           .file = -1};
  }
  blocks->count = count;
  *out_blocks = blocks;
  return FC_OK;
}

void fc_blocks_set_share(fc_blocks_t *blocks, uint64_t share) {
  blocks->share = share;
}

void fc_blocks_destroy(fc_blocks_t *blocks) {
  if (!blocks) return;
  FC_ASSERT(blocks->taken == 0);
  fc_blocks_trim(blocks, 0);
  (void)fc_blocks_age(blocks, UINT64_MAX);
  while (fc_blocks_release(blocks, UINT64_MAX)) continue;
  while (fc_blocks_release_file(blocks, UINT64_MAX)) continue;
  for (unsigned i = 0; i < FC_BLOCK_CHUNKS; i++) {
    fc_free(blocks->allocator, blocks->chunks[i]);
  }
  fc_owners_deinit(&blocks->owners);
  pthread_mutex_destroy(&blocks->lock);
  fc_free(blocks->allocator, blocks);
}

uint32_t fc_block_index_new(fc_blocks_t *blocks) {
  if (blocks->free_index != FC_BLOCK_NONE) {
    uint32_t index = blocks->free_index;
    blocks->free_index = fc_block_entry(blocks, index)->next;
    return index;
  }
  if (blocks->count == FC_BLOCK_CHUNK * FC_BLOCK_CHUNKS) return FC_BLOCK_NONE;
  fc_block_entry_t **chunk = &blocks->chunks[blocks->count / FC_BLOCK_CHUNK];
  if (!*chunk) {
    *chunk = fc_alloc_array(blocks->allocator, FC_BLOCK_CHUNK, sizeof **chunk);
    if (!*chunk) return FC_BLOCK_NONE;
  }
  return blocks->count++;
}

void fc_block_index_free(fc_blocks_t *blocks, uint32_t index) {
  fc_block_entry_t *entry = fc_block_entry(blocks, index);
  entry->data = NULL;
  entry->next = blocks->free_index;
  blocks->free_index = index;
}

void fc_block_advise(uint8_t *begin, uint64_t size, int advice) {
  const uintptr_t page = fc_shared_pages(1);
  uint8_t *first = begin + (page - (uintptr_t)begin % page) % page;
  uint8_t *end = begin + size - (uintptr_t)(begin + size) % page;
  if (end > first) (void)madvise(first, (size_t)(end - first), advice);
}

uint8_t *fc_block_data(const fc_blocks_t *blocks, uint32_t block) {
  return fc_block_entry(blocks, block)->data;
}

size_t fc_block_size(const fc_blocks_t *blocks, uint32_t block) {
  return (size_t)fc_block_entry(blocks, block)->size;
}

uint64_t fc_block_counted(const fc_blocks_t *blocks, uint32_t block) {
  return fc_block_entry(blocks, block)->counted;
}

fc_blocks_usage_t fc_blocks_usage(fc_blocks_t *blocks) {
  pthread_mutex_lock(&blocks->lock);
  fc_blocks_usage_t usage = {
      blocks->taken,
      blocks->kept,
      blocks->limit,
      blocks->share,
      atomic_load_explicit(&blocks->copied, memory_order_relaxed),
      blocks->serials};
  pthread_mutex_unlock(&blocks->lock);
  return usage;
}

void fc_blocks_note_copied(fc_blocks_t *blocks, uint64_t size) {
  atomic_fetch_add_explicit(&blocks->copied, size, memory_order_relaxed);
}
