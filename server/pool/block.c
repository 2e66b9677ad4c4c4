// SPDX-License-Identifier: Apache-2.0
//
// Power-of-four classes from 4 KiB: few enough that a block is likely to fit
// the next call, coarse enough that an answer of the largest size is a dozen
// pieces. Pages of a large block are only touched as bytes arrive, so the cost
// of a coarse class is address space. One mutex: the loop takes and gives a
// block or two a call, workers only when an answer outgrows its block.
#include "pool/block.h"

#include <pthread.h>

#define CLASS_COUNT 12
#define CLASS_FIRST 4096u
#define CHUNK_SIZE 256u   // entries of one piece of the table
#define CHUNK_COUNT 256u  // pieces: at most 65,536 blocks

typedef struct entry_t {
  uint8_t *data;  // NULL: the index is free
  uint64_t size;  // usable
  uint32_t next;  // in a list of kept blocks, or of free indices
  uint8_t class_;
} entry_t;

struct fc_blocks_t {
  fc_allocator_t allocator;
  pthread_mutex_t lock;
  uint64_t limit;
  uint64_t budget;
  uint64_t taken;
  uint64_t kept;
  bool fixed;                   // memory of somebody else's, nothing is taken
  uint32_t heads[CLASS_COUNT];  // kept blocks, last in first out
  uint32_t free_index;
  uint32_t count;                // indices handed out so far
  entry_t *chunks[CHUNK_COUNT];  // never move: readers need no lock
};

static uint64_t class_bytes(unsigned class_) {
  return (uint64_t)CLASS_FIRST << (2 * class_);
}

// CLASS_COUNT when nothing is large enough.
static unsigned class_of(uint64_t size) {
  unsigned class_ = 0;
  while (class_ < CLASS_COUNT && class_bytes(class_) < size + FC_BLOCK_TAIL) {
    class_++;
  }
  return class_;
}

uint64_t fc_block_next_size(uint64_t size) {
  unsigned class_ = class_of(size + 1);
  if (class_ >= CLASS_COUNT) return size;
  return class_bytes(class_) - FC_BLOCK_TAIL;
}

static entry_t *entry_at(const fc_blocks_t *blocks, uint32_t block) {
  return &blocks->chunks[block / CHUNK_SIZE][block % CHUNK_SIZE];
}

fc_status_t fc_blocks_create(fc_allocator_t allocator, uint64_t limit,
                             uint64_t budget, fc_blocks_t **out_blocks,
                             fc_error_t *err) {
  fc_blocks_t *blocks = fc_alloc(allocator, sizeof *blocks);
  if (!blocks) return fc_fail_memory(err);
  blocks->allocator = allocator;
  blocks->limit = limit;
  blocks->budget = budget;
  blocks->free_index = FC_BLOCK_NONE;
  for (unsigned i = 0; i < CLASS_COUNT; i++) blocks->heads[i] = FC_BLOCK_NONE;
  pthread_mutex_init(&blocks->lock, NULL);
  *out_blocks = blocks;
  return FC_OK;
}

fc_status_t fc_blocks_create_fixed(fc_allocator_t allocator,
                                   const fc_span_t *spans, uint32_t count,
                                   fc_blocks_t **out_blocks, fc_error_t *err) {
  FC_ASSERT(count <= CHUNK_SIZE);
  fc_blocks_t *blocks;
  FC_TRY(fc_blocks_create(allocator, 0, 0, &blocks, err));
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
        (entry_t){.data = spans[i].data, .size = spans[i].size - FC_BLOCK_TAIL};
  }
  blocks->count = count;
  *out_blocks = blocks;
  return FC_OK;
}

void fc_blocks_destroy(fc_blocks_t *blocks) {
  if (!blocks) return;
  FC_ASSERT(blocks->taken == 0);
  fc_blocks_trim(blocks, 0);
  for (unsigned i = 0; i < CHUNK_COUNT; i++) {
    fc_free(blocks->allocator, blocks->chunks[i]);
  }
  pthread_mutex_destroy(&blocks->lock);
  fc_free(blocks->allocator, blocks);
}

// Under the lock. FC_BLOCK_NONE when out of memory or indices.
static uint32_t new_index(fc_blocks_t *blocks) {
  if (blocks->free_index != FC_BLOCK_NONE) {
    uint32_t index = blocks->free_index;
    blocks->free_index = entry_at(blocks, index)->next;
    return index;
  }
  if (blocks->count == CHUNK_SIZE * CHUNK_COUNT) return FC_BLOCK_NONE;
  entry_t **chunk = &blocks->chunks[blocks->count / CHUNK_SIZE];
  if (!*chunk) {
    *chunk = fc_alloc_array(blocks->allocator, CHUNK_SIZE, sizeof **chunk);
    if (!*chunk) return FC_BLOCK_NONE;
  }
  return blocks->count++;
}

// Under the lock.
static uint32_t new_block(fc_blocks_t *blocks, unsigned class_) {
  uint32_t index = new_index(blocks);
  if (index == FC_BLOCK_NONE) return index;
  entry_t *entry = entry_at(blocks, index);
  uint64_t size = class_bytes(class_);
  entry->data = fc_alloc_aligned(blocks->allocator, (size_t)size, 64);
  if (!entry->data) {
    entry->next = blocks->free_index;
    blocks->free_index = index;
    return FC_BLOCK_NONE;
  }
  entry->size = size - FC_BLOCK_TAIL;
  entry->class_ = (uint8_t)class_;
  return index;
}

static void free_block(fc_blocks_t *blocks, uint32_t block) {
  entry_t *entry = entry_at(blocks, block);
  fc_free(blocks->allocator, entry->data);
  entry->data = NULL;
  entry->next = blocks->free_index;
  blocks->free_index = block;
}

fc_status_t fc_block_take(fc_blocks_t *blocks, uint64_t size,
                          uint32_t *out_block, fc_error_t *err) {
  if (blocks->fixed) {
    return fc_fail(err, FC_CODE_OVERLOADED, "these blocks are all there are");
  }
  unsigned class_ = class_of(size);
  if (class_ > 0 && size > blocks->limit) class_ = CLASS_COUNT;
  if (class_ == CLASS_COUNT) {
    return fc_fail(err, FC_CODE_OVERLOADED,
                   "%llu bytes exceed the memory for calls in flight",
                   (unsigned long long)size);
  }
  uint64_t bytes = class_bytes(class_);
  pthread_mutex_lock(&blocks->lock);
  bool full = class_ > 0 && blocks->taken + bytes > blocks->limit;
  uint32_t block = full ? FC_BLOCK_NONE : blocks->heads[class_];
  if (block != FC_BLOCK_NONE) {
    blocks->heads[class_] = entry_at(blocks, block)->next;
    blocks->kept -= bytes;
  } else if (!full) {
    block = new_block(blocks, class_);
  }
  if (block != FC_BLOCK_NONE) blocks->taken += bytes;
  pthread_mutex_unlock(&blocks->lock);

  if (full) {
    return fc_fail(err, FC_CODE_OVERLOADED,
                   "calls in flight hold all of %llu bytes",
                   (unsigned long long)blocks->limit);
  }
  if (block == FC_BLOCK_NONE) return fc_fail_memory(err);
  *out_block = block;
  return FC_OK;
}

void fc_block_give(fc_blocks_t *blocks, uint32_t block) {
  if (block == FC_BLOCK_NONE || blocks->fixed) return;
  pthread_mutex_lock(&blocks->lock);
  entry_t *entry = entry_at(blocks, block);
  uint64_t bytes = class_bytes(entry->class_);
  blocks->taken -= bytes;
  if (blocks->kept + bytes > blocks->budget) {
    free_block(blocks, block);
  } else {
    blocks->kept += bytes;
    entry->next = blocks->heads[entry->class_];
    blocks->heads[entry->class_] = block;
  }
  pthread_mutex_unlock(&blocks->lock);
}

uint8_t *fc_block_data(const fc_blocks_t *blocks, uint32_t block) {
  return entry_at(blocks, block)->data;
}

size_t fc_block_size(const fc_blocks_t *blocks, uint32_t block) {
  return (size_t)entry_at(blocks, block)->size;
}

fc_blocks_usage_t fc_blocks_usage(fc_blocks_t *blocks) {
  pthread_mutex_lock(&blocks->lock);
  fc_blocks_usage_t usage = {blocks->taken, blocks->kept, blocks->limit};
  pthread_mutex_unlock(&blocks->lock);
  return usage;
}

void fc_blocks_trim(fc_blocks_t *blocks, size_t size) {
  pthread_mutex_lock(&blocks->lock);
  for (unsigned i = 0; i < CLASS_COUNT; i++) {
    if (class_bytes(i) <= size) continue;
    while (blocks->heads[i] != FC_BLOCK_NONE) {
      uint32_t block = blocks->heads[i];
      blocks->heads[i] = entry_at(blocks, block)->next;
      blocks->kept -= class_bytes(i);
      free_block(blocks, block);
    }
  }
  pthread_mutex_unlock(&blocks->lock);
}

// ---------------------------------------------------------------------------

static void close_piece(fc_block_sink_t *out) {
  fc_piece_t *piece = &out->pieces[out->count - 1];
  const char *begin =
      (const char *)fc_block_data(out->blocks, piece->block) + piece->offset;
  piece->size = (uint64_t)(out->sink.cursor - begin);
}

static void open_piece(fc_block_sink_t *out, uint32_t block, uint32_t offset) {
  out->pieces[out->count++] = (fc_piece_t){.block = block, .offset = offset};
  char *data = (char *)fc_block_data(out->blocks, block);
  size_t room = fc_block_size(out->blocks, block) - offset;
  uint64_t left = out->limit - out->written;
  out->sink.cursor = data + offset;
  out->sink.end = out->sink.cursor + (room < left ? room : (size_t)left);
}

static fc_status_t sink_grow(fc_sink_t *sink, size_t need, fc_error_t *err) {
  fc_block_sink_t *out = (fc_block_sink_t *)sink;
  close_piece(out);
  fc_piece_t *last = &out->pieces[out->count - 1];
  uint64_t written = out->written + last->size;
  if (need > out->limit - written || out->count == FC_PIECES_MAX) {
    return fc_fail(err, FC_CODE_RESULT_TOO_LARGE,
                   "the answer exceeds %llu bytes",
                   (unsigned long long)out->limit);
  }
  uint64_t size = fc_block_next_size(fc_block_size(out->blocks, last->block));
  if (size < need) size = need;
  uint32_t block;
  FC_TRY(fc_block_take(out->blocks, size, &block, err));
  out->written = written;
  open_piece(out, block, 0);
  return FC_OK;
}

void fc_block_sink_init(fc_block_sink_t *out, fc_blocks_t *blocks,
                        uint32_t block, uint32_t reserve, uint64_t limit) {
  out->sink = (fc_sink_t){.grow = sink_grow};
  out->blocks = blocks;
  out->limit = limit;
  out->written = 0;
  out->count = 0;
  open_piece(out, block, reserve);
}

uint64_t fc_block_sink_finish(fc_block_sink_t *out) {
  close_piece(out);
  return out->written + out->pieces[out->count - 1].size;
}

void fc_block_sink_drop(fc_block_sink_t *out) {
  for (uint32_t i = 0; i < out->count; i++) {
    fc_block_give(out->blocks, out->pieces[i].block);
  }
  out->count = 0;
}
