// SPDX-License-Identifier: Apache-2.0
//
// Copies arguments so that they end at an unmapped page, and finds results that were
// computed from the bytes between an argument and its page (the fill).
#include "marshal/guard.h"

#include "value/gather.h"

// True when all bytes of any element are FC_GUARD_FILL. `size` is a constant in each
// call, so that memcmp becomes one comparison.
static inline bool has_fill(const uint8_t *data, size_t count, size_t size) {
  uint64_t fill;
  memset(&fill, FC_GUARD_FILL, sizeof fill);
  for (size_t i = 0; i < count; i++) {
    if (memcmp(data + i * size, &fill, size) == 0) return true;
  }
  return false;
}

// Does the same as has_fill for elements of any type. Only floats of at least two bytes
// count; a complex number is two floats.
static bool holds_fill(const void *data, size_t count, fc_dtype_t dtype) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  size_t size = info->size;
  if (info->class_ == FC_DTYPE_CLASS_COMPLEX) {
    size /= 2;
    count *= 2;
  } else if (info->class_ != FC_DTYPE_CLASS_FLOAT) {
    return false;
  }
  switch (size) {
    case 2:
      return has_fill(data, count, 2);
    case 4:
      return has_fill(data, count, 4);
    case 8:
      return has_fill(data, count, 8);
    default:
      return false;  // in an element of one byte the fill may be a valid number
  }
}

// Does the same as holds_fill for a strided view. A dim of stride 0 is skipped, since it
// repeats the same elements.
static bool view_holds_fill(const fc_tensor_t *tensor) {
  const int64_t size = (int64_t)fc_dtype_size(tensor->dtype);
  int64_t shape[FC_RANK_MAX], index[FC_RANK_MAX] = {0}, at = 0;
  for (int32_t i = 0; i < tensor->rank; i++) {
    shape[i] = tensor->strides[i] ? tensor->shape[i] : 1;
  }
  do {
    if (holds_fill((const uint8_t *)tensor->data + at * size, 1, tensor->dtype))
      return true;
  } while (fc_view_step(tensor->rank, shape, tensor->strides, index, &at) >= 0);
  return false;
}

static bool tensor_holds_fill(const fc_tensor_t *tensor) {
  size_t count, size;
  if (!fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &size) ||
      count == 0) {
    return false;
  }
  return fc_tensor_is_dense(tensor)
             ? holds_fill(tensor->data, count, tensor->dtype)
             : view_holds_fill(tensor);
}

static bool value_holds_fill(const fc_value_t *value) {
  if (value->kind == FC_VALUE_TENSOR) return tensor_holds_fill(&value->tensor);
  return value->kind == FC_VALUE_SCALAR &&
         holds_fill(&value->scalar, 1, value->dtype);
}

// How many tensors of a call end at a page of their own. Each of them splits the
// mapping in two, and a process may have only 65,530 mappings. Further tensors,
// elements of very long lists, lie one after the other with the fill between them, and
// only the last one ends at a page.
#define ALONE_MAX 1024

// True for a tensor that must be copied. A strided view is not copied, because only its
// owner knows which memory it may reach.
static bool is_copied(const fc_value_t *value, size_t *out_size) {
  size_t count;
  const fc_tensor_t *tensor = &value->tensor;
  return value->kind == FC_VALUE_TENSOR && !tensor->strides &&
         fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                        out_size);
}

// Returns how many bytes a copy needs that shares a page with others. The fill after it
// is at least as long as a tensor's alignment.
static size_t shared_extent(size_t size) {
  return ((size + FC_GUARD_ALIGNMENT - 1) / FC_GUARD_ALIGNMENT + 1) *
         FC_GUARD_ALIGNMENT;
}

// True for a value of the store that already ends at an unmapped page; a part of a list
// may not. Such a value is not copied, and not searched for the fill, because searching
// would cost more than the copy.
static bool is_stored(const fc_frame_t *frame, const fc_value_t *value) {
  size_t size;
  return frame->store && is_copied(value, &size) && size &&
         fc_store_ends(frame->store, value->tensor.data, size);
}

static fc_status_t measure(fc_frame_t *frame, fc_value_t *value,
                           fc_error_t *err) {
  fc_guarded_t *guarded = &frame->guarded;
  size_t size;
  if (is_stored(frame, value)) {
    frame->fill_given = true;
    return FC_OK;
  }
  if (value_holds_fill(value)) frame->fill_given = true;
  if (!is_copied(value, &size)) return FC_OK;
  const bool alone = guarded->count++ < ALONE_MAX;
  const size_t extent =
      alone ? fc_guard_extent(size, frame->plan->signature->alignment)
            : shared_extent(size);
  size_t *sum = alone ? &guarded->extent : &guarded->shared;
  if (!extent || !fc_size_add(*sum, extent, sum)) return fc_fail_memory(err);
  return FC_OK;
}

static fc_status_t copy(fc_frame_t *frame, fc_value_t *value, fc_error_t *err) {
  fc_guarded_t *guarded = &frame->guarded;
  size_t size;
  if (is_stored(frame, value) || !is_copied(value, &size)) return FC_OK;
  uint8_t *memory = guarded->next;
  if (guarded->count++ < ALONE_MAX) {
    memory = fc_guard_arena_alloc(&guarded->arena, size,
                                  frame->plan->signature->alignment);
    if (!memory) return fc_fail_memory(err);
  } else {
    const size_t extent = shared_extent(size);
    memset(memory + size, FC_GUARD_FILL, extent - size);
    guarded->next += extent;
  }
  if (size) memcpy(memory, value->tensor.data, size);
  value->tensor.data = memory;
  return FC_OK;
}

// Fails when a float result has the bits of the fill. Up to 63 readable bytes lie
// between a guarded tensor and the unmapped page, and they are the fill. So the
// result was most likely computed from them. There is no error if the caller sent such
// a float. (A function that makes the same bits from integers or constants fails, too.)
static fc_status_t check_fill(fc_frame_t *frame, fc_value_t *value,
                              fc_error_t *err) {
  if (frame->fill_given || !value_holds_fill(value)) return FC_OK;
  return fc_fail_as(
      err, FC_CODE_CALL_FAILED, FC_OUT_OF_RANGE,
      "the function read past the end of a tensor: dims that must "
      "agree differ");
}

typedef struct guard_level_t {
  fc_value_t *next;
  size_t left;
} guard_level_t;

fc_status_t fc_frame_visit(fc_frame_t *frame, fc_value_t *values, size_t count,
                           fc_visit_t visit, fc_error_t *err) {
  guard_level_t levels[FC_JSON_DEPTH_MAX] = {{values, count}};
  uint32_t depth = 1;
  while (depth) {
    guard_level_t *level = &levels[depth - 1];
    if (level->left == 0) {
      depth--;
      continue;
    }
    fc_value_t *value = level->next++;
    level->left--;
    if (value->kind != FC_VALUE_LIST) {
      FC_TRY(visit(frame, value, err));
    } else {
      if (depth == FC_JSON_DEPTH_MAX) {
        return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                       "lists are nested deeper than %d", FC_JSON_DEPTH_MAX);
      }
      levels[depth++] = (guard_level_t){value->list.items, value->list.count};
    }
  }
  return FC_OK;
}

void fc_guarded_free(fc_frame_t *frame) {
  fc_guard_arena_close(&frame->guarded.arena);
}

// Reserves memory for the measured copies. The copies that share a page come first.
static fc_status_t open_arena(fc_guarded_t *guarded, fc_error_t *err) {
  size_t shared = 0, total;
  if (guarded->shared) shared = fc_guard_extent(guarded->shared, 64);
  if ((guarded->shared && !shared) ||
      !fc_size_add(guarded->extent, shared, &total) ||
      !fc_guard_arena_open(&guarded->arena, total)) {
    return fc_fail_memory(err);
  }
  if (!shared) return FC_OK;
  guarded->next = fc_guard_arena_alloc(&guarded->arena, guarded->shared, 64);
  return guarded->next ? FC_OK : fc_fail_memory(err);
}

fc_status_t fc_guarded_copy(fc_frame_t *frame, fc_value_t *arguments,
                            size_t count, fc_error_t *err) {
  fc_guarded_t *guarded = &frame->guarded;
  fc_guarded_free(frame);
  *guarded = (fc_guarded_t){0};
  frame->fill_given = false;
  FC_TRY(fc_frame_visit(frame, arguments, count, measure, err));
  if (!guarded->count) return FC_OK;
  FC_TRY(open_arena(guarded, err));
  guarded->count = 0;
  return fc_frame_visit(frame, arguments, count, copy, err);
}

fc_status_t fc_guarded_check(fc_frame_t *frame, fc_value_t *results,
                             size_t count, fc_error_t *err) {
  return fc_frame_visit(frame, results, count, check_fill, err);
}
