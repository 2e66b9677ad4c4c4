// SPDX-License-Identifier: Apache-2.0
//
// Uses the steps of marshal/iteration.h; the turn's carry is the iteration's carry.
#include "dialect/iterate.h"

#include "marshal/iteration.h"

static fc_status_t grow(fc_carry_t *carry, size_t capacity, fc_error_t *err) {
  fc_turn_t *turn = carry->context;
  turn->carry_size = carry->size;
  FC_TRY(fc_turn_grow(turn, capacity, err));
  carry->data = turn->carry;
  carry->capacity = turn->carry_capacity;
  return FC_OK;
}

typedef struct pause_t {
  fc_turn_t *turn;
  uint64_t next;  // the store's next place before the turn
} pause_t;

// A turn ends after a step that took places in the session's slab, because the session
// then has all places that it may have, as after a call.
static bool is_over(void *context, uint64_t steps) {
  const pause_t *pause = context;
  const fc_turn_t *turn = pause->turn;
  atomic_store_explicit(turn->steps, steps, memory_order_relaxed);
  return fc_turn_is_over(turn) ||
         (turn->store && turn->store->desk->next != pause->next);
}

fc_status_t fc_iterate_turn(fc_turn_t *turn, uint64_t times_max,
                            fc_error_t *err) {
  fc_carry_t carry = {.data = turn->carry,
                      .size = turn->carry_size,
                      .capacity = turn->carry_capacity,
                      .grow = grow,
                      .context = turn};
  const fc_function_t *function = turn->function;
  pause_t pause = {turn, turn->store ? turn->store->desk->next : 0};
  const fc_iteration_t iteration = {
      .plan = function->plan,
      .backend = fc_module_get_backend(function->module),
      .instance = turn->instance,
      .index = function->index,
      .store = turn->store,
      .cancel = turn->cancel,
      .deadline_ns = turn->deadline_ns,
      .pause = is_over,
      .context = &pause,
      .before = turn->form->before,
      .last = turn->form->last,
      .after = turn->form->after};
  if (turn->body.data) {
    FC_TRY(fc_iteration_begin(turn->frame, turn->body, times_max, &carry, err));
  }
  fc_iterated_t out;
  *turn->stage = FC_STAGE_CALL;
  FC_TRY(
      fc_iteration_run(&iteration, turn->frame, &carry, turn->sink, &out, err));
  turn->carry_size = carry.size;
  turn->more = out.end == FC_ITERATION_MORE;
  fc_turn_cut(turn, out.written);
  return FC_OK;
}
