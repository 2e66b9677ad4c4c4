// SPDX-License-Identifier: Apache-2.0
//
// DECODE and ENCODE of the Open Inference Protocol as messages of Protocol Buffers,
// ModelInferRequest and ModelInferResponse. Called by a worker, on a frame that was
// begun, in place of fc_oip_decode and fc_oip_encode (oip.h). The functions under
// "Beginnings" read the beginning of a message, on any thread. docs/grpc.md has the
// rules.
#ifndef FARCALL_MARSHAL_MESSAGE_H_
#define FARCALL_MARSHAL_MESSAGE_H_

#include "farcall/codec.h"

// Reads a ModelInferRequest. Raw tensors that are aligned as the function needs stay in
// the body. So the body must live as long as the call, and the function may write to it.
// FC_CODE_BINARY_FRAMING when the message is malformed, its raw entries do not match its
// inputs, or an input has both contents and raw bytes; FC_CODE_UNSUPPORTED_TYPE when the
// function is not a model (model.h). Errors about an input or output point at it:
// "/inputs/1".
fc_status_t fc_message_decode(fc_frame_t *frame, fc_str_t body,
                              fc_error_t *err);
// Writes a ModelInferResponse. Call it only after fc_message_decode. Every output has one
// raw entry, in order.
fc_status_t fc_message_encode(fc_frame_t *frame, fc_str_t model,
                              fc_str_t version, fc_sink_t *sink,
                              fc_error_t *err);

// ---------------------------------------------------------------------------
// Beginnings

// The names at the beginning of a message about a model. The message may be cut off.
// The names point into the message or into `digits`, so this struct must not be copied.
typedef struct fc_message_names_t {
  fc_str_t model;
  fc_str_t version;  // data NULL: none
  bool complete;     // both are known: further bytes cannot change them
  char digits[24];   // the text of a version that comes as a number
} fc_message_names_t;
// Reads the names. `is_all`: `message` is not cut off. Fails with FC_CODE_BINARY_FRAMING.
fc_status_t fc_message_names(fc_str_t message, bool is_all,
                             fc_message_names_t *out_names, fc_error_t *err);
// Returns the number of bytes before the first raw tensor; 0 if the tensor does not begin
// within `begin`.
uint64_t fc_message_raw(fc_str_t begin);

// Finds the client's id of its request; "" if the id is not within this beginning of the
// message.
fc_str_t fc_message_id(fc_str_t begin);

// The parameters of a request that describe its sequence: "sequence_id", a text or a
// number, "sequence_start" and "sequence_end".
typedef struct fc_message_sequence_t {
  fc_str_t text;    // "": the id is not a text
  uint64_t number;  // 0: the id is not a number
  bool starts;
  bool ends;
} fc_message_sequence_t;
// Reads the parameters of the sequence if they stand before the inputs and within the
// first `most` bytes. FC_CODE_BINARY_FRAMING.
fc_status_t fc_message_sequence(fc_str_t message, size_t most,
                                fc_message_sequence_t *out_sequence,
                                fc_error_t *err);

#endif  // FARCALL_MARSHAL_MESSAGE_H_
