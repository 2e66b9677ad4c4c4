// SPDX-License-Identifier: Apache-2.0
//
// The value of an input in a message of Protocol Buffers: raw, or as elements that are
// fields. Private to message_read.c and tf_message_read.c.
#ifndef FARCALL_MARSHAL_MESSAGE_VALUE_H_
#define FARCALL_MARSHAL_MESSAGE_VALUE_H_

#include "base/proto.h"
#include "marshal/inputs.h"

// The field of a message that has the elements of a type. Texts are FC_PROTO_BYTES.
typedef struct fc_elements_t {
  uint32_t number;  // 0: there is no field; elements come raw
  uint8_t wire;     // fc_proto_type_t of one element
  bool is_signed;
} fc_elements_t;

typedef struct fc_message_value_t {
  fc_dtype_t dtype;  // of texts, NONE
  int32_t rank;
  const int64_t *dims;
  const fc_str_t
      *raw;  // the bytes, which belong to the call; NULL: elements are fields
  fc_str_t fields;  // the message with these fields
  fc_elements_t elements;
  bool among_others;  // `fields` has other fields, too: skip them
} fc_message_value_t;

// Adds a dim to a shape of `*rank` dims. FC_CODE_SHAPE_MISMATCH.
fc_status_t fc_message_dim(uint64_t dim, int64_t dims[FC_RANK_MAX],
                           int32_t *rank, fc_error_t *err);

// Reads the value. FC_CODE_DTYPE_MISMATCH, _SHAPE_MISMATCH, _DATA_LENGTH,
// _OUT_OF_RANGE, _TENSOR_TOO_LARGE, _BINARY_FRAMING.
fc_status_t fc_message_value(fc_inputs_t *inputs,
                             const fc_model_tensor_t *tensor,
                             const fc_message_value_t *sent,
                             fc_value_t *out_value, fc_error_t *err);

#endif  // FARCALL_MARSHAL_MESSAGE_VALUE_H_
