// SPDX-License-Identifier: Apache-2.0
//
// DECODE and ENCODE of tensors as files that other programs write: .npy (one
// tensor), .npz and safetensors (several, by name). Called by a worker, on a frame
// that was begun, in place of fc_frame_decode and fc_frame_encode. docs/http.md has
// the rules.
#ifndef FARCALL_MARSHAL_PACKED_H_
#define FARCALL_MARSHAL_PACKED_H_

#include "farcall/codec.h"

typedef enum fc_packed_t {
  FC_PACKED_NPY,
  FC_PACKED_NPZ,
  FC_PACKED_SAFETENSORS,
  FC_PACKED_COUNT
} fc_packed_t;

// Reads a file. Tensors whose elements are in the body as the function needs them (not
// compressed, in order, aligned) stay there. So the body must live as long as the call,
// and the function may write to it. FC_CODE_BINARY_FRAMING when the body is not a file of
// this form, or when a .npy file is sent to a function that has not exactly one input;
// for a header of safetensors that is not JSON, the codes of json/reader.h; further codes
// for wrong values; FC_CODE_UNSUPPORTED_TYPE when the function is not a model;
// FC_CODE_BODY_TOO_LARGE when all entries together would have more than `most` bytes
// decompressed, or more than fc_inflate_bound allows for the body.
fc_status_t fc_packed_decode(fc_frame_t *frame, fc_packed_t form, fc_str_t body,
                             size_t most, fc_error_t *err);
// fc_packed_check fails with FC_CODE_NOT_ACCEPTABLE when the results cannot be written in
// this form, for example because the format does not have an element type;
// FC_CODE_UNSUPPORTED_TYPE when the function is not a model.
fc_status_t fc_packed_check(const fc_frame_t *frame, fc_packed_t form,
                            fc_error_t *err);
fc_status_t fc_packed_encode(fc_frame_t *frame, fc_packed_t form,
                             fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_MARSHAL_PACKED_H_
