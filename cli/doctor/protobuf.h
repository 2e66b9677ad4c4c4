// SPDX-License-Identifier: Apache-2.0
//
// Reads a protobuf message field by field. The bytes may be hostile: sizes are checked
// here, once.
#ifndef FARCALL_CLI_DOCTOR_PROTOBUF_H_
#define FARCALL_CLI_DOCTOR_PROTOBUF_H_

#include "farcall/base.h"

// A message that is being read. fc_message begins the reading.
typedef struct fc_message_t {
  fc_str_t bytes;
  size_t at;
  bool damaged;  // the bytes at `at` are not a field
} fc_message_t;

typedef struct fc_pb_field_t {
  uint32_t number;
  bool has_bytes;
  uint64_t value;  // for a number; for a float its bits
  fc_str_t bytes;  // for a text, a message or packed numbers
} fc_pb_field_t;

static inline fc_message_t fc_message(fc_str_t bytes) {
  return (fc_message_t){.bytes = bytes};
}

// Reads the next field. False: the message has ended or is damaged.
bool fc_message_next(fc_message_t *message, fc_pb_field_t *out_field);

// The integers of a repeated field: one unpacked, or several packed ones (varints). At
// the beginning, all members except `field` are zero.
typedef struct fc_numbers_t {
  fc_pb_field_t field;
  size_t at;
} fc_numbers_t;
bool fc_numbers_next(fc_numbers_t *numbers, uint64_t *out_value);

#endif  // FARCALL_CLI_DOCTOR_PROTOBUF_H_
