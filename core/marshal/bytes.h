// SPDX-License-Identifier: Apache-2.0
//
// Bytes and text. Private to the marshaller.
#ifndef FARCALL_MARSHAL_BYTES_H_
#define FARCALL_MARSHAL_BYTES_H_

#include "marshal/frame.h"

// Reads bytes: a string, {"b64":…} or, where raw bytes may follow the document,
// {"binary_data_size":…}. `token` was just read.
fc_status_t fc_bytes_decode(fc_frame_t *frame, const fc_op_t *op,
                            fc_json_token_t token, fc_value_t *dest,
                            fc_error_t *err);
// Makes `bytes` the value, without a copy: they must stay as long as the call. Fails when
// there are more bytes than a tensor may have, or when the type is text and they are not
// UTF-8.
fc_status_t fc_bytes_take(fc_frame_t *frame, const fc_op_t *op, fc_str_t bytes,
                          fc_value_t *dest, fc_error_t *err);

#endif  // FARCALL_MARSHAL_BYTES_H_
