// SPDX-License-Identifier: Apache-2.0
//
// Makes one call of several (stack.h). Arguments are copied, so a function that writes to
// its arguments does not change those of any frame.
#include "marshal/stack.h"

#include "marshal/frame.h"
#include "value/gather.h"

static bool has_rows(const fc_plan_t *plan, const fc_op_t *op) {
  return op->raw >= 0 && op->kind == FC_TYPE_TENSOR && op->rank > 0 &&
         op->dims[0] == -2 - (int64_t)plan->batch->name;
}

// ---------------------------------------------------------------------------
// Which calls may be made together

static bool is_alike(const fc_tensor_t *tensor, const fc_tensor_t *other,
                     int32_t from) {
  if (tensor->dtype != other->dtype || tensor->rank != other->rank) {
    return false;
  }
  for (int32_t i = from; i < tensor->rank; i++) {
    if (tensor->shape[i] != other->shape[i]) return false;
  }
  return true;
}

static bool is_equal(const fc_value_t *value, const fc_value_t *other) {
  size_t count, size;
  const fc_tensor_t *tensor = &value->tensor;
  if (value->kind != other->kind) return false;
  if (value->kind == FC_VALUE_SCALAR) {
    return value->dtype == other->dtype &&
           !memcmp(value->scalar.bytes, other->scalar.bytes,
                   fc_dtype_size(value->dtype));
  }
  return value->kind == FC_VALUE_TENSOR && !tensor->strides &&
         !other->tensor.strides && is_alike(tensor, &other->tensor, 0) &&
         fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                        &size) &&
         (!size || !memcmp(tensor->data, other->tensor.data, size));
}

static bool may_stack(const fc_frame_t *frame) {
  const fc_plan_t *plan = frame->plan;
  if (!plan || !frame->batched || !frame->decoded || frame->store ||
      plan->store_count || plan->state_count || plan->final_count) {
    return false;
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    const fc_op_t *op = plan->outputs[i].op, *end = fc_op_next(op);
    for (; op < end; op++) {
      if (op->raw >= 0 && !has_rows(plan, op)) return false;
    }
  }
  return true;
}

bool fc_frame_stacks(const fc_frame_t *frame, const fc_frame_t *other) {
  const fc_plan_t *plan = frame->plan;
  if (!may_stack(frame) || !may_stack(other) || plan != other->plan) {
    return false;
  }
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const fc_op_t *op = plan->inputs[i].op, *end = fc_op_next(op);
    for (; op < end; op++) {
      if (op->raw < 0) continue;
      const fc_value_t *value = &frame->arguments[op->raw];
      const fc_value_t *its = &other->arguments[op->raw];
      if (!has_rows(plan, op)
              ? !is_equal(value, its)
              : value->kind != FC_VALUE_TENSOR ||
                    its->kind != FC_VALUE_TENSOR ||
                    !is_alike(&value->tensor, &its->tensor, 1)) {
        return false;
      }
    }
  }
  return true;
}

uint64_t fc_frame_sent_rows(const fc_frame_t *frame, uint64_t *out_most) {
  *out_most = 0;
  if (!may_stack(frame)) return 0;
  const fc_batch_t *batch = frame->plan->batch;
  *out_most = (uint64_t)batch->buckets[batch->count - 1].rows;
  return (uint64_t)fc_frame_rows(frame);
}

// ---------------------------------------------------------------------------
// Arguments

// Puts the rows of an argument of all frames one after the other. An argument without
// rows is taken from the first frame.
static fc_status_t stack(fc_frame_t *whole, fc_frame_t *const *frames,
                         uint32_t count, const fc_op_t *op, fc_error_t *err) {
  const bool rows = has_rows(whole->plan, op);
  fc_value_t *value = &whole->arguments[op->raw];
  fc_tensor_t *tensor = &value->tensor;
  *value = frames[0]->arguments[op->raw];
  if (value->kind != FC_VALUE_TENSOR) return FC_OK;
  int64_t *shape = fc_arena_alloc_array(&whole->arena, (size_t)tensor->rank + 1,
                                        sizeof *shape);
  if (!shape) return fc_fail_memory(err);
  memcpy(shape, tensor->shape, (size_t)tensor->rank * sizeof *shape);
  if (rows) shape[0] = fc_frame_rows(whole);
  size_t elements, size;
  if (!fc_shape_count(shape, tensor->rank, tensor->dtype, &elements, &size) ||
      elements > fc_frame_element_limit(whole, tensor->dtype)) {
    return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                   "%u calls together are over the limit of %zu elements",
                   count, fc_frame_element_limit(whole, tensor->dtype));
  }
  uint8_t *data = fc_arena_alloc(&whole->tensors, size + !size, 64);
  if (!data) return fc_fail_memory(err);
  tensor->shape = shape;
  tensor->strides = NULL;
  tensor->data = data;
  for (uint32_t i = 0; size && i < (rows ? count : 1); i++) {
    const fc_tensor_t *part = &frames[i]->arguments[op->raw].tensor;
    FC_TRY(fc_gather(part, data, &whole->stop, err));
    if (rows) data += size / (size_t)shape[0] * (size_t)part->shape[0];
  }
  return FC_OK;
}

static fc_status_t stack_all(fc_frame_t *whole, fc_frame_t *const *frames,
                             uint32_t count, fc_error_t *err) {
  const fc_plan_t *plan = whole->plan;
  int64_t rows = 0;
  memcpy(whole->named_dims, frames[0]->named_dims,
         plan->signature->dim_name_count * sizeof *whole->named_dims);
  for (uint32_t i = 0; i < count; i++) {
    const int64_t more = fc_frame_rows(frames[i]);
    if (more > INT64_MAX - rows) return fc_fail_memory(err);
    rows += more;
  }
  whole->named_dims[plan->batch->name].size = rows;
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const fc_op_t *op = plan->inputs[i].op, *end = fc_op_next(op);
    for (; op < end; op++) {
      if (op->raw >= 0) FC_TRY(stack(whole, frames, count, op, err));
    }
  }
  whole->decoded = true;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Results

// Gives the frame its rows of a result, which start at row `begin`.
static fc_status_t cut(fc_frame_t *frame, const fc_value_t *all, int64_t begin,
                       fc_value_t *out, fc_error_t *err) {
  const fc_tensor_t *tensor = &all->tensor;
  int64_t *shape =
      fc_arena_alloc_array(&frame->arena, (size_t)tensor->rank, sizeof *shape);
  if (!shape) return fc_fail_memory(err);
  memcpy(shape, tensor->shape, (size_t)tensor->rank * sizeof *shape);
  size_t count, size;
  (void)fc_shape_count(shape, tensor->rank, tensor->dtype, &count, &size);
  const int64_t step =
      tensor->strides
          ? tensor->strides[0] * (int64_t)fc_dtype_size(tensor->dtype)
          : (int64_t)(size / (size_t)shape[0]);
  shape[0] = fc_frame_rows(frame);
  *out = *all;
  out->tensor.shape = shape;
  if (size) {
    out->tensor.data = (uint8_t *)(uintptr_t)tensor->data + step * begin;
  }
  return FC_OK;
}

// Sets the results of all frames, or of none.
static fc_status_t cut_all(fc_frame_t *whole, fc_frame_t *const *frames,
                           uint32_t count, fc_error_t *err) {
  const fc_plan_t *plan = whole->plan;
  fc_value_t *values[FC_STACK_MAX];
  int64_t begin = 0;
  for (uint32_t i = 0; i < count; i++) {
    values[i] = fc_arena_alloc_array(&frames[i]->arena, whole->result_room + 1,
                                     sizeof *values[i]);
    if (!values[i]) return fc_fail_memory(err);
    for (uint32_t k = 0; k < plan->output_count; k++) {
      const fc_op_t *op = plan->outputs[k].op, *end = fc_op_next(op);
      for (; op < end; op++) {
        if (op->raw < 0) continue;
        const fc_value_t *all = &whole->results[op->raw];
        if (all->kind != FC_VALUE_TENSOR || all->tensor.rank != op->rank ||
            all->tensor.shape[0] != fc_frame_rows(whole)) {
          return fc_fail(err, FC_CODE_BAD_RESULT,
                         "result %u: it has not the rows of its calls",
                         plan->outputs[k].number);
        }
        FC_TRY(cut(frames[i], all, begin, &values[i][op->raw], err));
      }
    }
    begin += fc_frame_rows(frames[i]);
  }
  for (uint32_t i = 0; i < count; i++) {
    fc_frame_set_results(frames[i], values[i], whole->result_room);
  }
  return FC_OK;
}

fc_status_t fc_frame_invoke_stack(fc_frame_t *whole, fc_frame_t *const *frames,
                                  uint32_t count, const fc_stack_call_t *call,
                                  fc_error_t *err) {
  FC_ASSERT(count && count <= FC_STACK_MAX);
  if (!whole->arguments || !whole->named_dims) return fc_fail_memory(err);
  FC_TRY(stack_all(whole, frames, count, err));
  whole->least = call->least;
  FC_TRY(fc_frame_invoke(whole, call->backend, call->instance, call->index,
                         call->cancel, call->deadline_ns, err));
  return cut_all(whole, frames, count, err);
}

fc_status_t fc_frame_keep_results(fc_frame_t *frame, fc_error_t *err) {
  const size_t room = frame->result_count;
  fc_value_t *kept =
      fc_arena_alloc_array(&frame->arena, room + 1, sizeof *kept);
  if (!kept) return fc_fail_memory(err);
  for (size_t i = 0; i < room; i++) {
    fc_tensor_t *tensor = &kept[i].tensor;
    size_t count, size;
    kept[i] = frame->results[i];
    if (kept[i].kind != FC_VALUE_TENSOR) continue;
    const size_t dims = (size_t)tensor->rank * sizeof *tensor->shape;
    int64_t *shape = fc_arena_alloc(&frame->arena, dims + !dims, 8);
    if (!shape || !fc_shape_count(tensor->shape, tensor->rank, tensor->dtype,
                                  &count, &size)) {
      return fc_fail_memory(err);
    }
    uint8_t *data = fc_arena_alloc(&frame->tensors, size + !size, 64);
    if (!data) return fc_fail_memory(err);
    if (size) FC_TRY(fc_gather(tensor, data, &frame->stop, err));
    memcpy(shape, tensor->shape, dims);
    tensor->shape = shape;
    tensor->strides = NULL;
    tensor->data = data;
  }
  fc_frame_end_call(frame);
  frame->results = kept;
  return FC_OK;
}

bool fc_frame_counted_rows(const fc_frame_t *frame, uint64_t *out_rows,
                           uint64_t *out_computed) {
  if (!frame->batched || !frame->computed) return false;
  *out_rows = (uint64_t)fc_frame_rows(frame);
  *out_computed = (uint64_t)frame->computed;
  return true;
}
