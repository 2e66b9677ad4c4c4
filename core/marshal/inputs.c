// SPDX-License-Identifier: Apache-2.0
//
// Stores inputs, and writes the messages about wrong inputs that all protocols share.
#include "marshal/inputs.h"
#include "marshal/bytes.h"

// ---------------------------------------------------------------------------
// The places of values

static fc_status_t find_place(fc_frame_t *frame, const fc_leaf_way_t *way,
                              fc_value_t **out_place, fc_error_t *err) {
  fc_value_t *place = &frame->arguments[way->raw_index];
  for (uint32_t i = 0; i < way->step_count; i++) {
    if (place->kind != FC_VALUE_LIST) {
      void *items = NULL;
      FC_TRY(fc_frame_alloc(frame, way->sizes[i], sizeof *place, &items, err));
      *place = (fc_value_t){.kind = FC_VALUE_LIST,
                            .list = {.items = items, .count = way->sizes[i]}};
    }
    place = &place->list.items[way->steps[i]];
  }
  *out_place = place;
  return FC_OK;
}

// Places empty tuples and dicts, which clients do not send.
static fc_status_t place_constants(const fc_inputs_t *inputs, fc_error_t *err) {
  const fc_leaves_t *leaves = &inputs->model->arguments;
  for (uint32_t i = 0; i < leaves->count; i++) {
    const fc_leaf_t *leaf = &leaves->leaves[i];
    const fc_leaf_way_t *way = &leaves->ways[i];
    if ((leaf->kind != FC_TYPE_TUPLE && leaf->kind != FC_TYPE_DICT) ||
        way->raw_index < 0) {
      continue;
    }
    fc_value_t *place;
    FC_TRY(find_place(inputs->frame, way, &place, err));
    *place = (fc_value_t){.kind = FC_VALUE_LIST};
  }
  return FC_OK;
}

fc_status_t fc_inputs_begin(fc_inputs_t *inputs, fc_frame_t *frame,
                            fc_error_t *err) {
  void *given = NULL;
  inputs->frame = frame;
  if (!frame->plan) return fc_frame_fail_idle(err);
  if (!frame->arguments || !frame->named_dims) return fc_fail_memory(err);
  FC_TRY(fc_plan_model(frame->plan, &inputs->model, err));
  inputs->missing = inputs->model->input_count;
  FC_TRY(fc_frame_alloc(frame, inputs->missing + (size_t)1, 1, &given, err));
  inputs->given = given;
  return place_constants(inputs, err);
}

// ---------------------------------------------------------------------------
// One input

bool fc_inputs_is_one(const fc_model_tensor_t *tensor) {
  const fc_op_t *op = tensor->op;
  return op->kind == FC_TYPE_SCALAR || op->kind == FC_TYPE_BYTES ||
         (op->rank == 0 && op->kind != FC_TYPE_LIST);
}

void fc_inputs_open(const fc_model_tensor_t *tensor, const fc_str_t *members,
                    fc_op_t *op, fc_typed_t *typed) {
  *op = *tensor->op;
  op->kind = FC_TYPE_TENSOR;
  if (fc_inputs_is_one(tensor) || tensor->op->kind == FC_TYPE_LIST) {
    op->rank = FC_RANK_DYNAMIC;
    op->dims = NULL;
  }
  fc_typed_begin(typed, op, members);
}

// Checks that the shape is [1] or [], as the shape of a single value must be.
fc_status_t fc_inputs_check_one(const fc_inputs_t *inputs,
                                const fc_typed_t *typed, fc_error_t *err) {
  if (typed->rank == 0 || (typed->rank == 1 && typed->dims[0] == 1)) {
    return FC_OK;
  }
  fc_status_t status =
      fc_json_fail(&inputs->frame->reader, err, FC_CODE_SHAPE_MISMATCH,
                   "one value has the shape [] or [1]");
  fc_error_expected(err, "[] or [1]");
  return status;
}

fc_status_t fc_inputs_store(fc_inputs_t *inputs, uint32_t number,
                            fc_value_t value, fc_error_t *err) {
  const fc_model_tensor_t *tensor = &inputs->model->inputs[number];
  const fc_op_t *op = tensor->op;
  fc_value_t *place;
  FC_TRY(find_place(inputs->frame, tensor->way, &place, err));
  if (op->kind == FC_TYPE_SCALAR && value.kind == FC_VALUE_TENSOR) {
    const void *data = value.tensor.data;
    value = (fc_value_t){.kind = FC_VALUE_SCALAR, .dtype = op->dtype};
    memcpy(value.scalar.bytes, data, fc_dtype_size(op->dtype));
  } else if (value.kind == FC_VALUE_TENSOR && op->rank == 0) {
    value.tensor.rank = 0;
  }
  if (value.kind == FC_VALUE_TENSOR) {
    for (int32_t i = 0; i < op->rank; i++) {
      fc_frame_bind_dim(inputs->frame, op, i, value.tensor.shape[i]);
    }
  }
  *place = value;
  inputs->given[number] = 1;
  inputs->missing--;
  return FC_OK;
}

static fc_status_t take(fc_inputs_t *inputs, uint32_t number, fc_dtype_t dtype,
                        int32_t rank, const int64_t *dims, fc_str_t bytes,
                        fc_error_t *err) {
  static const fc_str_t kNone[FC_MEMBER_COUNT] = {{0}};
  const fc_model_tensor_t *tensor = &inputs->model->inputs[number];
  fc_value_t value = {0};
  fc_op_t op;
  fc_typed_t typed;
  fc_inputs_open(tensor, kNone, &op, &typed);
  if (tensor->op->kind == FC_TYPE_BYTES) {
    op.dtype = FC_DTYPE_UI8;
    size_t count;
    FC_TRY(fc_typed_state(inputs->frame, &typed, dtype, rank, dims, err));
    FC_TRY(fc_typed_measure(inputs->frame, &typed, bytes, &count, err));
    FC_TRY(fc_bytes_take(inputs->frame, tensor->op, bytes, &value, err));
  } else {
    FC_TRY(fc_typed_state(inputs->frame, &typed, dtype, rank, dims, err));
    if (fc_inputs_is_one(tensor)) {
      FC_TRY(fc_inputs_check_one(inputs, &typed, err));
    }
    FC_TRY(fc_typed_take(inputs->frame, &typed, bytes, &value, err));
  }
  return fc_inputs_store(inputs, number, value, err);
}

fc_status_t fc_inputs_take(fc_inputs_t *inputs, uint32_t number,
                           fc_dtype_t dtype, int32_t rank, const int64_t *dims,
                           fc_str_t bytes, fc_error_t *err) {
  const fc_status_t status =
      take(inputs, number, dtype, rank, dims, bytes, err);
  return fc_inputs_name(inputs, &inputs->model->inputs[number], status, err);
}

// ---------------------------------------------------------------------------
// Messages

fc_status_t fc_inputs_name(const fc_inputs_t *inputs,
                           const fc_model_tensor_t *tensor, fc_status_t status,
                           fc_error_t *err) {
  if (!err || status == FC_OK || !tensor) return status;
  const bool framing = err->code == FC_CODE_BINARY_FRAMING;
  if (!framing && !fc_code_is_argument(err->code)) return status;
  (void)fc_json_locate(&inputs->frame->reader, status, err);
  char name[80];
  fc_error_t named;
  fc_escape(name, sizeof name, 64, tensor->name);
  (void)fc_fail(&named, err->code, "input '%s': %s", name, err->message);
  memcpy(err->message, named.message, sizeof err->message);
  return status;
}

fc_status_t fc_inputs_unknown(const fc_inputs_t *inputs, const char *what,
                              fc_str_t name, const fc_model_tensor_t *tensors,
                              uint32_t count, fc_error_t *err) {
  char shown[80], hint[160] = "";
  fc_escape(shown, sizeof shown, 64, name);
  fc_str_t nearest = fc_model_nearest(tensors, count, name);
  if (nearest.size == 0 && count) nearest = tensors[0].name;
  fc_escape(hint, sizeof hint, 64, nearest);
  fc_status_t status =
      count ? fc_fail(err, FC_CODE_UNKNOWN_ARGUMENT,
                      "there is no %s '%s'; there is '%s'%s", what, shown, hint,
                      count > 1 ? " among others" : "")
            : fc_fail(err, FC_CODE_UNKNOWN_ARGUMENT,
                      "there is no %s '%s': the model has none", what, shown);
  fc_error_got(err, name);
  return fc_json_locate(&inputs->frame->reader, status, err);
}

fc_status_t fc_inputs_find(const fc_inputs_t *inputs, fc_str_t name,
                           uint32_t *out_number, fc_error_t *err) {
  const fc_model_t *model = inputs->model;
  const uint32_t number =
      fc_model_find(&model->arguments, model->input_of, name);
  if (number == UINT32_MAX) {
    return fc_inputs_unknown(inputs, "input", name, model->inputs,
                             model->input_count, err);
  }
  *out_number = number;
  return fc_inputs_check_once(inputs, number, name, err);
}

fc_status_t fc_inputs_check_once(const fc_inputs_t *inputs, uint32_t number,
                                 fc_str_t name, fc_error_t *err) {
  if (!inputs->given[number]) return FC_OK;
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  return fc_json_fail(&inputs->frame->reader, err, FC_CODE_DUPLICATE_ARGUMENT,
                      "input '%s': given twice", shown);
}

fc_status_t fc_inputs_check(const fc_inputs_t *inputs, fc_error_t *err) {
  const fc_model_t *model = inputs->model;
  if (!inputs->missing) return FC_OK;
  uint32_t first = 0;
  while (inputs->given[first]) first++;
  char name[80];
  fc_escape(name, sizeof name, 64, model->inputs[first].name);
  return fc_json_fail(&inputs->frame->reader, err, FC_CODE_MISSING_ARGUMENT,
                      "input '%s': missing; the model has %u inputs", name,
                      model->input_count);
}
