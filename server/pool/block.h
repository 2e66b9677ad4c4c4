// SPDX-License-Identifier: Apache-2.0
//
// Blocks: the memory that request and answer bytes live in. A block is 64-byte
// aligned, of a size class (each twice the one before) unless it is fixed or lent, has
// one holder at a time, and is named by index, because slots may only hold what another
// process could resolve too. The store keeps blocks it gets back within a budget, so a
// warm server allocates none. Any thread may call each function but fc_blocks_release,
// and those that make, set up and destroy a store.
#ifndef FARCALL_SERVER_POOL_BLOCK_H_
#define FARCALL_SERVER_POOL_BLOCK_H_

#include "pool/owner.h"

#define FC_BLOCK_NONE UINT32_MAX
#define FC_BLOCK_ALIGN 64u
// Bytes behind every block but a lent one (fc_block_lend), to read and write, for readers
// that look ahead.
#define FC_BLOCK_TAIL 64
// Blocks of this size are given whatever the limits say, while there is memory, so that a
// refusal can be written.
#define FC_BLOCK_SMALLEST 4096u

typedef struct fc_blocks_t fc_blocks_t;

typedef struct fc_blocks_usage_t {
  uint64_t taken;  // bytes that count as in use
  // Bytes kept for reuse: what kept blocks were ever filled with, and what blocks in use
  // were filled with by earlier calls and do not count now.
  uint64_t kept;
  uint64_t limit;   // most bytes that may be in use
  uint64_t share;   // most of them that one owner may hold
  uint64_t copied;  // bytes of bodies and answers copied so far, from one block
                    // to another or to and from a process
  uint64_t files;   // files made so far
} fc_blocks_usage_t;

// `limit` bounds the bytes in use (blocks of FC_BLOCK_SMALLEST may exceed it), `budget`
// those kept for reuse. One owner may hold `limit` bytes, until fc_blocks_set_share.
fc_status_t fc_blocks_create(fc_allocator_t allocator, uint64_t limit,
                             uint64_t budget, fc_blocks_t **out_blocks,
                             fc_error_t *err) FC_MUST_CHECK;
// Makes blocks of memory that others own: block i lies where spans[i] says, and its last
// FC_BLOCK_TAIL bytes are its tail. The memory is borrowed, `spans` is copied. No block can
// be taken, and giving one back does nothing: who owns a block is agreed elsewhere. `limit`
// bounds only the bytes of fc_blocks_charge.
fc_status_t fc_blocks_create_fixed(fc_allocator_t allocator, uint64_t limit,
                                   const fc_span_t *spans, uint32_t count,
                                   fc_blocks_t **out_blocks,
                                   fc_error_t *err) FC_MUST_CHECK;
// Sets the most bytes that one owner may hold. Call it before the first block
// is taken.
void fc_blocks_set_share(fc_blocks_t *blocks, uint64_t share);
// Counts bytes as in use that lie in no block (meter.h). False when the limit would be
// exceeded. Whoever has charged bytes discharges them.
bool fc_blocks_charge(fc_blocks_t *blocks, uint64_t size) FC_MUST_CHECK;
void fc_blocks_discharge(fc_blocks_t *blocks, uint64_t size);
// Every block must have been given back. NULL is allowed.
void fc_blocks_destroy(fc_blocks_t *blocks);

// Takes a block of at least `size` bytes. FC_CODE_OVERLOADED when the limit would be
// exceeded, FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_block_take(fc_blocks_t *blocks, uint64_t size,
                          uint32_t *out_block, fc_error_t *err) FC_MUST_CHECK;
// For bytes that arrive piece by piece, `size` in the end: takes a block of at
// least `now` bytes, and counts `now` bytes, rounded up to a size class, as the owner's
// until the block is given back (as nobody's in the smallest class). The block has `size`
// bytes at once if one of that size is kept, which costs no more memory, or if a new one
// would be large: of a large block only addresses are taken at first. The block may be
// filled as far as fc_block_size says, and fc_block_grow must then count what was filled.
// Fails as fc_block_take does, and with FC_CODE_TOO_MANY_REQUESTS when the owner holds
// some bytes and would hold more than its share.
fc_status_t fc_block_take_for(fc_blocks_t *blocks, const fc_owner_t *owner,
                              uint64_t now, uint64_t size, uint32_t *out_block,
                              fc_error_t *err) FC_MUST_CHECK;
// Does the same for bytes that worker processes of `audience` may be given: if `size`,
// or the size that the block grows to, is above FC_LIMIT_SHARED, all of the block lies
// in a file (fc_block_file), unless FC_LIMIT_SHARED_FILES are in use already, or none can
// be made and mapped. FC_AUDIENCE_NONE: no process is given the bytes.
fc_status_t fc_block_take_shared(fc_blocks_t *blocks, const fc_owner_t *owner,
                                 uint64_t audience, uint64_t now, uint64_t size,
                                 uint32_t *out_block,
                                 fc_error_t *err) FC_MUST_CHECK;
// Counts `now` bytes of *block, of which there will be `size` in the end. If *block is
// too small for `now`, a larger block takes its place, to which its first `used` bytes
// are copied. On failure *block stays as it is.
fc_status_t fc_block_grow(fc_blocks_t *blocks, const fc_owner_t *owner,
                          uint32_t *block, uint64_t used, uint64_t now,
                          uint64_t size, fc_error_t *err) FC_MUST_CHECK;
// Counts a block that is nobody's as the owner's. Fails as fc_block_take_for does.
fc_status_t fc_block_own(fc_blocks_t *blocks, const fc_owner_t *owner,
                         uint32_t block, fc_error_t *err) FC_MUST_CHECK;
// Tells whether the limits let the owner take `size` bytes now. Takes nothing.
fc_status_t fc_blocks_check(fc_blocks_t *blocks, const fc_owner_t *owner,
                            uint64_t size, fc_error_t *err) FC_MUST_CHECK;
// Gives a block back. FC_BLOCK_NONE is allowed.
void fc_block_give(fc_blocks_t *blocks, uint32_t block);
uint8_t *fc_block_data(const fc_blocks_t *blocks, uint32_t block);
// Bytes of the block. FC_BLOCK_TAIL bytes more may be read and written, but not of a lent
// one.
size_t fc_block_size(const fc_blocks_t *blocks, uint32_t block);
// Bytes of the block that count as in use.
uint64_t fc_block_counted(const fc_blocks_t *blocks, uint32_t block);

// ---------------------------------------------------------------------------
// Blocks in files, which worker processes may see. A process that was given a file
// may keep the file open. So a file has an audience, the processes that may ever be given
// it, and is used again for these alone: no process finds there what was not meant for
// its module. Files are kept with what lies in them, and mapped, because fresh pages cost
// more than all copies of what is written to them.

#define FC_AUDIENCE_NONE 0u

// Makes an audience: a number that no other has or will have.
uint64_t fc_blocks_audience(fc_blocks_t *blocks);
// Nothing is given to the audience any more: its files are not kept, and those in use
// are let go when they are given back.
void fc_blocks_disband(fc_blocks_t *blocks, uint64_t audience);
// The file (shared.h) that the block lies in, from the file's beginning on. The block
// owns the file. -1: the block lies in none.
int fc_block_file(const fc_blocks_t *blocks, uint32_t block);
// The file's number. No two files have the same.
uint64_t fc_block_serial(const fc_blocks_t *blocks, uint32_t block);
// Bytes of memory that the file is known to take: as last measured, or as counted since.
uint64_t fc_block_filled(const fc_blocks_t *blocks, uint32_t block);
// Takes a block for worker processes of `audience` to fill: a file of `size` bytes, of
// which none count and which the loop need not have mapped. When it is known how many
// bytes were filled, fc_block_adopt makes these readable and counts them, rounded up to a
// size class; if it fails, they do not count.
fc_status_t fc_block_lend(fc_blocks_t *blocks, uint64_t audience, uint64_t size,
                          uint32_t *out_block, fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_block_adopt(fc_blocks_t *blocks, uint32_t block, uint64_t size,
                           fc_error_t *err) FC_MUST_CHECK;
// Lets kept files go that were given back before `before_ns` (fc_clock_ns), those that a
// process has made too large meanwhile, and, while more is kept than the budget, others.
// True: some are kept. The files are measured without the lock.
bool fc_blocks_age(fc_blocks_t *blocks, uint64_t before_ns);

fc_blocks_usage_t fc_blocks_usage(fc_blocks_t *blocks);
// Releases kept blocks larger than `size`. Blocks in files stay.
void fc_blocks_trim(fc_blocks_t *blocks, size_t size);
// Large blocks that are not kept are released bit by bit, because the kernel takes
// milliseconds for a whole one: gives some `most` bytes back to the kernel. True: there is
// more. The loop's thread alone.
bool fc_blocks_release(fc_blocks_t *blocks, uint64_t most);
// The same for blocks in files. One thread alone, the nursery's.
bool fc_blocks_release_file(fc_blocks_t *blocks, uint64_t most);
bool fc_blocks_has_dying_files(const fc_blocks_t *blocks);
// Bytes of a body or an answer were copied.
void fc_blocks_note_copied(fc_blocks_t *blocks, uint64_t size);

// A piece of a block. In a slot this is the only way to name bytes outside of the slot.
typedef struct fc_piece_t {
  uint32_t block;
  uint32_t offset;
  uint64_t size;
} fc_piece_t;

// ---------------------------------------------------------------------------
// A sink that fills blocks, each at least four times as large as the one before, so that
// nothing written is ever copied and the largest answer is a dozen pieces.

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

// Starts with `block`, which the sink owns from now on, and leaves the first `reserve`
// bytes of it unwritten. All pieces together have at most `limit` bytes.
void fc_block_sink_init(fc_block_sink_t *out, fc_blocks_t *blocks,
                        uint32_t block, uint32_t reserve, uint64_t limit);
// Where an answer goes on that outgrows the first `first` bytes of its block: in the
// block that `take` gives, of at least the sink's limit; if `take` gives FC_BLOCK_NONE,
// in the block that the answer has.
typedef struct fc_block_more_t {
  uint64_t first;
  uint32_t (*take)(void *context);
  void *context;
} fc_block_more_t;
// Lets more->take choose the block in which the answer goes on after its first
// more->first bytes. For a sink that has just been initialised; without effect if the sink
// ends before that. `more` is borrowed.
void fc_block_sink_ask(fc_block_sink_t *out, const fc_block_more_t *more);
// Further blocks count as this owner's, and may be refused as by fc_block_take_for.
// `owner` is borrowed.
static inline void fc_block_sink_own(fc_block_sink_t *out,
                                     const fc_owner_t *owner) {
  out->owner = owner;
}
// Keeps the first `size` bytes of those that were written. The sink is finished then.
void fc_block_sink_cut(fc_block_sink_t *out, uint64_t size);
// Closes the last piece; the pieces can be read now. Returns all bytes written.
uint64_t fc_block_sink_finish(fc_block_sink_t *out);
// Gives every block back.
void fc_block_sink_drop(fc_block_sink_t *out);

#endif  // FARCALL_SERVER_POOL_BLOCK_H_
