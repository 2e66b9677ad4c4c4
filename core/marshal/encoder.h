// SPDX-License-Identifier: Apache-2.0
//
// What all forms of an answer share: the limit of its size, and the checks that a
// result is what the function declares. Private to the marshaller; belongs to one call.
#ifndef FARCALL_MARSHAL_ENCODER_H_
#define FARCALL_MARSHAL_ENCODER_H_

#include "marshal/frame.h"
#include "marshal/leaves.h"

// A sink that fails once more than `limit` bytes were written. The bytes are counted
// when the sink grows and when the answer ends. So up to 4 KiB beyond the limit may be
// written before it fails.
typedef struct fc_limited_t {
  fc_sink_t sink;  // first: the sink is cast to the limiter
  fc_sink_t *inner;
  char *begin;     // beginning of the span that is being written
  size_t written;  // before `begin`
  size_t limit;
  const fc_stop_t *stop;  // checked when the sink grows
} fc_limited_t;

typedef struct fc_encoder_t {
  fc_frame_t *frame;
  fc_sink_t *sink;  // of the answer, limited
  fc_limited_t limited;
  uint32_t number;  // of the result that is being written, for messages
  uint32_t depth;
} fc_encoder_t;

// Begins an answer. FC_CODE_BAD_RESULT when the function returned more or fewer
// values than it declares.
fc_status_t fc_encoder_begin(fc_encoder_t *encoder, fc_frame_t *frame,
                             fc_sink_t *sink, fc_error_t *err);
// Ends the answer; `status` is the result of writing it. Returns `status` if it is an
// error, else FC_CODE_RESULT_TOO_LARGE when more than the limit was written.
fc_status_t fc_encoder_end(fc_encoder_t *encoder, fc_status_t status,
                           fc_error_t *err);
size_t fc_encoder_written(const fc_encoder_t *encoder);  // bytes so far
// Writes the last bytes of the answer, unless the frame's keeper sends them from the
// place where they lie.
fc_status_t fc_encoder_put_last(fc_encoder_t *encoder, fc_str_t bytes,
                                fc_error_t *err);

// These write the document {"results":[…]}, and {"results":[…],"profile":{…}} of a call
// that was profiled. Where the frame has raw_results, the raw bytes are kept in it.
fc_status_t fc_encoder_results(fc_encoder_t *encoder, fc_error_t *err);
fc_status_t fc_encoder_profiled(fc_encoder_t *encoder, fc_error_t *err);
// Writes one of the plan's outputs as JSON. If its value lies in the store, this is
// {"ref":…}.
fc_status_t fc_encoder_output(fc_encoder_t *encoder, uint32_t output,
                              fc_error_t *err);
// Finds the value of a leaf of the results. From now on messages name this result.
// FC_CODE_BAD_RESULT when the function returned other lists than it declares.
fc_status_t fc_encoder_find(fc_encoder_t *encoder, const fc_leaf_way_t *way,
                            const fc_value_t **out_value, fc_error_t *err);
// Checks a SCALAR, TENSOR or VECTOR and gives it as a dense tensor of its declared
// type, or of its own type if none is declared. The tensor is in the result's own
// memory, or a copy if the result is strided or its elements are narrower than a byte.
// `value` must stay as long as the tensor is used. FC_CODE_UNSUPPORTED_TYPE: no type is
// declared, and the value is not a tensor.
fc_status_t fc_encoder_tensor(fc_encoder_t *encoder, const fc_op_t *op,
                              const fc_value_t *value, fc_tensor_t *out_tensor,
                              size_t *out_count, size_t *out_size,
                              fc_error_t *err);
// Checks that the value of a LIST or REFARRAY is a list.
fc_status_t fc_encoder_check_list(const fc_encoder_t *encoder,
                                  const fc_value_t *value, fc_error_t *err);
// Checks that a REFARRAY is a list of items and a list of dims, and gives the dims,
// which are valid as long as the call. The items are not checked.
fc_status_t fc_encoder_dims(fc_encoder_t *encoder, const fc_op_t *op,
                            const fc_value_t *value, const int64_t **out_dims,
                            fc_error_t *err);
// Checks a BYTES and gives its bytes, borrowed from `value`. Text must be UTF-8.
fc_status_t fc_encoder_bytes(fc_encoder_t *encoder, const fc_op_t *op,
                             const fc_value_t *value, fc_str_t *out_bytes,
                             fc_error_t *err);

#endif  // FARCALL_MARSHAL_ENCODER_H_
