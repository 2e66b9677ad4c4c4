// SPDX-License-Identifier: Apache-2.0
//
// Views of elements: their size, whether they are dense, and a dense copy of
// one that isn't. Used by the marshaller and the backends, any thread. Nothing
// here allocates, and nothing checks that `data` holds what the shape says.
#include "farcall/value.h"

bool fc_shape_count(const int64_t *shape, int32_t rank, fc_dtype_t dtype,
                    size_t *out_count, size_t *out_size) {
  size_t count = 1;
  bool empty = false, overflow = false;
  for (int32_t i = 0; i < rank; i++) {
    if (shape[i] < 0) return false;
    if (shape[i] == 0) empty = true;
    else if (!fc_size_mul(count, (size_t)shape[i], &count)) overflow = true;
  }
  // [0, huge, huge] has no elements, however large its other dims are.
  if (empty) count = 0;
  else if (overflow) return false;
  size_t size;
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

static void copy_row(uint8_t *dest, const uint8_t *source, int64_t count,
                     int64_t stride, size_t size) {
  if (stride == 1) {
    memcpy(dest, source, (size_t)count * size);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    memcpy(dest + (size_t)i * size, source + i * stride * (int64_t)size, size);
  }
}

void fc_tensor_gather(const fc_tensor_t *tensor, void *dest) {
  size_t count, total;
  if (!fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &total)) {
    return;
  }
  if (count == 0) return;
  if (fc_tensor_is_dense(tensor)) {
    memcpy(dest, tensor->data, total);
    return;
  }
  size_t size = fc_dtype_size(tensor->dtype);
  int32_t inner = tensor->rank - 1;
  int64_t row = tensor->shape[inner];
  int64_t index[FC_RANK_MAX] = {0};
  const uint8_t *source = tensor->data;
  uint8_t *out = dest;
  for (;;) {
    copy_row(out, source, row, tensor->strides[inner], size);
    out += (size_t)row * size;
    int32_t dim = inner - 1;
    for (; dim >= 0; dim--) {
      source += tensor->strides[dim] * (int64_t)size;
      if (++index[dim] < tensor->shape[dim]) break;
      source -= tensor->strides[dim] * tensor->shape[dim] * (int64_t)size;
      index[dim] = 0;
    }
    if (dim < 0) return;
  }
}
