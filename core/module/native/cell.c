// SPDX-License-Identifier: Apache-2.0
//
// Memory for the arguments and results of a call: see cell.h.
#include "module/native/cell.h"

#include "base/width.h"
#include "value/gather.h"

size_t fc_vector_size(const fc_signature_t *signature, const fc_type_t *type) {
  size_t count, size = 0;
  // This cannot overflow: the reader of types accepts only vectors of a few rows.
  (void)fc_shape_count(fc_signature_dims(signature, type), type->rank,
                       (fc_dtype_t)type->dtype, &count, &size);
  return size;
}

uint32_t fc_layout_add(fc_layout_t *layout, const fc_signature_t *signature,
                       const fc_type_t *type) {
  const fc_dtype_info_t *info = fc_dtype_info((fc_dtype_t)type->dtype);
  uint32_t size = info->size;
  uint32_t alignment = fc_dtype_info(info->part)->size;
  if (type->kind == FC_TYPE_TENSOR) {
    alignment = _Alignof(fc_memref_t);
    size = type->rank == FC_RANK_DYNAMIC
               ? sizeof(fc_memref_unranked_t)
               : (uint32_t)fc_memref_size(fc_memref_rank(type));
  } else if (type->kind == FC_TYPE_VECTOR) {
    alignment = FC_VECTOR_ROW;
    size = (uint32_t)fc_vector_size(signature, type);
  }
  if (layout->alignment < alignment) layout->alignment = alignment;
  uint32_t offset = (layout->size + alignment - 1) & ~(alignment - 1);
  layout->size = offset + size;
  return offset;
}

fc_scalar_t fc_scalar_load(fc_dtype_t dtype, const void *bytes) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  fc_scalar_t scalar = {{0}};
  memcpy(scalar.bytes, bytes, info->size);
  if (info->bits >= 8u * info->size) return scalar;
  const uint64_t value = fc_width_extend(info, fc_width_load(info, bytes));
  memcpy(scalar.bytes, &value, info->size);
  return scalar;
}

// Cuts `bits` to the width of the type. A boolean becomes 1 if any bit is set, because
// compiled code needs 1 for true.
static uint64_t cut(const fc_dtype_info_t *info, uint64_t bits) {
  return info->class_ == FC_DTYPE_CLASS_BOOL ? bits != 0
                                             : fc_width_cut(info, bits);
}

fc_scalar_t fc_scalar_cut(fc_dtype_t dtype, const fc_scalar_t *scalar) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  if (info->bits >= 8u * info->size) return *scalar;
  const uint64_t bits = cut(info, fc_width_load(info, scalar->bytes));
  fc_scalar_t result = {{0}};
  memcpy(result.bytes, &bits, info->size);
  return result;
}

// Returns the bits that are set in at least one element.
static uint64_t bits_of_all(const fc_dtype_info_t *info, const uint8_t *bytes,
                            size_t count) {
  if (info->size == 1) {
    uint8_t seen = 0;
    for (size_t i = 0; i < count; i++) seen |= bytes[i];
    return seen;
  }
  uint64_t seen = 0;
  for (size_t i = 0; i < count; i++, bytes += info->size) {
    seen |= fc_width_load(info, bytes);
  }
  return seen;
}

static void cut_elements(const fc_dtype_info_t *info, const uint8_t *from,
                         size_t count, uint8_t *to) {
  for (size_t i = 0; i < count; i++, from += info->size, to += info->size) {
    const uint64_t bits = cut(info, fc_width_load(info, from));
    memcpy(to, &bits, info->size);
  }
}

// Clears the bits above the width of each element, even of negative ones, because
// compiled code compares whole bytes. If an element has such bits set, `tensor` becomes a
// corrected copy; with `in_place` the tensor's own memory is corrected.
static fc_status_t zero_extend(fc_tensor_t *tensor, size_t size, bool in_place,
                               uint32_t index, fc_arena_t *arena,
                               fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(tensor->dtype);
  if (info->bits >= 8u * info->size || size == 0) return FC_OK;
  const size_t count = size / info->size;
  uint8_t *bytes = tensor->data;
  const uint64_t seen = bits_of_all(info, bytes, count);
  if (fc_width_cut(info, seen) == seen) return FC_OK;
  uint8_t *copy =
      in_place ? bytes : fc_arena_alloc(arena, size, FC_MEMREF_ALIGNMENT);
  if (!copy) {
    return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE,
                   "argument %u: no memory for a copy of %zu bytes", index,
                   size);
  }
  cut_elements(info, bytes, count, copy);
  tensor->data = copy;
  return FC_OK;
}

// Puts the number of the argument before the message. Not inlined, so that a call that
// does not fail needs no room for an error on its stack.
static __attribute__((noinline)) fc_status_t name_argument(uint32_t index,
                                                           fc_error_t *err) {
  const fc_error_t why = *err;
  return fc_fail(err, why.code, "argument %u: %s", index, why.message);
}

static fc_status_t check_tensor(const fc_signature_t *signature,
                                const fc_type_t *type,
                                const fc_tensor_t *tensor, uint32_t index,
                                size_t *out_size, fc_error_t *err) {
  const fc_status_t status =
      fc_tensor_check(tensor, type->dtype, type->rank,
                      fc_signature_dims(signature, type), out_size, err);
  if (status != FC_OK) return err ? name_argument(index, err) : status;
  if (!fc_tensor_is_dense(tensor)) {
    return fc_fail(err, FC_CODE_INTERNAL, "argument %u is not dense", index);
  }
  return FC_OK;
}

fc_status_t fc_memref_argument(const fc_signature_t *signature, uint32_t index,
                               const fc_value_t *value, bool guarded,
                               fc_arena_t *arena, fc_memref_cell_t *cell,
                               fc_error_t *err) {
  const fc_type_t *type =
      fc_signature_node(signature, signature->arguments[index].type);
  if (type->kind == FC_TYPE_SCALAR) {
    if (value->kind == FC_VALUE_SCALAR && value->dtype == type->dtype) {
      return FC_OK;
    }
    return fc_fail(err, FC_CODE_TYPE_MISMATCH, "argument %u is not a %s", index,
                   fc_dtype_info((fc_dtype_t)type->dtype)->text);
  }
  if (value->kind != FC_VALUE_TENSOR) {
    return fc_fail(err, FC_CODE_TYPE_MISMATCH, "argument %u is not a tensor",
                   index);
  }
  fc_tensor_t given = value->tensor, *tensor = &given;
  size_t bytes;
  FC_TRY(check_tensor(signature, type, tensor, index, &bytes, err));
  FC_TRY(zero_extend(tensor, bytes, guarded && !tensor->strides, index, arena,
                     err));
  if (type->kind == FC_TYPE_VECTOR) {
    cell->rows = fc_arena_alloc(arena, bytes, FC_MEMREF_ALIGNMENT);
    if (!cell->rows) return fc_fail_memory(err);
    memcpy(cell->rows, tensor->data, bytes);
    return FC_OK;
  }
  const size_t size = fc_memref_size(tensor->rank);
  fc_memref_t *descriptor = fc_arena_alloc(arena, size, _Alignof(fc_memref_t));
  if (!descriptor) return fc_fail_memory(err);
  FC_TRY(fc_memref_build_as(signature, type, tensor, bytes, index, arena,
                            descriptor, &cell->block, err));
  cell->descriptor = descriptor;
  cell->data = descriptor;
  if (fc_role_is_answered(signature->arguments[index].role)) {
    cell->kept = fc_arena_alloc(arena, size, _Alignof(fc_memref_t));
    if (!cell->kept) return fc_fail_memory(err);
    memcpy(cell->kept, descriptor, size);
  }
  if (type->rank == FC_RANK_DYNAMIC) {
    cell->unranked = (fc_memref_unranked_t){tensor->rank, descriptor};
    cell->data = &cell->unranked;
  }
  return FC_OK;
}

fc_tensor_t fc_memref_view(const fc_memref_t *descriptor, int32_t rank,
                           fc_dtype_t dtype) {
  uint8_t *data = descriptor->aligned;
  return (fc_tensor_t){
      dtype, rank, descriptor->words, descriptor->words + rank,
      data + descriptor->offset * (int64_t)fc_dtype_size(dtype)};
}
