// SPDX-License-Identifier: Apache-2.0
//
// fc_call_t (farcall/call.h). Arguments are kept as values of the flat call. Tuples and
// dicts among them are lists in memory of the call, so the frame is given one value for
// each raw index. Other memory that a run needs (copies of values that cannot be passed
// directly, storage of results) is kept from run to run.
#include "farcall/call.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/width.h"
#include "marshal/stored.h"
#include "marshal/widths.h"
#include "module/call_state.h"
#include "module/state.h"

static const fc_plan_t *plan_of(const fc_call_t *call) {
  return call->function->plan;
}

// Returns the number of values for which the frame may request memory: OUT arguments,
// and state that is not kept.
static uint32_t placed_count(const fc_call_t *call) {
  return plan_of(call)->store_count + plan_of(call)->state_count;
}

static size_t flat_result_count(const fc_call_t *call) {
  const fc_plan_t *plan = plan_of(call);
  return (size_t)plan->signature->raw_result_count + plan->final_count;
}

static bool reserve(const fc_call_t *call, fc_call_buffer_t *buffer,
                    size_t size) {
  if (size <= buffer->size) return true;
  const fc_allocator_t allocator = call->instance->allocator;
  fc_free(allocator, buffer->data);
  *buffer = (fc_call_buffer_t){0};
  buffer->data = fc_alloc_aligned(allocator, size, FC_TENSOR_ALIGNMENT);
  if (buffer->data) buffer->size = size;
  return buffer->data != NULL;
}

// ---------------------------------------------------------------------------
// Creating a call

// Finds the place of a leaf's value in the flat call, and makes the lists that
// lead to it. *out_dest is NULL when the leaf's value is not passed.
static fc_status_t find_dest(fc_call_t *call, const fc_leaf_way_t *way,
                             fc_value_t **out_dest, fc_error_t *err) {
  const fc_op_t *op = way->param->op;
  fc_value_t *value = way->raw_index < 0 ? NULL : &call->flat[way->raw_index];
  // Starts at the tuple or dict whose raw index is `raw_index`.
  while (way->step_count && op->raw != way->raw_index) op++;
  for (uint32_t i = 0; i < way->step_count; i++) {
    if (value->kind != FC_VALUE_LIST) {
      *value = (fc_value_t){.kind = FC_VALUE_LIST};
      value->list.count = op->child_count;
      value->list.items = fc_arena_alloc_array(&call->arena, op->child_count,
                                               sizeof *value->list.items);
      if (!value->list.items) return fc_fail_memory(err);
    }
    value = &value->list.items[way->steps[i]];
    op = fc_op_child(op);
    for (uint32_t k = 0; k < way->steps[i]; k++) op = fc_op_next(op);
  }
  *out_dest = value;
  return FC_OK;
}

static fc_status_t prepare_argument(fc_call_t *call, uint32_t leaf,
                                    fc_error_t *err) {
  const fc_leaf_t *type = &call->arguments.leaves[leaf];
  fc_call_argument_t *argument = &call->given[leaf];
  FC_TRY(find_dest(call, &call->arguments.ways[leaf], &argument->dest, err));
  const bool known =
      (type->kind == FC_TYPE_TENSOR || type->kind == FC_TYPE_VECTOR) &&
      type->rank >= 0;
  const size_t rank = known ? (size_t)type->rank : FC_RANK_MAX;
  if (type->kind == FC_TYPE_SCALAR) return FC_OK;
  argument->dims =
      fc_arena_alloc_array(&call->arena, 2 * rank + 1, sizeof *argument->dims);
  return argument->dims ? FC_OK : fc_fail_memory(err);
}

static fc_status_t allocate(fc_call_t *call, fc_error_t *err) {
  const fc_plan_t *plan = plan_of(call);
  const fc_signature_t *signature = plan->signature;
  fc_arena_t *arena = &call->arena;
  FC_TRY(fc_leaves_of_arguments(plan, arena, &call->arguments, err));
  FC_TRY(fc_leaves_of_results(plan, arena, &call->results, err));
  const size_t results = flat_result_count(call);
  call->given = fc_arena_alloc_array(arena, call->arguments.count + (size_t)1,
                                     sizeof *call->given);
  call->flat = fc_arena_alloc_array(
      arena, signature->raw_argument_count + (size_t)1, sizeof *call->flat);
  call->storage = fc_arena_alloc_array(arena, placed_count(call) + (size_t)1,
                                       sizeof *call->storage);
  call->kept = fc_arena_alloc_array(arena, results + 1, sizeof *call->kept);
  call->kept_buffers =
      fc_arena_alloc_array(arena, 2 * results + 1, sizeof *call->kept_buffers);
  if (!call->given || !call->flat || !call->storage || !call->kept ||
      !call->kept_buffers) {
    return fc_fail_memory(err);
  }
  for (uint32_t i = 0; i < call->arguments.count; i++) {
    FC_TRY(prepare_argument(call, i, err));
  }
  fc_call_set_constants(call);
  return FC_OK;
}

static fc_status_t find_function(const fc_module_t *module, fc_str_t name,
                                 const fc_function_t **out_function,
                                 fc_error_t *err) {
  const fc_function_t *function = fc_module_find(module, name);
  if (!function) {
    char shown[128];
    const fc_function_t *nearest = fc_module_nearest(module, name);
    fc_escape(shown, sizeof shown, 64, name);
    return nearest ? fc_fail(err, FC_CODE_FUNCTION_NOT_FOUND,
                             "no function '%s'; did you mean '%.*s'?", shown,
                             FC_STR_ARG(nearest->name))
                   : fc_fail(err, FC_CODE_FUNCTION_NOT_FOUND,
                             "no function '%s'", shown);
  }
  if (!function->plan) {
    const fc_signature_t *signature = function->signature;
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "function '%.*s' is not callable: %.*s",
                   FC_STR_ARG(function->name),
                   FC_STR_ARG(fc_signature_text(signature, signature->reason)));
  }
  *out_function = function;
  return FC_OK;
}

fc_status_t fc_call_create(fc_instance_t *instance, const char *function,
                           fc_call_t **out_call, fc_error_t *err) {
  const fc_function_t *found = NULL;
  FC_TRY(find_function(instance->module, fc_str(function), &found, err));
  fc_call_t *call = fc_alloc(instance->allocator, sizeof *call);
  if (!call) return fc_fail_memory(err);
  call->instance = instance;
  call->function = found;
  instance->references++;
  fc_arena_init(&call->arena, instance->allocator, 4096, SIZE_MAX);
  fc_status_t status = allocate(call, err);
  if (status != FC_OK) {
    fc_call_destroy(call);
    return status;
  }
  *out_call = call;
  return FC_OK;
}

static void free_buffers(const fc_call_t *call) {
  const fc_allocator_t allocator = call->instance->allocator;
  for (uint32_t i = 0; call->given && i < call->arguments.count; i++) {
    fc_free(allocator, call->given[i].copy.data);
  }
  for (uint32_t i = 0; call->storage && i < placed_count(call); i++) {
    fc_free(allocator, call->storage[i].data);
  }
  for (size_t i = 0; call->kept_buffers && i < 2 * flat_result_count(call);
       i++) {
    fc_free(allocator, call->kept_buffers[i].data);
  }
}

void fc_call_destroy(fc_call_t *call) {
  if (!call) return;
  fc_instance_t *instance = call->instance;
  fc_call_end(call);
  free_buffers(call);
  fc_arena_deinit(&call->arena);
  fc_free(instance->allocator, call);
  fc_instance_forget(instance);
}

const fc_function_t *fc_call_function(const fc_call_t *call) {
  return call->function;
}

const fc_leaf_t *fc_call_arguments(const fc_call_t *call, size_t *out_count) {
  *out_count = call->arguments.count;
  return call->arguments.leaves;
}

const fc_leaf_t *fc_call_results(const fc_call_t *call, size_t *out_count) {
  *out_count = call->results.count;
  return call->results.leaves;
}

// ---------------------------------------------------------------------------
// A run

static fc_status_t pass_copy(fc_call_t *call, fc_call_argument_t *argument,
                             fc_error_t *err) {
  fc_tensor_t *tensor = &argument->dest->tensor;
  size_t count, size;
  if (!fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &size) ||
      !reserve(call, &argument->copy, size)) {
    return fc_fail_memory(err);
  }
  fc_tensor_gather(tensor, argument->copy.data);
  tensor->strides = NULL;
  tensor->data = argument->copy.data;
  return FC_OK;
}

// Clears the bits above the type's width, which the caller may have set: code expects
// them to be clear.
static void fill_scalar(fc_value_t *value) {
  if (value->kind != FC_VALUE_SCALAR) return;
  const fc_dtype_info_t *info = fc_dtype_info(value->dtype);
  if (info->bits < 8u * info->size) {
    fc_width_fill(info, value->scalar.bytes, 1);
  }
}

static fc_status_t pass_argument(fc_call_t *call, uint32_t leaf,
                                 fc_error_t *err) {
  const fc_leaf_t *type = &call->arguments.leaves[leaf];
  fc_call_argument_t *argument = &call->given[leaf];
  if (!argument->set && type->role != FC_ROLE_OUT) {
    return fc_call_locate(
        call, leaf, fc_fail(err, FC_CODE_MISSING_ARGUMENT, "missing"), err);
  }
  if (!argument->dest || !argument->set) return FC_OK;
  const fc_tensor_t *tensor = &argument->given.tensor;
  if (type->kind == FC_TYPE_SCALAR && argument->given.kind == FC_VALUE_TENSOR) {
    *argument->dest =
        (fc_value_t){.kind = FC_VALUE_SCALAR, .dtype = tensor->dtype};
    memcpy(argument->dest->scalar.bytes, tensor->data,
           fc_dtype_size(tensor->dtype));
    fill_scalar(argument->dest);
    return FC_OK;
  }
  *argument->dest = argument->given;
  fill_scalar(argument->dest);
  return argument->copied ? pass_copy(call, argument, err) : FC_OK;
}

// The frame requests memory only for state, and for OUT arguments that are not set.
static void *place(void *context, uint32_t leaf, fc_dtype_t dtype,
                   size_t size) {
  (void)dtype;
  fc_call_t *call = context;
  if (leaf >= placed_count(call)) return NULL;
  fc_call_buffer_t *buffer = &call->storage[leaf];
  return reserve(call, buffer, size) ? buffer->data : NULL;
}

static void commit(void *context, void *memory, size_t placed, size_t size) {
  (void)context;
  (void)memory;
  (void)placed;
  (void)size;
}

static fc_status_t begin(fc_call_t *call, fc_error_t *err) {
  fc_frame_t *frame = call->instance->frame;
  const fc_placer_t placer = {call, place, commit, NULL};
  fc_frame_begin(frame, plan_of(call), &placer);
  if (call->state) fc_frame_set_store(frame, fc_state_begin(call->state));
  size_t count;
  fc_value_t *flat = fc_frame_arguments(frame, &count);
  if (!flat) return fc_fail_memory(err);
  for (uint32_t i = 0; i < call->arguments.count; i++) {
    FC_TRY(pass_argument(call, i, err));
  }
  memcpy(flat, call->flat, count * sizeof *flat);
  return FC_OK;
}

static fc_status_t keep_tensor(fc_call_t *call, size_t index,
                               fc_tensor_t *tensor, fc_error_t *err) {
  fc_call_buffer_t *elements = &call->kept_buffers[2 * index];
  fc_call_buffer_t *shape = elements + 1;
  size_t count, size;
  const size_t shape_size = (size_t)tensor->rank * sizeof *tensor->shape;
  if (!fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &size) ||
      !reserve(call, elements, size + 1) ||
      !reserve(call, shape, shape_size + 1)) {
    return fc_fail_memory(err);
  }
  fc_tensor_gather(tensor, elements->data);
  if (shape_size) memcpy(shape->data, tensor->shape, shape_size);
  tensor->shape = shape->data;
  tensor->strides = NULL;
  tensor->data = elements->data;
  return FC_OK;
}

// Copies tensor results. With `all` it copies every tensor, because otherwise the
// module would stay locked until its results are released. Without `all` it
// copies the tensors in memory of stored values that this call replaces.
static fc_status_t keep_results(fc_call_t *call, bool all, fc_error_t *err) {
  const fc_frame_t *frame = call->instance->frame;
  FC_TRY(fc_frame_fill_widths(call->instance->frame, err));
  size_t count;
  const fc_value_t *results = fc_frame_results(frame, &count);
  for (size_t i = 0; i < count; i++) {
    fc_value_t *value = &call->kept[i];
    *value = results[i];
    if (value->kind == FC_VALUE_TENSOR &&
        (all || fc_stored_replaces(frame, value->tensor.data))) {
      FC_TRY(keep_tensor(call, i, &value->tensor, err));
    }
  }
  return FC_OK;
}

static fc_status_t run(fc_call_t *call, const fc_run_options_t *options,
                       fc_error_t *err) {
  fc_instance_t *instance = call->instance;
  const bool all = fc_module_get_info(instance->module)->holds_results;
  FC_TRY(begin(call, err));
  fc_frame_set_tiles(instance->frame, instance->tiles);
  FC_TRY(fc_frame_invoke(instance->frame,
                         fc_module_get_backend(instance->module),
                         instance->handle, call->function->index,
                         options->cancel ? &options->cancel->word : NULL,
                         options->deadline_ns, err));
  FC_TRY(fc_stored_stage(instance->frame, err));
  FC_TRY(keep_results(call, all, err));
  fc_stored_commit(instance->frame);
  if (all) fc_frame_end(instance->frame);
  return FC_OK;
}

fc_status_t fc_call_run(fc_call_t *call, const fc_run_options_t *options,
                        fc_error_t *err) {
  static const fc_run_options_t defaults = {0};
  fc_instance_t *instance = call->instance;
  if (atomic_exchange_explicit(&instance->in_use, true, memory_order_acquire)) {
    return fc_fail_as(err, FC_CODE_INTERNAL, FC_FAILED_PRECONDITION,
                      "another thread runs a call of this instance: each "
                      "thread needs its own");
  }
  if (instance->open) fc_call_end(instance->open);
  const fc_status_t status = run(call, options ? options : &defaults, err);
  if (call->state) fc_state_end(call->state, status == FC_OK);
  if (status == FC_OK) {
    instance->open = call;
  } else {
    fc_frame_end(instance->frame);
  }
  atomic_store_explicit(&instance->in_use, false, memory_order_release);
  return status;
}

void fc_call_use_state(fc_call_t *call, fc_state_t *state) {
  call->state = state;
}

void fc_call_end(fc_call_t *call) {
  if (call->instance->open != call) return;
  call->instance->open = NULL;
  fc_frame_end(call->instance->frame);
}

void fc_cancel_request(fc_cancel_t *cancel) {
  atomic_store_explicit(&cancel->word, 1, memory_order_relaxed);
}

void fc_cancel_reset(fc_cancel_t *cancel) {
  atomic_store_explicit(&cancel->word, 0, memory_order_relaxed);
}

// ---------------------------------------------------------------------------
// Results

static fc_status_t fail_absent(const char *path, fc_error_t *err) {
  char shown[128];
  fc_escape(shown, sizeof shown, 64, fc_str(path));
  return fc_fail(err, FC_CODE_NOT_FOUND, "no result '%s'", shown);
}

static const fc_value_t *item_of(const fc_value_t *value, size_t index) {
  if (value->kind != FC_VALUE_LIST || index >= value->list.count) return NULL;
  return &value->list.items[index];
}

// Takes the first index off a text like "3/0". If the text does not begin with
// one to ten digits, returns SIZE_MAX, an index that no list has.
static size_t take_index(fc_str_t *rest) {
  size_t index = 0, at = 0;
  for (; at < rest->size && rest->data[at] != '/'; at++) {
    const char c = rest->data[at];
    if (c < '0' || c > '9' || at > 9) return SIZE_MAX;
    index = index * 10 + (size_t)(c - '0');
  }
  const bool empty = at == 0;
  if (at < rest->size) at++;
  *rest = fc_str_make(rest->data + at, rest->size - at);
  return empty ? SIZE_MAX : index;
}

fc_status_t fc_call_get_value(const fc_call_t *call, const char *path,
                              const fc_value_t **out_value, fc_error_t *err) {
  if (call->instance->open != call) {
    return fc_fail_as(err, FC_CODE_INTERNAL, FC_FAILED_PRECONDITION,
                      "no results: the call has not run, or another of its "
                      "instance has since");
  }
  fc_str_t rest;
  const uint32_t leaf = fc_leaves_find(&call->results, fc_str(path), &rest);
  if (leaf == FC_LEAF_NONE) return fail_absent(path, err);
  const fc_leaf_way_t *way = &call->results.ways[leaf];
  const fc_value_t *value =
      way->raw_index < 0 ? NULL : &call->kept[way->raw_index];
  for (uint32_t i = 0; value && i < way->step_count; i++) {
    value = item_of(value, way->steps[i]);
  }
  if (!value) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result '%s' is not in what the function returned",
                   call->results.leaves[leaf].path);
  }
  while (value && rest.size) value = item_of(value, take_index(&rest));
  if (!value) return fail_absent(path, err);
  *out_value = value;
  return FC_OK;
}

fc_status_t fc_call_get(const fc_call_t *call, const char *path,
                        fc_tensor_t *out_tensor, fc_error_t *err) {
  static const int64_t no_dims[1];
  const fc_value_t *value;
  FC_TRY(fc_call_get_value(call, path, &value, err));
  switch (value->kind) {
    case FC_VALUE_TENSOR:
      *out_tensor = value->tensor;
      return FC_OK;
    case FC_VALUE_SCALAR:
      *out_tensor =
          (fc_tensor_t){.dtype = value->dtype,
                        .shape = no_dims,
                        .data = (void *)(uintptr_t)value->scalar.bytes};
      return FC_OK;
    default:
      return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                     "result '%s' is no tensor: fc_call_get_value gets it",
                     path);
  }
}
