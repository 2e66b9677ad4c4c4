// SPDX-License-Identifier: Apache-2.0
//
// A call of any number of rows, made by several calls of buckets (batch.h). The arguments
// of each call are slices of the decoded arguments. A slice is copied only if the code
// cannot use it where it lies, or if the last call needs more rows than are left. Then
// the last row is repeated, so that the padding is valid if that row is. The rows of each
// result are gathered in one place. The largest buckets are called first. So only the
// last call can have padding, and memory for a copy of one call is enough for the next.
#include "marshal/frame.h"
#include "value/gather.h"

typedef struct rows_t {
  fc_frame_t *frame;
  int64_t dim;   // code of the dim of rows, as in ops
  int64_t all;   // number of rows of the whole call
  int64_t done;  // number of rows done so far
  int64_t want;  // number of rows that the next function computes
  int64_t have;  // how many of these are rows of the call: at least 1
  fc_value_t *arguments;
  uint8_t **copies;    // by raw argument: copied slices; NULL: none yet
  fc_value_t *parts;   // results of one call
  fc_value_t *wholes;  // results of the whole call
} rows_t;

static bool has_rows(const rows_t *rows, const fc_op_t *op) {
  return op->raw >= 0 && op->kind == FC_TYPE_TENSOR && op->rank > 0 &&
         op->dims[0] == rows->dim;
}

// Gives the tensor a shape of its own, with `count` rows.
static fc_status_t set_rows(const rows_t *rows, fc_tensor_t *tensor,
                            int64_t count, fc_error_t *err) {
  int64_t *shape = fc_arena_alloc_array(&rows->frame->arena,
                                        (size_t)tensor->rank, sizeof *shape);
  if (!shape) return fc_fail_memory(err);
  memcpy(shape, tensor->shape, (size_t)tensor->rank * sizeof *shape);
  shape[0] = count;
  tensor->shape = shape;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Arguments

// Copies a slice, then repeats its last row until there are as many rows as the
// call needs.
static fc_status_t copy_slice(const rows_t *rows, int32_t raw,
                              fc_tensor_t *slice, size_t row, fc_error_t *err) {
  fc_frame_t *frame = rows->frame;
  const size_t have = row * (size_t)rows->have;
  size_t size;
  if (!fc_size_mul(row, (size_t)rows->want, &size) ||
      size / fc_dtype_size(slice->dtype) >
          fc_frame_element_limit(frame, slice->dtype)) {
    return fc_fail(
        err, FC_CODE_TENSOR_TOO_LARGE,
        "filled up to %lld rows it is over the limit of %zu elements",
        (long long)rows->want, fc_frame_element_limit(frame, slice->dtype));
  }
  uint8_t *data = rows->copies[raw];
  if (!data) data = fc_arena_alloc(&frame->tensors, size + !size, 64);
  if (!data) return fc_fail_memory(err);
  rows->copies[raw] = data;
  FC_TRY(fc_gather(slice, data, &frame->stop, err));
  for (size_t at = have; at < size; at += row) {
    memcpy(data + at, data + have - row, row);
  }
  slice->data = data;
  return FC_OK;
}

// Sets an argument to the rows for the next call.
static fc_status_t slice(const rows_t *rows, const fc_op_t *op,
                         fc_error_t *err) {
  const fc_frame_t *frame = rows->frame;
  const fc_tensor_t *whole = &frame->arguments[op->raw].tensor;
  fc_tensor_t *part = &rows->arguments[op->raw].tensor;
  size_t count, size;
  (void)fc_shape_count(whole->shape, whole->rank, whole->dtype, &count, &size);
  const size_t row = size / (size_t)rows->all;
  const int64_t step =
      whole->strides ? whole->strides[0] * (int64_t)fc_dtype_size(whole->dtype)
                     : (int64_t)row;
  int64_t *shape = (int64_t *)(uintptr_t)part->shape;
  part->data = (uint8_t *)(uintptr_t)whole->data + step * rows->done;
  part->strides = whole->strides;
  shape[0] = rows->have;
  // The guard will copy the value anyway, unless it is in the store.
  const bool stored = frame->store && fc_store_holds(frame->store, part->data);
  const size_t alignment =
      frame->guard && !stored ? 1 : frame->plan->signature->alignment;
  if (row &&
      (rows->have < rows->want || !fc_tensor_is_usable(part, alignment))) {
    FC_TRY(copy_slice(rows, op->raw, part, row, err));
  }
  part->strides = NULL;
  shape[0] = rows->want;
  return FC_OK;
}

// Visits all arguments: the first time to give shapes to those with rows, later to slice
// them. Arguments without rows are set to the original values, since the guard may have
// replaced them.
static fc_status_t slice_all(const rows_t *rows, bool first, fc_error_t *err) {
  const fc_frame_t *frame = rows->frame;
  const fc_plan_t *plan = frame->plan;
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const fc_plan_param_t *input = &plan->inputs[i];
    for (const fc_op_t *op = input->op; op < fc_op_next(input->op); op++) {
      if (!has_rows(rows, op)) {
        if (op->raw >= 0) rows->arguments[op->raw] = frame->arguments[op->raw];
        continue;
      }
      const fc_status_t status =
          first ? set_rows(rows, &rows->arguments[op->raw].tensor, 0, err)
                : slice(rows, op, err);
      if (status != FC_OK && err) fc_plan_name_argument(input, err);
      FC_TRY(status);
    }
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Results

static fc_status_t fail_result(const fc_plan_param_t *output, fc_error_t *err) {
  return fc_fail(err, FC_CODE_BAD_RESULT,
                 "result %u: the functions of its rows return other types or "
                 "sizes",
                 output->number);
}

// Allocates the whole of a result. `part` has its first rows.
static fc_status_t make_whole(const rows_t *rows, const fc_plan_param_t *output,
                              const fc_value_t *part, fc_value_t *out_whole,
                              fc_error_t *err) {
  fc_frame_t *frame = rows->frame;
  fc_value_t whole = *part;
  size_t count, size;
  FC_TRY(set_rows(rows, &whole.tensor, rows->all, err));
  if (!fc_shape_count(whole.tensor.shape, whole.tensor.rank, whole.tensor.dtype,
                      &count, &size) ||
      size > frame->limits.result_size) {
    return fc_fail(err, FC_CODE_RESULT_TOO_LARGE,
                   "result %u: %lld rows of it are over the limit of %zu bytes",
                   output->number, (long long)rows->all,
                   frame->limits.result_size);
  }
  whole.tensor.strides = NULL;
  whole.tensor.data = fc_arena_alloc(&frame->tensors, size + !size, 64);
  if (!whole.tensor.data) return fc_fail_memory(err);
  *out_whole = whole;
  return FC_OK;
}

// Copies the rows that a call returned to their place in the whole result.
static fc_status_t gather(const rows_t *rows, const fc_plan_param_t *output,
                          const fc_op_t *op, fc_error_t *err) {
  fc_value_t *whole = &rows->wholes[op->raw];
  const fc_value_t *part = &rows->parts[op->raw];
  fc_tensor_t view = part->tensor;
  size_t count, size;
  if (part->kind != FC_VALUE_TENSOR || view.rank != op->rank ||
      view.shape[0] != rows->want) {
    return fail_result(output, err);
  }
  if (!rows->done) FC_TRY(make_whole(rows, output, part, whole, err));
  const fc_tensor_t *all = &whole->tensor;
  if (all->dtype != view.dtype ||
      memcmp(all->shape + 1, view.shape + 1,
             ((size_t)view.rank - 1) * sizeof *view.shape)) {
    return fail_result(output, err);
  }
  int64_t shape[FC_RANK_MAX];
  memcpy(shape, view.shape, (size_t)view.rank * sizeof *shape);
  shape[0] = rows->have;
  view.shape = shape;
  (void)fc_shape_count(shape, view.rank, view.dtype, &count, &size);
  uint8_t *data = (uint8_t *)(uintptr_t)all->data;
  return fc_gather(&view, data + size / (size_t)rows->have * (size_t)rows->done,
                   &rows->frame->stop, err);
}

// If there was only one call, uses its result without copying it, and cuts off the
// padding.
static fc_status_t shorten(const rows_t *rows, const fc_op_t *op,
                           fc_error_t *err) {
  fc_value_t *part = &rows->parts[op->raw];
  // A result of another kind or size will be refused when it is encoded.
  if (part->kind != FC_VALUE_TENSOR || part->tensor.rank != op->rank ||
      part->tensor.shape[0] != rows->want) {
    return FC_OK;
  }
  return set_rows(rows, &part->tensor, rows->have, err);
}

static fc_status_t take_results(const rows_t *rows, bool single,
                                fc_error_t *err) {
  const fc_plan_t *plan = rows->frame->plan;
  for (uint32_t i = 0; i < plan->output_count; i++) {
    const fc_plan_param_t *output = &plan->outputs[i];
    for (const fc_op_t *op = output->op; op < fc_op_next(output->op); op++) {
      if (!has_rows(rows, op)) continue;
      FC_TRY(single ? shorten(rows, op, err) : gather(rows, output, op, err));
    }
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The calls of buckets

static fc_status_t call_next(rows_t *rows, const fc_bucket_t *bucket,
                             const fc_invoke_t *invoke, fc_error_t *err) {
  fc_frame_t *frame = rows->frame;
  const int64_t left = rows->all - rows->done;
  rows->want = bucket->rows;
  rows->have = left < bucket->rows ? left : bucket->rows;
  const bool single = rows->have == rows->all;
  frame->row = bucket->row;
  FC_TRY(fc_stop_look(&frame->stop, err));
  FC_TRY(slice_all(rows, false, err));
  FC_TRY(fc_frame_call(frame, invoke, rows->arguments, rows->parts,
                       single ? &frame->arena : &frame->bucket, err));
  FC_TRY(take_results(rows, single, err));
  rows->done += rows->have;
  frame->computed += rows->want;
  if (single) return FC_OK;
  fc_frame_end_call(frame);
  fc_arena_reset(&frame->bucket);
  return FC_OK;
}

static fc_status_t call_all(rows_t *rows, const uint64_t *uses,
                            const fc_invoke_t *invoke, fc_error_t *err) {
  const fc_batch_t *batch = rows->frame->plan->batch;
  const size_t count = rows->frame->result_room;
  for (uint32_t i = batch->count; i-- > 0;) {
    for (uint64_t k = 0; k < uses[i] && rows->done < rows->all; k++) {
      memset(rows->parts, 0, count * sizeof *rows->parts);
      FC_TRY(call_next(rows, &batch->buckets[i], invoke, err));
    }
  }
  return FC_OK;
}

fc_status_t fc_frame_call_rows(fc_frame_t *frame, const fc_invoke_t *invoke,
                               fc_value_t *results, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  const size_t count = plan->signature->raw_argument_count;
  rows_t rows = {.frame = frame,
                 .dim = -2 - (int64_t)plan->batch->name,
                 .all = fc_frame_rows(frame)};
  fc_bucket_cost_t costs[FC_SIZES_MAX];
  uint64_t uses[FC_SIZES_MAX];
  fc_arena_t *arena = &frame->arena;
  frame->computed = 0;
  rows.arguments = fc_arena_alloc_array(arena, count + 1, sizeof(fc_value_t));
  rows.copies = fc_arena_alloc_array(arena, count + 1, sizeof *rows.copies);
  rows.parts =
      fc_arena_alloc_array(arena, frame->result_room + 1, sizeof(fc_value_t));
  if (!rows.arguments || !rows.copies || !rows.parts) {
    return fc_fail_memory(err);
  }
  memcpy(rows.arguments, frame->arguments, count * sizeof *rows.arguments);
  rows.wholes = results;
  FC_TRY(slice_all(&rows, true, err));
  fc_batch_costs(plan->batch, costs);
  const bool least = frame->least || fc_batch_is_apart(plan->batch);
  const uint32_t buckets = least ? 1 : plan->batch->count;
  memset(uses, 0, sizeof uses);
  fc_batch_plan(costs, buckets, rows.all, uses);
  FC_TRY(call_all(&rows, uses, invoke, err));
  if (frame->backend) {
    memcpy(results, rows.parts, frame->result_room * sizeof *results);
  }
  return FC_OK;
}
