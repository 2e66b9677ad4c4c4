// SPDX-License-Identifier: Apache-2.0
//
// Buffer views over the memory of a call. A view has signless integers (compiled code
// asserts these) and packs elements below a byte, low bits first; a tensor has
// one byte for each such element. On workers.
#include "module/vm/hal/tensor_view.h"

#include <inttypes.h>

#include "base/width.h"

#define NUMERICAL_INT 0x10u
#define ENCODING_DENSE 1u

struct fc_hal_loan_t {
  fc_hal_loan_t *next;
  fc_hal_buffer_t *buffer;  // retained
};

// Returns IREE's word for an element type; 0 if IREE has no such type. For an index it is
// the word of i64, because IREE passes an index as an i64.
static uint32_t element_word(fc_dtype_t dtype) {
  const fc_dtype_info_t *info =
      fc_dtype_info(dtype == FC_DTYPE_INDEX ? FC_DTYPE_I64 : dtype);
  if (!info->hal_word || !fc_dtype_is_integer(info)) return info->hal_word;
  return NUMERICAL_INT << 24 | info->bits;
}

// Fails to compile unless elements narrower than a byte fill a byte exactly, if IREE has
// their type. Otherwise pack and unpack would write and read outside their memory.
#define FC_DTYPE(name, text, class_, bits, bytes, hal, oip, npy, aliases, \
                 part, format)                                            \
  _Static_assert(!(hal) || (bits) >= 8 || 8 % (bits) == 0, #name);
#include "farcall/dtype.def"
#undef FC_DTYPE

// ---------------------------------------------------------------------------
// Arguments

static void pack(const uint8_t *elements, size_t count, unsigned bits,
                 uint8_t *out) {
  const unsigned mask = (1u << bits) - 1, per_byte = 8 / bits;
  for (size_t i = 0; i < count; i++) {
    const unsigned shift = (unsigned)(i % per_byte) * bits;
    out[i / per_byte] |= (uint8_t)((elements[i] & mask) << shift);
  }
}

static fc_status_t pack_in(fc_vm_invocation_t *invocation, fc_vm_heap_t *heap,
                           const fc_tensor_t *tensor, size_t count,
                           uint64_t size, fc_hal_buffer_t **out,
                           fc_error_t *err) {
  FC_TRY(fc_hal_buffer_create_in(invocation, heap, (int64_t)size, out, err));
  pack(tensor->data, count, fc_dtype_info(tensor->dtype)->bits, (*out)->data);
  return FC_OK;
}

static fc_status_t lend(fc_vm_heap_t *heap, const fc_tensor_t *tensor,
                        size_t size, fc_hal_loans_t *loans,
                        fc_hal_buffer_t **out, fc_error_t *err) {
  fc_hal_loan_t *loan = fc_arena_alloc(loans->arena, sizeof *loan, 16);
  if (!loan) return fc_fail_memory(err);
  FC_TRY(fc_hal_buffer_wrap(heap, tensor->data, size, NULL, out, err));
  fc_vm_retain(&(*out)->object);
  *loan = (fc_hal_loan_t){loans->first, *out};
  loans->first = loan;
  return FC_OK;
}

fc_status_t fc_hal_tensor_in(fc_vm_heap_t *heap, const fc_tensor_t *tensor,
                             fc_hal_loans_t *loans, fc_vm_object_t **out,
                             fc_error_t *err) {
  const fc_dtype_info_t *info = fc_dtype_info(tensor->dtype);
  const uint32_t word = element_word(tensor->dtype);
  size_t count, size;
  uint64_t packed_size;
  if (!word || tensor->strides ||
      !fc_shape_count(tensor->shape, tensor->rank, tensor->dtype, &count,
                      &size) ||
      !fc_hal_elements_size(word, (uint32_t)tensor->rank, tensor->shape,
                            &packed_size)) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                   "IREE has no tensors of %s in this layout", info->text);
  }
  fc_hal_buffer_t *buffer;
  if (fc_width_is_odd(info)) {
    FC_TRY(pack_in(loans->invocation, heap, tensor, count, packed_size, &buffer,
                   err));
  } else {
    FC_TRY(lend(heap, tensor, size, loans, &buffer, err));
  }
  fc_hal_view_t *view = NULL;
  fc_status_t status =
      fc_hal_view_create(buffer, word, ENCODING_DENSE, (uint32_t)tensor->rank,
                         tensor->shape, &view, err);
  fc_vm_release(&buffer->object);
  if (status == FC_OK) *out = &view->object;
  return status;
}

void fc_hal_loans_end(fc_hal_loans_t *loans) {
  for (fc_hal_loan_t *loan = loans->first; loan; loan = loan->next) {
    // If there is no memory for a copy, the buffer becomes empty. Then a later
    // access fails, but no pointer dangles.
    (void)fc_hal_buffer_keep(loan->buffer);
    fc_vm_release(&loan->buffer->object);
  }
  loans->first = NULL;
}

// ---------------------------------------------------------------------------
// Results

static void unpack(const uint8_t *packed, size_t count,
                   const fc_dtype_info_t *info, uint8_t *out) {
  const unsigned bits = info->bits, per_byte = 8 / bits;
  const unsigned mask = (1u << bits) - 1, sign = 1u << (bits - 1);
  const bool is_signed = fc_dtype_is_signed(info);
  for (size_t i = 0; i < count; i++) {
    unsigned value = packed[i / per_byte];
    value = value >> (i % per_byte) * bits & mask;
    if (is_signed && (value & sign)) value |= ~mask;
    out[i] = (uint8_t)value;
  }
}

// Returns the element type that the client sees: the declared one if the bytes have the
// same meaning in it, otherwise the view's.
static fc_dtype_t name_elements(uint32_t word, fc_dtype_t declared) {
  const fc_dtype_t own = fc_dtype_from_hal(word);
  const fc_dtype_info_t *said = fc_dtype_info(declared);
  const fc_dtype_info_t *have = fc_dtype_info(own);
  if (!declared || said->size != have->size) return own;
  const bool floats = said->class_ == FC_DTYPE_CLASS_FLOAT ||
                      have->class_ == FC_DTYPE_CLASS_FLOAT ||
                      said->class_ == FC_DTYPE_CLASS_COMPLEX ||
                      have->class_ == FC_DTYPE_CLASS_COMPLEX;
  const bool packed = fc_width_is_odd(said) || fc_width_is_odd(have);
  return (floats || packed) && declared != own ? own : declared;
}

static bool is_shared(const fc_hal_view_t *view) {
  const fc_hal_buffer_t *buffer = view->buffer;
  const fc_hal_buffer_t *root = buffer->root ? buffer->root : buffer;
  return atomic_load(&view->object.references) > 1 ||
         atomic_load(&buffer->object.references) > 1 ||
         (buffer->root && atomic_load(&root->object.references) > 1) ||
         root->owner || root->object.immortal;
}

static fc_status_t unpack_out(fc_arena_t *arena, const uint8_t *data,
                              size_t count, const fc_dtype_info_t *info,
                              void **out, fc_error_t *err) {
  uint8_t *elements = fc_arena_alloc(arena, count ? count : 1, 64);
  if (!elements) return fc_fail_memory(err);
  unpack(data, count, info, elements);
  *out = elements;
  return FC_OK;
}

fc_status_t fc_hal_tensor_out(fc_arena_t *arena, const fc_hal_view_t *view,
                              fc_dtype_t declared, bool shared, fc_value_t *out,
                              fc_error_t *err) {
  const fc_dtype_t dtype = name_elements(view->element_type, declared);
  if (!dtype || view->rank > FC_RANK_MAX) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "the module returned a buffer view of element type "
                   "%08" PRIx32 " and rank %" PRIu32,
                   view->element_type, view->rank);
  }
  size_t count, size;
  uint64_t view_size, have;
  uint8_t *data;
  if (!fc_shape_count(view->dims, (int32_t)view->rank, dtype, &count, &size) ||
      !fc_hal_elements_size(view->element_type, view->rank, view->dims,
                            &view_size)) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "the module returned a buffer view too large to count");
  }
  FC_TRY(fc_hal_buffer_range(view->buffer, 0, (int64_t)view_size, &data, &have,
                             err));
  *out = (fc_value_t){.kind = FC_VALUE_TENSOR,
                      .tensor = {.dtype = dtype,
                                 .rank = (int32_t)view->rank,
                                 .shape = view->dims,
                                 .data = data}};
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  if (fc_width_is_odd(info)) {
    return unpack_out(arena, data, count, info, &out->tensor.data, err);
  }
  if (!shared || !is_shared(view)) return FC_OK;
  void *copy = fc_arena_alloc(arena, size ? size : 1, 64);
  if (!copy) return fc_fail_memory(err);
  if (size) memcpy(copy, data, size);
  out->tensor.data = copy;
  return FC_OK;
}
