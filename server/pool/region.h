// SPDX-License-Identifier: Apache-2.0
//
// A region is the data shared by the loop and its workers: slots, blocks, the two queues,
// and the objects that the indices in a slot name. Threads share one fc_region_t with the
// loop. A worker process has its own region, without slots and queues (its slots are in
// its ring, ring.h), and its blocks are in shared memory.
#ifndef FARCALL_SERVER_POOL_REGION_H_
#define FARCALL_SERVER_POOL_REGION_H_

#include "config/choice.h"
#include "farcall/farcall.h"
#include "pool/claim.h"
#include "pool/block.h"
#include "pool/queue.h"

struct fc_turn_t;

// The worker's half of a dialect: it gets bytes and the call's parameters, and writes
// bytes. It sees no connection. `function` is the called function. If an answer is a
// document with raw bytes after it, encode sets *out_document, which is 0 before, to the
// size of the document.
typedef struct fc_dialect_worker_t {
  fc_status_t (*decode)(fc_frame_t *frame, fc_str_t body,
                        const uint8_t *parameters, fc_error_t *err);
  fc_status_t (*encode)(fc_frame_t *frame, const fc_function_t *function,
                        const uint8_t *parameters, fc_sink_t *sink,
                        uint64_t *out_document, fc_error_t *err);
  // For a failed call: writes the client's name of the request to `out`, and returns its
  // size; 0 if there is none or it is too long. NULL: requests of this dialect have no
  // names.
  size_t (*name)(fc_str_t body, const uint8_t *parameters,
                 char out[FC_OUTCOME_NAME]);
  // Called before encode: are the results text, which is worth compressing? Must be false
  // for an answer with raw bytes. NULL: they are always text.
  bool (*is_text)(const fc_frame_t *frame, const uint8_t *parameters);
  // Calls of this dialect run no function (order.h): decode reads the value of a PUT.
  bool orders;
  // Makes a turn of a call that answers in parts (turn.h); replaces decode and encode.
  // NULL: no call of this dialect answers in parts.
  fc_status_t (*turn)(struct fc_turn_t *turn, fc_error_t *err);
} fc_dialect_worker_t;

// A generation of a module, as workers see it. Each worker has its own instance, made
// when the worker first needs one. While calls run, each worker uses only its own element
// of `instances`; fc_region_remove uses all, when no call can run any more.
typedef struct fc_served_t {
  fc_module_t *module;  // held
  // The most threads for one call; 0: as many as the region has.
  uint32_t tiles;
  fc_references_t references;  // kept by sessions
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
  // By generation, in chunks that never move, because workers look up some while the loop
  // adds and removes others. A worker sees everything that was added before its slot was
  // handed over.
  fc_served_t **served[FC_SERVED_CHUNKS];
  // Set before the first call and not changed afterwards.
  uint32_t worker_count;
  bool is_process;
  bool fresh;  // of a process: it makes one call, or one step of a call
  const fc_dialect_worker_t *const *dialects;  // by the index in a slot
  fc_limits_t limits;
  fc_guard_policy_t guard;
  // Where a large answer continues; NULL: in further blocks.
  const fc_block_more_t *more;
  // Is the body of the running call unchanged? NULL: the loop uses the same memory.
  bool (*is_body_as_sent)(void *context);
  void *body_context;
  // Finds the desk of a call with FC_CALL_SESSION.
  void (*find_desk)(void *context, const fc_slot_t *slot, fc_desk_t *out_desk);
  void *desk_context;
  const fc_tiles_t *tiles;  // NULL: calls run only on their worker's thread
  uint32_t spin_ns;  // how long a thread polls for calls before it sleeps
} fc_region_t;

// Afterwards the caller sets `blocks` and `dialects`, which are borrowed, and all other
// members that are not zero.
fc_status_t fc_region_init(fc_region_t *region, fc_allocator_t allocator,
                           uint32_t slot_count, fc_error_t *err) FC_MUST_CHECK;
// All workers must have ended. Accepts a zeroed region.
void fc_region_deinit(fc_region_t *region);
// From now on slots may name generation `index`. worker_count must be set before. The
// module is held until the generation is removed. FC_CODE_OUT_OF_MEMORY, also if the
// index is not below FC_SERVED_CHUNK * FC_SERVED_CHUNKS.
fc_status_t fc_region_add(fc_region_t *region, uint32_t index,
                          fc_module_t *module, uint32_t tiles,
                          fc_error_t *err) FC_MUST_CHECK;
// Removes a generation that no slot names any more, and destroys its instances. May be
// called for one that was never added.
void fc_region_remove(fc_region_t *region, uint32_t index);
static inline fc_served_t *fc_region_find(const fc_region_t *region,
                                          uint32_t index) {
  return region->served[index / FC_SERVED_CHUNK][index % FC_SERVED_CHUNK];
}
static inline fc_references_t *fc_region_references(const fc_region_t *region,
                                                    uint32_t index) {
  return &fc_region_find(region, index)->references;
}
// Frees the references of a generation that have gone. Returns FC_OK. Any worker.
fc_status_t fc_region_free(fc_region_t *region, uint32_t index);
// Both hand the slot of an ended call from a worker back to the loop. fc_region_push_done
// does not wake the loop. True: the caller must call `wake`, and soon, because until then
// no other worker does.
bool fc_region_push_done(fc_region_t *region, const fc_slot_t *slot);
void fc_region_hand_over(fc_region_t *region, const fc_slot_t *slot);
const fc_module_t *fc_region_module(const fc_region_t *region, uint32_t index);
// Must the tensors of a call of `function` end at an unmapped page?
bool fc_region_wants_guard(const fc_region_t *region,
                           const fc_function_t *function);

#endif  // FARCALL_SERVER_POOL_REGION_H_
