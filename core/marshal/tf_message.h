// SPDX-License-Identifier: Apache-2.0
//
// DECODE and ENCODE of TensorFlow Serving's PredictRequest and PredictResponse, messages
// of Protocol Buffers. Called by a worker, on a frame that was begun, in place of
// fc_oip_decode and fc_oip_encode (oip.h). docs/grpc.md has the rules.
#ifndef FARCALL_MARSHAL_TF_MESSAGE_H_
#define FARCALL_MARSHAL_TF_MESSAGE_H_

#include "marshal/message.h"

// Reads a PredictRequest. Tensors that come as tensor_content may stay in the body. So
// the body must live as long as the call, and the function may write to it.
// FC_CODE_BINARY_FRAMING when the message is malformed; FC_CODE_UNSUPPORTED_TYPE when the
// function is not a model (model.h). Errors about an input point at it: "/inputs/NAME".
fc_status_t fc_tf_message_decode(fc_frame_t *frame, fc_str_t body,
                                 fc_error_t *err);
// Writes a PredictResponse. Call it only after fc_tf_message_decode. Elements are written
// in the field of their type, as TensorFlow Serving does.
fc_status_t fc_tf_message_encode(fc_frame_t *frame, fc_str_t model,
                                 fc_str_t version, fc_sink_t *sink,
                                 fc_error_t *err);

// Reads the names in the ModelSpec at the beginning of a request (fc_message_names). A
// label is read as a version.
fc_status_t fc_tf_message_names(fc_str_t message, bool is_all,
                                fc_message_names_t *out_names, fc_error_t *err);
// Writes a ModelSpec; a version that is not a number is written as a label.
fc_status_t fc_tf_message_put_spec(fc_sink_t *sink, uint32_t number,
                                   fc_str_t model, fc_str_t version,
                                   fc_error_t *err);
// Reads a version as a number. False: it is not a number.
bool fc_tf_message_version(fc_str_t version, uint64_t *out_number);

// One of TensorFlow's types.
typedef struct fc_tf_type_t {
  const char *oip;  // the name of the same type in the Open Inference Protocol
  uint8_t number;   // TensorFlow's DataType
  uint8_t field;    // number of the field of TensorProto with its elements
  uint8_t wire;     // fc_proto_type_t of one element
  bool is_signed;
} fc_tf_type_t;
// Finds the type by its name in the Open Inference Protocol. NULL: TensorFlow does not
// have it.
const fc_tf_type_t *fc_tf_type_named(const char *oip);

#endif  // FARCALL_MARSHAL_TF_MESSAGE_H_
