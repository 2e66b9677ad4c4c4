// SPDX-License-Identifier: Apache-2.0
//
// Reads one scalar, tensor or byte buffer from JSON text; the rules are in docs/abi.md,
// "Values". fill.c, typed.c and bytes.c read values of more than one token.
#include "marshal/leaf.h"

#include "marshal/bytes.h"
#include "marshal/read.h"
#include "marshal/typed.h"

static bool is_scalar_token(fc_json_token_t token) {
  return token == FC_JSON_NUMBER || token == FC_JSON_TRUE ||
         token == FC_JSON_FALSE || token == FC_JSON_STRING ||
         token == FC_JSON_NULL;
}

// Fails because an array or an object stands in place of a scalar. The message
// says how a scalar is sent.
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

// Is the value an object {"ref":…}? If not, the reader goes back, so that an error points
// at the value.
static fc_status_t find_reference(fc_frame_t *frame, fc_json_token_t token,
                                  bool *out_found, fc_error_t *err) {
  fc_json_token_t inner;
  *out_found = false;
  if (token != FC_JSON_OBJECT_BEGIN) return FC_OK;
  fc_json_reader_copy(&frame->ahead, &frame->reader);
  FC_TRY(fc_json_next(&frame->reader, &inner, err));
  *out_found =
      inner == FC_JSON_KEY && fc_json_text_is(&frame->reader, FC_STR("ref"));
  if (!*out_found) fc_json_reader_copy(&frame->reader, &frame->ahead);
  return FC_OK;
}

static fc_status_t decode_scalar(fc_frame_t *frame, const fc_op_t *op,
                                 fc_json_token_t token, fc_value_t *dest,
                                 fc_error_t *err) {
  fc_value_t value = {.kind = FC_VALUE_SCALAR, .dtype = op->dtype};
  bool found;
  FC_TRY(find_reference(frame, token, &found, err));
  if (found) return fc_read_reference(frame, op, dest, err);
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
      return fc_json_text_is(&frame->reader, FC_STR("ref"))
                 ? fc_read_reference(frame, op, dest, err)
                 : fc_typed_decode(frame, op, dest, err);
    }
    return fc_read_missing(frame, "data", err);
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

// Only a value of a session can stand for an opaque reference.
static fc_status_t decode_opaque(fc_frame_t *frame, const fc_op_t *op,
                                 fc_json_token_t token, fc_value_t *dest,
                                 fc_error_t *err) {
  bool found;
  FC_TRY(find_reference(frame, token, &found, err));
  if (found) return fc_read_reference(frame, op, dest, err);
  return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
                          "null or {\"ref\":…}", err);
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
    case FC_TYPE_OPAQUE:
      if (token == FC_JSON_NULL) break;
      return decode_opaque(frame, op, token, dest, err);
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
