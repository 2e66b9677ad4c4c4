// SPDX-License-Identifier: Apache-2.0
//
// A region: what the loop and its workers share. Slots, blocks, the two queues, and what
// the indices in a slot stand for. Threads share one fc_region_t with the loop. A worker
// process has one of its own, without slots and queues (its slots are in its ring,
// ring.h), whose blocks lie in shared memory. Also what a worker does with a slot
// (fc_worker_run).
#ifndef FARCALL_SERVER_POOL_REGION_H_
#define FARCALL_SERVER_POOL_REGION_H_

#include "farcall/farcall.h"
#include "marshal/keeper.h"
#include "pool/meter.h"
#include "pool/queue.h"

// The worker's half of a dialect: bytes and the call's parameters in, bytes
// out. It sees no connection. `function` is the one that was called. An answer may
// be a document with raw bytes behind it: then encode says how many bytes the
// document has, in *out_document, which is 0 before.
struct fc_turn_t;

typedef struct fc_dialect_worker_t {
  fc_status_t (*decode)(fc_frame_t *frame, fc_str_t body,
                        const uint8_t *parameters, fc_error_t *err);
  fc_status_t (*encode)(fc_frame_t *frame, const fc_function_t *function,
                        const uint8_t *parameters, fc_sink_t *sink,
                        uint64_t *out_document, fc_error_t *err);
  // For a call that failed: writes the name that the client gave its request to
  // `out`, and returns the name's size, 0 if there is none or it is too long.
  // NULL: requests of this dialect have no names.
  size_t (*name)(fc_str_t body, const uint8_t *parameters,
                 char out[FC_OUTCOME_NAME]);
  // Before encode: are the results text, which is worth compressing? An answer with
  // raw bytes must say no. NULL: they are.
  bool (*is_text)(const fc_frame_t *frame, const uint8_t *parameters);
  // Makes a turn of a call that answers in parts (turn.h), instead of both. NULL: no call
  // of this dialect does.
  fc_status_t (*turn)(struct fc_turn_t *turn, fc_error_t *err);
} fc_dialect_worker_t;

// Which calls have their tensors end at an unmapped page (fc_frame_set_guard).
typedef enum fc_guard_policy_t {
  FC_GUARD_AUTO,  // of functions that trust the caller's dims, in a process
  FC_GUARD_ON,
  FC_GUARD_OFF
} fc_guard_policy_t;

// A generation of a module, as workers see it: each worker has an instance of its own,
// made when the worker first needs one. While calls run, each worker uses its own
// place in `instances` only; fc_region_remove uses all, when no call can run any more.
typedef struct fc_served_t {
  fc_module_t *module;  // held
  uint32_t tiles;  // most threads for one call; 0: as many as the region has
  uint32_t count;
  void *instances[];  // by worker
} fc_served_t;

#define FC_SERVED_CHUNK 256
#define FC_SERVED_CHUNKS 1024

typedef struct fc_region_t {
  fc_allocator_t allocator;
  fc_blocks_t *blocks;
  fc_slot_t *slots;
  uint32_t slot_count;
  fc_ready_t ready;
  fc_done_t done;
  // Wakes the loop; any thread.
  void (*wake)(void *context);
  void *wake_context;
  // By generation, in chunks that never move, because workers look up some
  // while the loop adds and removes others. A worker sees what was added before
  // its slot was handed over.
  fc_served_t **served[FC_SERVED_CHUNKS];
  // Set before the first call and not changed after.
  uint32_t worker_count;
  bool is_process;
  const fc_dialect_worker_t *const *dialects;  // by the index in a slot
  fc_limits_t limits;
  fc_guard_policy_t guard;
  // Where a large answer goes on; NULL: in further blocks.
  const fc_block_more_t *more;
  // Is the body of the call that runs still as the loop has it? NULL: the loop has the
  // same memory.
  bool (*is_body_as_sent)(void *context);
  void *body_context;
  const fc_tiles_t *tiles;  // NULL: calls keep to their worker's thread
  uint32_t spin_ns;         // time a thread looks for calls before it sleeps
} fc_region_t;

// The caller then sets `blocks` and `dialects`, which are borrowed, and what else differs
// from zero.
fc_status_t fc_region_init(fc_region_t *region, fc_allocator_t allocator,
                           uint32_t slot_count, fc_error_t *err) FC_MUST_CHECK;
// No worker may be left. A zeroed region is allowed.
void fc_region_deinit(fc_region_t *region);
// From now on slots may name generation `index`. worker_count must be set
// before. The module is held until the generation is removed.
// FC_CODE_OUT_OF_MEMORY, also when the index is not below FC_SERVED_CHUNK *
// FC_SERVED_CHUNKS.
fc_status_t fc_region_add(fc_region_t *region, uint32_t index,
                          fc_module_t *module, uint32_t tiles,
                          fc_error_t *err) FC_MUST_CHECK;
// No slot names the generation any more: its instances are destroyed. One that
// was never added is allowed.
void fc_region_remove(fc_region_t *region, uint32_t index);
const fc_module_t *fc_region_module(const fc_region_t *region, uint32_t index);
// Do the tensors of a call of `function` end at an unmapped page?
bool fc_region_wants_guard(const fc_region_t *region,
                           const fc_function_t *function);

// What one worker has for itself. Used by one thread.
typedef struct fc_worker_t {
  fc_region_t *region;
  uint32_t index;  // below the region's worker_count, of this worker alone
  fc_frame_t *frame;
  fc_meter_t meter;  // of the memory of `frame` and `copied`
  // A copy of the body of this call: of one that came compressed, and of one that may
  // be made again.
  fc_text_t copied;
  fc_str_t body;           // of this call, as the dialect reads it
  fc_block_sink_t answer;  // of this call: clearing one on the stack costs time
  const fc_slot_t *slot;   // of this call, while the answer is written
  // The end of this call's answer, in the body, where a result lies; size 0: none.
  fc_piece_t kept;
  fc_piece_t carry;  // of this turn; block FC_BLOCK_NONE: there is none
  fc_keeper_t keeper;
  fc_spin_t spin;
  fc_tiles_t tiles;       // of this call
  fc_profile_t *profile;  // of the last call that had one; NULL: none had
  uint32_t budget_ns;  // of the next call, which is an attempt; 0: it has none
  fc_budget_t budget;  // of this call
} fc_worker_t;

fc_status_t fc_worker_init(fc_worker_t *worker, fc_region_t *region,
                           uint32_t index, fc_error_t *err) FC_MUST_CHECK;
void fc_worker_deinit(fc_worker_t *worker);
// Makes the worker's instance before the first call, so that a failure counts as a
// failure to load the module. A module of which no function can be called gets no
// instance.
fc_status_t fc_worker_prepare(fc_worker_t *worker, uint32_t generation,
                              fc_error_t *err);
// DECODE, CALL and ENCODE of one slot, or fc_worker_prepare (FC_CALL_PREPARE). Sets the
// slot's outcome. If worker->budget.over is set then, an attempt took too long: only the
// times of the outcome count, the body is as it was, and the call may be made again.
void fc_worker_run(fc_worker_t *worker, fc_slot_t *slot);
// Ends the call of a slot that cannot be run, with the error that its outcome has
// already.
void fc_worker_refuse(fc_slot_t *slot);
// For turn.c. Begins the call of a slot on the worker's frame: finds the instance, and
// reads the body unless that is a carry.
fc_status_t fc_worker_begin(fc_worker_t *worker, fc_slot_t *slot,
                            const fc_function_t *function, void **out_instance,
                            fc_error_t *err) FC_MUST_CHECK;
// Opens worker->answer.
fc_status_t fc_worker_open_answer(fc_worker_t *worker, const fc_slot_t *slot,
                                  fc_error_t *err) FC_MUST_CHECK;
// Puts the answer into the outcome. If the answer ends in the body, the body's block is
// the answer's from now on.
void fc_worker_close_answer(fc_worker_t *worker, fc_slot_t *slot);
// Runs slots until the region's ready queue is stopped and empty.
void fc_worker_main(fc_worker_t *worker);

// ---------------------------------------------------------------------------
// The thread host: workers in threads of this process.

typedef struct fc_threads_t {
  fc_region_t *region;
  struct fc_thread_t *threads;
  uint32_t wanted;    // how many threads should take calls
  uint32_t count;     // threads started
  uint32_t capacity;  // `count` never exceeds it
  // Threads in a native call whose deadline has passed, or in loading a module for too
  // long: they cannot be stopped, and nobody waits for them.
  uint32_t lost;
} fc_threads_t;

// Starts `count` threads. Later fc_threads_lose starts up to `spare` more.
fc_status_t fc_threads_start(fc_threads_t *threads, fc_region_t *region,
                             uint32_t count, uint32_t spare,
                             fc_error_t *err) FC_MUST_CHECK;
// Notes that a thread is lost. Starts another in its place, if fewer than `wanted` are
// left and `count` is below `capacity`.
void fc_threads_lose(fc_threads_t *threads);
// A lost thread has come back.
void fc_threads_find(fc_threads_t *threads);
// Stops the ready queue and waits for every worker to return.
void fc_threads_stop(fc_threads_t *threads);

#endif  // FARCALL_SERVER_POOL_REGION_H_
