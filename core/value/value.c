// SPDX-License-Identifier: Apache-2.0
//
// Views of elements: their size, whether they are dense, and a dense copy of
// one that isn't. Used by the marshaller and the backends, any thread. Nothing
// here allocates, and nothing checks that `data` holds what the shape says.
#include "value/gather.h"

// [0, huge, huge] has no elements, however large its other dims are.
static bool is_empty(const int64_t *shape, int32_t rank) {
  bool empty = false;
  for (int32_t i = 0; i < rank; i++) {
    if (shape[i] < 0) return false;
    empty |= shape[i] == 0;
  }
  return empty;
}

bool fc_shape_count(const int64_t *shape, int32_t rank, fc_dtype_t dtype,
                    size_t *out_count, size_t *out_size) {
  size_t count = 1, size;
  bool fits = true;
  for (int32_t i = 0; i < rank; i++) {
    fits &= shape[i] >= 0;
    fits &= fc_size_mul(count, (size_t)shape[i], &count);
  }
  if (FC_UNLIKELY(!fits)) {
    if (!is_empty(shape, rank)) return false;
    count = 0;
  }
  if (!fc_size_mul(count, fc_dtype_size(dtype), &size)) return false;
  *out_count = count;
  *out_size = size;
  return true;
}

bool fc_tensor_is_dense(const fc_tensor_t *tensor) {
  if (!tensor->strides) return true;
  for (int32_t i = 0; i < tensor->rank; i++) {
    if (tensor->shape[i] == 0) return true;
  }
  int64_t expected = 1;
  for (int32_t i = tensor->rank; i-- > 0;) {
    // The stride of a dim of one element is never used.
    if (tensor->shape[i] == 1) continue;
    if (tensor->strides[i] != expected) return false;
    if (!fc_i64_mul(expected, tensor->shape[i], &expected)) return false;
  }
  return true;
}

// Elements that are copied without a look whether the call is to end.
#define STEP 16384

// Inlined: rows may have two elements.
static inline __attribute__((always_inline)) void copy_row(
    uint8_t *dest, const uint8_t *source, int64_t count, int64_t stride,
    size_t size) {
  if (stride == 1) {
    memcpy(dest, source, (size_t)count * size);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    memcpy(dest + (size_t)i * size, source + i * stride * (int64_t)size, size);
  }
}

// Looks, and copies a row, with a look behind each STEP elements.
static fc_status_t copy_long_row(uint8_t *dest, const uint8_t *source,
                                 int64_t count, int64_t stride, size_t size,
                                 const fc_stop_t *stop, fc_error_t *err) {
  for (int64_t at = 0; at < count; at += STEP) {
    const int64_t part = count - at < STEP ? count - at : STEP;
    FC_TRY(fc_stop_look(stop, err));
    copy_row(dest + (size_t)at * size, source + at * stride * (int64_t)size,
             part, stride, size);
  }
  return FC_OK;
}

fc_status_t fc_copy(void *dest, const void *source, size_t size,
                    const fc_stop_t *stop, fc_error_t *err) {
  const size_t step = 16 * FC_STOP_STEP;  // copying is quick
  for (size_t at = 0; at < size; at += step) {
    const size_t rest = size - at;
    if (at) FC_TRY(fc_stop_look(stop, err));
    memcpy((char *)dest + at, (const char *)source + at,
           rest < step ? rest : step);
  }
  return FC_OK;
}

fc_status_t fc_gather(const fc_tensor_t *tensor, void *dest,
                      const fc_stop_t *stop, fc_error_t *err) {
  size_t count, total;
  if (!fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &total) ||
      count == 0) {
    return FC_OK;
  }
  const size_t size = fc_dtype_size(tensor->dtype);
  const uint8_t *source = tensor->data;
  uint8_t *out = dest;
  int64_t left = STEP;
  if (fc_tensor_is_dense(tensor)) {
    return fc_copy(dest, source, total, stop, err);
  }
  const int32_t inner = tensor->rank - 1;
  const int64_t row = tensor->shape[inner];
  int64_t index[FC_RANK_MAX] = {0};
  for (;;) {
    if (FC_LIKELY(row <= left)) {
      copy_row(out, source, row, tensor->strides[inner], size);
      left -= row;
    } else {
      FC_TRY(copy_long_row(out, source, row, tensor->strides[inner], size, stop,
                           err));
      left = STEP;
    }
    out += (size_t)row * size;
    int32_t dim = inner - 1;
    for (; dim >= 0; dim--) {
      source += tensor->strides[dim] * (int64_t)size;
      if (++index[dim] < tensor->shape[dim]) break;
      source -= tensor->strides[dim] * tensor->shape[dim] * (int64_t)size;
      index[dim] = 0;
    }
    if (dim < 0) return FC_OK;
  }
}

void fc_tensor_gather(const fc_tensor_t *tensor, void *dest) {
  (void)fc_gather(tensor, dest, NULL, NULL);
}
