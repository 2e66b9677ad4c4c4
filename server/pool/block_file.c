// SPDX-License-Identifier: Apache-2.0
//
// Blocks that lie in files.
#include <sys/mman.h>

#include "pool/block_table.h"
#include "pool/shared.h"

uint32_t fc_block_file_new(fc_blocks_t *blocks, uint64_t size) {
  if (blocks->files >= FC_LIMIT_SHARED_FILES) return FC_BLOCK_NONE;
  const uint32_t index = fc_block_index_new(blocks);
  if (index == FC_BLOCK_NONE) return index;
  const int file = fc_shared_create("farcall-block", size + FC_BLOCK_TAIL);
  if (file < 0) {
    fc_block_index_free(blocks, index);
    return FC_BLOCK_NONE;
  }
  *fc_block_entry(blocks, index) =
      (fc_block_entry_t){.size = size,
                         .class_ = (uint8_t)fc_block_class_of(size),
                         .owner = FC_OWNER_NONE,
                         .file = file};
  return index;
}

bool fc_block_file_map(fc_blocks_t *blocks, fc_block_entry_t *entry,
                       uint64_t size, int protection) {
  void *data = mmap(NULL, (size_t)size, protection, MAP_SHARED, entry->file, 0);
  if (data == MAP_FAILED) return false;
  entry->data = data;
  entry->mapped = size;
  fc_block_advise(data,
                  size < FC_BLOCK_SMALL_PAGES ? size : FC_BLOCK_SMALL_PAGES,
                  MADV_NOHUGEPAGE);
  blocks->files++;
  return true;
}

void fc_block_file_unmap(fc_blocks_t *blocks, fc_block_entry_t *entry) {
  if (!entry->mapped) return;
  munmap(entry->data, (size_t)entry->mapped);
  entry->mapped = 0;
  blocks->files--;
}

int fc_block_file(const fc_blocks_t *blocks, uint32_t block) {
  return fc_block_entry(blocks, block)->file;
}

fc_status_t fc_block_lend(fc_blocks_t *blocks, uint64_t size,
                          uint32_t *out_block, fc_error_t *err) {
  pthread_mutex_lock(&blocks->lock);
  const uint32_t block = fc_block_file_new(blocks, size);
  pthread_mutex_unlock(&blocks->lock);
  if (block == FC_BLOCK_NONE) return fc_fail_memory(err);
  *out_block = block;
  return FC_OK;
}

fc_status_t fc_block_adopt(fc_blocks_t *blocks, uint32_t block, uint64_t size,
                           fc_error_t *err) {
  fc_block_entry_t *entry = fc_block_entry(blocks, block);
  FC_ASSERT(size <= entry->size && !entry->mapped);
  if (!fc_block_file_map(blocks, entry, size, PROT_READ))
    return fc_fail_memory(err);
  const fc_status_t status = fc_block_count_file(blocks, entry, size, err);
  if (status != FC_OK) fc_block_file_unmap(blocks, entry);
  return status;
}
