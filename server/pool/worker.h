// SPDX-License-Identifier: Apache-2.0
//
// A worker decodes, calls and encodes, in a thread or in its own process. It works in a
// region (region.h).
#ifndef FARCALL_SERVER_POOL_WORKER_H_
#define FARCALL_SERVER_POOL_WORKER_H_

#include "marshal/keeper.h"
#include "pool/meter.h"
#include "pool/region.h"

// The data of one worker. Used by one thread.
typedef struct fc_worker_t {
  fc_region_t *region;
  uint32_t index;  // below the region's worker_count; no other worker has it
  fc_frame_t *frame;
  fc_meter_t meter;  // counts the memory of `frame` and `copied`
  // A copy of this call's body, if the body came compressed or the call may be made
  // again.
  fc_text_t copied;
  fc_str_t body;           // of this call, as the dialect reads it
  fc_block_sink_t answer;  // of this call: clearing one on the stack costs time
  const fc_slot_t *slot;   // of this call, while the answer is written
  // The end of this call's answer, which is a result inside the body; size 0: none.
  fc_piece_t kept;
  fc_piece_t carry;  // of this turn; block FC_BLOCK_NONE: there is none
  fc_keeper_t keeper;
  fc_spin_t spin;
  fc_tiles_t tiles;       // of this call
  fc_profile_t *profile;  // of the last profiled call; NULL: there was none
  uint32_t budget_ns;     // of the next call, which is an attempt; 0: no budget
  fc_budget_t budget;     // of this call
  fc_store_t *store;      // for calls of sessions; NULL: there was none yet
  uint64_t slab;          // serial of the slab that the worker has open
  uint64_t proofs_ns;     // processor time that is left for proofs of rows
  struct fc_seats_t *seats;  // together.c; NULL: there was no batch yet
} fc_worker_t;

fc_status_t fc_worker_init(fc_worker_t *worker, fc_region_t *region,
                           uint32_t index, fc_error_t *err) FC_MUST_CHECK;
void fc_worker_deinit(fc_worker_t *worker);
// Makes the worker's instance before the first call, so that a failure counts as a
// failure to load the module. A module in which no function can be called gets no
// instance.
fc_status_t fc_worker_prepare(fc_worker_t *worker, uint32_t generation,
                              fc_error_t *err);
// DECODE, CALL and ENCODE of one slot, or fc_worker_prepare (FC_CALL_PREPARE). Sets the
// slot's outcome. If worker->budget.over is set afterwards, an attempt took too long:
// only the times of the outcome count, the body is unchanged, and the call may be made
// again.
void fc_worker_run(fc_worker_t *worker, fc_slot_t *slot);
// Ends the call of a slot that cannot be run, with the error that is already in its
// outcome.
void fc_worker_refuse(fc_slot_t *slot);
// ---------------------------------------------------------------------------
// For turn.c and together.c: the stages of a call

// Begins the call of a slot on the worker's frame: finds the instance, and reads the body
// unless the body is a carry.
fc_status_t fc_worker_begin(fc_worker_t *worker, fc_slot_t *slot,
                            const fc_function_t *function, void **out_instance,
                            fc_error_t *err) FC_MUST_CHECK;
// Opens worker->answer.
fc_status_t fc_worker_open_answer(fc_worker_t *worker, const fc_slot_t *slot,
                                  fc_error_t *err) FC_MUST_CHECK;
// Puts the answer into the outcome. If the answer ends in the body, the answer owns the
// body's block from now on.
void fc_worker_close_answer(fc_worker_t *worker, fc_slot_t *slot);
// Gives the worker's instance, which is made at the first request.
fc_status_t fc_worker_instance(fc_worker_t *worker, uint32_t generation,
                               void **out_instance,
                               fc_error_t *err) FC_MUST_CHECK;
// Begins the outcome of a call that the worker takes from a slot.
void fc_worker_begin_outcome(fc_worker_t *worker, fc_slot_t *slot);
// Begins the call. Fails if the loop has taken the call back, nobody waits for it any
// more, or its deadline has passed.
fc_status_t fc_worker_check_wanted(fc_slot_t *slot,
                                   fc_error_t *err) FC_MUST_CHECK;
// Begins worker->frame for the call of the slot, and ends its previous use.
void fc_worker_begin_frame(fc_worker_t *worker, const fc_slot_t *slot,
                           const fc_function_t *function);
// DECODE, CALL and ENCODE on worker->frame. *last_ns is the end of the previous stage,
// and becomes the end of this one.
fc_status_t fc_worker_decode(fc_worker_t *worker, fc_slot_t *slot,
                             const fc_function_t *function, uint64_t *last_ns,
                             fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_worker_call(fc_worker_t *worker, fc_slot_t *slot,
                           const fc_function_t *function, uint64_t deadline_ns,
                           uint64_t *last_ns, fc_error_t *err) FC_MUST_CHECK;
fc_status_t fc_worker_encode(fc_worker_t *worker, fc_slot_t *slot,
                             const fc_function_t *function, uint64_t *last_ns,
                             fc_error_t *err) FC_MUST_CHECK;
// Ends the call with `status`: completes the outcome, and releases frame and body.
void fc_worker_end(fc_worker_t *worker, fc_slot_t *slot, fc_status_t status);

// ---------------------------------------------------------------------------
// The thread

// Runs slots until the region's ready queue is stopped and empty.
void fc_worker_main(fc_worker_t *worker);

#endif  // FARCALL_SERVER_POOL_WORKER_H_
