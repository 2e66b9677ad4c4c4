// SPDX-License-Identifier: Apache-2.0
//
// ModelInfer on the client's side: turns a call document into a ModelInferRequest, and a
// ModelInferResponse into an answer. A request and a response differ in one number of a
// field, so the code that serves them (message.h) also writes and reads them here. The
// frames are those of echoes: functions that return their arguments, here a model's
// inputs or outputs.
#ifndef FARCALL_MARSHAL_MESSAGE_CLIENT_H_
#define FARCALL_MARSHAL_MESSAGE_CLIENT_H_

#include "marshal/message.h"

// A function whose arguments and results are the same tensors. The caller destroys both.
typedef struct fc_echo_t {
  fc_signature_t *signature;
  fc_plan_t *plan;
} fc_echo_t;

typedef struct fc_echo_tensor_t {
  fc_str_t name;
  fc_str_t datatype;  // of the Open Inference Protocol
  int32_t rank;
  int64_t dims[FC_RANK_MAX];  // negative: of any size
} fc_echo_tensor_t;

// Makes an echo of inputs, or of outputs (`is_answer`). Names are borrowed.
// FC_CODE_UNSUPPORTED_TYPE for an unknown datatype.
fc_status_t fc_echo_make(const fc_echo_tensor_t *tensors, size_t count,
                         bool is_answer, fc_echo_t *out_echo,
                         fc_error_t *err) FC_MUST_CHECK;
void fc_echo_destroy(fc_echo_t *echo);  // a zeroed one is allowed

// Writes the request. `frame` was begun with an echo of the inputs and has decoded a
// call document.
fc_status_t fc_message_put_request(fc_frame_t *frame, fc_str_t model,
                                   fc_str_t version, fc_text_t *out,
                                   fc_error_t *err) FC_MUST_CHECK;
// Writes {"results":[…]} from a response. `frame` was begun with an echo of the
// outputs; `asked` is the frame of the request. `copy`, which is empty, receives a copy
// of the response, and must stay until the frame ends.
fc_status_t fc_message_put_answer(fc_frame_t *frame, const fc_frame_t *asked,
                                  fc_str_t response, fc_text_t *copy,
                                  fc_sink_t *sink,
                                  fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_MARSHAL_MESSAGE_CLIENT_H_
