// SPDX-License-Identifier: Apache-2.0
//
// Views of elements: their size, whether they are dense, and a dense copy of a view
// that is not. Used by the marshaller and the backends, any thread. The functions
// do not allocate, and do not check that `data` holds what the shape says.
#include "value/gather.h"

#include <inttypes.h>

// True when a dim is 0: then there are no elements, however large the other dims are.
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
    // The stride of a dim of size 1 is never used.
    if (tensor->shape[i] == 1) continue;
    if (tensor->strides[i] != expected) return false;
    if (!fc_i64_mul(expected, tensor->shape[i], &expected)) return false;
  }
  return true;
}

bool fc_tensor_is_usable(const fc_tensor_t *tensor, size_t alignment) {
  const uintptr_t at = (uintptr_t)tensor->data;
  return fc_tensor_is_dense(tensor) && at % alignment == 0 &&
         at % fc_dtype_size(tensor->dtype) == 0;
}

// ---------------------------------------------------------------------------
// Tensors that callers made

bool fc_shape_reach(const int64_t *shape, const int64_t *strides, int32_t rank,
                    int64_t *out_low, int64_t *out_high) {
  int64_t low = 0, high = 0;
  *out_low = *out_high = 0;
  for (int32_t i = 0; i < rank; i++) {
    if (shape[i] == 0) return true;
  }
  for (int32_t i = 0; i < rank; i++) {
    int64_t span;
    if (!fc_i64_mul(shape[i] - 1, strides[i], &span)) return false;
    int64_t *end = span < 0 ? &low : &high;
    if (!fc_i64_add(*end, span, end)) return false;
  }
  *out_low = low;
  *out_high = high;
  return true;
}

// True when every element lies in the half of the address space that belongs to programs.
static bool is_addressable(const fc_tensor_t *tensor, size_t total) {
  const int64_t size = (int64_t)fc_dtype_size(tensor->dtype);
  int64_t low = 0, high = (int64_t)total, at = (int64_t)(uintptr_t)tensor->data;
  if (total > INT64_MAX || at <= 0) return false;
  if (tensor->strides &&
      (!fc_shape_reach(tensor->shape, tensor->strides, tensor->rank, &low,
                       &high) ||
       !fc_i64_mul(low, size, &low) || !fc_i64_mul(high, size, &high) ||
       !fc_i64_add(high, size, &high))) {
    return false;
  }
  return fc_i64_add(at, low, &low) && low > 0 && fc_i64_add(at, high, &high);
}

static fc_status_t check_dims(const fc_tensor_t *tensor, int32_t rank,
                              const int64_t *dims, fc_error_t *err) {
  if (tensor->rank < 0 || tensor->rank > FC_RANK_MAX) {
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                   "%" PRId32 " dims, at most %d can be", tensor->rank,
                   FC_RANK_MAX);
  }
  if (rank >= 0 && tensor->rank != rank) {
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                   "%" PRId32 " dims, its type has %" PRId32, tensor->rank,
                   rank);
  }
  for (int32_t i = 0; i < rank; i++) {
    if (dims[i] < 0 || dims[i] == tensor->shape[i]) continue;
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                   "dim %" PRId32 " is %" PRId64 ", its type says %" PRId64, i,
                   tensor->shape[i], dims[i]);
  }
  return FC_OK;
}

fc_status_t fc_tensor_check(const fc_tensor_t *tensor, fc_dtype_t dtype,
                            int32_t rank, const int64_t *dims, size_t *out_size,
                            fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(tensor->dtype);
  size_t count;
  if (!info->size || (dtype && dtype != tensor->dtype)) {
    return fc_fail(err, FC_CODE_DTYPE_MISMATCH,
                   "elements of %s, its type has %s",
                   info->size ? info->text : "no type",
                   dtype ? fc_dtype_info(dtype)->text : "any");
  }
  FC_TRY(check_dims(tensor, rank, dims, err));
  if (!fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      out_size)) {
    return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                   "a dim is negative, or the elements are more than memory "
                   "can hold");
  }
  if (count == 0) return FC_OK;
  if (!tensor->data) {
    return fc_fail(err, FC_CODE_DATA_LENGTH, "no memory for %zu elements",
                   count);
  }
  if (is_addressable(tensor, *out_size)) return FC_OK;
  return fc_fail(err, FC_CODE_DATA_LENGTH,
                 "its elements lie outside the address space");
}

// ---------------------------------------------------------------------------
// Copies

// The number of elements copied between two checks whether the call must end.
#define STEP 16384

// Copies one row. Inlined, because a row may have only two elements.
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

// Copies a row; after each STEP elements it checks whether the call must end.
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
  uint8_t *out = dest;
  int64_t left = STEP;
  if (fc_tensor_is_dense(tensor)) {
    return fc_copy(dest, tensor->data, total, stop, err);
  }
  const int32_t inner = tensor->rank - 1;
  const int64_t row = tensor->shape[inner];
  int64_t index[FC_RANK_MAX] = {0}, at = 0;
  do {
    const uint8_t *source = (const uint8_t *)tensor->data + at * (int64_t)size;
    if (FC_LIKELY(row <= left)) {
      copy_row(out, source, row, tensor->strides[inner], size);
      left -= row;
    } else {
      FC_TRY(copy_long_row(out, source, row, tensor->strides[inner], size, stop,
                           err));
      left = STEP;
    }
    out += (size_t)row * size;
  } while (fc_view_step(inner, tensor->shape, tensor->strides, index, &at) >=
           0);
  return FC_OK;
}

void fc_tensor_gather(const fc_tensor_t *tensor, void *dest) {
  (void)fc_gather(tensor, dest, NULL, NULL);
}
