// SPDX-License-Identifier: Apache-2.0
//
// Gives memory of blocks back to the system.
#include <sys/mman.h>

#include "base/sanitize.h"
#include "pool/block_table.h"
#include "pool/shared.h"

void fc_block_free(fc_blocks_t *blocks, uint32_t block) {
  fc_block_entry_t *entry = fc_block_entry(blocks, block);
  if (entry->file < 0) {
    FC_UNPOISON(entry->data,
                (size_t)fc_block_class_bytes(entry->class_) + FC_BLOCK_TAIL);
    fc_free(blocks->allocator, entry->data);
  } else {
    fc_block_file_unlist(blocks, entry);
    fc_block_file_close(entry);
  }
  fc_block_index_free(blocks, block);
}

void fc_block_let_go(fc_blocks_t *blocks, uint32_t block) {
  fc_block_entry_t *entry = fc_block_entry(blocks, block);
  blocks->kept -= entry->filled;
  if (entry->file >= 0) {
    if (entry->mapped) {
      FC_UNPOISON(entry->data, (size_t)entry->mapped);
      blocks->files--;
    }
    entry->next = blocks->dying_files;
    blocks->dying_files = block;
  } else if (entry->filled <= FC_BLOCK_LARGE) {
    fc_block_free(blocks, block);
  } else {
    entry->next = blocks->dying;
    blocks->dying = block;
  }
}

void fc_blocks_trim(fc_blocks_t *blocks, size_t size) {
  pthread_mutex_lock(&blocks->lock);
  for (unsigned i = 0; i < FC_BLOCK_CLASSES; i++) {
    if (fc_block_class_bytes(i) <= size) continue;
    while (blocks->heads[i] != FC_BLOCK_NONE) {
      uint32_t block = blocks->heads[i];
      blocks->heads[i] = fc_block_entry(blocks, block)->next;
      fc_block_let_go(blocks, block);
    }
  }
  pthread_mutex_unlock(&blocks->lock);
}

// Gives up to `most` bytes of a dying block back. False: the rest is small enough to be
// freed at once, with the block.
static bool release_some(fc_block_entry_t *entry, uint64_t most) {
  const uint64_t left = entry->size - entry->released;
  if (left <= most) return false;
  fc_block_advise(entry->data + entry->released, most, MADV_DONTNEED);
  entry->released += most;
  return true;
}

// Releases a part of the first dying block. True: there is more. During the release the
// block is in no list, so the lock is not needed.
static bool release_first(fc_blocks_t *blocks, uint64_t most) {
  pthread_mutex_lock(&blocks->lock);
  const uint32_t block = blocks->dying;
  blocks->dying = fc_block_entry(blocks, block)->next;
  pthread_mutex_unlock(&blocks->lock);
  const bool some = release_some(fc_block_entry(blocks, block), most);
  pthread_mutex_lock(&blocks->lock);
  if (some) {
    fc_block_entry_t *entry = fc_block_entry(blocks, block);
    entry->next = blocks->dying;
    blocks->dying = block;
  } else {
    fc_block_free(blocks, block);
  }
  const bool more = blocks->dying != FC_BLOCK_NONE;
  pthread_mutex_unlock(&blocks->lock);
  return more;
}

bool fc_blocks_release(fc_blocks_t *blocks, uint64_t most) {
  return blocks->dying != FC_BLOCK_NONE && release_first(blocks, most);
}

bool fc_blocks_has_dying_files(const fc_blocks_t *blocks) {
  return atomic_load_explicit(&blocks->dying_files, memory_order_relaxed) !=
         FC_BLOCK_NONE;
}

// The whole file is emptied, because a worker may have written more than was counted, and
// may keep the file open. No slow work is done under the lock.
bool fc_blocks_release_file(fc_blocks_t *blocks, uint64_t most) {
  pthread_mutex_lock(&blocks->lock);
  const uint32_t block = blocks->dying_files;
  fc_block_entry_t *entry = NULL;
  if (block != FC_BLOCK_NONE) {
    entry = fc_block_entry(blocks, block);
    blocks->dying_files = entry->next;
  }
  pthread_mutex_unlock(&blocks->lock);
  if (!entry) return false;
  const bool some = fc_shared_scrub(entry->file, 0, entry->size + FC_BLOCK_TAIL,
                                    most, &entry->released);
  pthread_mutex_lock(&blocks->lock);
  if (some) {
    entry->next = blocks->dying_files;
    blocks->dying_files = block;
  } else {
    fc_block_file_unlist(blocks, entry);
  }
  pthread_mutex_unlock(&blocks->lock);
  if (some) return true;
  fc_block_file_close(entry);
  pthread_mutex_lock(&blocks->lock);
  fc_block_index_free(blocks, block);
  const bool more = blocks->dying_files != FC_BLOCK_NONE;
  pthread_mutex_unlock(&blocks->lock);
  return more;
}
