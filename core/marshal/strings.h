// SPDX-License-Identifier: Apache-2.0
//
// Byte strings as the elements of an input of the Open Inference Protocol: one byte
// string for a BYTES, any number for a LIST or REFARRAY of BYTES. Private to the
// marshaller.
#ifndef FARCALL_MARSHAL_STRINGS_H_
#define FARCALL_MARSHAL_STRINGS_H_

#include "marshal/inputs.h"

// The elements read so far.
typedef struct fc_strings_t {
  const fc_op_t *op;  // the input's
  fc_value_t *items;
  size_t count;
  size_t capacity;
  int32_t rank;  // depth of the arrays around them; 0: there are none
  int64_t dims[FC_RANK_MAX];
} fc_strings_t;

// Begins the elements of an input. `dims` are set when they are read.
static inline void fc_strings_begin(fc_strings_t *texts, const fc_op_t *op) {
  texts->op = op;
  texts->items = NULL;
  texts->count = texts->capacity = 0;
  texts->rank = 0;
}
// Reads elements whose first token was just read: a text or {"b64"}, or arrays of
// these, flat or nested. FC_CODE_SHAPE_MISMATCH when arrays of one level have different
// depths or lengths.
fc_status_t fc_strings_read(fc_frame_t *frame, fc_strings_t *texts,
                            fc_json_token_t token, fc_error_t *err);
// Adds one element, without a copy. A row of elements has one dim.
fc_status_t fc_strings_add(fc_frame_t *frame, fc_strings_t *texts,
                           fc_str_t text, fc_error_t *err);
// Reads elements from raw bytes, without a copy: each element is its size in four bytes,
// then its bytes. FC_CODE_BINARY_FRAMING.
fc_status_t fc_strings_take(fc_frame_t *frame, fc_strings_t *texts,
                            fc_str_t bytes, fc_error_t *err);
// Checks the stated shape of a BYTES, whose dims must all be 1.
fc_status_t fc_strings_check_one(fc_frame_t *frame, const fc_typed_t *typed,
                                 fc_error_t *err);
// Makes the elements the input's value. FC_CODE_DATA_LENGTH, _SHAPE_MISMATCH when they
// do not match the stated shape. For a LIST only their number is compared with the
// shape.
fc_status_t fc_strings_finish(fc_frame_t *frame, const fc_strings_t *texts,
                              const fc_typed_t *typed, fc_value_t *dest,
                              fc_error_t *err);

#endif  // FARCALL_MARSHAL_STRINGS_H_
