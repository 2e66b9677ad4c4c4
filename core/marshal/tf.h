// SPDX-License-Identifier: Apache-2.0
//
// DECODE and ENCODE of TensorFlow Serving's REST protocol, which KServe calls its
// V1: tensors by name, whole ("inputs", by column) or cut into rows
// ("instances"). Called by a worker, on a frame that was begun, in place of
// fc_frame_decode and fc_frame_encode. docs/tf.md has the rules.
#ifndef FARCALL_MARSHAL_TF_H_
#define FARCALL_MARSHAL_TF_H_

#include "farcall/codec.h"

// Reads a request. FC_CODE_UNSUPPORTED_TYPE when the function is not a model (model.h).
// If the request is in rows, FC_CODE_SHAPE_MISMATCH also when a result has no dim that
// can be cut into rows.
fc_status_t fc_tf_decode(fc_frame_t *frame, fc_str_t body, fc_error_t *err);
// Writes the answer in the form of the request: {"predictions":…} for "instances",
// {"outputs":…} for "inputs". FC_CODE_SHAPE_MISMATCH when the request came in rows, and a
// result has no dim that can be cut into rows, or results have different numbers of rows.
fc_status_t fc_tf_encode(fc_frame_t *frame, fc_sink_t *sink, fc_error_t *err);

#endif  // FARCALL_MARSHAL_TF_H_
