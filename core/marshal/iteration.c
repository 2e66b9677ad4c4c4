// SPDX-License-Identifier: Apache-2.0
//
// The loop of steps. What it needs from one run to the next lies in the carry: a state,
// then lists of feeds and of results to write, then words that say how to reach the
// leaves of trees.
#include "marshal/iteration.h"

#include "base/float_format.h"
#include "base/width.h"
#include "json/writer.h"
#include "marshal/encoder.h"
#include "marshal/repeat.h"
#include "marshal/stored.h"

typedef struct state_t {
  uint64_t times;
  uint64_t step;   // steps made
  uint32_t until;  // FC_REPEAT_NONE: there is no "until"
  uint32_t feed_count;
  uint32_t emit_count;
  uint32_t word_count;
  uint32_t loan_count;
  uint32_t keep_count;
  uint32_t int64_string;  // members of fc_options_t, as checkable numbers
  uint32_t results;
  uint8_t equals[16];
  // The error of a step that failed after earlier steps of the same run had succeeded.
  // FC_OK: there is none.
  fc_error_t error;
} state_t;

// A leaf of a result that becomes a leaf of an argument.
typedef struct feed_t {
  uint32_t result;    // of fc_plan_t.outputs
  uint32_t from;      // the leaf's number, counted from the output's first op
  uint32_t argument;  // of fc_plan_t.inputs
  uint32_t to;
  uint32_t node;  // node of the argument's leaf in the carry
  int32_t raw;
  uint32_t words;  // index of its steps, then its sizes (fc_leaf_way_t)
  uint32_t step_count;
} feed_t;

// A result of the last step that the store keeps.
typedef struct keep_t {
  uint32_t output;
  uint32_t name_size;
  char name[FC_STORE_NAME_MAX + 1];
} keep_t;

// Where the parts of a state lie in the carry.
typedef struct view_t {
  state_t *state;
  feed_t *feeds;
  fc_stored_loan_t *loans;
  keep_t *keeps;
  uint32_t *emit;
  uint32_t *words;
} view_t;

static view_t view_of(const fc_carry_t *carry) {
  view_t view = {.state = (state_t *)(void *)carry->own};
  view.feeds = (feed_t *)(void *)(view.state + 1);
  view.loans =
      (fc_stored_loan_t *)(void *)(view.feeds + view.state->feed_count);
  view.keeps = (keep_t *)(void *)(view.loans + view.state->loan_count);
  view.emit = (uint32_t *)(void *)(view.keeps + view.state->keep_count);
  view.words = view.emit + view.state->emit_count;
  return view;
}

static size_t size_of(const state_t *state) {
  return sizeof *state + state->feed_count * sizeof(feed_t) +
         state->loan_count * sizeof(fc_stored_loan_t) +
         state->keep_count * sizeof(keep_t) +
         ((size_t)state->emit_count + state->word_count) * sizeof(uint32_t);
}

// ---------------------------------------------------------------------------
// Beginning the steps

// The leaves of one argument, and those of the result that feeds it.
typedef struct pair_t {
  const fc_repeat_feed_t *feed;
  const fc_leaf_way_t *from;
  const fc_leaf_way_t *to;
  uint32_t count;
} pair_t;

static const fc_leaf_way_t *first_way(const fc_leaves_t *leaves,
                                      const fc_plan_param_t *param,
                                      uint32_t *out_count) {
  uint32_t first = 0, end;
  while (first < leaves->count && leaves->ways[first].param != param) first++;
  for (end = first; end < leaves->count && leaves->ways[end].param == param;) {
    end++;
  }
  *out_count = end - first;
  return &leaves->ways[first];
}

// True if the leaf has a value to feed: a null or an empty tuple has none.
static bool is_fed(const fc_leaf_way_t *from, const fc_leaf_way_t *to) {
  return from->raw_index >= 0 && to->raw_index >= 0 &&
         from->op->kind != FC_TYPE_NULL && from->op->kind != FC_TYPE_TUPLE &&
         from->op->kind != FC_TYPE_DICT;
}

// Pairs the leaves of the result and the argument of each feed. repeat.c has compared the
// two trees, so they have the same leaves.
static fc_status_t find_pairs(fc_frame_t *frame, const fc_repeat_t *repeat,
                              pair_t **out_pairs, fc_error_t *err) {
  fc_leaves_t arguments, results;
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, repeat->feed_count + (size_t)1, sizeof(pair_t),
                        &memory, err));
  pair_t *pairs = *out_pairs = memory;
  if (!repeat->feed_count) return FC_OK;
  FC_TRY(fc_leaves_of_arguments(frame->plan, &frame->arena, &arguments, err));
  FC_TRY(fc_leaves_of_results(frame->plan, &frame->arena, &results, err));
  for (uint32_t i = 0; i < repeat->feed_count; i++) {
    const fc_repeat_feed_t *feed = &repeat->feeds[i];
    uint32_t count;
    pairs[i].feed = feed;
    pairs[i].from = first_way(&results, &frame->plan->outputs[feed->result],
                              &pairs[i].count);
    pairs[i].to =
        first_way(&arguments, &frame->plan->inputs[feed->argument], &count);
    FC_ASSERT(count == pairs[i].count);
  }
  return FC_OK;
}

// Removes from the arguments what the carry need not hold: values of the store, and
// values that each step places anew. A value of the store that is fed stays, as a copy.
static void leave_out(fc_frame_t *frame, const fc_repeat_t *repeat,
                      const pair_t *pairs) {
  const fc_plan_t *plan = frame->plan;
  static const fc_value_t none = {.kind = FC_VALUE_NULL};
  for (uint32_t i = 0; i < plan->store_count; i++) {
    frame->arguments[plan->stores[i].op->raw] = none;
  }
  for (uint32_t i = 0; i < plan->state_count; i++) {
    const int32_t raw = plan->states[i].param.op->raw;
    frame->arguments[raw] = none;
    fc_stored_end_loan(frame, (uint32_t)raw);
  }
  for (uint32_t i = 0; i < repeat->feed_count; i++) {
    for (uint32_t k = 0; k < pairs[i].count; k++) {
      const int32_t raw = pairs[i].to[k].raw_index;
      if (raw >= 0) fc_stored_end_loan(frame, (uint32_t)raw);
    }
  }
  fc_stored_loan_t loan;
  for (uint32_t raw = 0; fc_stored_next_loan(frame, &raw, &loan);) {
    frame->arguments[loan.raw] = none;
  }
}

static void count_stored(const fc_frame_t *frame, state_t *state) {
  const fc_stored_t *stored = frame->stored;
  fc_stored_loan_t loan;
  for (uint32_t raw = 0; fc_stored_next_loan(frame, &raw, &loan);) {
    state->loan_count++;
  }
  for (uint32_t i = 0; stored && i < stored->keep_count; i++) {
    state->keep_count += stored->keeps[i].number != UINT32_MAX;
  }
}

static void put_stored(const fc_frame_t *frame, const view_t *view) {
  const fc_stored_t *stored = frame->stored;
  fc_stored_loan_t *loan = view->loans;
  keep_t *keep = view->keeps;
  for (uint32_t raw = 0; fc_stored_next_loan(frame, &raw, loan);) loan++;
  for (uint32_t i = 0; stored && i < stored->keep_count; i++) {
    const fc_stored_keep_t *from = &stored->keeps[i];
    if (from->number == UINT32_MAX) continue;
    *keep = (keep_t){from->number, from->row.name_size, ""};
    memcpy(keep->name, from->row.name, from->row.name_size);
    keep++;
  }
}

static state_t measure(const fc_frame_t *frame, const fc_repeat_t *repeat,
                       const pair_t *pairs) {
  state_t state = {.times = repeat->times,
                   .until = repeat->until,
                   .emit_count = repeat->emit_count,
                   .int64_string = frame->options.int64_string,
                   .results = frame->options.results};
  count_stored(frame, &state);
  memcpy(state.equals, repeat->equals, sizeof state.equals);
  for (uint32_t i = 0; i < repeat->feed_count; i++) {
    for (uint32_t k = 0; k < pairs[i].count; k++) {
      if (!is_fed(&pairs[i].from[k], &pairs[i].to[k])) continue;
      state.feed_count++;
      state.word_count += 2 * pairs[i].from[k].step_count;
    }
  }
  return state;
}

// Fills in a feed, and marks its argument in the carry as fed.
static void put_feed(fc_carry_t *carry, const fc_plan_t *plan,
                     const pair_t *pair, uint32_t leaf, feed_t *feed,
                     uint32_t *words, uint32_t *word_count) {
  const fc_leaf_way_t *from = &pair->from[leaf], *to = &pair->to[leaf];
  *feed = (feed_t){
      .result = pair->feed->result,
      .from = (uint32_t)(from->op - plan->outputs[pair->feed->result].op),
      .argument = pair->feed->argument,
      .to = (uint32_t)(to->op - plan->inputs[pair->feed->argument].op),
      .node = (uint32_t)to->raw_index,
      .raw = from->raw_index,
      .words = *word_count,
      .step_count = from->step_count};
  for (uint32_t i = 0; i < to->step_count; i++) {
    feed->node = (uint32_t)carry->places[feed->node].at + to->steps[i];
  }
  carry->places[feed->node].fed = true;
  const size_t size = from->step_count * sizeof *words;
  if (size) {
    memcpy(words + *word_count, from->steps, size);
    memcpy(words + *word_count + from->step_count, from->sizes, size);
  }
  *word_count += 2 * from->step_count;
}

static fc_status_t pack(fc_frame_t *frame, const fc_repeat_t *repeat,
                        fc_carry_t *carry, fc_error_t *err) {
  pair_t *pairs;
  const fc_plan_t *plan = frame->plan;
  FC_TRY(find_pairs(frame, repeat, &pairs, err));
  leave_out(frame, repeat, pairs);
  const state_t state = measure(frame, repeat, pairs);
  FC_TRY(fc_carry_pack(carry, frame, size_of(&state), err));
  *(state_t *)(void *)carry->own = state;
  const view_t view = view_of(carry);
  uint32_t feeds = 0, words = 0;
  for (uint32_t i = 0; i < repeat->feed_count; i++) {
    for (uint32_t k = 0; k < pairs[i].count; k++) {
      if (!is_fed(&pairs[i].from[k], &pairs[i].to[k])) continue;
      put_feed(carry, plan, &pairs[i], k, &view.feeds[feeds++], view.words,
               &words);
    }
  }
  for (uint32_t i = 0; i < repeat->emit_count; i++) {
    view.emit[i] = repeat->emit[i];
  }
  put_stored(frame, &view);
  return FC_OK;
}

fc_status_t fc_iteration_begin(fc_frame_t *frame, fc_str_t body,
                               uint64_t times_max, fc_carry_t *carry,
                               fc_error_t *err) {
  fc_repeat_t repeat = {.times_max = times_max};
  frame->repeat = &repeat;
  fc_status_t status = fc_frame_decode(frame, body, err);
  frame->repeat = NULL;
  if (status == FC_OK && !repeat.given) {
    status = fc_fail(err, FC_CODE_MISSING_KEY, "'repeat' is missing");
    fc_error_expected(err, "key 'repeat'");
    if (err) err->has_pointer = true;
  }
  return status == FC_OK ? pack(frame, &repeat, carry, err) : status;
}

// ---------------------------------------------------------------------------
// The state of a later run

static bool is_feed_sound(const view_t *view, const feed_t *feed,
                          const fc_carry_t *carry, const fc_plan_t *plan) {
  const uint32_t values = plan->signature->raw_result_count + plan->final_count;
  const uint32_t steps = feed->step_count, words = view->state->word_count;
  bool sound = feed->result < plan->output_count &&
               feed->from < plan->outputs[feed->result].op->span &&
               feed->argument < plan->input_count &&
               feed->to < plan->inputs[feed->argument].op->span &&
               feed->node < carry->count && feed->raw >= 0 &&
               (uint32_t)feed->raw < values && steps <= FC_TYPE_DEPTH_MAX &&
               feed->words <= words && 2 * steps <= words - feed->words;
  sound = sound && plan->outputs[feed->result].op[feed->from].kind ==
                       plan->inputs[feed->argument].op[feed->to].kind;
  for (uint32_t i = 0; sound && i < steps; i++) {
    const uint32_t *word = &view->words[feed->words + i];
    sound = word[0] < word[steps];
  }
  return sound;
}

static bool has_end(const char *text, size_t size) {
  return memchr(text, '\0', size) != NULL;
}

static bool is_error_sound(const fc_error_t *err) {
  uint8_t has_pointer;  // not bool: it may be neither 0 nor 1
  memcpy(&has_pointer, &err->has_pointer, sizeof has_pointer);
  return err->status == FC_OK ||
         (err->status <= FC_INCOMPATIBLE && err->code > FC_CODE_NONE &&
          err->code < FC_CODE_COUNT && err->message[0] && has_pointer <= 1 &&
          has_end(err->message, sizeof err->message) &&
          has_end(err->pointer, sizeof err->pointer) &&
          has_end(err->expected, sizeof err->expected) &&
          has_end(err->got, sizeof err->got));
}

static bool is_sound(const view_t *view, const fc_carry_t *carry,
                     const fc_plan_t *plan) {
  const state_t *state = view->state;
  bool sound = state->int64_string <= 1 && state->results <= FC_RESULTS_B64 &&
               is_error_sound(&state->error) &&
               (state->until == FC_REPEAT_NONE ||
                (state->until < plan->output_count &&
                 plan->outputs[state->until].op->raw >= 0));
  for (uint32_t i = 0; sound && i < state->emit_count; i++) {
    sound = view->emit[i] < plan->output_count;
  }
  for (uint32_t i = 0; sound && i < state->feed_count; i++) {
    sound = is_feed_sound(view, &view->feeds[i], carry, plan);
  }
  for (uint32_t i = 0; sound && i < state->keep_count; i++) {
    const keep_t *keep = &view->keeps[i];
    sound = keep->output < plan->output_count &&
            keep->name_size <= FC_STORE_NAME_MAX;
  }
  return sound;
}

static fc_status_t fail_damaged(fc_error_t *err) {
  return fc_fail(err, FC_CODE_INTERNAL,
                 "what the call keeps between its steps is damaged");
}

// Checks the carry, since a process that runs the module's code may have written to it.
static fc_status_t open_carry(fc_carry_t *carry, const fc_plan_t *plan,
                              fc_error_t *err) {
  FC_TRY(fc_carry_open(carry, plan, err));
  if (carry->own_size >= sizeof(state_t)) {
    const view_t view = view_of(carry);
    if (carry->own_size == size_of(view.state) &&
        is_sound(&view, carry, plan)) {
      return FC_OK;
    }
  }
  return fail_damaged(err);
}

// ---------------------------------------------------------------------------
// The lines that steps write

static fc_status_t put(fc_encoder_t *encoder, fc_str_t text, fc_error_t *err) {
  return fc_sink_put(encoder->sink, text, err);
}

static fc_status_t write_step(fc_encoder_t *encoder, const fc_iteration_t *it,
                              const view_t *view, fc_error_t *err) {
  FC_TRY(put(encoder, it->before, err));
  FC_TRY(put(encoder, FC_STR("{\"step\":"), err));
  FC_TRY(fc_json_write_u64(encoder->sink, view->state->step + 1, err));
  FC_TRY(put(encoder, FC_STR(",\"results\":["), err));
  for (uint32_t i = 0; i < view->state->emit_count; i++) {
    if (i) FC_TRY(put(encoder, FC_STR(","), err));
    FC_TRY(fc_encoder_output(encoder, view->emit[i], err));
  }
  FC_TRY(put(encoder, FC_STR("]}"), err));
  return put(encoder, it->after, err);
}

static fc_status_t write_done(fc_encoder_t *encoder, const fc_iteration_t *it,
                              const view_t *view, fc_iteration_end_t end,
                              fc_error_t *err) {
  FC_TRY(put(encoder, it->last, err));
  FC_TRY(put(encoder,
             end == FC_ITERATION_UNTIL
                 ? FC_STR("{\"done\":\"until\",\"steps\":")
                 : FC_STR("{\"done\":\"times\",\"steps\":"),
             err));
  FC_TRY(fc_json_write_u64(encoder->sink, view->state->step + 1, err));
  FC_TRY(put(encoder, FC_STR("}"), err));
  return put(encoder, it->after, err);
}

// ---------------------------------------------------------------------------
// "until"

// True when two elements are the same number: 0 equals -0, and any NaN equals any NaN.
static bool same_part(fc_dtype_t dtype, const uint8_t *a, const uint8_t *b) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  const fc_float_format_t *format = &fc_float_formats[dtype];
  if (!memcmp(a, b, info->size)) return true;
  if (!format->bias || info->size > 8) return false;
  const uint64_t x = fc_width_load(info, a), y = fc_width_load(info, b);
  if (fc_float_is_nan(format, x)) return fc_float_is_nan(format, y);
  return format->negative_zero && !((x | y) & ~format->sign);
}

static fc_status_t look(fc_encoder_t *encoder, const fc_iteration_t *it,
                        const state_t *state, bool *out_met, fc_error_t *err) {
  const fc_op_t *op = it->plan->outputs[state->until].op;
  const fc_value_t *value = &encoder->frame->results[op->raw];
  fc_tensor_t tensor;
  size_t count, size;
  encoder->number = it->plan->outputs[state->until].number;
  FC_TRY(fc_encoder_tensor(encoder, op, value, &tensor, &count, &size, err));
  if (count != 1) {
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                   "result %u has %zu elements, 'until' compares one",
                   state->until, count);
  }
  const fc_dtype_t part = fc_dtype_info(tensor.dtype)->part;
  const size_t each = fc_dtype_size(part);
  *out_met = true;
  for (size_t at = 0; at < size; at += each) {
    *out_met = *out_met && same_part(part, (const uint8_t *)tensor.data + at,
                                     state->equals + at);
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// "feed"

static fc_status_t cannot(const fc_encoder_t *encoder, const feed_t *feed,
                          fc_code_t code, const char *why, fc_error_t *err) {
  const fc_plan_t *plan = encoder->frame->plan;
  char owner[120];
  fc_plan_print_owner(plan, plan->inputs[feed->argument].op, owner,
                      sizeof owner);
  return fc_fail(err, code, "result %u cannot be %s: it has %s", feed->result,
                 owner, why);
}

// Checks what the types leave open: element type and dims. The names of dims are compared
// when the next step begins.
static fc_status_t check_tensor(const fc_encoder_t *encoder, const feed_t *feed,
                                const fc_op_t *to, const fc_tensor_t *tensor,
                                size_t count, fc_error_t *err) {
  if (!fc_repeat_dtype_feeds(tensor->dtype, to->dtype)) {
    return cannot(encoder, feed, FC_CODE_DTYPE_MISMATCH, "other elements", err);
  }
  bool fits = to->rank < 0 || to->rank == tensor->rank;
  for (int32_t i = 0; fits && i < to->rank; i++) {
    fits = to->dims[i] < 0 || to->dims[i] == tensor->shape[i];
  }
  if (!fits) {
    return cannot(encoder, feed, FC_CODE_SHAPE_MISMATCH, "other dims", err);
  }
  if (count <= fc_frame_element_limit(encoder->frame, tensor->dtype)) {
    return FC_OK;
  }
  return cannot(encoder, feed, FC_CODE_TENSOR_TOO_LARGE,
                "more elements than the limit", err);
}

// If *data lies in the carry, copies it to memory that does not move when the carry
// changes. *data becomes NULL if the bytes are already at the right place.
static fc_status_t move_out(fc_frame_t *frame, const fc_carry_t *carry,
                            const fc_carry_place_t *place, const void **data,
                            size_t size, fc_error_t *err) {
  if (!size || !fc_carry_has(carry, *data)) return FC_OK;
  if (*data == carry->data + place->at && size <= place->room) {
    *data = NULL;
    return FC_OK;
  }
  void *copy = fc_arena_alloc(&frame->tensors, size, 64);
  if (!copy) return fc_fail_memory(err);
  FC_TRY(fc_frame_copy(frame, copy, *data, size, err));
  *data = copy;
  return FC_OK;
}

static fc_status_t take_tensor(fc_encoder_t *encoder, const fc_carry_t *carry,
                               const feed_t *feed, const fc_op_t *from,
                               const fc_op_t *to, const fc_value_t *result,
                               fc_value_t *out_value, fc_error_t *err) {
  fc_tensor_t tensor;
  size_t count, size;
  FC_TRY(fc_encoder_tensor(encoder, from, result, &tensor, &count, &size, err));
  if (to->kind == FC_TYPE_SCALAR) {
    *out_value = (fc_value_t){.kind = FC_VALUE_SCALAR, .dtype = to->dtype};
    if (size) memcpy(out_value->scalar.bytes, tensor.data, size);
    return FC_OK;
  }
  FC_TRY(check_tensor(encoder, feed, to, &tensor, count, err));
  const size_t rank = (size_t)tensor.rank;
  void *shape = NULL;
  FC_TRY(fc_frame_alloc(encoder->frame, rank + 1, sizeof *tensor.shape, &shape,
                        err));
  if (rank) memcpy(shape, tensor.shape, rank * sizeof *tensor.shape);
  const void *data = tensor.data;
  FC_TRY(move_out(encoder->frame, carry, &carry->places[feed->node], &data,
                  size, err));
  tensor.shape = shape;
  tensor.data = (void *)(uintptr_t)data;
  if (to->dtype != FC_DTYPE_NONE) tensor.dtype = to->dtype;
  *out_value = (fc_value_t){.kind = FC_VALUE_TENSOR, .tensor = tensor};
  return FC_OK;
}

// Finds the value of a feed. The values are stored only after all were found, because
// storing one may overwrite another.
static fc_status_t take(fc_encoder_t *encoder, const fc_iteration_t *it,
                        const fc_carry_t *carry, const view_t *view,
                        const feed_t *feed, fc_value_t *out_value,
                        fc_error_t *err) {
  const fc_plan_param_t *output = &it->plan->outputs[feed->result];
  const fc_op_t *from = &output->op[feed->from];
  const fc_op_t *to = &it->plan->inputs[feed->argument].op[feed->to];
  const uint32_t *words = &view->words[feed->words];
  const fc_leaf_way_t way = {.param = output,
                             .op = from,
                             .raw_index = feed->raw,
                             .step_count = feed->step_count,
                             .steps = words,
                             .sizes = words + feed->step_count};
  const fc_value_t *result;
  FC_TRY(fc_encoder_find(encoder, &way, &result, err));
  if (from->kind != FC_TYPE_BYTES) {
    return take_tensor(encoder, carry, feed, from, to, result, out_value, err);
  }
  fc_str_t bytes;
  FC_TRY(fc_encoder_bytes(encoder, from, result, &bytes, err));
  const void *data = bytes.data;
  FC_TRY(move_out(encoder->frame, carry, &carry->places[feed->node], &data,
                  bytes.size, err));
  *out_value = (fc_value_t){.kind = FC_VALUE_BYTES,
                            .bytes = {.data = data, .size = bytes.size}};
  return FC_OK;
}

static fc_status_t feed_all(fc_encoder_t *encoder, const fc_iteration_t *it,
                            fc_carry_t *carry, view_t *view, fc_error_t *err) {
  const uint32_t count = view->state->feed_count;
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(encoder->frame, count + (size_t)1, sizeof(fc_value_t),
                        &memory, err));
  fc_value_t *values = memory;
  for (uint32_t i = 0; i < count; i++) {
    FC_TRY(take(encoder, it, carry, view, &view->feeds[i], &values[i], err));
  }
  for (uint32_t i = 0; i < count; i++) {
    FC_TRY(fc_carry_store(carry, view->feeds[i].node, &values[i], err));
    *view = view_of(carry);
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Steps

static fc_status_t lend(const fc_carry_t *carry, fc_frame_t *frame,
                        fc_error_t *err) {
  const view_t view = view_of(carry);
  for (uint32_t i = 0; i < view.state->loan_count; i++) {
    FC_TRY(fc_stored_lend(frame, &view.loans[i], err));
  }
  return FC_OK;
}

// Finds out, after the call of a step, whether it is the last step. If so, notes which of
// its results the store keeps.
static fc_status_t find_end(const fc_iteration_t *it, fc_frame_t *frame,
                            const view_t *view, fc_iteration_end_t *out_end,
                            fc_error_t *err) {
  const state_t *state = view->state;
  bool met = false;
  if (state->until != FC_REPEAT_NONE) {
    fc_encoder_t encoder = {.frame = frame};
    FC_TRY(look(&encoder, it, state, &met, err));
  }
  *out_end = met                              ? FC_ITERATION_UNTIL
             : state->step + 1 < state->times ? FC_ITERATION_MORE
                                              : FC_ITERATION_TIMES;
  if (*out_end == FC_ITERATION_MORE) return FC_OK;
  for (uint32_t i = 0; i < state->keep_count; i++) {
    const keep_t *keep = &view->keeps[i];
    FC_TRY(fc_stored_keep(frame, keep->output,
                          fc_str_make(keep->name, keep->name_size), false,
                          err));
  }
  return FC_OK;
}

// Completes a step after its call: writes its line, and then stores the next
// arguments or writes the last line.
static fc_status_t finish_step(fc_encoder_t *encoder, const fc_iteration_t *it,
                               fc_carry_t *carry, view_t *view,
                               fc_iteration_end_t end, fc_error_t *err) {
  FC_TRY(write_step(encoder, it, view, err));
  if (end != FC_ITERATION_MORE) {
    return write_done(encoder, it, view, end, err);
  }
  return feed_all(encoder, it, carry, view, err);
}

static fc_status_t make_step(const fc_iteration_t *it, fc_frame_t *frame,
                             fc_carry_t *carry, view_t *view, fc_sink_t *sink,
                             fc_iterated_t *out, fc_error_t *err) {
  fc_encoder_t encoder;
  fc_frame_begin(frame, it->plan, NULL);
  fc_frame_set_stop(frame, it->cancel, it->deadline_ns);
  frame->options = (fc_options_t){view->state->int64_string != 0,
                                  (fc_results_t)view->state->results};
  if (it->store) fc_frame_set_store(frame, it->store);
  FC_TRY(fc_carry_pass(carry, frame, err));
  FC_TRY(fc_frame_invoke(frame, it->backend, it->instance, it->index,
                         it->cancel, it->deadline_ns, err));
  FC_TRY(find_end(it, frame, view, &out->end, err));
  FC_TRY(fc_encoder_begin(&encoder, frame, sink, err));
  FC_TRY(fc_encoder_end(
      &encoder, finish_step(&encoder, it, carry, view, out->end, err), err));
  out->steps = ++view->state->step;
  out->written += fc_encoder_written(&encoder);
  return FC_OK;
}

// True when a step was stopped from outside and may have written half of a value.
static bool is_torn(const fc_iteration_t *it, const state_t *state,
                    fc_status_t status) {
  const bool writes = state->loan_count || state->keep_count ||
                      it->plan->state_count || it->plan->store_count;
  return it->store && writes &&
         (status == FC_DEADLINE_EXCEEDED || status == FC_CANCELLED);
}

// Puts "step 3: " before the message.
static void name_step(uint64_t step, fc_error_t *err) {
  fc_error_t named = {0};
  (void)fc_fail(&named, err->code, "step %llu: %s", (unsigned long long)step,
                err->message);
  memcpy(err->message, named.message, sizeof err->message);
}

fc_status_t fc_iteration_run(const fc_iteration_t *iteration, fc_frame_t *frame,
                             fc_carry_t *carry, fc_sink_t *sink,
                             fc_iterated_t *out, fc_error_t *err) {
  *out = (fc_iterated_t){0};
  FC_TRY(open_carry(carry, iteration->plan, err));
  view_t view = view_of(carry);
  fc_error_t failed = {0};
  fc_status_t status = FC_OK;
  out->steps = view.state->step;
  // The carry is not trusted: a module may have written to it.
  const bool stored = view.state->loan_count || view.state->keep_count;
  if (stored && !iteration->store) return fail_damaged(err);
  carry->lend = stored ? lend : NULL;
  if (view.state->error.status != FC_OK) {
    if (err) *err = view.state->error;
    return view.state->error.status;
  }
  do {
    status = make_step(iteration, frame, carry, &view, sink, out, &failed);
    fc_frame_end(frame);
  } while (
      status == FC_OK && out->end == FC_ITERATION_MORE &&
      !(iteration->pause && iteration->pause(iteration->context, out->steps)));
  if (status == FC_OK) return FC_OK;
  out->end = FC_ITERATION_MORE;
  name_step(out->steps + 1, &failed);
  if (!out->written || is_torn(iteration, view_of(carry).state, status)) {
    if (err) *err = failed;
    return status;
  }
  // Storing a value may have moved the block even if it failed, so the view is made
  // again.
  view_of(carry).state->error = failed;
  return FC_OK;
}
