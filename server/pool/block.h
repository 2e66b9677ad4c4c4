// SPDX-License-Identifier: Apache-2.0
//
// Blocks: the memory of request and answer bytes. A block is 64-byte aligned and has one
// holder at a time. Unless it is fixed or lent, it has a size class, each twice the
// previous one. It is named by its index, because slots may only contain what another
// process can resolve. The store keeps returned blocks within a budget, so a warm server
// allocates none. Any thread may call each function, except fc_blocks_release and those
// that make, set up and destroy a store.
#ifndef FARCALL_SERVER_POOL_BLOCK_H_
#define FARCALL_SERVER_POOL_BLOCK_H_

#include "pool/owner.h"

#define FC_BLOCK_NONE UINT32_MAX
#define FC_BLOCK_ALIGN 64u
// Bytes after every block except a lent one (fc_block_lend). Readers that read ahead may
// read and write them.
#define FC_BLOCK_TAIL 64
// Blocks of this size are given even above the limits, while there is memory, so that a
// refusal can be written.
#define FC_BLOCK_SMALLEST 4096u

typedef struct fc_blocks_t fc_blocks_t;

typedef struct fc_blocks_usage_t {
  uint64_t taken;  // bytes that count as in use
  // Bytes that are kept for reuse: the filled bytes of kept blocks, and bytes of blocks
  // in use that earlier calls filled and that do not count now.
  uint64_t kept;
  uint64_t limit;   // most bytes that may be in use
  uint64_t share;   // most of them that one owner may hold
  uint64_t copied;  // bytes of bodies and answers copied so far, from one block
                    // to another or to and from a process
  uint64_t files;   // files made so far
} fc_blocks_usage_t;

// `limit` is the most bytes in use (blocks of FC_BLOCK_SMALLEST may exceed it), `budget`
// the most bytes kept for reuse. One owner may hold `limit` bytes until
// fc_blocks_set_share is called.
fc_status_t fc_blocks_create(fc_allocator_t allocator, uint64_t limit,
                             uint64_t budget, fc_blocks_t **out_blocks,
                             fc_error_t *err) FC_MUST_CHECK;
// Makes blocks from borrowed memory: spans[i] gives the place of block i, and its last
// FC_BLOCK_TAIL bytes are the tail. `spans` is copied. No block can be taken, and giving
// one back does nothing: its owner is determined elsewhere. `limit` applies only to the
// bytes of fc_blocks_charge.
fc_status_t fc_blocks_create_fixed(fc_allocator_t allocator, uint64_t limit,
                                   const fc_span_t *spans, uint32_t count,
                                   fc_blocks_t **out_blocks,
                                   fc_error_t *err) FC_MUST_CHECK;
// Sets the most bytes that one owner may hold. Call it before the first block is taken.
void fc_blocks_set_share(fc_blocks_t *blocks, uint64_t share);
// Counts bytes as in use that are in no block (meter.h). False: the limit would be
// exceeded. The caller must discharge the bytes later.
bool fc_blocks_charge(fc_blocks_t *blocks, uint64_t size) FC_MUST_CHECK;
void fc_blocks_discharge(fc_blocks_t *blocks, uint64_t size);
// Every block must have been given back. NULL is allowed.
void fc_blocks_destroy(fc_blocks_t *blocks);

// Takes a block of at least `size` bytes. FC_CODE_OVERLOADED: the limit would be
// exceeded. FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_block_take(fc_blocks_t *blocks, uint64_t size,
                          uint32_t *out_block, fc_error_t *err) FC_MUST_CHECK;
// Takes a block of at least `now` bytes, for bytes that arrive piece by piece until there
// are `size`. Counts `now` bytes, rounded up to a size class, for the owner until the
// block is given back (for nobody in the smallest class). The block has `size` bytes at
// once if one of that size is kept, which costs no more memory, or if a new one would be
// large, because a large block takes only addresses at first. The block may be filled up
// to fc_block_size, and fc_block_grow must then count the filled bytes. Fails like
// fc_block_take, and with FC_CODE_TOO_MANY_REQUESTS if the owner holds some bytes and
// would exceed its share.
fc_status_t fc_block_take_for(fc_blocks_t *blocks, const fc_owner_t *owner,
                              uint64_t now, uint64_t size, uint32_t *out_block,
                              fc_error_t *err) FC_MUST_CHECK;
// Does the same for bytes that may be given to worker processes of `audience`. If `size`,
// or the size that the block grows to, is above FC_LIMIT_SHARED, the whole block is in a
// file (fc_block_file), unless FC_LIMIT_SHARED_FILES are in use, or no file can be made
// and mapped. FC_AUDIENCE_NONE: no process gets the bytes.
fc_status_t fc_block_take_shared(fc_blocks_t *blocks, const fc_owner_t *owner,
                                 uint64_t audience, uint64_t now, uint64_t size,
                                 uint32_t *out_block,
                                 fc_error_t *err) FC_MUST_CHECK;
// Counts `now` bytes of *block, which will have `size` bytes in the end. If *block is too
// small for `now`, a larger block replaces it, and the first `used` bytes are copied. On
// failure *block does not change.
fc_status_t fc_block_grow(fc_blocks_t *blocks, const fc_owner_t *owner,
                          uint32_t *block, uint64_t used, uint64_t now,
                          uint64_t size, fc_error_t *err) FC_MUST_CHECK;
// Counts a block without an owner for `owner`. Fails like fc_block_take_for.
fc_status_t fc_block_own(fc_blocks_t *blocks, const fc_owner_t *owner,
                         uint32_t block, fc_error_t *err) FC_MUST_CHECK;
// Checks whether the limits let the owner take `size` bytes now. Takes nothing.
fc_status_t fc_blocks_check(fc_blocks_t *blocks, const fc_owner_t *owner,
                            uint64_t size, fc_error_t *err) FC_MUST_CHECK;
// Gives a block back. FC_BLOCK_NONE is allowed.
void fc_block_give(fc_blocks_t *blocks, uint32_t block);
uint8_t *fc_block_data(const fc_blocks_t *blocks, uint32_t block);
// Returns the size of the block. FC_BLOCK_TAIL more bytes may be read and written, except
// in a lent block.
size_t fc_block_size(const fc_blocks_t *blocks, uint32_t block);
// Returns the bytes of the block that count as in use.
uint64_t fc_block_counted(const fc_blocks_t *blocks, uint32_t block);

// ---------------------------------------------------------------------------
// Blocks in files, which worker processes may see. A process that was given a file may
// keep it open. So a file has an audience: the processes that may ever be given the file.
// It is reused only for that audience, so no process finds bytes there that were not
// meant for its module. Files are kept with their content, and mapped, because
// fresh pages cost more than all copies of their bytes.

#define FC_AUDIENCE_NONE 0u

// Makes an audience: a number that is never used again.
uint64_t fc_blocks_audience(fc_blocks_t *blocks);
// Ends the audience: its files are no longer kept, and those in use are freed when they
// are given back.
void fc_blocks_disband(fc_blocks_t *blocks, uint64_t audience);
// Returns the file (shared.h) in which the block is, from the file's beginning on; -1: it
// is in no file. The block owns the file.
int fc_block_file(const fc_blocks_t *blocks, uint32_t block);
// Returns the file's number. No two files have the same number.
uint64_t fc_block_serial(const fc_blocks_t *blocks, uint32_t block);
// Returns the known memory of the file in bytes: as last measured, or as counted since.
uint64_t fc_block_filled(const fc_blocks_t *blocks, uint32_t block);
// Lends a block to worker processes of `audience`, which fill it: a file of `size` bytes.
// These bytes do not count, and the loop need not have mapped the file. When the number
// of filled bytes is known, fc_block_adopt makes the filled bytes readable and counts
// them, rounded up to a size class. If fc_block_adopt fails, they do not count.
fc_status_t fc_block_lend(fc_blocks_t *blocks, uint64_t audience, uint64_t size,
                          uint32_t *out_block, fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_block_adopt(fc_blocks_t *blocks, uint32_t block, uint64_t size,
                           fc_error_t *err) FC_MUST_CHECK;
// Frees kept files that were given back before `before_ns` (fc_clock_ns), those that a
// process has enlarged too much, and others while the budget is exceeded. True: some are
// kept. The files are measured without the lock.
bool fc_blocks_age(fc_blocks_t *blocks, uint64_t before_ns);

fc_blocks_usage_t fc_blocks_usage(fc_blocks_t *blocks);
// Releases the free blocks that are larger than `size`. Blocks in files stay.
void fc_blocks_trim(fc_blocks_t *blocks, size_t size);
// Gives about `most` bytes of dying blocks back to the kernel. Large blocks that are not
// kept are released in parts, because the kernel takes milliseconds for a whole one.
// True: there is more. Loop thread only.
bool fc_blocks_release(fc_blocks_t *blocks, uint64_t most);
// Does the same for blocks in files. Only the nursery's thread may call it.
bool fc_blocks_release_file(fc_blocks_t *blocks, uint64_t most);
bool fc_blocks_has_dying_files(const fc_blocks_t *blocks);
// Counts `size` copied bytes of a body or an answer.
void fc_blocks_note_copied(fc_blocks_t *blocks, uint64_t size);

// A piece of a block. In a slot, only a piece can name bytes outside the slot.
typedef struct fc_piece_t {
  uint32_t block;
  uint32_t offset;
  uint64_t size;
} fc_piece_t;

// ---------------------------------------------------------------------------
// A sink that fills blocks. Each block is at least four times as large as the one before,
// so written bytes are never copied and the largest answer has a dozen pieces.

#define FC_PIECES_MAX 12

typedef struct fc_block_sink_t {
  fc_sink_t sink;  // first, so that &out->sink is the sink
  fc_blocks_t *blocks;
  uint64_t limit;                      // most bytes of all pieces
  uint64_t written;                    // bytes of the pieces before the last
  const struct fc_block_more_t *more;  // fc_block_sink_ask
  const fc_owner_t *owner;             // fc_block_sink_own
  uint32_t count;
  fc_piece_t pieces[FC_PIECES_MAX];
} fc_block_sink_t;

// Starts with `block`, which the sink then owns, and leaves its first `reserve` bytes
// unwritten. All pieces together have at most `limit` bytes.
void fc_block_sink_init(fc_block_sink_t *out, fc_blocks_t *blocks,
                        uint32_t block, uint32_t reserve, uint64_t limit);
// Says where an answer continues after the first `first` bytes of its block: in the block
// that `take` returns, which has at least the size of the sink's limit. If `take` returns
// FC_BLOCK_NONE, the answer continues in its own block.
typedef struct fc_block_more_t {
  uint64_t first;
  uint32_t (*take)(void *context);
  void *context;
} fc_block_more_t;
// Makes more->take choose the block in which the answer continues after its first
// more->first bytes. Call it for a sink that was just initialised. It has no effect if
// the sink ends before that. Borrows `more`.
void fc_block_sink_ask(fc_block_sink_t *out, const fc_block_more_t *more);
// Counts further blocks for this owner; they may be refused as by fc_block_take_for.
// Borrows `owner`.
static inline void fc_block_sink_own(fc_block_sink_t *out,
                                     const fc_owner_t *owner) {
  out->owner = owner;
}
// Keeps the first `size` of the written bytes, and finishes the sink.
void fc_block_sink_cut(fc_block_sink_t *out, uint64_t size);
// Closes the last piece, so that the pieces can be read. Returns the number of written
// bytes.
uint64_t fc_block_sink_finish(fc_block_sink_t *out);
// Gives every block back.
void fc_block_sink_drop(fc_block_sink_t *out);

#endif  // FARCALL_SERVER_POOL_BLOCK_H_
