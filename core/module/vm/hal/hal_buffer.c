// SPDX-License-Identifier: Apache-2.0
//
// hal.allocator.*, hal.buffer.*, hal.buffer_view.* and the file made of memory.
// Operands are numbered as in hal.def's conventions. On workers.
#include <inttypes.h>

#include "module/vm/buffer.h"
#include "module/vm/hal/calls.h"

static void give(fc_vm_native_call_t *call, fc_vm_object_t *object) {
  call->results[0].ref = object;
}

FC_HAL_CALL(nothing) {
  (void)call;
  (void)err;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Allocators

// Operands: (allocator, affinity, memory types, usage, size)
FC_HAL_CALL(allocator_allocate) {
  fc_hal_buffer_t *buffer;
  FC_TRY(fc_hal_buffer_create_in(call->invocation, call->heap,
                                 call->arguments[4].i64, &buffer, err));
  give(call, &buffer->object);
  return FC_OK;
}

// Operands: (allocator, try, affinity, memory types, usage, source, offset, length).
// Wraps the source's bytes if kernels can use them where they lie. Otherwise,
// with `try`, the result is null and the module copies the bytes; without `try`
// they are copied here.
FC_HAL_CALL(allocator_import) {
  fc_vm_buffer_t *source;
  FC_TRY(fc_hal_argument(call, 5, FC_VM_TYPE_BUFFER, false, &source, err));
  const int64_t offset = call->arguments[6].i64;
  int64_t size = call->arguments[7].i64;
  if (size == -1 && offset >= 0 && (uint64_t)offset <= source->size) {
    size = (int64_t)(source->size - (uint64_t)offset);
  }
  uint8_t *data = fc_vm_buffer_at(source, offset, size, 1);
  if (!data) return fc_vm_buffer_range_error(source, offset, size, 1, err);
  const bool aligned = (uintptr_t)data % FC_HAL_ALIGNMENT == 0;
  fc_hal_buffer_t *buffer = NULL;
  if (aligned) {
    FC_TRY(fc_hal_buffer_wrap(call->heap, data, (uint64_t)size, &source->object,
                              &buffer, err));
  } else if (!call->arguments[1].i32) {
    FC_TRY(fc_hal_buffer_create_in(call->invocation, call->heap, size, &buffer,
                                   err));
    if (size) memcpy(buffer->data, data, (size_t)size);
  }
  give(call, buffer ? &buffer->object : NULL);
  return FC_OK;
}

// Operands: (memory types, usage, flags, (allocator, affinity)…) -> the first pair
FC_HAL_CALL(allocator_select) {
  if (call->spans[0] == 0) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT, "no allocator to select from");
  }
  give(call, fc_vm_retain(call->arguments[3].ref));
  call->results[1].i64 = call->arguments[4].i64;
  return FC_OK;
}

// Operands: (device, affinity, access, buffer, offset, length, flags)
FC_HAL_CALL(file_from_memory) {
  fc_vm_buffer_t *source;
  FC_TRY(fc_hal_argument(call, 3, FC_VM_TYPE_BUFFER, false, &source, err));
  const int64_t offset = call->arguments[4].i64;
  const int64_t size = call->arguments[5].i64;
  const uint8_t *data = fc_vm_buffer_at(source, offset, size, 1);
  if (!data) return fc_vm_buffer_range_error(source, offset, size, 1, err);
  fc_hal_file_t *file;
  FC_TRY(fc_hal_file_create(call->heap, data, (uint64_t)size, &source->object,
                            &file, err));
  give(call, &file->object);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Buffers

// Answers "not terminal" to the question whether a buffer may be reused in place. Then
// every buffer is kept until its last reference is released.
FC_HAL_CALL(buffer_not_terminal) {
  (void)err;
  call->results[0].i32 = 0;
  return FC_OK;
}

// Operands: (buffer, message, allocator, minimum length, memory types, usage)
FC_HAL_CALL(buffer_assert) {
  fc_hal_buffer_t *buffer;
  fc_str_t message;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_BUFFER, false, &buffer, err));
  FC_TRY(fc_hal_text(call, 1, &message, err));
  const int64_t least = call->arguments[3].i64;
  if (least >= 0 && (uint64_t)least <= buffer->size) return FC_OK;
  if (buffer->awaited && least > 0) {
    return fc_hal_buffer_provide(call->invocation, buffer, least, err);
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, message);
  return fc_hal_fail(err, FC_OUT_OF_RANGE,
                     "%s: buffer of %" PRIu64 " bytes, at least %" PRId64,
                     shown, buffer->size, least);
}

FC_HAL_CALL(buffer_length) {
  fc_hal_buffer_t *buffer;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_BUFFER, false, &buffer, err));
  call->results[0].i64 = (int64_t)buffer->size;
  return FC_OK;
}

static fc_status_t element_at(fc_vm_native_call_t *call, uint32_t operand,
                              uint8_t **out_data, uint64_t *out_size,
                              fc_error_t *err) {
  fc_hal_buffer_t *buffer;
  FC_TRY(fc_hal_argument(call, operand, FC_VM_TYPE_HAL_BUFFER, false, &buffer,
                         err));
  const int32_t size = call->arguments[operand + 2].i32;
  if (size < 1 || size > 4) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "access of %" PRId32 " bytes, 1 to 4", size);
  }
  return fc_hal_buffer_range(buffer, call->arguments[operand + 1].i64, size,
                             out_data, out_size, err);
}

// Operands: (buffer, offset, length) -> bytes, zero-extended
FC_HAL_CALL(buffer_load) {
  uint8_t *data;
  uint64_t size;
  FC_TRY(element_at(call, 0, &data, &size, err));
  uint32_t value = 0;
  memcpy(&value, data, size);
  call->results[0].i32 = (int32_t)value;
  return FC_OK;
}

// Operands: (value, buffer, offset, length)
FC_HAL_CALL(buffer_store) {
  uint8_t *data;
  uint64_t size;
  FC_TRY(element_at(call, 1, &data, &size, err));
  memcpy(data, &call->arguments[0].i32, size);
  return FC_OK;
}

// Operands: (buffer, offset, length)
FC_HAL_CALL(buffer_subspan) {
  fc_hal_buffer_t *buffer, *part;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_BUFFER, false, &buffer, err));
  FC_TRY(fc_hal_buffer_subspan(buffer, call->arguments[1].i64,
                               call->arguments[2].i64, &part, err));
  give(call, &part->object);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Buffer views

static fc_status_t view_argument(fc_vm_native_call_t *call, fc_hal_view_t **out,
                                 fc_error_t *err) {
  return fc_hal_argument(call, 0, FC_VM_TYPE_HAL_BUFFER_VIEW, false, out, err);
}

enum {
  NUMERICAL_INT = 0x10,  // signless
  NUMERICAL_SINT = 0x11,
  NUMERICAL_UINT = 0x12,
};

// True when a view's element type may be used for the asserted one, as in IREE's
// buffer_diagnostics.c: a view of an opaque type always agrees, integers of one width
// agree, all other types must be equal.
static bool elements_agree(uint32_t have, uint32_t want) {
  if (have == want || have == 0) return true;
  const uint32_t kind = have >> 24, other = want >> 24;
  const bool integers = kind >= NUMERICAL_INT && kind <= NUMERICAL_UINT &&
                        other >= NUMERICAL_INT && other <= NUMERICAL_UINT;
  return integers && (have & 0xFF) == (want & 0xFF);
}

static bool agrees(const fc_hal_view_t *view, const fc_vm_native_call_t *call) {
  const fc_vm_raw_t *a = call->arguments;
  if (!elements_agree(view->element_type, (uint32_t)a[2].i32) ||
      (view->encoding != 0 && view->encoding != (uint32_t)a[3].i32) ||
      view->rank != call->spans[0]) {
    return false;
  }
  for (uint32_t i = 0; i < view->rank; i++) {
    if (view->dims[i] != a[4 + i].i64) return false;
  }
  return true;
}

// Fails with the first difference: element type, encoding, rank or a dim.
static fc_status_t say_difference(const fc_hal_view_t *view,
                                  const fc_vm_native_call_t *call,
                                  fc_str_t message, fc_error_t *err) {
  char shown[80];
  fc_escape(shown, sizeof shown, 64, message);
  const uint32_t wanted = (uint32_t)call->arguments[2].i32;
  const uint32_t encoding = (uint32_t)call->arguments[3].i32;
  const uint32_t rank = call->spans[0];
  if (!elements_agree(view->element_type, wanted)) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "%s element type mismatch; expected %08" PRIx32
                       " but have %08" PRIx32,
                       shown, wanted, view->element_type);
  }
  if (view->encoding != 0 && view->encoding != encoding) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "%s encoding mismatch; expected %" PRIu32
                       " but have %" PRIu32,
                       shown, encoding, view->encoding);
  }
  if (view->rank != rank) {
    return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                       "%s shape rank mismatch; expected %" PRIu32
                       " but have %" PRIu32,
                       shown, rank, view->rank);
  }
  uint32_t i = 0;
  while (view->dims[i] == call->arguments[4 + i].i64) i++;
  return fc_hal_fail(err, FC_INVALID_ARGUMENT,
                     "%s shape dimension %" PRIu32 " mismatch; expected "
                     "%" PRId64 " but have %" PRId64,
                     shown, i, call->arguments[4 + i].i64, view->dims[i]);
}

// Operands: (view, message, element type, encoding, dims…)
FC_HAL_CALL(view_assert) {
  fc_hal_view_t *view;
  fc_str_t message;
  FC_TRY(view_argument(call, &view, err));
  FC_TRY(fc_hal_text(call, 1, &message, err));
  return agrees(view, call) ? FC_OK : say_difference(view, call, message, err);
}

FC_HAL_CALL(view_buffer) {
  fc_hal_view_t *view;
  FC_TRY(view_argument(call, &view, err));
  give(call, fc_vm_retain(&view->buffer->object));
  return FC_OK;
}

// Operands: (buffer, offset, length, element type, encoding, dims…)
FC_HAL_CALL(view_create) {
  fc_hal_buffer_t *buffer, *part;
  FC_TRY(fc_hal_argument(call, 0, FC_VM_TYPE_HAL_BUFFER, false, &buffer, err));
  int64_t dims[FC_HAL_RANK_MAX];
  const uint32_t rank = call->spans[0];
  for (uint32_t i = 0; i < rank && i < FC_HAL_RANK_MAX; i++) {
    dims[i] = call->arguments[5 + i].i64;
  }
  FC_TRY(fc_hal_buffer_subspan(buffer, call->arguments[1].i64,
                               call->arguments[2].i64, &part, err));
  fc_hal_view_t *view = NULL;
  fc_status_t status = fc_hal_view_create(
      part, (uint32_t)call->arguments[3].i32, (uint32_t)call->arguments[4].i32,
      rank, dims, &view, err);
  fc_vm_release(&part->object);
  if (status == FC_OK) give(call, &view->object);
  return status;
}

FC_HAL_CALL(view_dim) {
  fc_hal_view_t *view;
  FC_TRY(view_argument(call, &view, err));
  const int32_t index = call->arguments[1].i32;
  if (index < 0 || (uint32_t)index >= view->rank) {
    return fc_hal_fail(err, FC_OUT_OF_RANGE,
                       "dimension %" PRId32 " of a view of rank %" PRIu32,
                       index, view->rank);
  }
  call->results[0].i64 = view->dims[index];
  return FC_OK;
}

FC_HAL_CALL(view_element_type) {
  fc_hal_view_t *view;
  FC_TRY(view_argument(call, &view, err));
  call->results[0].i32 = (int32_t)view->element_type;
  return FC_OK;
}

FC_HAL_CALL(view_encoding) {
  fc_hal_view_t *view;
  FC_TRY(view_argument(call, &view, err));
  call->results[0].i32 = (int32_t)view->encoding;
  return FC_OK;
}

FC_HAL_CALL(view_rank) {
  fc_hal_view_t *view;
  FC_TRY(view_argument(call, &view, err));
  call->results[0].i32 = (int32_t)view->rank;
  return FC_OK;
}
