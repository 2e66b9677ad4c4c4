// SPDX-License-Identifier: Apache-2.0
//
// A frame's life (begin, invoke, end) and the sources of its memory. Called by
// one worker; decode.c and encode.c have the stages DECODE and ENCODE.
#include "marshal/frame.h"

#include <stdio.h>

#include "marshal/guard.h"
#include "marshal/profiled.h"
#include "value/gather.h"

// The first block of each arena stays when the arena is reset. So a frame that has served
// one small request allocates nothing for the next.
#define VALUE_BLOCK_SIZE ((size_t)16 << 10)
#define TENSOR_BLOCK_SIZE ((size_t)64 << 10)

fc_limits_t fc_limits_default(void) {
  return (fc_limits_t){
      .tensor_elements = (size_t)1 << 28,
      .tensor_size = (size_t)256 << 20,
      .result_size = (size_t)256 << 20,
      .arena_size = (size_t)64 << 20,
      .json_depth = 64,
      .json_keys = 4096,
      .tensors = 1u << 18,
  };
}

fc_status_t fc_frame_create(fc_allocator_t allocator, const fc_limits_t *limits,
                            fc_frame_t **out_frame, fc_error_t *err) {
  fc_frame_t *frame = fc_alloc(allocator, sizeof *frame);
  if (!frame) return fc_fail_memory(err);
  frame->allocator = allocator;
  frame->limits = limits ? *limits : fc_limits_default();
  if (frame->limits.json_depth > FC_JSON_DEPTH_MAX) {
    frame->limits.json_depth = FC_JSON_DEPTH_MAX;
  }
  fc_arena_init(&frame->arena, allocator, VALUE_BLOCK_SIZE,
                frame->limits.arena_size);
  fc_arena_init(&frame->tensors, allocator, TENSOR_BLOCK_SIZE, SIZE_MAX);
  fc_arena_init(&frame->bucket, allocator, VALUE_BLOCK_SIZE,
                frame->limits.arena_size);
  *out_frame = frame;
  return FC_OK;
}

void fc_frame_destroy(fc_frame_t *frame) {
  if (!frame) return;
  fc_frame_end(frame);
  fc_arena_deinit(&frame->arena);
  fc_arena_deinit(&frame->tensors);
  fc_arena_deinit(&frame->bucket);
  fc_free(frame->allocator, frame);
}

static void *place_own(void *context, uint32_t leaf, fc_dtype_t dtype,
                       size_t size) {
  (void)leaf;
  (void)dtype;
  fc_frame_t *frame = context;
  return fc_arena_alloc(&frame->tensors, size, 64);
}

static void commit_own(void *context, void *memory, size_t placed,
                       size_t size) {
  fc_frame_t *frame = context;
  fc_arena_trim(&frame->tensors, memory, placed, size);
}

static void *extend_own(void *context, void *memory, size_t placed, size_t used,
                        size_t size) {
  fc_frame_t *frame = context;
  if (fc_arena_extend(&frame->tensors, memory, placed, size)) return memory;
  void *larger = fc_arena_alloc(&frame->tensors, size, 64);
  if (larger && used) memcpy(larger, memory, used);
  return larger;
}

void fc_frame_begin(fc_frame_t *frame, const fc_plan_t *plan,
                    const fc_placer_t *placer) {
  fc_frame_end(frame);
  frame->plan = plan;
  frame->batched = plan->batch && plan->batch->on;
  frame->placer = placer
                      ? *placer
                      : (fc_placer_t){frame, place_own, commit_own, extend_own};
  const fc_signature_t *signature = plan->signature;
  uint32_t named = signature->dim_name_count;
  frame->arguments = fc_arena_alloc_array(
      &frame->arena, signature->raw_argument_count + 1, sizeof(fc_value_t));
  frame->named_dims =
      fc_arena_alloc_array(&frame->arena, named + 1, sizeof(fc_named_dim_t));
  if (!frame->named_dims) return;
  for (uint32_t i = 0; i < named; i++) {
    frame->named_dims[i] = (fc_named_dim_t){.size = FC_DIM_DYNAMIC};
  }
}

fc_status_t fc_frame_fail_idle(fc_error_t *err) {
  return fc_fail(err, FC_CODE_INTERNAL, "the frame was not begun");
}

void fc_frame_set_stop(fc_frame_t *frame, const fc_atomic_word_t *cancel,
                       uint64_t deadline_ns) {
  frame->stop = (fc_stop_t){cancel, deadline_ns};
}

void fc_frame_read(fc_frame_t *frame, const char *text, size_t size) {
  fc_json_reader_init(&frame->reader, frame->limits.json_depth,
                      frame->limits.json_keys);
  fc_json_reader_watch(&frame->reader, &frame->stop);
  fc_json_reader_feed(&frame->reader, text, size, true);
}

fc_status_t fc_frame_copy(const fc_frame_t *frame, void *to, const void *from,
                          size_t size, fc_error_t *err) {
  return fc_copy(to, from, size, &frame->stop, err);
}

fc_status_t fc_frame_alloc(fc_frame_t *frame, size_t count, size_t size,
                           void **out_memory, fc_error_t *err) {
  size_t total;
  bool fits = fc_size_mul(count, size, &total) &&
              total <= frame->arena.limit - frame->arena.used;
  if (!fits) {
    return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                   "the values take more than the limit of %zu bytes of "
                   "request memory",
                   frame->arena.limit);
  }
  *out_memory = fc_arena_alloc_array(&frame->arena, count, size);
  return *out_memory ? FC_OK : fc_fail_memory(err);
}

fc_status_t fc_frame_place(fc_frame_t *frame, fc_dtype_t dtype, size_t size,
                           void **out_memory, fc_error_t *err) {
  *out_memory = NULL;
  const uint32_t leaf = frame->leaf++, limit = frame->limits.tensors;
  if (limit && leaf >= limit) {
    return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                   "tensor %u of the call: the limit is %u tensors and byte "
                   "strings",
                   leaf + 1, limit);
  }
  if (size == 0) return FC_OK;
  const fc_placer_t *placer = &frame->placer;
  *out_memory = placer->place(placer->context, leaf, dtype, size);
  return *out_memory ? FC_OK : fc_fail_memory(err);
}

fc_status_t fc_frame_extend(fc_frame_t *frame, size_t placed, size_t used,
                            size_t size, void **memory, fc_error_t *err) {
  const fc_placer_t *placer = &frame->placer;
  void *larger = placer->extend(placer->context, *memory, placed, used, size);
  if (!larger) return fc_fail_memory(err);
  *memory = larger;
  return FC_OK;
}

void fc_frame_commit(fc_frame_t *frame, void *memory, size_t placed,
                     size_t size) {
  if (!memory) return;
  frame->placer.commit(frame->placer.context, memory, placed, size);
}

size_t fc_frame_empty_rows(const int64_t *shape, int32_t rank) {
  size_t rows = 1;
  for (int32_t i = 0; i < rank && shape[i]; i++) {
    if (!fc_size_mul(rows, (size_t)shape[i], &rows)) return SIZE_MAX;
  }
  return rows;
}

int64_t fc_frame_dim(const fc_frame_t *frame, int64_t dim) {
  return fc_dim_is_named(dim) ? frame->named_dims[fc_dim_name(dim)].size : dim;
}

void fc_frame_bind_dim(fc_frame_t *frame, const fc_op_t *op, int32_t dim,
                       int64_t size) {
  if (!fc_dim_is_named(op->dims[dim])) return;
  fc_named_dim_t *named = &frame->named_dims[fc_dim_name(op->dims[dim])];
  if (named->size >= 0) return;
  *named = (fc_named_dim_t){size, op->whole ? op->whole : op, dim + op->lead};
}

void fc_frame_bind_dims(fc_frame_t *frame, const fc_op_t *op,
                        const int64_t *dims) {
  for (int32_t i = 0; i < op->rank; i++) {
    fc_frame_bind_dim(frame, op, i, dims[i]);
  }
}

fc_status_t fc_frame_check_dims(fc_frame_t *frame, const fc_op_t *op,
                                const int64_t *dims, fc_error_t *err) {
  for (int32_t i = 0; i < op->rank; i++) {
    if (!fc_dim_is_named(op->dims[i])) continue;
    for (int32_t k = 0; k < i; k++) {
      if (op->dims[k] != op->dims[i] || dims[k] == dims[i]) continue;
      fc_status_t status = fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                                   "dims %d and %d must be equal, "
                                   "they are %lld and %lld",
                                   (int)k + op->lead, (int)i + op->lead,
                                   (long long)dims[k], (long long)dims[i]);
      fc_error_expected(err, "%lld elements", (long long)dims[k]);
      return fc_json_locate(&frame->reader, status, err);
    }
  }
  return FC_OK;
}

fc_status_t fc_frame_fail_dim(const fc_frame_t *frame, fc_code_t code,
                              const fc_op_t *op, int32_t dim, int64_t size,
                              fc_error_t *err) {
  const fc_signature_t *signature = frame->plan->signature;
  const uint32_t index = fc_dim_name(op->dims[dim]);
  const fc_named_dim_t *named = &frame->named_dims[index];
  char owner[120], name[80], text[24];
  fc_plan_print_owner(frame->plan, named->op, owner, sizeof owner);
  fc_escape(name, sizeof name, 64,
            fc_signature_text(signature, signature->dim_names[index]));
  snprintf(text, sizeof text, "%lld",
           (long long)(size < 0 ? named->size : size));
  fc_status_t status =
      fc_fail(err, code, "dim %d is %s%s, dim %d of %s is %lld: both are '%s'",
              (int)dim + op->lead, size < 0 ? "more than " : "", text,
              (int)named->dim, owner, (long long)named->size, name);
  fc_error_expected(err, "%lld", (long long)named->size);
  if (size >= 0) fc_error_got(err, fc_str(text));
  return status;
}

static fc_status_t place_cleared(fc_frame_t *frame, fc_dtype_t dtype,
                                 size_t size, void **out_memory,
                                 fc_error_t *err) {
  FC_TRY(fc_frame_place(frame, dtype, size, out_memory, err));
  if (!*out_memory) return FC_OK;
  memset(*out_memory, 0, size);
  fc_frame_commit(frame, *out_memory, size, size);
  return FC_OK;
}

static fc_status_t place_store(fc_frame_t *frame, const fc_plan_param_t *store,
                               fc_value_t *value, fc_error_t *err) {
  const fc_op_t *op = store->op;
  int64_t *shape =
      fc_arena_alloc_array(&frame->arena, (size_t)op->rank + 1, sizeof *shape);
  if (!shape) return fc_fail_memory(err);
  for (int32_t i = 0; i < op->rank; i++) {
    shape[i] = fc_frame_dim(frame, op->dims[i]);
    if (shape[i] >= 0) continue;
    // The name of the dim occurs only in list elements, and no element was read: the list
    // is empty, or was set and not decoded.
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                   "argument %u ('%.*s'): nothing says how large its dim %d is",
                   store->number, FC_STR_ARG(store->name), (int)i);
  }
  size_t count, size;
  if (!fc_shape_count(shape, op->rank, op->dtype, &count, &size) ||
      count > fc_frame_element_limit(frame, op->dtype)) {
    return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                   "argument %u ('%.*s'): its storage is over the limit of %zu "
                   "elements",
                   store->number, FC_STR_ARG(store->name),
                   fc_frame_element_limit(frame, op->dtype));
  }
  void *memory = NULL;
  FC_TRY(place_cleared(frame, op->dtype, size, &memory, err));
  *value = (fc_value_t){.kind = FC_VALUE_TENSOR,
                        .tensor = {.dtype = op->dtype,
                                   .rank = op->rank,
                                   .shape = shape,
                                   .data = memory}};
  return FC_OK;
}

// Makes a zeroed value of state that is not kept after the call.
static fc_status_t place_zeros(fc_frame_t *frame, const fc_plan_state_t *state,
                               fc_error_t *err) {
  const fc_op_t *op = state->param.op;
  fc_value_t *value = &frame->arguments[op->raw];
  size_t count, size = 0;
  void *memory = NULL;
  *value = fc_plan_zeros(state);
  if (value->kind != FC_VALUE_TENSOR) return FC_OK;
  (void)fc_shape_count(state->shape, op->rank, op->dtype, &count, &size);
  FC_TRY(place_cleared(frame, op->dtype, size, &memory, err));
  value->tensor.data = memory;
  return fc_frame_check_shape(frame, &state->param, op, &value->tensor, err);
}

fc_status_t fc_frame_place_stores(fc_frame_t *frame, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  if (plan->entries) FC_TRY(fc_frame_choose_row(frame, err));
  for (uint32_t i = 0; i < plan->store_count; i++) {
    const fc_plan_param_t *store = &plan->stores[i];
    fc_value_t *value = &frame->arguments[store->op->raw];
    if (value->kind != FC_VALUE_NULL) continue;
    FC_TRY(place_store(frame, store, value, err));
  }
  if (FC_UNLIKELY(frame->ways != NULL)) return frame->ways->place(frame, err);
  for (uint32_t i = 0; i < plan->state_count; i++) {
    FC_TRY(place_zeros(frame, &plan->states[i], err));
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Arguments that were set, not decoded. Their types and shapes are checked
// here, because native code reads as much memory as their shapes say.

static fc_status_t check_named_dims(fc_frame_t *frame, const fc_op_t *op,
                                    const fc_tensor_t *tensor,
                                    fc_error_t *err) {
  for (int32_t i = 0; i < op->rank; i++) {
    if (!fc_dim_is_named(op->dims[i])) continue;
    const int64_t dim = fc_frame_dim(frame, op->dims[i]);
    if (dim >= 0 && tensor->shape[i] != dim) {
      return fc_frame_fail_dim(frame, FC_CODE_SHAPE_MISMATCH, op, i,
                               tensor->shape[i], err);
    }
    fc_frame_bind_dim(frame, op, i, tensor->shape[i]);
  }
  return FC_OK;
}

fc_status_t fc_frame_check_shape(fc_frame_t *frame,
                                 const fc_plan_param_t *input,
                                 const fc_op_t *op, const fc_tensor_t *tensor,
                                 fc_error_t *err) {
  size_t size;
  fc_status_t status =
      fc_tensor_check(tensor, op->dtype, op->rank, op->dims, &size, err);
  if (status == FC_OK) status = check_named_dims(frame, op, tensor, err);
  if (status != FC_OK && err) fc_plan_name_argument(input, err);
  return status;
}

// Copies a tensor if compiled code cannot use it where it lies.
static fc_status_t take_tensor(fc_frame_t *frame, fc_tensor_t *tensor,
                               size_t size, fc_error_t *err) {
  if (!size || fc_tensor_is_usable(tensor, frame->plan->signature->alignment)) {
    return FC_OK;
  }
  void *memory = NULL;
  FC_TRY(fc_frame_place(frame, tensor->dtype, size, &memory, err));
  FC_TRY(fc_gather(tensor, memory, &frame->stop, err));
  fc_frame_commit(frame, memory, size, size);
  tensor->data = memory;
  tensor->strides = NULL;
  return FC_OK;
}

static fc_status_t check_tensor(fc_frame_t *frame, const fc_op_t *op,
                                fc_tensor_t *tensor, fc_error_t *err) {
  const bool shaped = op->kind == FC_TYPE_TENSOR || op->kind == FC_TYPE_VECTOR;
  size_t size;
  FC_TRY(fc_tensor_check(tensor, op->dtype, shaped ? op->rank : FC_RANK_DYNAMIC,
                         op->dims, &size, err));
  if (shaped) FC_TRY(check_named_dims(frame, op, tensor, err));
  return take_tensor(frame, tensor, size, err);
}

// Checks one value of the flat call: an argument, or a part of one.
static fc_status_t check_value(fc_frame_t *frame, const fc_plan_param_t *input,
                               const fc_op_t *op, fc_error_t *err) {
  fc_value_t *value = &frame->arguments[op->raw];
  const bool scalar = op->kind == FC_TYPE_SCALAR;
  const bool tensor = op->kind == FC_TYPE_TENSOR || op->kind == FC_TYPE_VECTOR;
  fc_status_t status = FC_OK;
  if (scalar ? value->kind != FC_VALUE_SCALAR || value->dtype != op->dtype
             : tensor && value->kind != FC_VALUE_TENSOR) {
    status = fc_fail(err, FC_CODE_TYPE_MISMATCH, "expected %s",
                     scalar ? fc_dtype_info(op->dtype)->text : "a tensor");
  } else if (value->kind == FC_VALUE_TENSOR) {
    status = check_tensor(frame, op, &value->tensor, err);
  }
  if (status != FC_OK && err && fc_code_is_argument(err->code)) {
    fc_plan_name_argument(input, err);
  }
  return status;
}

static fc_status_t check_arguments(fc_frame_t *frame, fc_error_t *err) {
  const fc_plan_t *plan = frame->plan;
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const fc_plan_param_t *input = &plan->inputs[i];
    const fc_op_t *end = fc_op_next(input->op);
    for (const fc_op_t *op = input->op; op < end; op++) {
      if (op->raw >= 0) FC_TRY(check_value(frame, input, op, err));
    }
  }
  // Checks storage that was set for out arguments. Storage that was not set is
  // placed later.
  for (uint32_t i = 0; i < plan->store_count; i++) {
    const fc_plan_param_t *store = &plan->stores[i];
    if (frame->arguments[store->op->raw].kind == FC_VALUE_NULL) continue;
    FC_TRY(check_value(frame, store, store->op, err));
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The call, and what is set for it

fc_status_t fc_frame_invoke(fc_frame_t *frame, const fc_backend_t *backend,
                            void *instance, size_t index,
                            const _Atomic uint32_t *cancel,
                            uint64_t deadline_ns, fc_error_t *err) {
  fc_frame_end_call(frame);
  if (!frame->plan) return fc_frame_fail_idle(err);
  const fc_plan_t *plan = frame->plan;
  const fc_invoke_t invoke = {backend, instance, index, cancel, deadline_ns};
  if (!frame->arguments || !frame->named_dims) return fc_fail_memory(err);
  if (!frame->decoded) {
    FC_TRY(check_arguments(frame, err));
    FC_TRY(fc_frame_place_stores(frame, err));
  }
  frame->result_room =
      (size_t)plan->signature->raw_result_count + plan->final_count;
  fc_value_t *results = fc_arena_alloc_array(
      &frame->arena, frame->result_room + 1, sizeof(fc_value_t));
  if (!results) return fc_fail_memory(err);
  FC_TRY(FC_UNLIKELY(frame->batched)
             ? fc_frame_call_rows(frame, &invoke, results, err)
             : fc_frame_call(frame, &invoke, frame->arguments, results,
                             &frame->arena, err));
  frame->results = results;
  frame->result_count = frame->result_room;
  return FC_OK;
}

fc_status_t fc_frame_invoke_profiled(
    fc_frame_t *frame, const fc_backend_t *backend, void *instance,
    size_t index, fc_str_t name, const _Atomic uint32_t *cancel,
    uint64_t deadline_ns, fc_profile_t *profile, fc_error_t *err) {
  frame->profile = profile;
  fc_profile_begin(profile, name);
  frame->profiles = true;
  const fc_status_t status = fc_frame_invoke(frame, backend, instance, index,
                                             cancel, deadline_ns, err);
  frame->profiles = false;
  fc_profile_end(profile);
  return status;
}

void fc_frame_end(fc_frame_t *frame) {
  if (!frame->plan) return;  // the call has already ended
  fc_frame_end_call(frame);
  fc_guarded_free(frame);
  frame->plan = NULL;
  frame->arguments = NULL;
  frame->named_dims = NULL;
  frame->results = NULL;
  frame->result_count = 0;
  frame->options = (fc_options_t){0};
  frame->stop = (fc_stop_t){0};
  frame->decoded = false;
  frame->batched = frame->least = false;
  frame->computed = 0;
  frame->store = NULL;
  frame->ways = NULL;
  frame->stored = NULL;
  frame->commits_later = false;
  frame->oip = NULL;
  frame->repeat = NULL;
  frame->framed = frame->raw_results = frame->by_rows = false;
  frame->raw = (fc_str_t){0};
  frame->raw_first = frame->raw_last = NULL;
  frame->copied = 0;
  frame->leaf = 0;
  frame->depth = 0;
  fc_arena_reset(&frame->arena);
  fc_arena_reset(&frame->tensors);
  fc_arena_reset(&frame->bucket);
}

void fc_frame_set_guard(fc_frame_t *frame, bool guard) { frame->guard = guard; }

void fc_frame_set_tiles(fc_frame_t *frame, const fc_tiles_t *tiles) {
  frame->tiles = tiles;
}

void fc_frame_set_keeper(fc_frame_t *frame, const fc_keeper_t *keeper) {
  frame->keeper = keeper;
}

fc_value_t *fc_frame_arguments(fc_frame_t *frame, size_t *out_count) {
  frame->decoded = false;  // the caller may change the arguments
  bool ready = frame->plan && frame->arguments;
  *out_count = ready ? frame->plan->signature->raw_argument_count : 0;
  return frame->arguments;
}

const fc_value_t *fc_frame_results(const fc_frame_t *frame, size_t *out_count) {
  *out_count = frame->result_count;
  return frame->results;
}

fc_arena_t *fc_frame_arena(fc_frame_t *frame) { return &frame->arena; }

void fc_frame_set_results(fc_frame_t *frame, const fc_value_t *values,
                          size_t count) {
  frame->results = values;
  frame->result_count = count;
}
