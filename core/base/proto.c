// SPDX-License-Identifier: Apache-2.0
#include "base/proto.h"

#define VARINT_MAX 10

// ---------------------------------------------------------------------------
// Reading

static fc_status_t fail(const fc_proto_t *wire, const char *what,
                        fc_error_t *err) {
  const fc_status_t status =
      fc_fail(err, FC_CODE_BINARY_FRAMING, "the message %s", what);
  if (err) err->byte_offset = (uint64_t)(wire->left.data - wire->begin);
  return status;
}

static void drop(fc_str_t *text, size_t size) {
  text->data += size;
  text->size -= size;
}

// Reads a varint. False: it is cut off, or longer than any valid varint.
static bool take_varint(fc_str_t *left, uint64_t *out_value) {
  uint64_t value = 0;
  for (size_t i = 0; i < left->size && i < VARINT_MAX; i++) {
    const uint8_t byte = (uint8_t)left->data[i];
    if (i == VARINT_MAX - 1 && byte > 1) return false;
    value |= (uint64_t)(byte & 127) << (7 * i);
    if (byte & 128) continue;
    drop(left, i + 1);
    *out_value = value;
    return true;
  }
  return false;
}

static bool take_fixed(fc_str_t *left, size_t size, uint64_t *out_value) {
  uint64_t value = 0;
  if (left->size < size) return false;
  for (size_t i = 0; i < size; i++) {
    value |= (uint64_t)(uint8_t)left->data[i] << (8 * i);
  }
  drop(left, size);
  *out_value = value;
  return true;
}

static bool take_tag(fc_str_t *left, fc_proto_field_t *field) {
  uint64_t tag;
  if (!take_varint(left, &tag) || tag > UINT32_MAX) return false;
  *field = (fc_proto_field_t){.number = (uint32_t)tag >> 3,
                              .type = (uint8_t)(tag & 7)};
  return true;
}

bool fc_proto_peek(fc_proto_t wire, fc_proto_field_t *out_field) {
  return take_tag(&wire.left, out_field);
}

fc_status_t fc_proto_varint(fc_proto_t *wire, uint64_t *out_value,
                            fc_error_t *err) {
  if (take_varint(&wire->left, out_value)) return FC_OK;
  return fail(wire, "has a number that is cut off or too long", err);
}

static bool take_value(fc_str_t *left, fc_proto_field_t *field) {
  uint64_t size;
  switch (field->type) {
    case FC_PROTO_VARINT:
      return take_varint(left, &field->value);
    case FC_PROTO_FIXED64:
      return take_fixed(left, 8, &field->value);
    case FC_PROTO_FIXED32:
      return take_fixed(left, 4, &field->value);
    default:
      if (!take_varint(left, &size) || size > left->size) return false;
      field->bytes = fc_str_make(left->data, (size_t)size);
      drop(left, (size_t)size);
      return true;
  }
}

static bool is_known(const fc_proto_field_t *field) {
  return field->type == FC_PROTO_VARINT || field->type == FC_PROTO_FIXED64 ||
         field->type == FC_PROTO_FIXED32 || field->type == FC_PROTO_BYTES;
}

fc_status_t fc_proto_next(fc_proto_t *wire, fc_proto_field_t *out_field,
                          bool *out_more, fc_error_t *err) {
  fc_str_t left = wire->left;
  *out_more = left.size > 0;
  if (!left.size) return FC_OK;
  if (!take_tag(&left, out_field) || !out_field->number) {
    return fail(wire, "has no field here", err);
  }
  if (!is_known(out_field)) return fail(wire, "has a group here", err);
  if (!take_value(&left, out_field)) {
    return fail(wire, "is cut off in a field", err);
  }
  wire->left = left;
  return FC_OK;
}

static fc_status_t store(const fc_proto_t *wire, const fc_proto_row_t *row,
                         const fc_proto_field_t *field, void *out,
                         fc_error_t *err) {
  char *at = (char *)out + row->offset;
  const bool is_text = row->member == FC_PROTO_TEXT;
  if (is_text != (field->type == FC_PROTO_BYTES)) {
    return fail(wire, "has a field of another type than its own", err);
  }
  if (is_text) memcpy(at, &field->bytes, sizeof field->bytes);
  else memcpy(at, &field->value, sizeof field->value);
  return FC_OK;
}

fc_status_t fc_proto_read(fc_str_t message, const fc_proto_row_t *rows,
                          size_t count, void *out, fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(message);
  fc_proto_field_t field;
  bool more;
  for (;;) {
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (!more) return FC_OK;
    for (size_t i = 0; i < count; i++) {
      if (rows[i].number != field.number) continue;
      FC_TRY(store(&wire, &rows[i], &field, out, err));
    }
  }
}

// ---------------------------------------------------------------------------
// Writing

size_t fc_proto_varint_size(uint64_t value) {
  size_t size = 1;
  while (value >>= 7) size++;
  return size;
}

fc_status_t fc_proto_put_varint(fc_sink_t *sink, uint64_t value,
                                fc_error_t *err) {
  FC_TRY(fc_sink_reserve(sink, VARINT_MAX, err));
  for (; value > 127; value >>= 7) *sink->cursor++ = (char)(value | 128);
  *sink->cursor++ = (char)value;
  return FC_OK;
}

fc_status_t fc_proto_put_head(fc_sink_t *sink, uint32_t number, uint64_t size,
                              fc_error_t *err) {
  FC_TRY(
      fc_proto_put_varint(sink, (uint64_t)number << 3 | FC_PROTO_BYTES, err));
  return fc_proto_put_varint(sink, size, err);
}

fc_status_t fc_proto_put_bytes(fc_sink_t *sink, uint32_t number, fc_str_t bytes,
                               fc_error_t *err) {
  FC_TRY(fc_proto_put_head(sink, number, bytes.size, err));
  return fc_sink_put(sink, bytes, err);
}

fc_status_t fc_proto_put_text(fc_sink_t *sink, uint32_t number, fc_str_t text,
                              fc_error_t *err) {
  return text.size ? fc_proto_put_bytes(sink, number, text, err) : FC_OK;
}

fc_status_t fc_proto_put_value(fc_sink_t *sink, uint32_t number, uint64_t value,
                               fc_error_t *err) {
  if (!value) return FC_OK;
  FC_TRY(fc_proto_put_varint(sink, (uint64_t)number << 3, err));
  return fc_proto_put_varint(sink, value, err);
}
