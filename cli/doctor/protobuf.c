// SPDX-License-Identifier: Apache-2.0
#include "doctor/protobuf.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static bool read_varint(fc_str_t bytes, size_t *at, uint64_t *out) {
  *out = 0;
  for (unsigned shift = 0; shift < 64 && *at < bytes.size; shift += 7) {
    const uint8_t byte = (uint8_t)bytes.data[(*at)++];
    *out |= (uint64_t)(byte & 0x7F) << shift;
    if (!(byte & 0x80)) return true;
  }
  return false;
}

static bool read_fixed(fc_str_t bytes, size_t *at, size_t size, uint64_t *out) {
  if (bytes.size - *at < size) return false;
  *out = 0;
  for (size_t i = 0; i < size; i++) {
    *out |= (uint64_t)(uint8_t)bytes.data[*at + i] << 8 * i;
  }
  *at += size;
  return true;
}

static bool read_field(fc_str_t bytes, size_t *at, fc_pb_field_t *out) {
  uint64_t key;
  if (!read_varint(bytes, at, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX) {
    return false;
  }
  *out = (fc_pb_field_t){.number = (uint32_t)(key >> 3)};
  switch (key & 7) {
    case VARINT:
      return read_varint(bytes, at, &out->value);
    case FIXED64:
      return read_fixed(bytes, at, 8, &out->value);
    case FIXED32:
      return read_fixed(bytes, at, 4, &out->value);
    case BYTES:
      if (!read_varint(bytes, at, &out->value) ||
          out->value > bytes.size - *at) {
        return false;
      }
      out->has_bytes = true;
      out->bytes = fc_str_make(bytes.data + *at, (size_t)out->value);
      *at += (size_t)out->value;
      return true;
    default:
      return false;
  }
}

bool fc_message_next(fc_message_t *message, fc_pb_field_t *out_field) {
  if (message->damaged || message->at >= message->bytes.size) return false;
  size_t at = message->at;
  message->damaged = !read_field(message->bytes, &at, out_field);
  if (!message->damaged) message->at = at;
  return !message->damaged;
}

bool fc_numbers_next(fc_numbers_t *numbers, uint64_t *out_value) {
  if (numbers->field.has_bytes) {
    return read_varint(numbers->field.bytes, &numbers->at, out_value);
  }
  *out_value = numbers->field.value;
  return numbers->at++ == 0;
}
