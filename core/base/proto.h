// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes messages of Protocol Buffers. The reader reads one field after the
// other; no message can make it read past its end or recurse. The caller knows what
// each field means, and may say it in a table (fc_proto_read). Any thread; no allocation.
// https://protobuf.dev/programming-guides/encoding
#ifndef FARCALL_CORE_BASE_PROTO_H_
#define FARCALL_CORE_BASE_PROTO_H_

#include "farcall/base.h"

typedef enum fc_proto_type_t {
  FC_PROTO_VARINT = 0,
  FC_PROTO_FIXED64 = 1,
  FC_PROTO_BYTES = 2,  // text, bytes, a message, or packed numbers
  FC_PROTO_FIXED32 = 5,
} fc_proto_type_t;

typedef struct fc_proto_field_t {
  uint32_t number;
  uint8_t type;    // fc_proto_type_t
  uint64_t value;  // of a number
  fc_str_t bytes;  // of FC_PROTO_BYTES; points into the message
} fc_proto_field_t;

// The rest of a message that is being read; in the beginning the whole message.
typedef struct fc_proto_t {
  fc_str_t left;
  const char *begin;  // for the offset that errors name
} fc_proto_t;

static inline fc_proto_t fc_proto_begin(fc_str_t message) {
  return FC_MAKE(fc_proto_t){.left = message, .begin = message.data};
}
// Reads the next field; *out_more is false at the end. FC_CODE_BINARY_FRAMING when the
// message is cut off, a number is too long, or a field has the number 0 or is a group.
fc_status_t fc_proto_next(fc_proto_t *wire, fc_proto_field_t *out_field,
                          bool *out_more, fc_error_t *err) FC_MUST_CHECK;
// Reads only the number and type of the next field; the field may be cut off after
// them. False: the number and type are not there.
bool fc_proto_peek(fc_proto_t wire, fc_proto_field_t *out_field);
// Reads the next of several packed varints. FC_CODE_BINARY_FRAMING if it is cut off or
// too long.
fc_status_t fc_proto_varint(fc_proto_t *wire, uint64_t *out_value,
                            fc_error_t *err) FC_MUST_CHECK;

// The types of the members of a struct that a field of a message can fill in.
typedef enum fc_proto_member_t {
  FC_PROTO_TEXT,   // fc_str_t, from a field of FC_PROTO_BYTES
  FC_PROTO_VALUE,  // uint64_t, from a field that is a number
} fc_proto_member_t;
typedef struct fc_proto_row_t {
  uint32_t number;
  uint8_t member;  // fc_proto_member_t
  size_t offset;   // of the member in *out
} fc_proto_row_t;
// Fills in the members of *out that `rows` name. Fields without a row are skipped; if a
// field comes twice, the last one counts. FC_CODE_BINARY_FRAMING also when a field has
// another type than its row.
fc_status_t fc_proto_read(fc_str_t message, const fc_proto_row_t *rows,
                          size_t count, void *out,
                          fc_error_t *err) FC_MUST_CHECK;

// ---------------------------------------------------------------------------
// Writing. A message is written with its size before it. So to write a message inside
// another one, compute its size first.

size_t fc_proto_varint_size(uint64_t value);
// Returns the size of a whole field of FC_PROTO_BYTES. Numbers of fields are below 2^29.
static inline size_t fc_proto_bytes_size(uint32_t number, uint64_t size) {
  return fc_proto_varint_size((uint64_t)number << 3) +
         fc_proto_varint_size(size) + (size_t)size;
}
static inline size_t fc_proto_value_size(uint32_t number, uint64_t value) {
  return fc_proto_varint_size((uint64_t)number << 3) +
         fc_proto_varint_size(value);
}
fc_status_t fc_proto_put_varint(fc_sink_t *sink, uint64_t value,
                                fc_error_t *err);
// Writes the head of a field of `size` bytes.
fc_status_t fc_proto_put_head(fc_sink_t *sink, uint32_t number, uint64_t size,
                              fc_error_t *err);
fc_status_t fc_proto_put_bytes(fc_sink_t *sink, uint32_t number, fc_str_t bytes,
                               fc_error_t *err);
// These two write nothing for an empty text or 0, because readers take an absent field
// as empty or 0.
fc_status_t fc_proto_put_text(fc_sink_t *sink, uint32_t number, fc_str_t text,
                              fc_error_t *err);
fc_status_t fc_proto_put_value(fc_sink_t *sink, uint32_t number, uint64_t value,
                               fc_error_t *err);

#endif  // FARCALL_CORE_BASE_PROTO_H_
