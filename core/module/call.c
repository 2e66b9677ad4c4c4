// SPDX-License-Identifier: Apache-2.0
//
// fc_call_t (farcall/call.h). Arguments are kept as values of the flat call. Tuples and
// dicts among them are lists in memory of the call, so the frame is given one value for
// each raw index. Other memory that a run needs (copies of what cannot be passed as it
// is, storage of results) is kept from run to run.
#include "farcall/call.h"

#include <inttypes.h>
#include <stdio.h>

#include "marshal/leaves.h"
#include "module/instance.h"

// Memory that grows as needed, losing its contents, and is freed with the call.
typedef struct buffer_t {
  void *data;
  size_t size;
} buffer_t;

typedef struct argument_t {
  fc_value_t *dest;  // in the flat call; NULL: it is passed nowhere
  bool set;
  bool copied;       // each run passes `copy`, not the caller's elements
  fc_value_t given;  // its shape and strides point into `dims`
  int64_t *dims;     // room for a shape and strides
  buffer_t copy;
} argument_t;

struct fc_call_t {
  fc_instance_t *instance;
  const fc_function_t *function;
  fc_arena_t arena;  // memory that stays as long as the call
  fc_leaves_t arguments;
  fc_leaves_t results;
  argument_t *given;  // by argument leaf
  fc_value_t *flat;   // the arguments of the flat call
  buffer_t *storage;  // by place()'s `leaf`: of OUT arguments that are not set
  // Only for a module that is locked until its results are released
  // (holds_results), otherwise NULL: copies of the results, and for each result
  // two buffers, for its elements and its shape.
  fc_value_t *kept;
  buffer_t *kept_buffers;
};

static const fc_plan_t *plan_of(const fc_call_t *call) {
  return call->function->plan;
}

static size_t flat_result_count(const fc_call_t *call) {
  const fc_plan_t *plan = plan_of(call);
  return (size_t)plan->signature->raw_result_count + plan->final_count;
}

static bool reserve(const fc_call_t *call, buffer_t *buffer, size_t size) {
  if (size <= buffer->size) return true;
  const fc_allocator_t allocator = call->instance->allocator;
  fc_free(allocator, buffer->data);
  *buffer = (buffer_t){0};
  buffer->data = fc_alloc_aligned(allocator, size, FC_TENSOR_ALIGNMENT);
  if (buffer->data) buffer->size = size;
  return buffer->data != NULL;
}

// ---------------------------------------------------------------------------
// Creating a call

// Finds the place of a leaf's value in the flat call, and makes the lists that lead
// to it. *out_dest is NULL when the leaf is passed nowhere.
static fc_status_t find_dest(fc_call_t *call, const fc_leaf_way_t *way,
                             fc_value_t **out_dest, fc_error_t *err) {
  const fc_op_t *op = way->param->op;
  fc_value_t *value = way->raw_index < 0 ? NULL : &call->flat[way->raw_index];
  // Starts at the tuple or dict that is raw argument `raw_index`.
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
  argument_t *argument = &call->given[leaf];
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

// True for a value that can be set to one thing only: null, an empty tuple, an
// empty dict.
static bool is_constant(const fc_leaf_t *type) {
  return type->kind == FC_TYPE_NULL || type->kind == FC_TYPE_TUPLE ||
         type->kind == FC_TYPE_DICT;
}

static void set_constants(fc_call_t *call) {
  for (uint32_t i = 0; i < call->arguments.count; i++) {
    const fc_leaf_t *type = &call->arguments.leaves[i];
    argument_t *argument = &call->given[i];
    if (!is_constant(type)) continue;
    argument->set = true;
    argument->given.kind =
        type->kind == FC_TYPE_NULL ? FC_VALUE_NULL : FC_VALUE_LIST;
  }
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
  call->storage = fc_arena_alloc_array(arena, plan->store_count + (size_t)1,
                                       sizeof *call->storage);
  if (!call->given || !call->flat || !call->storage) return fc_fail_memory(err);
  if (fc_module_get_info(call->instance->module)->holds_results) {
    call->kept = fc_arena_alloc_array(arena, results + 1, sizeof *call->kept);
    call->kept_buffers = fc_arena_alloc_array(arena, 2 * results + 1,
                                              sizeof *call->kept_buffers);
    if (!call->kept || !call->kept_buffers) return fc_fail_memory(err);
  }
  for (uint32_t i = 0; i < call->arguments.count; i++) {
    FC_TRY(prepare_argument(call, i, err));
  }
  set_constants(call);
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
  for (uint32_t i = 0; call->storage && i < plan_of(call)->store_count; i++) {
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
// Arguments

// Adds to the error which argument it is about, and which part of that
// argument.
static fc_status_t locate(const fc_call_t *call, uint32_t leaf,
                          fc_status_t status, fc_error_t *err) {
  if (!err) return status;
  fc_plan_name_argument(call->arguments.ways[leaf].param, err);
  snprintf(err->pointer, sizeof err->pointer, "/%s",
           call->arguments.leaves[leaf].path);
  err->has_pointer = true;
  return status;
}

static fc_status_t check_dims(const fc_leaf_t *type, const fc_tensor_t *tensor,
                              fc_error_t *err) {
  if (type->rank < 0) return FC_OK;
  if (tensor->rank != type->rank) {
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                   "%" PRId32 " dims, its type has %" PRId32, tensor->rank,
                   type->rank);
  }
  for (int32_t i = 0; i < type->rank; i++) {
    if (type->dims[i] < 0 || type->dims[i] == tensor->shape[i]) continue;
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                   "dim %" PRId32 " is %" PRId64 ", its type says %" PRId64, i,
                   tensor->shape[i], type->dims[i]);
  }
  return FC_OK;
}

// Adds to *high, or to *low if the stride is negative, how many bytes dim `i`
// reaches from the first element. False when that overflows.
static bool add_reach(const fc_tensor_t *tensor, int32_t i, int64_t *low,
                      int64_t *high) {
  int64_t reach;
  int64_t *end = tensor->strides[i] < 0 ? low : high;
  return fc_i64_mul(tensor->shape[i] - 1, tensor->strides[i], &reach) &&
         fc_i64_mul(reach, (int64_t)fc_dtype_size(tensor->dtype), &reach) &&
         fc_i64_add(*end, reach, end);
}

// True when every element lies in the half of the address space that programs
// have.
static bool is_addressable(const fc_tensor_t *tensor, size_t size) {
  int64_t low = 0, high = (int64_t)fc_dtype_size(tensor->dtype);
  if (!tensor->strides) {
    if (size > INT64_MAX) return false;
    high = (int64_t)size;
  }
  for (int32_t i = 0; tensor->strides && i < tensor->rank; i++) {
    if (!add_reach(tensor, i, &low, &high)) return false;
  }
  const int64_t at = (int64_t)(uintptr_t)tensor->data;
  return at > 0 && fc_i64_add(at, low, &low) && low > 0 &&
         fc_i64_add(at, high, &high);
}

static fc_status_t check_memory(const fc_tensor_t *tensor, fc_error_t *err) {
  size_t count, size;
  if (!fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &size)) {
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                   "a dim is negative, or the elements are more than memory "
                   "can hold");
  }
  if (count == 0) return FC_OK;
  if (!tensor->data) {
    return fc_fail(err, FC_CODE_DATA_LENGTH, "no memory for %zu elements",
                   count);
  }
  if (is_addressable(tensor, size)) return FC_OK;
  return fc_fail(err, FC_CODE_DATA_LENGTH,
                 "its elements lie outside the address space");
}

static fc_status_t check_tensor(const fc_leaf_t *type,
                                const fc_tensor_t *tensor, fc_error_t *err) {
  switch (type->kind) {
    case FC_TYPE_SCALAR:
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
    case FC_TYPE_UNKNOWN:
      break;
    default:
      return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                     "it is no tensor: fc_call_set_value sets it");
  }
  const fc_dtype_info_t *info = fc_dtype_info(tensor->dtype);
  if (!info->size || (type->dtype && type->dtype != tensor->dtype)) {
    return fc_fail(err, FC_CODE_DTYPE_MISMATCH,
                   "elements of %s, its type has %s",
                   info->size ? info->text : "no type",
                   type->dtype ? fc_dtype_info(type->dtype)->text : "any");
  }
  if (tensor->rank < 0 || tensor->rank > FC_RANK_MAX) {
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                   "%" PRId32 " dims, at most %d can be", tensor->rank,
                   FC_RANK_MAX);
  }
  FC_TRY(check_dims(type, tensor, err));
  return check_memory(tensor, err);
}

// True when the function can be given the caller's elements where they lie: compiled
// code relies on dense elements that are aligned as it expects.
static bool is_usable(const fc_call_t *call, const fc_tensor_t *tensor) {
  const uintptr_t at = (uintptr_t)tensor->data;
  return fc_tensor_is_dense(tensor) &&
         at % call->function->signature->alignment == 0 &&
         at % fc_dtype_size(tensor->dtype) == 0;
}

static fc_status_t set_tensor(fc_call_t *call, uint32_t leaf,
                              const fc_tensor_t *tensor, fc_error_t *err) {
  const fc_leaf_t *type = &call->arguments.leaves[leaf];
  argument_t *argument = &call->given[leaf];
  FC_TRY(check_tensor(type, tensor, err));
  const bool copied = !is_usable(call, tensor);
  if (copied && type->role != FC_ROLE_IN) {
    return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                   "the function writes to it, so its elements must be dense "
                   "and lie at a multiple of %u bytes",
                   call->function->signature->alignment);
  }
  const size_t rank = (size_t)tensor->rank;
  int64_t *dims = argument->dims;
  argument->given = (fc_value_t){.kind = FC_VALUE_TENSOR, .tensor = *tensor};
  argument->given.tensor.shape = dims;
  argument->given.tensor.strides = NULL;
  if (rank) memcpy(dims, tensor->shape, rank * sizeof *dims);
  if (rank && !fc_tensor_is_dense(tensor)) {
    memcpy(dims + rank, tensor->strides, rank * sizeof *dims);
    argument->given.tensor.strides = dims + rank;
  }
  argument->copied = copied;
  argument->set = true;
  return FC_OK;
}

fc_status_t fc_call_set_leaf(fc_call_t *call, size_t leaf,
                             const fc_tensor_t *tensor, fc_error_t *err) {
  if (leaf >= call->arguments.count) {
    return fc_fail(err, FC_CODE_UNKNOWN_ARGUMENT,
                   "no argument %zu: there are %u", leaf,
                   call->arguments.count);
  }
  const fc_status_t status = set_tensor(call, (uint32_t)leaf, tensor, err);
  return status == FC_OK ? FC_OK : locate(call, (uint32_t)leaf, status, err);
}

static fc_status_t find_argument(const fc_call_t *call, const char *path,
                                 uint32_t *out_leaf, fc_error_t *err) {
  *out_leaf = fc_leaves_find(&call->arguments, fc_str(path), NULL);
  if (*out_leaf != FC_LEAF_NONE) return FC_OK;
  char shown[128], hint[128] = "";
  fc_escape(shown, sizeof shown, 64, fc_str(path));
  const fc_str_t nearest = fc_leaves_nearest(&call->arguments, fc_str(path));
  if (nearest.size) {
    snprintf(hint, sizeof hint, "; did you mean '%.*s'?", FC_STR_ARG(nearest));
  }
  return fc_fail(err, FC_CODE_UNKNOWN_ARGUMENT, "no argument '%s'%s", shown,
                 hint);
}

fc_status_t fc_call_set(fc_call_t *call, const char *path,
                        const fc_tensor_t *tensor, fc_error_t *err) {
  uint32_t leaf;
  FC_TRY(find_argument(call, path, &leaf, err));
  return fc_call_set_leaf(call, leaf, tensor, err);
}

// True when a leaf of this type may have such a value.
static bool takes(const fc_leaf_t *type, const fc_value_t *value) {
  const bool unknown = type->kind == FC_TYPE_UNKNOWN;
  switch (value->kind) {
    case FC_VALUE_SCALAR:
      return type->kind == FC_TYPE_SCALAR && type->dtype == value->dtype;
    case FC_VALUE_BYTES:
      return unknown || type->kind == FC_TYPE_BYTES;
    case FC_VALUE_LIST:
      return unknown || type->kind == FC_TYPE_LIST ||
             type->kind == FC_TYPE_REFARRAY;
    case FC_VALUE_NULL:
      return unknown;
    default:
      return false;
  }
}

typedef struct list_level_t {
  const fc_value_t *next;
  size_t left;
} list_level_t;

// A tensor inside a list is passed without a copy, so it must be usable as it
// is.
static fc_status_t check_item(const fc_call_t *call, const fc_value_t *value,
                              fc_error_t *err) {
  static const fc_leaf_t any = {.kind = FC_TYPE_UNKNOWN,
                                .rank = FC_RANK_DYNAMIC};
  if (value->kind != FC_VALUE_TENSOR) return FC_OK;
  FC_TRY(check_tensor(&any, &value->tensor, err));
  if (!value->tensor.strides && is_usable(call, &value->tensor)) return FC_OK;
  return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                 "the elements of a tensor in a list must be dense, without "
                 "strides, and lie at a multiple of %u bytes",
                 call->function->signature->alignment);
}

static fc_status_t check_list(const fc_call_t *call, const fc_value_t *list,
                              fc_error_t *err) {
  list_level_t levels[FC_TYPE_DEPTH_MAX] = {{list, 1}};
  uint32_t depth = 1;
  while (depth) {
    list_level_t *level = &levels[depth - 1];
    if (!level->left) {
      depth--;
      continue;
    }
    const fc_value_t *value = level->next++;
    level->left--;
    if (value->kind != FC_VALUE_LIST) {
      FC_TRY(check_item(call, value, err));
    } else if (depth == FC_TYPE_DEPTH_MAX) {
      return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                     "lists are nested deeper than %d", FC_TYPE_DEPTH_MAX);
    } else {
      levels[depth++] = (list_level_t){value->list.items, value->list.count};
    }
  }
  return FC_OK;
}

static fc_status_t set_value(fc_call_t *call, uint32_t leaf,
                             const fc_value_t *value, fc_error_t *err) {
  argument_t *argument = &call->given[leaf];
  if (value->kind == FC_VALUE_TENSOR) {
    return set_tensor(call, leaf, &value->tensor, err);
  }
  if (!takes(&call->arguments.leaves[leaf], value)) {
    return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                   "the argument cannot have a value of this kind");
  }
  FC_TRY(check_list(call, value, err));
  argument->given = *value;
  argument->copied = false;
  argument->set = true;
  return FC_OK;
}

fc_status_t fc_call_set_value(fc_call_t *call, const char *path,
                              const fc_value_t *value, fc_error_t *err) {
  uint32_t leaf;
  FC_TRY(find_argument(call, path, &leaf, err));
  const fc_status_t status = set_value(call, leaf, value, err);
  return status == FC_OK ? FC_OK : locate(call, leaf, status, err);
}

void fc_call_clear(fc_call_t *call) {
  fc_call_end(call);
  for (uint32_t i = 0; i < call->arguments.count; i++) {
    call->given[i].set = false;
    if (call->given[i].dest) *call->given[i].dest = (fc_value_t){0};
  }
  set_constants(call);
}

// ---------------------------------------------------------------------------
// A run

static fc_status_t pass_copy(fc_call_t *call, argument_t *argument,
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

static fc_status_t pass_argument(fc_call_t *call, uint32_t leaf,
                                 fc_error_t *err) {
  const fc_leaf_t *type = &call->arguments.leaves[leaf];
  argument_t *argument = &call->given[leaf];
  if (!argument->set && type->role != FC_ROLE_OUT) {
    return locate(call, leaf, fc_fail(err, FC_CODE_MISSING_ARGUMENT, "missing"),
                  err);
  }
  if (!argument->dest || !argument->set) return FC_OK;
  const fc_tensor_t *tensor = &argument->given.tensor;
  if (type->kind == FC_TYPE_SCALAR && argument->given.kind == FC_VALUE_TENSOR) {
    *argument->dest =
        (fc_value_t){.kind = FC_VALUE_SCALAR, .dtype = tensor->dtype};
    memcpy(argument->dest->scalar.bytes, tensor->data,
           fc_dtype_size(tensor->dtype));
    return FC_OK;
  }
  *argument->dest = argument->given;
  return argument->copied ? pass_copy(call, argument, err) : FC_OK;
}

// The frame asks only for the memory of OUT arguments that are not set.
static void *place(void *context, uint32_t leaf, fc_dtype_t dtype,
                   size_t size) {
  (void)dtype;
  fc_call_t *call = context;
  if (leaf >= plan_of(call)->store_count) return NULL;
  buffer_t *buffer = &call->storage[leaf];
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
  buffer_t *elements = &call->kept_buffers[2 * index];
  buffer_t *shape = elements + 1;
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

// Copies the results, with the elements and shapes of tensors, and ends the frame's call.
// So the module does not stay locked until they are released.
static fc_status_t keep_results(fc_call_t *call, fc_error_t *err) {
  size_t count;
  const fc_value_t *results = fc_frame_results(call->instance->frame, &count);
  for (size_t i = 0; i < count; i++) {
    call->kept[i] = results[i];
    if (results[i].kind != FC_VALUE_TENSOR) continue;
    FC_TRY(keep_tensor(call, i, &call->kept[i].tensor, err));
  }
  fc_frame_end(call->instance->frame);
  return FC_OK;
}

static fc_status_t run(fc_call_t *call, const fc_run_options_t *options,
                       fc_error_t *err) {
  fc_instance_t *instance = call->instance;
  FC_TRY(begin(call, err));
  fc_frame_set_tiles(instance->frame, instance->tiles);
  FC_TRY(fc_frame_invoke(instance->frame,
                         fc_module_get_backend(instance->module),
                         instance->handle, call->function->index,
                         options->cancel ? &options->cancel->word : NULL,
                         options->deadline_ns, err));
  return call->kept ? keep_results(call, err) : FC_OK;
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
  if (status == FC_OK) {
    instance->open = call;
  } else {
    fc_frame_end(instance->frame);
  }
  atomic_store_explicit(&instance->in_use, false, memory_order_release);
  return status;
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

// Takes the first index off a text like "3/0". For anything but one to ten digits
// returns SIZE_MAX, an index that no list has.
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
  size_t count;
  const fc_value_t *value =
      call->kept ? call->kept : fc_frame_results(call->instance->frame, &count);
  value = way->raw_index < 0 ? NULL : &value[way->raw_index];
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
