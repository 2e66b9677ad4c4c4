// SPDX-License-Identifier: Apache-2.0
//
// A function gets the store's own memory, so its writes stay there and nothing is
// copied. A result is copied once, at the end, when nothing can fail any more. Compiled
// code may assume that no two arguments share memory. So a value that may be written is
// given to only one argument.
#include "marshal/stored.h"

#include <stdio.h>

#include "abi/state.h"
#include "marshal/encoder.h"
#include "marshal/kept_list.h"
#include "marshal/read.h"
#include "marshal/stored_value.h"

enum { FC_STORED_READ = 1, FC_STORED_WRITTEN = 2 };

static fc_status_t stored_of(fc_frame_t *frame, fc_stored_t **out_stored,
                             fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  if (!frame->stored) {
    void *memory = NULL, *rows = NULL, *keeps = NULL;
    FC_TRY(fc_frame_alloc(frame, 1, sizeof(fc_stored_t), &memory, err));
    FC_TRY(fc_frame_alloc(
        frame, plan->signature->raw_argument_count + (size_t)1, 1, &rows, err));
    // The document may keep each output, each state is kept, and add_finals keeps final
    // contents once more, although they are outputs.
    const uint32_t capacity =
        plan->output_count + plan->state_count + plan->final_count + 1;
    FC_TRY(
        fc_frame_alloc(frame, capacity, sizeof(fc_stored_keep_t), &keeps, err));
    frame->stored = memory;
    frame->stored->keep_capacity = capacity;
    frame->stored->row_of = rows;
    frame->stored->keeps = keeps;
  }
  *out_stored = frame->stored;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// References

// The input of which `op` is a part. NULL for an element of a list of any types, which
// is part of no input.
static const fc_plan_param_t *input_of(const fc_plan_t *plan,
                                       const fc_op_t *op) {
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const fc_plan_param_t *input = &plan->inputs[i];
    if (op >= input->op && op < fc_op_next(input->op)) return input;
  }
  return NULL;
}

// Tells whether the function writes into the argument for certain, and whether it may.
static void find_writes(const fc_plan_t *plan, const fc_op_t *op,
                        bool *out_writes, bool *out_may_write) {
  const fc_plan_param_t *input = input_of(plan, op);
  *out_writes = false;
  *out_may_write = true;
  if (!input || plan->signature->root_tree) return;
  const fc_param_t *param = &plan->signature->arguments[input->number];
  *out_writes = param->role != FC_ROLE_IN;
  *out_may_write = *out_writes || !param->certain;
}

static fc_status_t unknown(fc_frame_t *frame, fc_str_t name, fc_error_t *err) {
  const fc_store_desk_t *desk = frame->store->desk;
  char shown[80], hint[120];
  fc_escape(shown, sizeof shown, 64, name);
  fc_nearest_t search = fc_nearest_begin(name);
  const char *nearest = NULL;
  for (uint32_t i = 0; i < desk->count; i++) {
    const fc_store_row_t *row = &desk->rows[i];
    if (fc_nearest_offer(&search, fc_store_name(row))) nearest = row->name;
  }
  if (nearest) snprintf(hint, sizeof hint, "; did you mean '%s'?", nearest);
  else snprintf(hint, sizeof hint, " among the %u", desk->count);
  const fc_status_t status =
      fc_json_fail(&frame->reader, err, FC_CODE_REFERENCE_UNKNOWN,
                   "there is no value '%s'%s", shown, hint);
  fc_error_got(err, name);
  return status;
}

// Calls in steps take what is given along as bytes, and each step keeps what it makes.
static fc_status_t refuse_steps(fc_frame_t *frame, fc_str_t name,
                                fc_error_t *err) {
  if (!frame->repeat) return FC_OK;
  return fc_json_fail(&frame->reader, err, FC_CODE_UNSUPPORTED_TYPE,
                      "value '%.*s' is an opaque reference: such a call cannot "
                      "be repeated",
                      FC_STR_ARG(name));
}

// Gives an opaque reference. It may be given to several arguments, as within the module.
static fc_status_t give_opaque(fc_frame_t *frame, const fc_op_t *op,
                               const fc_store_row_t *row, fc_value_t *dest,
                               fc_error_t *err) {
  FC_TRY(fc_stored_check(frame, op, row, err));
  FC_TRY(refuse_steps(frame, fc_store_name(row), err));
  *dest = (fc_value_t){.kind = FC_VALUE_NULL};
  if (!row->reference) return FC_OK;
  *dest = (fc_value_t){.kind = FC_VALUE_OPAQUE};
  return fc_store_dereference(frame->store, row, &dest->opaque, err);
}

// Gives a value of the store to the function. A scalar is a copy, so the function
// cannot write to it.
static fc_status_t give(fc_frame_t *frame, const fc_op_t *op,
                        fc_store_row_t *row, bool writes, bool may_write,
                        fc_value_t *dest, fc_error_t *err) {
  fc_store_t *store = frame->store;
  fc_stored_t *stored;
  void *data;
  const size_t at = (size_t)(row - store->desk->rows);
  const bool list = row->kind == FC_VALUE_LIST;
  if (row->kind == FC_VALUE_OPAQUE) {
    return give_opaque(frame, op, row, dest, err);
  }
  FC_TRY(stored_of(frame, &stored, err));
  if (!list) FC_TRY(fc_stored_check(frame, op, row, err));
  const bool lent = list || row->kind == FC_VALUE_TENSOR;
  if (lent && may_write && op->raw < 0 && frame->repeat) {
    return fc_json_fail(&frame->reader, err, FC_CODE_UNSUPPORTED_TYPE,
                        "value '%s' is a part of an argument that the function "
                        "may write into: such a call cannot be repeated",
                        row->name);
  }
  const uint8_t use =
      lent && writes ? FC_STORED_READ | FC_STORED_WRITTEN : FC_STORED_READ;
  if (lent && stored->used[at] && (stored->used[at] | use) != FC_STORED_READ) {
    return fc_json_fail(&frame->reader, err, FC_CODE_DUPLICATE_ARGUMENT,
                        "value '%s' is given twice, and the function writes "
                        "into it",
                        row->name);
  }
  FC_TRY(lent && may_write ? fc_store_own(store, row, &frame->stop, &data, err)
                           : fc_store_map(store, row, &data, err));
  if (lent) stored->used[at] |= use;
  if (lent && op->raw >= 0) stored->row_of[op->raw] = (uint8_t)(at + 1);
  return list ? fc_kept_list_read(frame, op, row, data, dest, err)
              : fc_stored_set(frame, op, row, data, dest, err);
}

// Gives the function the value of this name. FC_CODE_REFERENCE_UNKNOWN;
// FC_CODE_TYPE_MISMATCH names both types; FC_CODE_DUPLICATE_ARGUMENT when the value is
// given twice and the function may write into it.
static fc_status_t give_named(fc_frame_t *frame, const fc_op_t *op,
                              fc_str_t name, fc_value_t *dest,
                              fc_error_t *err) {
  bool writes, may_write;
  fc_store_row_t *row = fc_store_find(frame->store->desk, name);
  if (!row) return unknown(frame, name, err);
  if (!dest) {
    return fc_stored_mismatch(frame, row,
                              "the argument is passed as its parts, of which "
                              "each may be a value",
                              err);
  }
  find_writes(frame->plan, op, &writes, &may_write);
  return give(frame, op, row, writes, may_write, dest, err);
}

// ---------------------------------------------------------------------------
// Steps

bool fc_stored_next_loan(const fc_frame_t *frame, uint32_t *raw,
                         fc_stored_loan_t *out_loan) {
  const uint32_t count = frame->plan->signature->raw_argument_count;
  if (!frame->stored) return false;
  while (*raw < count && !frame->stored->row_of[*raw]) ++*raw;
  if (*raw >= count) return false;
  *out_loan = (fc_stored_loan_t){*raw, frame->stored->row_of[*raw] - 1u};
  ++*raw;
  return true;
}

void fc_stored_end_loan(fc_frame_t *frame, uint32_t raw) {
  if (frame->stored) frame->stored->row_of[raw] = 0;
}

fc_status_t fc_stored_lend(fc_frame_t *frame, const fc_stored_loan_t *loan,
                           fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  fc_store_desk_t *desk = frame->store->desk;
  bool writes, may_write;
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const fc_op_t *end = fc_op_next(plan->inputs[i].op);
    for (const fc_op_t *op = plan->inputs[i].op; op < end; op++) {
      if (op->raw != (int32_t)loan->raw || loan->row >= desk->count) continue;
      find_writes(plan, op, &writes, &may_write);
      return give(frame, op, &desk->rows[loan->row], writes, may_write,
                  &frame->arguments[loan->raw], err);
    }
  }
  return fc_fail(err, FC_CODE_INTERNAL, "there is no argument %u or value %u",
                 loan->raw, loan->row);
}

// ---------------------------------------------------------------------------
// Options

static fc_status_t needs_store(fc_frame_t *frame, const char *option,
                               fc_error_t *err) {
  if (frame->store) return FC_OK;
  return fc_json_fail(&frame->reader, err, FC_CODE_REFERENCE_UNKNOWN,
                      "option '%s' is about values of a session, and the call "
                      "belongs to none",
                      option);
}

// Reads the number of an output from the key that was just read.
static fc_status_t read_output(fc_frame_t *frame, uint32_t *out_number,
                               fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  fc_str_t key;
  FC_TRY(fc_read_text(frame, &key, err));
  uint32_t number = 0;
  bool valid = key.size > 0 && key.size < 6;
  for (size_t i = 0; i < key.size && valid; i++) {
    valid = key.data[i] >= '0' && key.data[i] <= '9';
    number = 10 * number + (uint32_t)(key.data[i] - '0');
  }
  if (valid && number < plan->output_count) {
    *out_number = number;
    return FC_OK;
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, key);
  return fc_json_fail(&frame->reader, err, FC_CODE_JSON_SCHEMA,
                      "option 'keep': '%s' is none of the %u results", shown,
                      plan->output_count);
}

static bool can_be_kept(const fc_op_t *op) {
  return op->raw >= 0 && op->kind != FC_TYPE_REFARRAY &&
         op->kind != FC_TYPE_NULL;
}

// Adds a result to those that are kept. Two under one name are refused, since the
// second would replace the first.
static fc_status_t add_keep(fc_frame_t *frame, const fc_op_t *op,
                            uint32_t number, fc_str_t name, fc_error_t *err) {
  fc_stored_t *stored;
  FC_TRY(stored_of(frame, &stored, err));
  for (uint32_t i = 0; i < stored->keep_count; i++) {
    const fc_stored_keep_t *other = &stored->keeps[i];
    const bool named = fc_str_equal(fc_store_name(&other->row), name);
    if (!named && (number == UINT32_MAX || other->number != number)) continue;
    return fc_json_fail(&frame->reader, err, FC_CODE_DUPLICATE_KEY,
                        named ? "value '%.*s' is kept twice"
                              : "the result of '%.*s' is kept twice",
                        FC_STR_ARG(name));
  }
  FC_ASSERT(stored->keep_count < stored->keep_capacity);
  fc_stored_keep_t *keep = &stored->keeps[stored->keep_count++];
  *keep = (fc_stored_keep_t){.op = op, .number = number};
  memcpy(keep->row.name, name.data, name.size);
  keep->row.name_size = (uint8_t)name.size;
  return FC_OK;
}

static fc_status_t add_output(fc_frame_t *frame, uint32_t number, fc_str_t name,
                              fc_error_t *err) {
  const fc_op_t *op = frame->plan->outputs[number].op;
  if (!fc_state_name_is_valid(name)) {
    return fc_json_fail(&frame->reader, err, FC_CODE_JSON_SCHEMA,
                        "a value is named by letters, digits, '_', and '-' or "
                        "'.' behind the first, at most %d",
                        FC_STORE_NAME_MAX);
  }
  if (!can_be_kept(op)) {
    return fc_json_fail(&frame->reader, err, FC_CODE_UNSUPPORTED_TYPE,
                        "result %u cannot be kept: it is an array of "
                        "references or null, or returned as its parts",
                        number);
  }
  if (op->kind == FC_TYPE_OPAQUE) FC_TRY(refuse_steps(frame, name, err));
  return add_keep(frame, op, number, name, err);
}

fc_status_t fc_stored_read_keep(fc_frame_t *frame, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(needs_store(frame, "keep", err));
  FC_TRY(fc_json_expect(&frame->reader, FC_JSON_OBJECT_BEGIN,
                        FC_CODE_JSON_SCHEMA, err));
  for (;;) {
    uint32_t number = 0;
    fc_str_t name;
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_OBJECT_END) return FC_OK;
    FC_TRY(read_output(frame, &number, err));
    FC_TRY(fc_read_name(frame, &name, err));
    FC_TRY(add_output(frame, number, name, err));
  }
}

fc_status_t fc_stored_read_absent(fc_frame_t *frame, fc_error_t *err) {
  fc_json_token_t token;
  fc_stored_t *stored;
  FC_TRY(needs_store(frame, "if_absent", err));
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  if (token != FC_JSON_TRUE && token != FC_JSON_FALSE) {
    return fc_json_mismatch(&frame->reader, FC_CODE_JSON_SCHEMA, token,
                            "true or false", err);
  }
  FC_TRY(stored_of(frame, &stored, err));
  stored->if_absent = token == FC_JSON_TRUE;
  return FC_OK;
}

// FC_CODE_PRECONDITION_FAILED when a name that must be absent is in use.
static fc_status_t check_absent(fc_frame_t *frame, fc_error_t *err) {
  const fc_stored_t *stored = frame->stored;
  if (!stored->if_absent) return FC_OK;
  for (uint32_t i = 0; i < stored->keep_count; i++) {
    const fc_str_t name = fc_store_name(&stored->keeps[i].row);
    if (stored->keeps[i].number == UINT32_MAX) continue;  // of a state
    if (!fc_store_find(frame->store->desk, name)) continue;
    return fc_fail(err, FC_CODE_PRECONDITION_FAILED,
                   "there is a value '%.*s' already", FC_STR_ARG(name));
  }
  return FC_OK;
}

fc_status_t fc_stored_keep(fc_frame_t *frame, uint32_t output, fc_str_t name,
                           bool if_absent, fc_error_t *err) {
  FC_TRY(add_output(frame, output, name, err));
  frame->stored->if_absent = if_absent;
  return check_absent(frame, err);
}

// ---------------------------------------------------------------------------
// State

// Finds the value of a state, or makes it of zeros. *out_row is NULL for an opaque
// reference that is not there yet: the argument stays null.
static fc_status_t find_state(fc_frame_t *frame, const fc_plan_state_t *state,
                              fc_store_row_t **out_row, fc_error_t *err) {
  fc_store_t *store = frame->store;
  *out_row = fc_store_find(store->desk, state->name);
  if (*out_row) return FC_OK;
  if (state->param.op->kind == FC_TYPE_OPAQUE) {
    return refuse_steps(frame, state->name, err);
  }
  const fc_value_t zeros = fc_plan_zeros(state);
  fc_store_row_t row;
  void *data;
  FC_TRY(fc_store_describe(state->name, &zeros, &row, err));
  FC_TRY(fc_store_place(store, &row, &data, err));
  FC_TRY(fc_store_put(store, &row, err));
  *out_row = fc_store_find(store->desk, state->name);
  return FC_OK;
}

static fc_status_t place_state(fc_frame_t *frame, const fc_plan_state_t *state,
                               fc_error_t *err) {
  fc_store_row_t *row;
  fc_value_t *value = &frame->arguments[state->param.op->raw];
  fc_status_t status = find_state(frame, state, &row, err);
  if (status == FC_OK && row) {
    status = give(frame, state->param.op, row, true, true, value, err);
  }
  if (status == FC_OK && state->result) {
    status = add_keep(frame, state->result, UINT32_MAX, state->name, err);
  }
  if (status != FC_OK && err && fc_code_is_argument(err->code)) {
    fc_plan_name_argument(&state->param, err);
  }
  return status;
}

// Places the arguments that are state. Called when all other arguments are there.
static fc_status_t place_states(fc_frame_t *frame, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  for (uint32_t i = 0; i < plan->state_count; i++) {
    FC_TRY(place_state(frame, &plan->states[i], err));
  }
  return frame->stored ? check_absent(frame, err) : FC_OK;
}

// ---------------------------------------------------------------------------
// After the call

// Finds the bytes of a result and sets the type of its row.
static fc_status_t describe(fc_encoder_t *encoder, fc_stored_keep_t *keep,
                            fc_str_t *out_bytes, fc_error_t *err) {
  fc_frame_t *frame = encoder->frame;
  const fc_value_t *value = &frame->results[keep->op->raw];
  fc_value_t typed = {.kind = value->kind, .dtype = keep->op->dtype};
  const fc_str_t name = fc_store_name(&keep->row);
  fc_store_row_t row;
  size_t count, size;
  encoder->number = keep->number;
  if (value->kind == FC_VALUE_LIST) {
    typed = (fc_value_t){.kind = FC_VALUE_BYTES};
    uint64_t bytes;
    FC_TRY(fc_kept_list_measure(frame, value, keep->op, &bytes, err));
    typed.bytes.size = (size_t)bytes;
  } else if (value->kind == FC_VALUE_BYTES) {
    typed.bytes = value->bytes;
    *out_bytes = value->bytes;
  } else if (value->kind == FC_VALUE_SCALAR || value->kind == FC_VALUE_TENSOR) {
    fc_tensor_t tensor;
    fc_op_t op = *keep->op;
    if (op.kind == FC_TYPE_UNKNOWN) op.rank = FC_RANK_DYNAMIC;
    if (op.kind == FC_TYPE_UNKNOWN && value->kind == FC_VALUE_SCALAR) {
      op.kind = FC_TYPE_SCALAR;
      op.dtype = (uint8_t)value->dtype;
    }
    FC_TRY(fc_encoder_tensor(encoder, &op, value, &tensor, &count, &size, err));
    typed.dtype = tensor.dtype;
    if (typed.kind == FC_VALUE_TENSOR) typed.tensor = tensor;
    *out_bytes = fc_str_make(tensor.data, size);
  }
  FC_TRY(fc_store_describe(name, &typed, &row, err));
  row.kind = (uint8_t)value->kind;
  keep->row = row;
  return FC_OK;
}

// Copies elements that lie in the store, because another kept result may be written
// over them.
static fc_status_t put_aside(fc_frame_t *frame, fc_str_t *bytes,
                             fc_error_t *err) {
  uint8_t *copy = fc_arena_alloc(&frame->tensors, bytes->size, 64);
  if (!copy) return fc_fail_memory(err);
  FC_TRY(fc_frame_copy(frame, copy, bytes->data, bytes->size, err));
  frame->store->copied += bytes->size;
  bytes->data = (const char *)copy;
  return FC_OK;
}

static bool same_type(const fc_store_row_t *a, const fc_store_row_t *b) {
  return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank &&
         a->size == b->size && !memcmp(a->dims, b->dims, sizeof a->dims);
}

// Is the result an opaque reference, or a null one in its place?
static bool is_opaque(const fc_op_t *op, const fc_value_t *value) {
  return value->kind == FC_VALUE_OPAQUE ||
         (value->kind == FC_VALUE_NULL && op->kind == FC_TYPE_OPAQUE);
}

static fc_status_t stage_opaque(fc_frame_t *frame, fc_stored_keep_t *keep,
                                const fc_value_t *value, fc_error_t *err) {
  const bool null = value->kind == FC_VALUE_NULL;
  const fc_value_t typed = {
      .kind = FC_VALUE_OPAQUE,
      .opaque = {.type = null ? keep->op->text : value->opaque.type}};
  fc_store_row_t row;
  FC_TRY(fc_store_describe(fc_store_name(&keep->row), &typed, &row, err));
  FC_TRY(fc_store_refer(frame->store, &row, null ? NULL : &value->opaque, err));
  keep->row = row;
  return FC_OK;
}

static fc_status_t stage(fc_encoder_t *encoder, fc_stored_keep_t *keep,
                         fc_error_t *err) {
  fc_frame_t *frame = encoder->frame;
  fc_store_t *store = frame->store;
  fc_str_t bytes = {0};
  const fc_value_t *result = &frame->results[keep->op->raw];
  if (is_opaque(keep->op, result)) {
    return stage_opaque(frame, keep, result, err);
  }
  FC_TRY(describe(encoder, keep, &bytes, err));
  const fc_store_row_t *had =
      fc_store_find(store->desk, fc_store_name(&keep->row));
  const bool list = keep->row.kind == FC_VALUE_LIST;
  keep->in_place = had && !list && same_type(had, &keep->row) &&
                   !(had->flags & FC_STORE_SHARED);
  if (keep->in_place) {
    keep->row.offset = had->offset;
    FC_TRY(fc_store_map(store, had, &keep->to, err));
    if (keep->to == bytes.data) return FC_OK;
    if (fc_store_holds(store, bytes.data)) {
      FC_TRY(put_aside(frame, &bytes, err));
    }
    keep->from = bytes.data;
    return FC_OK;
  }
  FC_TRY(fc_store_place(store, &keep->row, &keep->to, err));
  store->copied += keep->row.size;
  if (list) {
    return fc_kept_list_write(frame, &frame->results[keep->op->raw], keep->op,
                              keep->to, err);
  }
  return bytes.size
             ? fc_frame_copy(frame, keep->to, bytes.data, bytes.size, err)
             : FC_OK;
}

// The final contents of an argument that was given by reference are in the store already,
// unless the function got a copy. Then they are kept under the name of the reference.
static fc_status_t add_finals(fc_frame_t *frame, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  const fc_signature_t *signature = plan->signature;
  uint32_t at = plan->output_count - plan->final_count;
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (!fc_role_is_answered(param->role)) continue;
    const fc_op_t *op = plan->outputs[at++].op;
    if (param->raw_index < 0) continue;
    const uint8_t row = frame->stored->row_of[param->raw_index];
    const fc_value_t *given = &frame->arguments[param->raw_index];
    const fc_value_t *final = &frame->results[op->raw];
    if (!row || final->kind != FC_VALUE_TENSOR ||
        final->tensor.data == given->tensor.data) {
      continue;
    }
    const fc_str_t name = fc_store_name(&frame->store->desk->rows[row - 1]);
    FC_TRY(add_keep(frame, op, UINT32_MAX, name, err));
  }
  return FC_OK;
}

// Checks how many rows the desk would have.
static fc_status_t check_rows(const fc_frame_t *frame, fc_error_t *err) {
  const fc_stored_t *stored = frame->stored;
  fc_store_desk_t *desk = frame->store->desk;
  uint32_t count = desk->count;
  for (uint32_t i = 0; i < stored->keep_count; i++) {
    count += !fc_store_find(desk, fc_store_name(&stored->keeps[i].row));
  }
  if (count <= FC_STORE_ROWS) return FC_OK;
  return fc_fail(err, FC_CODE_TOO_MANY_REQUESTS,
                 "%u values would be kept, the limit is %d", count,
                 FC_STORE_ROWS);
}

fc_status_t fc_stored_stage(fc_frame_t *frame, fc_error_t *err) {
  fc_encoder_t encoder = {.frame = frame,
                          .limited = {.limit = SIZE_MAX, .stop = &frame->stop}};
  fc_stored_t *stored = frame->stored;
  if (!stored) return FC_OK;
  FC_TRY(add_finals(frame, err));
  FC_TRY(check_rows(frame, err));
  for (uint32_t i = 0; i < stored->keep_count; i++) {
    FC_TRY(stage(&encoder, &stored->keeps[i], err));
  }
  return FC_OK;
}

void fc_stored_hold(fc_frame_t *frame) { frame->commits_later = true; }

void fc_stored_commit(fc_frame_t *frame) {
  fc_stored_t *stored = frame->stored;
  fc_store_t *store = frame->store;
  for (uint32_t i = 0; stored && i < stored->keep_count; i++) {
    const fc_stored_keep_t *keep = &stored->keeps[i];
    fc_store_row_t *row = fc_store_find(store->desk, fc_store_name(&keep->row));
    if (!keep->in_place) {
      FC_ASSERT(fc_store_put(store, &keep->row, NULL) == FC_OK);
      continue;
    }
    if (keep->from) {
      memcpy(keep->to, keep->from, keep->row.size);
      store->copied += keep->row.size;
    }
    row->change |= FC_STORE_WRITTEN;
  }
  if (stored) stored->keep_count = 0;
}

bool fc_stored_replaces(const fc_frame_t *frame, const void *memory) {
  const fc_stored_t *stored = frame->stored;
  fc_store_t *store = frame->store;
  void *data;
  for (uint32_t i = 0; stored && i < stored->keep_count; i++) {
    const fc_stored_keep_t *keep = &stored->keeps[i];
    const fc_store_row_t *row =
        fc_store_find(store->desk, fc_store_name(&keep->row));
    if (!row || (keep->in_place && !keep->from)) continue;
    if (fc_store_map(store, row, &data, NULL) == FC_OK &&
        (uintptr_t)memory - (uintptr_t)data < row->size) {
      return true;
    }
  }
  return false;
}

// The value of the store that is this output; NULL if there is none. Called
// between fc_stored_stage and fc_stored_commit.
static const fc_store_row_t *find_output(const fc_frame_t *frame,
                                         uint32_t output) {
  const fc_plan_t *plan = frame->plan;
  const fc_signature_t *signature = plan->signature;
  const fc_stored_t *stored = frame->stored;
  for (uint32_t i = 0; i < stored->keep_count; i++) {
    if (stored->keeps[i].number == output) return &stored->keeps[i].row;
  }
  uint32_t at = plan->output_count - plan->final_count;
  for (uint32_t i = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (!fc_role_is_answered(param->role) || at++ != output) continue;
    const uint8_t row =
        param->raw_index < 0 ? 0 : stored->row_of[param->raw_index];
    return row ? &frame->store->desk->rows[row - 1] : NULL;
  }
  return NULL;
}

// Sets the store, and an empty document, because errors tell the position of
// the reader even if there is no document.
void fc_frame_set_store(fc_frame_t *frame, fc_store_t *store) {
  static const fc_stored_ways_t ways = {
      give_named, place_states, fc_stored_stage, fc_stored_commit, find_output};
  frame->store = store;
  frame->ways = store ? &ways : NULL;
  if (store) fc_frame_read(frame, "", 0);
}
