// SPDX-License-Identifier: Apache-2.0
//
// Bytes and text. Private to the marshaller.
#ifndef FARCALL_MARSHAL_BYTES_H_
#define FARCALL_MARSHAL_BYTES_H_

#include "marshal/frame.h"

// Reads bytes: a string, {"b64":…} or, where raw bytes may follow the document,
// {"binary_data_size":…}; the token was just read.
fc_status_t fc_bytes_decode(fc_frame_t *frame, const fc_op_t *op,
                            fc_json_token_t token, fc_value_t *dest,
                            fc_error_t *err);
// Makes `bytes` the value, without a copy: they belong to the call. Fails when they are
// more than the limit of a tensor, or not UTF-8 where the type is text.
fc_status_t fc_bytes_take(fc_frame_t *frame, const fc_op_t *op, fc_str_t bytes,
                          fc_value_t *dest, fc_error_t *err);

#endif  // FARCALL_MARSHAL_BYTES_H_
