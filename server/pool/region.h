// SPDX-License-Identifier: Apache-2.0
//
// A region: what the loop and its workers share. Slots, blocks, the two queues, and what
// the indices in a slot stand for. Threads share one fc_region_t with the loop. A worker
// process has one of its own, without slots and queues (its slots are in its ring,
// ring.h), whose blocks lie in shared memory.
#ifndef FARCALL_SERVER_POOL_REGION_H_
#define FARCALL_SERVER_POOL_REGION_H_

#include "config/choice.h"
#include "farcall/farcall.h"
#include "pool/claim.h"
#include "pool/block.h"
#include "pool/queue.h"

struct fc_turn_t;

// The worker's half of a dialect: bytes and the call's parameters in, bytes out. It sees
// no connection. `function` is the one that was called. An answer may be a document with
// raw bytes behind it. Then encode says how many bytes the document has: *out_document,
// which is 0 before.
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
  // Its calls run no function (order.h): decode reads the value of a PUT.
  bool orders;
  // Makes a turn of a call that answers in parts (turn.h), instead of both. NULL: no call
  // of this dialect does.
  fc_status_t (*turn)(struct fc_turn_t *turn, fc_error_t *err);
} fc_dialect_worker_t;

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
  bool fresh;  // of a process: it makes one call, of which each step is one
  const fc_dialect_worker_t *const *dialects;  // by the index in a slot
  fc_limits_t limits;
  fc_guard_policy_t guard;
  // Where a large answer goes on; NULL: in further blocks.
  const fc_block_more_t *more;
  // Is the body of the call that runs still as the loop has it? NULL: the loop has the
  // same memory.
  bool (*is_body_as_sent)(void *context);
  void *body_context;
  // Where the desk of a call with FC_CALL_SESSION lies.
  void (*find_desk)(void *context, const fc_slot_t *slot, fc_desk_t *out_desk);
  void *desk_context;
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
static inline fc_served_t *fc_region_find(const fc_region_t *region,
                                          uint32_t index) {
  return region->served[index / FC_SERVED_CHUNK][index % FC_SERVED_CHUNK];
}
// A worker has ended the call of a slot, which is the loop's from now on.
void fc_region_hand_over(fc_region_t *region, const fc_slot_t *slot);
const fc_module_t *fc_region_module(const fc_region_t *region, uint32_t index);
// Do the tensors of a call of `function` end at an unmapped page?
bool fc_region_wants_guard(const fc_region_t *region,
                           const fc_function_t *function);

#endif  // FARCALL_SERVER_POOL_REGION_H_
