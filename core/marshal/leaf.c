// SPDX-License-Identifier: Apache-2.0
//
// JSON text -> one scalar, tensor or byte buffer; the rules are in docs/abi.md, "Values".
// fill.c, typed.c and bytes.c do what takes more than a token.
#include "marshal/leaf.h"

#include "marshal/bytes.h"
#include "marshal/typed.h"

// ---------------------------------------------------------------------------
// Messages

static bool is_scalar_token(fc_json_token_t token) {
  return token == FC_JSON_NUMBER || token == FC_JSON_TRUE ||
         token == FC_JSON_FALSE || token == FC_JSON_STRING ||
         token == FC_JSON_NULL;
}

fc_status_t fc_leaf_text(fc_frame_t *frame, fc_str_t *out_text,
                         fc_error_t *err) {
  fc_str_t raw = frame->reader.text;
  *out_text = raw;
  if (!frame->reader.escaped) return FC_OK;
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, raw.size + 1, 1, &memory, err));
  out_text->data = memory;
  return fc_json_unescape_text(&frame->reader, memory, &out_text->size, err);
}

fc_status_t fc_leaf_missing(fc_frame_t *frame, const char *name,
                            fc_error_t *err) {
  fc_status_t status = fc_json_fail(&frame->reader, err, FC_CODE_MISSING_KEY,
                                    "a typed value needs '%s'", name);
  fc_error_expected(err, "%s", name);
  return status;
}

// ---------------------------------------------------------------------------
// Lists

fc_status_t fc_leaf_grow(fc_frame_t *frame, fc_value_t **items, size_t count,
                         size_t *capacity, size_t first, fc_error_t *err) {
  if (count < *capacity) return FC_OK;
  const size_t wanted = *capacity ? *capacity * 2 : first;
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, wanted, sizeof **items, &memory, err));
  if (count) memcpy(memory, *items, count * sizeof **items);
  *items = memory;
  *capacity = wanted;
  return FC_OK;
}

fc_status_t fc_leaf_set_array(fc_frame_t *frame, fc_value_t *items,
                              size_t count, const int64_t *dims, int32_t rank,
                              fc_value_t *dest, fc_error_t *err) {
  void *memory = NULL;
  FC_TRY(fc_frame_alloc(frame, (size_t)rank + 2, sizeof(fc_value_t), &memory,
                        err));
  fc_value_t *both = memory, *sizes = both + 2;
  for (int32_t i = 0; i < rank; i++) {
    sizes[i] = (fc_value_t){.kind = FC_VALUE_SCALAR,
                            .dtype = FC_DTYPE_I64,
                            .scalar = {.i64 = dims[i] < 0 ? 0 : dims[i]}};
  }
  fc_leaf_set_list(&both[0], items, count);
  fc_leaf_set_list(&both[1], sizes, (size_t)rank);
  fc_leaf_set_list(dest, both, 2);
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Raw bytes behind the document

static const fc_str_t kRawSize = FC_STR("binary_data_size");

fc_status_t fc_leaf_split(fc_frame_t *frame, fc_str_t *body, uint64_t document,
                          fc_error_t *err) {
  if (document > body->size) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING,
                   "Inference-Header-Content-Length is %llu, the body has %zu "
                   "bytes",
                   (unsigned long long)document, body->size);
  }
  frame->raw =
      fc_str_make(body->data + document, body->size - (size_t)document);
  body->size = (size_t)document;
  return FC_OK;
}

fc_status_t fc_leaf_take_raw(fc_frame_t *frame, uint64_t size,
                             fc_str_t *out_bytes, fc_error_t *err) {
  if (size > frame->raw.size) {
    return fc_json_fail(&frame->reader, err, FC_CODE_BINARY_FRAMING,
                        "binary_data_size is %llu, the body has %zu bytes left",
                        (unsigned long long)size, frame->raw.size);
  }
  *out_bytes = fc_str_make(frame->raw.data, (size_t)size);
  frame->raw.data += size;
  frame->raw.size -= (size_t)size;
  return FC_OK;
}

fc_status_t fc_leaf_read_raw(fc_frame_t *frame, fc_str_t *out_bytes,
                             fc_error_t *err) {
  fc_json_token_t token;
  uint64_t size = 0;
  FC_TRY(fc_json_next(&frame->reader, &token, err));
  FC_TRY(fc_json_read_scalar(&frame->reader, token, FC_DTYPE_UI64, &size, err));
  return fc_leaf_take_raw(frame, size, out_bytes, err);
}

bool fc_leaf_names_raw(const fc_frame_t *frame) {
  return frame->framed && fc_json_text_is(&frame->reader, kRawSize);
}

// ---------------------------------------------------------------------------
// Leaves

// Fails because an array or an object stands for a scalar. The message says how a
// scalar is sent.
static fc_status_t not_a_scalar(fc_frame_t *frame, fc_dtype_t dtype,
                                fc_json_token_t token, fc_error_t *err) {
  const char *text = fc_dtype_info(dtype)->text;
  const char *found = fc_json_token_name(token);
  fc_status_t status = fc_fail(
      err, FC_CODE_TYPE_MISMATCH,
      token == FC_JSON_OBJECT_BEGIN
          ? "expected %s, found %s: a scalar is a bare value, only a tensor has "
            "a dtype and a shape"
          : "expected %s, found %s: a scalar is a bare value",
      text, found);
  fc_error_expected(err, "%s", text);
  fc_error_got(err, fc_str(found));
  return fc_json_locate(&frame->reader, status, err);
}

static fc_status_t decode_scalar(fc_frame_t *frame, const fc_op_t *op,
                                 fc_json_token_t token, fc_value_t *dest,
                                 fc_error_t *err) {
  fc_value_t value = {.kind = FC_VALUE_SCALAR, .dtype = op->dtype};
  if (fc_dtype_info(op->dtype)->part == op->dtype && !is_scalar_token(token)) {
    return not_a_scalar(frame, op->dtype, token, err);
  }
  FC_TRY(fc_fill_element(frame, op->dtype, token, value.scalar.bytes, err));
  *dest = value;
  return FC_OK;
}

static fc_status_t decode_tensor(fc_frame_t *frame, const fc_op_t *op,
                                 fc_json_token_t token, fc_value_t *dest,
                                 fc_error_t *err) {
  if (token == FC_JSON_OBJECT_BEGIN) {
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_KEY) {
      return fc_typed_decode(frame, op, dest, err);
    }
    return fc_leaf_missing(frame, "data", err);
  }
  if (op->dtype != FC_DTYPE_NONE) {
    return fc_fill_decode(frame, op, token, dest, err);
  }
  fc_status_t status = fc_fail(
      err, FC_CODE_UNTYPED_VALUE,
      "the element type is not known: give {\"dtype\",\"shape\",\"data\"}");
  fc_error_expected(err, "{\"dtype\":…,\"shape\":[…],\"data\":[…]}");
  fc_error_got(err, fc_str(fc_json_token_name(token)));
  return fc_json_locate(&frame->reader, status, err);
}

fc_status_t fc_leaf_decode(fc_frame_t *frame, const fc_op_t *op,
                           fc_json_token_t token, fc_value_t *dest,
                           fc_error_t *err) {
  switch ((fc_type_kind_t)op->kind) {
    case FC_TYPE_SCALAR:
      return decode_scalar(frame, op, token, dest, err);
    case FC_TYPE_TENSOR:
    case FC_TYPE_VECTOR:
      return decode_tensor(frame, op, token, dest, err);
    case FC_TYPE_BYTES:
      return fc_bytes_decode(frame, op, token, dest, err);
    default:
      break;
  }
  if (token == FC_JSON_NULL) {
    if (dest) *dest = (fc_value_t){.kind = FC_VALUE_NULL};
    return FC_OK;
  }
  return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token, "null",
                          err);
}
