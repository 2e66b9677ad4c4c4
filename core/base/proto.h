// SPDX-License-Identifier: Apache-2.0
//
// Messages of Protocol Buffers as they lie in bytes: a reader of fields, one after the
// other, that nothing in a message makes read past its end or recurse, and a writer.
// Which field means what is said by whoever reads (fc_proto_read: by rows). Any thread; no
// allocation. https://protobuf.dev/programming-guides/encoding
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
  fc_str_t bytes;  // in the message, of FC_PROTO_BYTES
} fc_proto_field_t;

// What is left of a message: begins as all of it.
typedef struct fc_proto_t {
  fc_str_t left;
  const char *begin;  // for the offset that errors name
} fc_proto_t;

static inline fc_proto_t fc_proto_begin(fc_str_t message) {
  return FC_MAKE(fc_proto_t){.left = message, .begin = message.data};
}
// Reads the next field; *out_more false: there is none. FC_CODE_BINARY_FRAMING when the
// message is cut off, a number is too long, or a field has the number 0 or is a group.
fc_status_t fc_proto_next(fc_proto_t *wire, fc_proto_field_t *out_field,
                          bool *out_more, fc_error_t *err) FC_MUST_CHECK;
// Reads the number and type of the next field alone, which may be cut off behind them.
// False: not even these are there.
bool fc_proto_peek(fc_proto_t wire, fc_proto_field_t *out_field);
// Reads the next varint of packed ones. FC_CODE_BINARY_FRAMING.
fc_status_t fc_proto_varint(fc_proto_t *wire, uint64_t *out_value,
                            fc_error_t *err) FC_MUST_CHECK;

// Which members of a struct the fields of a message fill in.
typedef enum fc_proto_member_t {
  FC_PROTO_TEXT,   // fc_str_t, of FC_PROTO_BYTES
  FC_PROTO_VALUE,  // uint64_t, of a number
} fc_proto_member_t;
typedef struct fc_proto_row_t {
  uint32_t number;
  uint8_t member;  // fc_proto_member_t
  size_t offset;   // of a member of the type that `member` says
} fc_proto_row_t;
// Fills in *out; fields without a row are skipped, and of one that comes twice the last
// one counts. FC_CODE_BINARY_FRAMING also when a field is of another type than its row.
fc_status_t fc_proto_read(fc_str_t message, const fc_proto_row_t *rows,
                          size_t count, void *out,
                          fc_error_t *err) FC_MUST_CHECK;

// ---------------------------------------------------------------------------
// Writing. A message within another needs its size first.

size_t fc_proto_varint_size(uint64_t value);
// Of a field of FC_PROTO_BYTES, all of it. Numbers of fields are below 2^29.
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
// What stands in front of so many bytes.
fc_status_t fc_proto_put_head(fc_sink_t *sink, uint32_t number, uint64_t size,
                              fc_error_t *err);
fc_status_t fc_proto_put_bytes(fc_sink_t *sink, uint32_t number, fc_str_t bytes,
                               fc_error_t *err);
// An empty text, or 0, is not written: readers take an absent field for it.
fc_status_t fc_proto_put_text(fc_sink_t *sink, uint32_t number, fc_str_t text,
                              fc_error_t *err);
fc_status_t fc_proto_put_value(fc_sink_t *sink, uint32_t number, uint64_t value,
                               fc_error_t *err);

#endif  // FARCALL_CORE_BASE_PROTO_H_
