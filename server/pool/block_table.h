// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files that implement block.h: block_table.c has the store and its
// indices, block.c takes blocks and gives them back, block_file.c has blocks in files,
// block_release.c gives memory back to the system. The inline functions need no lock. The
// other functions are called under the store's lock, unless their comment says otherwise.
#ifndef FARCALL_SERVER_POOL_BLOCK_TABLE_H_
#define FARCALL_SERVER_POOL_BLOCK_TABLE_H_

#include <pthread.h>
#include <stdatomic.h>

#include "config/limits.h"
#include "pool/block.h"

#define FC_BLOCK_CLASSES 23   // up to 16 GiB
#define FC_BLOCK_CHUNK 256u   // entries of one piece of the table
#define FC_BLOCK_CHUNKS 256u  // pieces, so there are at most 65,536 blocks
// The system provides pages of a block of at least this size only when they are touched.
// The pages of a block of which more than this was filled are given back in parts.
#define FC_BLOCK_LARGE (1u << 20)
// This many bytes at the beginning of a large block, or of a block in a file, get small
// pages. So a client which announces much and sends little takes little memory.
#define FC_BLOCK_SMALL_PAGES (4u << 20)
_Static_assert(FC_LIMIT_SHARED * 2 == FC_BLOCK_LARGE,
               "shared blocks are large ones");

typedef struct fc_block_entry_t {
  uint8_t *data;     // NULL: the index is free, or its file was never mapped
  uint64_t size;     // usable bytes
  uint32_t next;     // in a list of kept or dying blocks, or of free indices
  uint64_t counted;  // bytes that count as in use
  // The most bytes of the block that ever counted or were measured. Those of them that do
  // not count as in use count as kept.
  uint64_t filled;
  uint64_t released;  // bytes given back to the system, of a dying block
  uint64_t mapped;    // bytes of `file` that are mapped at `data`
  uint32_t owner;     // of the counted bytes; FC_OWNER_NONE: nobody
  int file;  // the file in which the block lies; -1: memory of the allocator
  uint32_t file_next, file_before;  // links all blocks that lie in files
  // Who may see the block; FC_AUDIENCE_NONE: no worker process.
  uint64_t audience;
  uint64_t serial;   // of `file`
  uint64_t kept_ns;  // when the file was last given back
  uint8_t class_;
} fc_block_entry_t;

struct fc_blocks_t {
  fc_allocator_t allocator;
  pthread_mutex_t lock;
  uint64_t limit;
  uint64_t share;
  uint64_t budget;
  uint64_t taken;
  uint64_t kept;
  fc_owners_t owners;
  bool fixed;  // fc_blocks_create_fixed: nothing can be taken
  uint32_t heads[FC_BLOCK_CLASSES];  // kept blocks, last in first out
  _Atomic uint32_t dying;  // blocks that fc_blocks_release must release
  // Blocks that fc_blocks_release_file must release.
  _Atomic uint32_t dying_files;
  _Atomic uint32_t files;  // blocks whose file is mapped
  uint32_t kept_files;     // kept blocks in files, last in first out
  uint32_t all_files;      // blocks in files, used or not
  uint64_t serials;        // files ever made
  uint64_t audiences;      // audiences ever made
  _Atomic uint64_t copied;
  uint32_t free_index;
  uint32_t count;  // indices ever handed out
  // Never move, so readers need no lock.
  fc_block_entry_t *chunks[FC_BLOCK_CHUNKS];
};

static inline uint64_t fc_block_class_bytes(unsigned class_) {
  return (uint64_t)FC_BLOCK_SMALLEST << class_;
}

// Returns the smallest class of at least `size` bytes; FC_BLOCK_CLASSES: there is none.
static inline unsigned fc_block_class_of(uint64_t size) {
  unsigned class_ = 0;
  while (class_ < FC_BLOCK_CLASSES && fc_block_class_bytes(class_) < size)
    class_++;
  return class_;
}

static inline fc_block_entry_t *fc_block_entry(const fc_blocks_t *blocks,
                                               uint32_t block) {
  return &blocks->chunks[block / FC_BLOCK_CHUNK][block % FC_BLOCK_CHUNK];
}

// block_table.c

// Finds a free index. FC_BLOCK_NONE: there is none.
uint32_t fc_block_index_new(fc_blocks_t *blocks);
void fc_block_index_free(fc_blocks_t *blocks, uint32_t index);
// Calls madvise for the whole pages in the `size` bytes from `begin` on. Needs no lock.
void fc_block_advise(uint8_t *begin, uint64_t size, int advice);

// block.c

// Counts `size` bytes of a block in a file, rounded up to a size class, for nobody. Takes
// the lock.
fc_status_t fc_block_count_file(fc_blocks_t *blocks, fc_block_entry_t *entry,
                                uint64_t size, fc_error_t *err) FC_MUST_CHECK;

// block_file.c

// Takes a block in a file, with room for `size` bytes, and maps it. FC_BLOCK_NONE:
// FC_LIMIT_SHARED_FILES are mapped and in use, or no file can be made and mapped.
uint32_t fc_block_file_take(fc_blocks_t *blocks, uint64_t audience,
                            uint64_t size);
// Removes the block from the list of all blocks in files.
void fc_block_file_unlist(fc_blocks_t *blocks, fc_block_entry_t *entry);
// Unmaps and closes the file of a block that was unlisted and does not count as mapped.
// Needs no lock.
void fc_block_file_close(fc_block_entry_t *entry);
// Takes back an unused block in a file: keeps or frees it.
void fc_block_file_give(fc_blocks_t *blocks, uint32_t block);

// block_release.c

// Frees a block that no longer counts as kept.
void fc_block_free(fc_blocks_t *blocks, uint32_t block);
// Frees a block that is in no list. If more than FC_BLOCK_LARGE of it was filled, it is
// left to fc_blocks_release; if it is in a file, to fc_blocks_release_file.
void fc_block_let_go(fc_blocks_t *blocks, uint32_t block);

#endif  // FARCALL_SERVER_POOL_BLOCK_TABLE_H_
