// SPDX-License-Identifier: Apache-2.0
#include "marshal/stored_value.h"

#include <stdio.h>

#include "abi/walk.h"
#include "marshal/typed.h"

// "a tensor f32[2,3]", "a scalar i64", "bytes", "a list" or "an opaque reference
// (!vm.list)", for messages.
static void print_row(const fc_store_row_t *row, char *out, size_t capacity) {
  if (row->kind == FC_VALUE_OPAQUE) {
    snprintf(out, capacity, "an opaque reference (%s)", row->type);
    return;
  }
  if (row->kind == FC_VALUE_BYTES || row->kind == FC_VALUE_LIST) {
    snprintf(out, capacity, row->kind == FC_VALUE_LIST ? "a list" : "bytes");
    return;
  }
  const bool tensor = row->kind == FC_VALUE_TENSOR;
  size_t at = (size_t)snprintf(
      out, capacity, "%s %s%s", tensor ? "a tensor" : "a scalar",
      fc_dtype_info(row->dtype)->text, tensor ? "[" : "");
  for (uint8_t i = 0; i < row->rank && at + 24 < capacity; i++) {
    at += (size_t)snprintf(out + at, capacity - at, i ? ",%lld" : "%lld",
                           (long long)row->dims[i]);
  }
  if (tensor) snprintf(out + at, capacity - at, "]");
}

fc_status_t fc_stored_mismatch(fc_frame_t *frame, const fc_store_row_t *row,
                               const char *why, fc_error_t *err) {
  char type[200];
  print_row(row, type, sizeof type);
  const fc_status_t status =
      fc_json_fail(&frame->reader, err, FC_CODE_TYPE_MISMATCH,
                   "value '%s' is %s: %s", row->name, type, why);
  fc_error_got(err, fc_str(type));
  return status;
}

// Checks a tensor of the store like a tensor that a document sends.
static fc_status_t check_tensor(fc_frame_t *frame, const fc_op_t *op,
                                const fc_store_row_t *row, fc_error_t *err) {
  fc_typed_t typed;
  fc_error_t why;
  fc_error_reset(&why);
  fc_typed_begin(&typed, op, NULL);
  if (fc_typed_state(frame, &typed, row->dtype, row->rank, row->dims, &why) ==
      FC_OK) {
    if (op->rank > 0) fc_frame_bind_dims(frame, op, typed.dims);
    return FC_OK;
  }
  const fc_status_t status = fc_stored_mismatch(frame, row, why.message, err);
  if (err) memcpy(err->expected, why.expected, sizeof err->expected);
  return status;
}

fc_status_t fc_stored_check(fc_frame_t *frame, const fc_op_t *op,
                            const fc_store_row_t *row, fc_error_t *err) {
  char wanted[120], type[80];
  if (!op) return FC_OK;
  switch ((fc_type_kind_t)op->kind) {
    case FC_TYPE_UNKNOWN:
      return FC_OK;
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
      if (row->kind == FC_VALUE_TENSOR) {
        return check_tensor(frame, op, row, err);
      }
      snprintf(wanted, sizeof wanted, "expected a tensor");
      break;
    case FC_TYPE_SCALAR:
      if (row->kind == FC_VALUE_SCALAR && row->dtype == op->dtype) return FC_OK;
      snprintf(wanted, sizeof wanted, "expected a scalar %s",
               fc_dtype_info(op->dtype)->text);
      break;
    case FC_TYPE_OPAQUE:
      if (row->kind == FC_VALUE_OPAQUE &&
          (fc_opaque_is_any(op->text) ||
           fc_str_equal(op->text, fc_str(row->type)))) {
        return FC_OK;
      }
      fc_escape(type, sizeof type, 40, op->text);
      snprintf(wanted, sizeof wanted, "expected an opaque reference (%s)",
               type);
      break;
    default:
      if (row->kind == FC_VALUE_BYTES && op->kind == FC_TYPE_BYTES &&
          op->flavor != FC_FLAVOR_UTF8) {
        return FC_OK;
      }
      snprintf(wanted, sizeof wanted,
               op->kind == FC_TYPE_BYTES      ? "expected bytes, text by value"
               : fc_type_kind_nests(op->kind) ? "expected a list"
                                              : "such an argument is given by "
                                                "value");
      break;
  }
  return fc_stored_mismatch(frame, row, wanted, err);
}

fc_status_t fc_stored_set(fc_frame_t *frame, const fc_op_t *op,
                          const fc_store_row_t *row, void *data,
                          fc_value_t *dest, fc_error_t *err) {
  const uint8_t dtype = op && op->dtype ? op->dtype : row->dtype;
  if (row->kind == FC_VALUE_BYTES) {
    *dest = (fc_value_t){.kind = FC_VALUE_BYTES,
                         .bytes = fc_str_make(data ? data : "", row->size)};
  } else if (row->kind == FC_VALUE_SCALAR) {
    *dest = (fc_value_t){.kind = FC_VALUE_SCALAR, .dtype = row->dtype};
    memcpy(dest->scalar.bytes, data, row->size);
  } else {
    void *shape = NULL;
    FC_TRY(fc_frame_alloc(frame, row->rank + (size_t)1, sizeof(int64_t), &shape,
                          err));
    if (row->rank) memcpy(shape, row->dims, row->rank * sizeof(int64_t));
    *dest = (fc_value_t){.kind = FC_VALUE_TENSOR,
                         .tensor = {.dtype = (fc_dtype_t)dtype,
                                    .rank = row->rank,
                                    .shape = shape,
                                    .data = data}};
  }
  return FC_OK;
}
