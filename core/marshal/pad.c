// SPDX-License-Identifier: Apache-2.0
//
// Pads a call whose size is in no row of sizes: the function for the next larger size
// runs, on arguments with rows that the client did not send, and the client gets only its
// own rows of the results. Tensors have the dim with the sizes as their first one
// (abi/widen.c checks that), so added rows lie behind the client's. The frame's arguments
// stay as they are: the backend gets copies.
#include "abi/print.h"
#include "marshal/frame.h"
#include "value/gather.h"

typedef struct rows_t {
  int64_t dim;   // the code that the dim has in ops
  int64_t have;  // rows of the call
  int64_t want;  // rows of the function, more than `have`, which is not 0
  bool repeat;   // added rows are the last row again, else zeros
} rows_t;

static rows_t rows_of(const fc_frame_t *frame) {
  const fc_signature_t *signature = frame->plan->signature;
  const int64_t *row =
      signature->sizes + frame->row * (size_t)signature->dim_name_count;
  uint32_t name = 0;
  while (row[name] < 0) name++;  // a row has one size at least
  return (rows_t){
      .dim = -2 - (int64_t)name,
      .have = frame->named_dims[name].size,
      .want = row[name],
      .repeat = fc_str_equal(fc_signature_pad(signature), FC_STR("repeat"))};
}

static bool has_rows(const fc_op_t *op, const rows_t *rows) {
  return op->raw >= 0 && op->kind == FC_TYPE_TENSOR && op->rank > 0 &&
         op->dims[0] == rows->dim;
}

// Gives the tensor a copy of its shape that has `count` rows.
static fc_status_t set_rows(fc_frame_t *frame, fc_tensor_t *tensor,
                            int64_t count, fc_error_t *err) {
  int64_t *shape =
      fc_arena_alloc_array(&frame->arena, (size_t)tensor->rank, sizeof *shape);
  if (!shape) return fc_fail_memory(err);
  memcpy(shape, tensor->shape, (size_t)tensor->rank * sizeof *shape);
  shape[0] = count;
  tensor->shape = shape;
  return FC_OK;
}

// Copies the tensor to memory of its own, with the missing rows behind its rows.
static fc_status_t add_rows(fc_frame_t *frame, const rows_t *rows,
                            fc_tensor_t *tensor, fc_error_t *err) {
  const fc_tensor_t before = *tensor;
  size_t count, size, had;
  FC_ASSERT(before.shape[0] == rows->have);
  (void)fc_shape_count(before.shape, before.rank, before.dtype, &count, &had);
  FC_TRY(set_rows(frame, tensor, rows->want, err));
  if (!fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &size) ||
      count > fc_frame_element_limit(frame, tensor->dtype)) {
    return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                   "padded to %lld rows it is over the limit of %zu elements",
                   (long long)rows->want,
                   fc_frame_element_limit(frame, tensor->dtype));
  }
  uint8_t *data = fc_arena_alloc(&frame->tensors, size + !size, 64);
  if (!data) return fc_fail_memory(err);
  const size_t row = had / (size_t)rows->have;
  FC_TRY(fc_gather(&before, data, &frame->stop, err));
  if (!rows->repeat) memset(data + had, 0, size - had);
  for (size_t at = had; rows->repeat && at < size; at += row) {
    memcpy(data + at, data + had - row, row);
  }
  tensor->strides = NULL;
  tensor->data = data;
  return FC_OK;
}

fc_status_t fc_frame_pad(fc_frame_t *frame, fc_value_t **out_arguments,
                         fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  const rows_t rows = rows_of(frame);
  const size_t count = plan->signature->raw_argument_count;
  fc_value_t *arguments =
      fc_arena_alloc_array(&frame->arena, count + 1, sizeof *arguments);
  if (!arguments) return fc_fail_memory(err);
  memcpy(arguments, frame->arguments, count * sizeof *arguments);
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const fc_plan_param_t *input = &plan->inputs[i];
    const fc_op_t *end = fc_op_next(input->op);
    for (const fc_op_t *op = input->op; op < end; op++) {
      if (!has_rows(op, &rows)) continue;
      const fc_status_t status =
          add_rows(frame, &rows, &arguments[op->raw].tensor, err);
      if (status != FC_OK && err) fc_plan_name_argument(input, err);
      FC_TRY(status);
    }
  }
  *out_arguments = arguments;
  return FC_OK;
}

fc_status_t fc_frame_unpad(fc_frame_t *frame, fc_value_t *results,
                           fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  const rows_t rows = rows_of(frame);
  for (uint32_t i = 0; i < plan->output_count; i++) {
    const fc_op_t *end = fc_op_next(plan->outputs[i].op);
    for (const fc_op_t *op = plan->outputs[i].op; op < end; op++) {
      if (!has_rows(op, &rows)) continue;
      fc_tensor_t *tensor = &results[op->raw].tensor;
      // A result of another kind or size is refused when it is encoded.
      if (results[op->raw].kind != FC_VALUE_TENSOR ||
          tensor->rank != op->rank || tensor->shape[0] != rows.want) {
        continue;
      }
      FC_TRY(set_rows(frame, tensor, rows.have, err));
    }
  }
  return FC_OK;
}
