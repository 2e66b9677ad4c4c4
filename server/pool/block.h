// SPDX-License-Identifier: Apache-2.0
//
// Blocks: the memory that request and answer bytes live in. 64-byte aligned,
// from a few size classes, private to one call, and named by index, because
// slots may only hold what another process could resolve too. The store keeps
// blocks it gets back within a budget, so a warm server allocates nothing.
// All calls may be made from any thread.
#ifndef FARCALL_SERVER_POOL_BLOCK_H_
#define FARCALL_SERVER_POOL_BLOCK_H_

#include "farcall/base.h"

#define FC_BLOCK_NONE UINT32_MAX
// Readable and zero after the bytes a caller asked for.
#define FC_BLOCK_TAIL 64

typedef struct fc_blocks_t fc_blocks_t;

typedef struct fc_blocks_usage_t {
  uint64_t taken;  // bytes of blocks in use
  uint64_t kept;   // bytes of blocks kept for reuse
  uint64_t limit;  // most bytes that may be in use
} fc_blocks_usage_t;

// `limit` bounds the bytes in use, `budget` those kept for reuse.
fc_status_t fc_blocks_create(fc_allocator_t allocator, uint64_t limit,
                             uint64_t budget, fc_blocks_t **out_blocks,
                             fc_error_t *err) FC_MUST_CHECK;
// Blocks that lie in `spans` (borrowed), named by their place in it, the last
// FC_BLOCK_TAIL bytes of each being its tail. None can be taken, and giving one
// back does nothing: who owns a block is agreed elsewhere.
fc_status_t fc_blocks_create_fixed(fc_allocator_t allocator,
                                   const fc_span_t *spans, uint32_t count,
                                   fc_blocks_t **out_blocks,
                                   fc_error_t *err) FC_MUST_CHECK;
// Every block must have been given back. NULL is allowed.
void fc_blocks_destroy(fc_blocks_t *blocks);

// A block of at least `size` usable bytes. FC_CODE_OVERLOADED when the limit is
// reached, FC_CODE_OUT_OF_MEMORY. The smallest blocks are not limited, so that
// it can always be said why a request is refused.
fc_status_t fc_block_take(fc_blocks_t *blocks, uint64_t size,
                          uint32_t *out_block, fc_error_t *err) FC_MUST_CHECK;
// FC_BLOCK_NONE is allowed.
void fc_block_give(fc_blocks_t *blocks, uint32_t block);
uint8_t *fc_block_data(const fc_blocks_t *blocks, uint32_t block);
// Usable bytes; FC_BLOCK_TAIL more may be read and written.
size_t fc_block_size(const fc_blocks_t *blocks, uint32_t block);
// The size of the next class above `size`.
uint64_t fc_block_next_size(uint64_t size);

fc_blocks_usage_t fc_blocks_usage(fc_blocks_t *blocks);
// Releases kept blocks larger than `size`: called when the server is idle.
void fc_blocks_trim(fc_blocks_t *blocks, size_t size);

// A piece of a block. In a slot this is the only way to name bytes.
typedef struct fc_piece_t {
  uint32_t block;
  uint32_t offset;
  uint64_t size;
} fc_piece_t;

// ---------------------------------------------------------------------------
// A sink that fills blocks, each larger than the one before, so that nothing
// written is ever copied.

#define FC_PIECES_MAX 12

typedef struct fc_block_sink_t {
  fc_sink_t sink;  // first, so that &out->sink is the sink
  fc_blocks_t *blocks;
  uint64_t limit;    // most bytes of all pieces
  uint64_t written;  // of the pieces before the last
  uint32_t count;
  fc_piece_t pieces[FC_PIECES_MAX];
} fc_block_sink_t;

// Starts with `block` (owned from now on), leaving `reserve` bytes of it
// unwritten in front.
void fc_block_sink_init(fc_block_sink_t *out, fc_blocks_t *blocks,
                        uint32_t block, uint32_t reserve, uint64_t limit);
// Closes the last piece; the pieces can be read now. Returns all bytes written.
uint64_t fc_block_sink_finish(fc_block_sink_t *out);
// Gives every block back.
void fc_block_sink_drop(fc_block_sink_t *out);

#endif  // FARCALL_SERVER_POOL_BLOCK_H_
