// SPDX-License-Identifier: Apache-2.0
//
// Reads bytes and text: a string, {"b64":…} or raw bytes.
#include "marshal/bytes.h"

#include "base/utf8.h"
#include "json/number.h"
#include "json/writer.h"
#include "marshal/read.h"

static fc_status_t check_size(fc_frame_t *frame, size_t size, fc_error_t *err) {
  if (size <= frame->limits.tensor_size) return FC_OK;
  return fc_json_fail(&frame->reader, err, FC_CODE_TENSOR_TOO_LARGE,
                      "%zu bytes are over the limit of %zu", size,
                      frame->limits.tensor_size);
}

static fc_status_t place_text(fc_frame_t *frame, size_t size, uint8_t **out,
                              fc_error_t *err) {
  void *memory = NULL;
  FC_TRY(check_size(frame, size, err));
  FC_TRY(fc_frame_place(frame, FC_DTYPE_UI8, size, &memory, err));
  *out = memory;
  return FC_OK;
}

static void set_bytes(fc_value_t *dest, const uint8_t *data, size_t size) {
  *dest = (fc_value_t){.kind = FC_VALUE_BYTES,
                       .bytes = {data ? (const char *)data : "", size}};
}

static fc_status_t read_string(fc_frame_t *frame, fc_value_t *dest,
                               fc_error_t *err) {
  fc_str_t raw = frame->reader.text;
  uint8_t *data = NULL;
  FC_TRY(place_text(frame, raw.size, &data, err));
  size_t size = raw.size;
  FC_TRY(frame->reader.escaped
             ? fc_json_unescape_text(&frame->reader, (char *)data, &size, err)
             : fc_frame_copy(frame, data, raw.data, size, err));
  fc_frame_commit(frame, data, raw.size, size);
  set_bytes(dest, data, size);
  return FC_OK;
}

static fc_status_t check_text(fc_frame_t *frame, const fc_op_t *op,
                              fc_str_t bytes, fc_error_t *err) {
  bool valid = true;
  if (op->flavor == FC_FLAVOR_UTF8) {
    FC_TRY(fc_utf8_check(bytes, &frame->stop, &valid, err));
  }
  if (valid) return FC_OK;
  return fc_json_fail(&frame->reader, err, FC_CODE_TYPE_MISMATCH,
                      "the bytes are not UTF-8, the argument is text");
}

static fc_status_t read_b64_bytes(fc_frame_t *frame, const fc_op_t *op,
                                  fc_value_t *dest, fc_error_t *err) {
  fc_str_t text;
  FC_TRY(fc_read_text(frame, &text, err));
  uint8_t *data = NULL;
  size_t placed = text.size / 4 * 3, size = 0;
  FC_TRY(place_text(frame, placed, &data, err));
  fc_status_t status = fc_base64_decode(text, data, &frame->stop, &size, err);
  if (status != FC_OK) return fc_json_locate(&frame->reader, status, err);
  fc_str_t bytes = {(const char *)data, size};
  FC_TRY(check_text(frame, op, bytes, err));
  fc_frame_commit(frame, data, placed, size);
  set_bytes(dest, data, size);
  return FC_OK;
}

fc_status_t fc_bytes_take(fc_frame_t *frame, const fc_op_t *op, fc_str_t bytes,
                          fc_value_t *dest, fc_error_t *err) {
  FC_TRY(check_size(frame, bytes.size, err));
  FC_TRY(check_text(frame, op, bytes, err));
  set_bytes(dest, (const uint8_t *)bytes.data, bytes.size);
  return FC_OK;
}

// Reads a text for IREE, which passes it as a list of i8. Numbers of both signs are read.
static fc_status_t read_numbers(fc_frame_t *frame, fc_value_t *dest,
                                fc_error_t *err) {
  static const char kByte[] = "a byte, -128 to 255";
  size_t size = 0, capacity = 0;
  uint8_t *data = NULL;
  fc_error_t inner = {.code = FC_CODE_OUT_OF_RANGE};
  for (;;) {
    fc_json_token_t token;
    FC_TRY(fc_json_next(&frame->reader, &token, err));
    if (token == FC_JSON_ARRAY_END) break;
    int64_t number = 0;
    if (token != FC_JSON_NUMBER) {
      return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
                              kByte, err);
    }
    if (fc_number_parse(frame->reader.text, FC_DTYPE_I64, &number, &inner) ||
        number < INT8_MIN || number > UINT8_MAX) {
      return fc_json_mismatch(&frame->reader, inner.code, token, kByte, err);
    }
    if (size == capacity) {
      uint8_t *before = data;
      void *memory = NULL;
      capacity = capacity ? capacity * 2 : 64;
      FC_TRY(check_size(frame, size + 1, err));
      FC_TRY(fc_frame_alloc(frame, capacity, 1, &memory, err));
      data = memory;
      if (size) memcpy(data, before, size);
    }
    data[size++] = (uint8_t)number;
  }
  set_bytes(dest, data, size);
  return FC_OK;
}

fc_status_t fc_bytes_decode(fc_frame_t *frame, const fc_op_t *op,
                            fc_json_token_t token, fc_value_t *dest,
                            fc_error_t *err) {
  static const char kExpected[] = "a string or {\"b64\":\"…\"}";
  fc_json_reader_t *reader = &frame->reader;
  if (token == FC_JSON_STRING) return read_string(frame, dest, err);
  if (token == FC_JSON_ARRAY_BEGIN && op->flavor == FC_FLAVOR_I8) {
    return read_numbers(frame, dest, err);
  }
  if (token != FC_JSON_OBJECT_BEGIN) {
    return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
                            kExpected, err);
  }
  bool seen = false;
  for (;;) {
    FC_TRY(fc_json_next(reader, &token, err));
    if (token == FC_JSON_OBJECT_END) break;
    if (!seen && fc_read_names_raw(frame)) {
      fc_str_t bytes;
      FC_TRY(fc_read_raw(frame, &bytes, err));
      FC_TRY(fc_bytes_take(frame, op, bytes, dest, err));
      seen = true;
      continue;
    }
    if (!seen && fc_json_text_is(reader, FC_STR("ref"))) {
      return fc_read_reference(frame, op, dest, err);
    }
    if (!fc_json_text_is(reader, FC_STR("b64"))) {
      fc_status_t status =
          fc_json_fail(&frame->reader, err, FC_CODE_UNKNOWN_KEY,
                       "bytes have the one member 'b64'");
      fc_error_got(err, reader->text);
      return status;
    }
    if (seen) {
      return fc_json_fail(&frame->reader, err, FC_CODE_DUPLICATE_KEY,
                          "'b64' is given twice");
    }
    seen = true;
    FC_TRY(fc_json_next(reader, &token, err));
    if (token != FC_JSON_STRING) {
      return fc_json_mismatch(&frame->reader, FC_CODE_TYPE_MISMATCH, token,
                              "a base64 string", err);
    }
    FC_TRY(read_b64_bytes(frame, op, dest, err));
  }
  return seen ? FC_OK : fc_read_missing(frame, "b64", err);
}
