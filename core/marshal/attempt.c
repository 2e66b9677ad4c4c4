// SPDX-License-Identifier: Apache-2.0
//
// Counts the results of an attempt between CALL and ENCODE: only then it is known how
// much time writing them will take. Runs on the thread that makes the attempt.
#include "marshal/attempt.h"

#include "marshal/frame.h"

void fc_frame_set_budget(fc_frame_t *frame, fc_budget_t *budget) {
  frame->budget = budget;
}

// Subtracts `size` from *left; false when *left is less.
static bool take(size_t *left, size_t size) {
  if (size > *left) return false;
  *left -= size;
  return true;
}

// Subtracts the size of a tensor. A dim of 0 counts as 1, because the brackets of the
// dims before it are written, too.
static bool take_tensor(size_t *left, const fc_tensor_t *tensor) {
  size_t size = fc_dtype_size(tensor->dtype);
  if (!size) size = 1;
  for (int32_t i = 0; i < tensor->rank; i++) {
    const int64_t dim = tensor->shape[i];
    if (dim > 1 && !fc_size_mul(size, (size_t)dim, &size)) return false;
  }
  return take(left, size);
}

static bool take_plain(size_t *left, const fc_value_t *value) {
  switch (value->kind) {
    case FC_VALUE_TENSOR:
      return take_tensor(left, &value->tensor);
    case FC_VALUE_BYTES:
      return take(left, value->bytes.size);
    default:
      return take(left, sizeof value->scalar);
  }
}

typedef struct level_t {
  const fc_value_t *next;
  size_t count;
} level_t;

bool fc_frame_results_fit(const fc_frame_t *frame, size_t most) {
  level_t levels[FC_JSON_DEPTH_MAX] = {{frame->results, frame->result_count}};
  size_t left = most;
  uint32_t depth = 1;
  while (depth) {
    level_t *level = &levels[depth - 1];
    if (!level->count) {
      depth--;
      continue;
    }
    const fc_value_t *value = level->next++;
    level->count--;
    if (value->kind != FC_VALUE_LIST) {
      if (!take_plain(&left, value)) return false;
      continue;
    }
    if (depth == FC_JSON_DEPTH_MAX || !take(&left, sizeof value->scalar)) {
      return false;
    }
    levels[depth++] = (level_t){value->list.items, value->list.count};
  }
  return true;
}
