// SPDX-License-Identifier: Apache-2.0
//
// Makes a turn on its worker. The carry is in the place of the body: for a thread, in the
// body's block, which it may use directly; in a process, in the slot's area for bodies.
#include "pool/turn.h"

#include "config/limits.h"
#include "pool/worker.h"

#define FC_PART_FORM(name, offer, type, subtype, before, last, after, error) \
  _Static_assert(sizeof(after) - 1 <= FC_PART_AFTER_MAX,                     \
                 "part.c: add_timing has room");
#include "pool/part_form.def"
#undef FC_PART_FORM

const fc_part_row_t fc_part_rows[FC_PART_FORM_COUNT] = {
#define FC_PART_FORM(name, offer, type, subtype, before, last, after, error) \
  [FC_PART_FORM_##name] = {                                                  \
      FC_STR(type),    FC_STR(subtype),      FC_STR(type "/" subtype),       \
      FC_STR(before),  FC_STR(last),         FC_STR(after),                  \
      FC_PART_##offer, FC_PART_ERROR_##error},
#include "pool/part_form.def"
#undef FC_PART_FORM
};

static uint64_t aligned(uint64_t size) {
  return (size + FC_BLOCK_ALIGN - 1) / FC_BLOCK_ALIGN * FC_BLOCK_ALIGN;
}

// For a process: places the carry after the body, if the body is in the slot's area for
// bodies.
static void begin_in_area(fc_turn_t *turn) {
  fc_worker_t *worker = turn->worker;
  const fc_slot_t *slot = turn->slot;
  const fc_piece_t *body = &slot->call.body;
  const uint32_t block = slot->carry_block;
  const uint64_t at = body->block == block
                          ? aligned(body->offset + body->size + FC_BLOCK_TAIL)
                          : 0;
  const uint64_t room = fc_block_size(worker->region->blocks, block);
  if (at >= room) return;
  worker->carry = (fc_piece_t){.block = block, .offset = (uint32_t)at};
  turn->carry = fc_block_data(worker->region->blocks, block) + at;
  turn->carry_capacity = (size_t)(room - at);
}

static bool grow_in_blocks(fc_turn_t *turn, size_t capacity) {
  fc_worker_t *worker = turn->worker;
  fc_blocks_t *blocks = worker->region->blocks;
  uint32_t block;
  if (fc_block_take(blocks, capacity, &block, NULL) != FC_OK) return false;
  uint8_t *data = fc_block_data(blocks, block);
  if (turn->carry_size) memcpy(data, turn->carry, turn->carry_size);
  if (worker->carry.block != turn->slot->call.body.block) {
    fc_block_give(blocks, worker->carry.block);
  }
  worker->carry = (fc_piece_t){.block = block};
  turn->carry = data;
  turn->carry_capacity = fc_block_size(blocks, block);
  return true;
}

fc_status_t fc_turn_grow(fc_turn_t *turn, size_t capacity, fc_error_t *err) {
  if (capacity <= turn->carry_capacity) return FC_OK;
  if (turn->slot->carry_block == FC_BLOCK_NONE) {
    return grow_in_blocks(turn, capacity) ? FC_OK : fc_fail_memory(err);
  }
  if (!turn->carry) begin_in_area(turn);
  if (capacity <= turn->carry_capacity) return FC_OK;
  return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                 "the steps keep %zu bytes, %zu are left of --max-body beside "
                 "the document",
                 capacity, turn->carry_capacity);
}

void fc_turn_cut(fc_turn_t *turn, uint64_t size) {
  fc_block_sink_cut(&turn->worker->answer, size);
}

// Takes the state that the previous turn has left.
static void take_carry(fc_turn_t *turn) {
  const fc_worker_t *worker = turn->worker;
  const fc_piece_t *body = &turn->slot->call.body;
  fc_blocks_t *blocks = worker->region->blocks;
  turn->carry = fc_block_data(blocks, body->block) + body->offset;
  turn->carry_size = (size_t)body->size;
  turn->carry_capacity =
      fc_block_size(blocks, body->block) - (size_t)body->offset;
}

static fc_status_t make(fc_turn_t *turn, fc_error_t *err) {
  fc_worker_t *worker = turn->worker;
  fc_slot_t *slot = turn->slot;
  const fc_dialect_worker_t *dialect =
      worker->region->dialects[slot->call.dialect];
  fc_block_sink_t *out = &worker->answer;
  FC_TRY(fc_worker_open_answer(worker, slot, err));
  turn->sink = &out->sink;
  fc_status_t status = dialect->turn(turn, err);
  if (status == FC_OK && turn->more && !turn->carry_size) {
    status = fc_fail(err, FC_CODE_INTERNAL, "a turn has left nothing");
  }
  if (status == FC_OK) fc_worker_close_answer(worker, slot);
  else fc_block_sink_drop(out);
  return status;
}

// Returns how long the turn goes on. The first turn makes one step, because a client
// waits for its part and the time of a step is not known; after a slow step, turns also
// make one step. A process receives the carry and sends it back, so a large carry gets
// longer turns, of which the copies take a small share. Half of the time until the
// deadline is reserved for a step that begins last.
static uint64_t time_of(const fc_turn_t *turn, uint64_t began_ns) {
  const fc_region_t *region = turn->worker->region;
  if (region->fresh || turn->body.data || turn->slot->call.singles) return 0;
  uint64_t time_ns = FC_LIMIT_TURN_NS;
  if (region->is_process) time_ns += turn->carry_size;
  const uint64_t left_ns = turn->deadline_ns - began_ns;
  return turn->deadline_ns && left_ns / 2 < time_ns ? left_ns / 2 : time_ns;
}

fc_status_t fc_turn_run(fc_worker_t *worker, fc_slot_t *slot,
                        const fc_function_t *function, fc_error_t *err) {
  fc_turn_t turn = {
      .frame = worker->frame,
      .function = function,
      .parameters = slot->call.parameters,
      .form = &fc_part_rows[slot->call.parts],
      .cancel = &slot->cancel,
      .deadline_ns = slot->call.deadline_ns,
      .steps = &slot->steps,
      .store = slot->call.flags & FC_CALL_SESSION ? worker->store : NULL,
      .stage = &slot->outcome.stage,
      .worker = worker,
      .slot = slot};
  slot->outcome.stage = FC_STAGE_DECODE;
  slot->outcome.document = 0;
  FC_TRY(fc_worker_begin(worker, slot, function, &turn.instance, err));
  if (slot->call.flags & FC_CALL_LATER) {
    worker->carry = slot->call.body;
    take_carry(&turn);
  } else {
    turn.body = worker->body;
  }
  turn.end_ns = slot->outcome.began_ns + time_of(&turn, slot->outcome.began_ns);
  const fc_status_t status = make(&turn, err);
  slot->outcome.spent_ns[FC_STAGE_CALL] =
      fc_clock_ns() - slot->outcome.began_ns;
  slot->outcome.more = status == FC_OK && turn.more;
  worker->carry.size = turn.carry_size;
  return status;
}

void fc_turn_leave(fc_worker_t *worker, fc_slot_t *slot) {
  fc_blocks_t *blocks = worker->region->blocks;
  const uint32_t left =
      slot->outcome.more ? slot->call.body.block : worker->carry.block;
  if (worker->carry.block != slot->call.body.block) fc_block_give(blocks, left);
  if (slot->outcome.more) slot->call.body = worker->carry;
}

// After a slow step the next may be slow too, and must not delay finished lines. So turns
// have one step for a while. The first turn also reads the document, and has one step
// anyway.
void fc_turn_set_pace(fc_invocation_t *call, uint64_t spent_ns) {
  // A byte counts as a nanosecond, as in time_of.
  const uint64_t slow_ns = 2 * (FC_LIMIT_TURN_NS + call->body.size);
  if (call->steps > 1 && spent_ns > slow_ns) {
    call->singles = FC_LIMIT_TURN_SINGLES;
  } else if (call->singles) {
    call->singles--;
  }
}
