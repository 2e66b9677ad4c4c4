// SPDX-License-Identifier: Apache-2.0
//
// Fills the bits above the width (base/width.h). A function may return a list that it
// was given, and the list's items belong to the caller. So lists are copied, too.
#include "marshal/widths.h"

#include "base/width.h"
#include "marshal/frame.h"
#include "value/gather.h"

#define DEPTH_MAX 64  // as deep as IREE's lists may be

typedef struct items_t {
  fc_value_t *next;
  size_t left;
} items_t;

static bool is_narrow(const fc_dtype_info_t *info) {
  return info->bits < 8u * info->size;
}

static fc_status_t fill_tensor(fc_frame_t *frame, fc_tensor_t *tensor,
                               fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(tensor->dtype);
  size_t count, size;
  if (!is_narrow(info)) return FC_OK;
  if (!fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &size)) {
    return fc_fail(err, FC_CODE_BAD_RESULT, "a result has an impossible shape");
  }
  uint8_t *copy = fc_arena_alloc(&frame->tensors, size + !size, 64);
  if (!copy) return fc_fail_memory(err);
  FC_TRY(fc_gather(tensor, copy, &frame->stop, err));
  fc_width_fill(info, copy, count);
  tensor->strides = NULL;
  tensor->data = copy;
  return FC_OK;
}

static fc_status_t fill_leaf(fc_frame_t *frame, fc_value_t *value,
                             fc_error_t *err) {
  if (value->kind == FC_VALUE_TENSOR) {
    return fill_tensor(frame, &value->tensor, err);
  }
  if (value->kind != FC_VALUE_SCALAR) return FC_OK;
  const fc_dtype_info_t *info = fc_dtype_info(value->dtype);
  if (is_narrow(info)) fc_width_fill(info, value->scalar.bytes, 1);
  return FC_OK;
}

// Copies values to *out_items. The bits of the copies are not filled yet.
static fc_status_t copy_items(fc_frame_t *frame, const fc_value_t *values,
                              size_t count, items_t *out_items,
                              fc_error_t *err) {
  fc_value_t *copy =
      fc_arena_alloc_array(&frame->arena, count + 1, sizeof *copy);
  if (!copy) return fc_fail_memory(err);
  if (count) memcpy(copy, values, count * sizeof *copy);
  *out_items = (items_t){copy, count};
  return FC_OK;
}

fc_status_t fc_frame_fill_widths(fc_frame_t *frame, fc_error_t *err) {
  items_t levels[1 + DEPTH_MAX];
  uint32_t depth = 1;
  FC_TRY(
      copy_items(frame, frame->results, frame->result_count, &levels[0], err));
  frame->results = levels[0].next;
  while (depth) {
    items_t *level = &levels[depth - 1];
    if (!level->left) {
      depth--;
      continue;
    }
    fc_value_t *value = level->next++;
    level->left--;
    if (value->kind != FC_VALUE_LIST) {
      FC_TRY(fill_leaf(frame, value, err));
      continue;
    }
    if (depth > DEPTH_MAX) {
      return fc_fail(err, FC_CODE_BAD_RESULT,
                     "a result has lists nested deeper than %d", DEPTH_MAX);
    }
    FC_TRY(copy_items(frame, value->list.items, value->list.count,
                      &levels[depth], err));
    value->list.items = levels[depth++].next;
  }
  return FC_OK;
}
