// SPDX-License-Identifier: Apache-2.0
//
// Builds and checks memref descriptors. Until sizes and strides are known to be valid,
// the arithmetic on them is checked for overflow, because a module may return any values.
#include "memref/descriptor.h"

#include <inttypes.h>

#include "value/gather.h"

// The address that an empty tensor without memory gets, so that no argument is null.
static _Alignas(FC_MEMREF_ALIGNMENT) uint8_t nothing[FC_MEMREF_ALIGNMENT];

static void dense_strides(const int64_t *shape, int32_t rank,
                          int64_t *strides) {
  int64_t stride = 1;
  for (int32_t i = rank; i-- > 0;) {
    strides[i] = stride;
    // The number of elements was checked, so only the strides of an empty
    // tensor can overflow. These strides lead to no element.
    if (!fc_i64_mul(stride, shape[i] > 0 ? shape[i] : 1, &stride)) stride = 1;
  }
}

void fc_memref_build(const fc_tensor_t *tensor, fc_memref_t *out) {
  const int32_t rank = tensor->rank;
  out->allocated = out->aligned = tensor->data ? tensor->data : nothing;
  out->offset = 0;
  for (int32_t i = 0; i < rank; i++) out->words[i] = tensor->shape[i];
  int64_t *strides = out->words + rank;
  if (tensor->strides) {
    for (int32_t i = 0; i < rank; i++) strides[i] = tensor->strides[i];
  } else {
    dense_strides(tensor->shape, rank, strides);
  }
}

// Chooses the dynamic strides, from the innermost dim outwards. Each is larger than the
// extent of the dims that already have a stride. For a type without static strides the
// result is dense.
static bool choose_strides(const int64_t *declared, const int64_t *shape,
                           int32_t rank, int64_t *strides) {
  int64_t next = 1;
  for (int32_t i = 0; i < rank; i++) {
    if (declared[i] == FC_STRIDE_DYNAMIC) continue;
    int64_t span;
    if (shape[i] < 1) continue;
    if (!fc_i64_mul(shape[i] - 1, declared[i], &span)) return false;
    if (span < 0 && !fc_i64_mul(span, -1, &span)) return false;
    if (!fc_i64_add(next, span, &next)) return false;
  }
  for (int32_t i = rank; i-- > 0;) {
    strides[i] = declared[i];
    if (declared[i] != FC_STRIDE_DYNAMIC) continue;
    strides[i] = next;
    if (!fc_i64_mul(next, shape[i] > 0 ? shape[i] : 1, &next)) return false;
  }
  return true;
}

// True when each stride is larger than the extent of all smaller strides. Then no two
// elements share memory. It is also false for some layouts whose elements interleave
// without sharing memory.
static bool strides_are_disjoint(const int64_t *shape, const int64_t *strides,
                                 int32_t rank) {
  int64_t step[FC_RANK_MAX];
  int64_t count[FC_RANK_MAX];
  int32_t used = 0;
  for (int32_t i = 0; i < rank; i++) {
    if (shape[i] == 1) continue;
    int64_t size = strides[i] < 0 ? -strides[i] : strides[i];
    int32_t at = used++;
    for (; at > 0 && step[at - 1] > size; at--) {
      step[at] = step[at - 1];
      count[at] = count[at - 1];
    }
    step[at] = size;
    count[at] = shape[i];
  }
  int64_t reach = 0;
  for (int32_t i = 0; i < used; i++) {
    int64_t span;
    if (step[i] <= reach) return false;
    if (!fc_i64_mul(step[i], count[i] - 1, &span)) return false;
    if (!fc_i64_add(reach, span, &reach)) return false;
  }
  return true;
}

static void scatter(const uint8_t *source, uint8_t *dest, size_t size,
                    const int64_t *shape, const int64_t *strides,
                    int32_t rank) {
  int64_t index[FC_RANK_MAX] = {0}, at = 0;
  do {
    memcpy(dest + at * (int64_t)size, source, size);
    source += size;
  } while (fc_view_step(rank, shape, strides, index, &at) >= 0);
}

fc_status_t fc_memref_build_as(const fc_signature_t *signature,
                               const fc_type_t *type, const fc_tensor_t *tensor,
                               size_t bytes, uint32_t argument,
                               fc_arena_t *arena, fc_memref_t *out,
                               fc_span_t *out_block, fc_error_t *err) {
  const int32_t rank = tensor->rank;
  fc_tensor_t outer = *tensor;
  outer.rank -= type->flavor;
  fc_memref_build(&outer, out);
  *out_block = (fc_span_t){out->aligned, bytes};
  if (!(type->flags & FC_TYPE_STRIDED)) return FC_OK;

  const int64_t *declared = fc_signature_dims(signature, type) + rank;
  const int64_t offset =
      declared[rank] == FC_STRIDE_DYNAMIC ? 0 : declared[rank];
  int64_t strides[FC_RANK_MAX + 1];
  const size_t size = fc_dtype_size(tensor->dtype);
  int64_t low, high;
  if (!choose_strides(declared, tensor->shape, rank, strides) ||
      !fc_shape_reach(tensor->shape, strides, rank, &low, &high) ||
      !fc_i64_add(offset, low, &low) || !fc_i64_add(offset, high, &high)) {
    return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                   "argument %u: its strides span too much", argument);
  }
  int64_t *out_strides = out->words + rank;
  const bool dense = offset == 0 && !memcmp(strides, out_strides,
                                            sizeof *strides * (size_t)rank);
  memcpy(out_strides, strides, sizeof *strides * (size_t)rank);
  out->offset = offset;
  if (dense || !bytes) return FC_OK;
  if (!strides_are_disjoint(tensor->shape, strides, rank)) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "argument %u: elements overlap in its strided layout",
                   argument);
  }

  // The block starts at the lowest element, or at the descriptor's `aligned` address if
  // that is lower.
  const int64_t start = low < 0 ? low : 0;
  int64_t span;
  if (start < -INT64_MAX || !fc_i64_add(high, -start, &span) ||
      !fc_i64_add(span, 1, &span) ||
      !fc_size_mul(span > 0 ? (size_t)span : 1, size, &bytes)) {
    return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                   "argument %u: its strides span too much", argument);
  }
  uint8_t *block = fc_arena_alloc(arena, bytes, FC_MEMREF_ALIGNMENT);
  if (!block) {
    return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                   "argument %u: no memory for its layout of %zu bytes",
                   argument, bytes);
  }
  memset(block, 0, bytes);
  *out_block = (fc_span_t){block, bytes};
  out->allocated = block;
  out->aligned = block + -start * (int64_t)size;
  scatter(tensor->data, block + (offset - start) * (int64_t)size, size,
          tensor->shape, strides, rank);
  return FC_OK;
}

static fc_status_t check_declared(const fc_memref_t *descriptor, int32_t rank,
                                  const int64_t *dims, bool strided,
                                  uint32_t result, fc_error_t *err) {
  const int64_t *sizes = descriptor->words;
  const int64_t *strides = descriptor->words + rank;
  for (int32_t i = 0; i < rank; i++) {
    if (dims[i] < 0 || dims[i] == sizes[i]) continue;
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result %u: dim %d is %" PRId64 ", its type says %" PRId64,
                   result, i, sizes[i], dims[i]);
  }
  if (!strided) return FC_OK;
  const int64_t *declared = dims + rank;
  for (int32_t i = 0; i < rank; i++) {
    if (declared[i] == FC_STRIDE_DYNAMIC || declared[i] == strides[i]) {
      continue;
    }
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result %u: stride %d is %" PRId64
                   ", its type says %" PRId64,
                   result, i, strides[i], declared[i]);
  }
  if (declared[rank] != FC_STRIDE_DYNAMIC &&
      declared[rank] != descriptor->offset) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result %u: its offset is %" PRId64
                   ", its type says %" PRId64,
                   result, descriptor->offset, declared[rank]);
  }
  return FC_OK;
}

// Computes the address of a view's first element, and the range of bytes from its lowest
// element to the end of its highest. False when no program can have these addresses.
static bool extent_of(const fc_memref_t *descriptor, int64_t low, int64_t high,
                      size_t element_size, int64_t *out_first,
                      fc_span_t *out_extent) {
  const int64_t size = (int64_t)element_size;
  int64_t base = (int64_t)(uintptr_t)descriptor->aligned;
  int64_t first;
  if (base < 0) return false;  // the upper half belongs to the kernel
  if (!fc_i64_mul(descriptor->offset, size, &first) ||
      !fc_i64_add(base, first, &first) || !fc_i64_mul(low, size, &low) ||
      !fc_i64_add(first, low, &low) || !fc_i64_mul(high, size, &high) ||
      !fc_i64_add(first, high, &high) || !fc_i64_add(high, size, &high)) {
    return false;
  }
  if (low <= 0) return false;
  *out_first = first;
  out_extent->data = (uint8_t *)(uintptr_t)low;
  out_extent->size = (size_t)(high - low);
  return true;
}

// Returns the number of elements of a vector that is the element of a memref; 1 if the
// element is not a vector, INT64_MAX if the number overflows.
static int64_t vector_count(const fc_signature_t *signature,
                            const fc_type_t *type) {
  int64_t count = 1;
  const int64_t *dims = fc_signature_dims(signature, type) + type->rank;
  for (int32_t i = 1; i <= type->flavor; i++) {
    if (!fc_i64_mul(count, dims[-i], &count)) return INT64_MAX;
  }
  return count;
}

fc_status_t fc_memref_widen(const fc_signature_t *signature,
                            const fc_type_t *type, fc_arena_t *arena,
                            fc_tensor_t *tensor, fc_error_t *err) {
  const int32_t outer = tensor->rank, rank = type->rank;
  if (!type->flavor) return FC_OK;
  int64_t *words = fc_arena_alloc_array(arena, 2 * (size_t)rank, sizeof *words);
  if (!words) return fc_fail_memory(err);
  const int64_t *dims = fc_signature_dims(signature, type);
  const int64_t count = vector_count(signature, type);
  int64_t *strides = words + rank;
  for (int32_t i = 0; i < outer; i++) {
    words[i] = tensor->shape[i];
    // Only the stride of a dim of size 1 or of an empty view can overflow.
    if (!fc_i64_mul(tensor->strides[i], count, &strides[i])) strides[i] = 0;
  }
  for (int32_t i = outer; i < rank; i++) words[i] = dims[i];
  dense_strides(words + outer, rank - outer, strides + outer);
  tensor->rank = rank;
  tensor->shape = words;
  tensor->strides = strides;
  return FC_OK;
}

fc_status_t fc_memref_read(const fc_memref_t *descriptor, int32_t rank,
                           const fc_signature_t *signature,
                           const fc_type_t *type, uint32_t result,
                           fc_tensor_t *out_tensor, fc_span_t *out_extent,
                           fc_error_t *err) {
  const int64_t *sizes = descriptor->words;
  const int64_t *strides = descriptor->words + rank;
  for (int32_t i = 0; i < rank; i++) {
    if (sizes[i] < 0) {
      return fc_fail(err, FC_CODE_BAD_RESULT,
                     "result %u: dim %d is negative: %" PRId64, result, i,
                     sizes[i]);
    }
  }
  if (type->rank != FC_RANK_DYNAMIC) {
    FC_TRY(check_declared(descriptor, rank, fc_signature_dims(signature, type),
                          type->flags & FC_TYPE_STRIDED, result, err));
  }
  const fc_dtype_t dtype = (fc_dtype_t)type->dtype;
  size_t count, bytes, element_size;
  int64_t low, high;
  if (!fc_size_mul(fc_dtype_size(dtype), (size_t)vector_count(signature, type),
                   &element_size) ||
      !fc_shape_count(sizes, rank, dtype, &count, &bytes) ||
      !fc_size_mul(count, element_size, &bytes) || bytes > PTRDIFF_MAX ||
      !fc_shape_reach(sizes, strides, rank, &low, &high)) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result %u: its size overflows 64 bits", result);
  }
  *out_tensor = (fc_tensor_t){dtype, rank, sizes, strides, NULL};
  *out_extent = (fc_span_t){NULL, 0};
  if (count == 0) return FC_OK;
  if (!descriptor->aligned) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result %u: a null address for %zu elements", result, count);
  }
  int64_t first;
  if (!extent_of(descriptor, low, high, element_size, &first, out_extent)) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result %u: its elements lie outside the address space",
                   result);
  }
  out_tensor->data = (void *)(uintptr_t)first;
  return FC_OK;
}
