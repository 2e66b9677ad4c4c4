// SPDX-License-Identifier: Apache-2.0
//
// A call that answers in parts is made in turns. Each turn is queued in its flow like a
// separate call, runs for about FC_LIMIT_TURN_NS on any worker, and hands the slot back
// with a part of the answer. The first turn, and turns after a slow step
// (FC_LIMIT_TURN_SINGLES), run for one step. The loop queues the next turn when the part
// was sent, so no worker waits for a reader. Between two turns only the carry exists: a
// block that replaces the call's body, and may have another address, or be in another
// process, in the next turn. A turn that has begun is never made again.
#ifndef FARCALL_SERVER_POOL_TURN_H_
#define FARCALL_SERVER_POOL_TURN_H_

#include "pool/region.h"

#define FC_PART_LAST_ID "end"  // the id of the event that ends an iteration

// The text around each part, chosen by the client's Accept.
typedef enum fc_part_form_t {
  FC_PART_FORM_NONE,  // the answer is not in parts
#define FC_PART_FORM(name, offer, type, subtype, before, last, after, error) \
  FC_PART_FORM_##name,
#include "pool/part_form.def"
#undef FC_PART_FORM
  FC_PART_FORM_COUNT,
  FC_PART_FORM_FIRST = FC_PART_FORM_NONE + 1
} fc_part_form_t;

// The most bytes after a part.
#define FC_PART_AFTER_MAX 7

typedef enum fc_part_offer_t {
  FC_PART_APART,
  FC_PART_OFFERED,
} fc_part_offer_t;

typedef enum fc_part_error_t {
  FC_PART_ERROR_CUT,
  FC_PART_ERROR_ENDS,
} fc_part_error_t;

typedef struct fc_part_row_t {
  fc_str_t type;
  fc_str_t subtype;
  fc_str_t text;  // both
  fc_str_t before;
  fc_str_t last;  // before the last part
  fc_str_t after;
  fc_part_offer_t offer;
  fc_part_error_t error;
} fc_part_row_t;

extern const fc_part_row_t fc_part_rows[FC_PART_FORM_COUNT];

// The arguments of a dialect's `turn`. It must not keep any pointer.
typedef struct fc_turn_t {
  fc_frame_t *frame;  // begun for `function`
  const fc_function_t *function;
  void *instance;  // of the function's module
  const uint8_t *parameters;
  const fc_part_row_t *form;
  const _Atomic uint32_t *cancel;
  uint64_t deadline_ns;  // of this turn; 0: none
  // When the turn should end; to be checked between two steps.
  uint64_t end_ns;
  // The document; only in the first turn, else its data is NULL.
  fc_str_t body;
  // The state that earlier turns have left, 64-byte aligned; all zero in the first turn.
  uint8_t *carry;
  size_t carry_size;      // set it to the number of bytes to keep
  size_t carry_capacity;  // changed only by fc_turn_grow
  fc_sink_t *sink;        // of the part
  // The number of steps done in all turns. It is updated at each step, so that the server
  // knows at which step a process has crashed.
  _Atomic uint64_t *steps;
  fc_store_t *store;  // of the call's session, NULL: none
  uint8_t *stage;  // fc_stage_t that was begun: DECODE; the function updates it
  // Set it if another turn must follow: then there is a carry, and at least one step was
  // made. If a step fails, results made before it are sent only if the failing step
  // begins the next turn.
  bool more;
  struct fc_worker_t *worker;
  struct fc_slot_t *slot;
} fc_turn_t;

// Enlarges the carry's capacity to at least `capacity` bytes, and keeps carry_size of
// them; the carry may move. FC_CODE_TENSOR_TOO_LARGE: in a process, the area for bodies
// has no room for them after the body. New bytes are not cleared.
fc_status_t fc_turn_grow(fc_turn_t *turn, size_t capacity, fc_error_t *err);

// Keeps the first `size` bytes of the part.
void fc_turn_cut(fc_turn_t *turn, uint64_t size);

// Is the time of the turn over?
static inline bool fc_turn_is_over(const fc_turn_t *turn) {
  return fc_clock_ns() >= turn->end_ns;
}

// ---------------------------------------------------------------------------
// For region.c

// DECODE, CALL and ENCODE of a turn. Sets outcome.more.
fc_status_t fc_turn_run(struct fc_worker_t *worker, struct fc_slot_t *slot,
                        const fc_function_t *function, fc_error_t *err);
// Call it after fc_frame_end: makes the carry the slot's body if outcome.more is set.
void fc_turn_leave(struct fc_worker_t *worker, struct fc_slot_t *slot);

// ---------------------------------------------------------------------------
// For the pool, on the loop's thread

// Sets how many steps the next turns have, after a turn that took `spent_ns`.
void fc_turn_set_pace(fc_invocation_t *call, uint64_t spent_ns);

#endif  // FARCALL_SERVER_POOL_TURN_H_
