// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes a call document with raw bytes after it. The elements of a tensor
// {"dtype","shape","binary_data_size":n} and the bytes of a BYTES {"binary_data_size":n}
// follow the document, in its order. Called by a worker, on a frame that was begun, in
// place of fc_frame_decode and fc_frame_encode. docs/http.md has the rules.
#ifndef FARCALL_MARSHAL_FRAMED_H_
#define FARCALL_MARSHAL_FRAMED_H_

#include "farcall/codec.h"

// Reads a body whose first `document` bytes are the document. Raw tensors that are
// aligned as the function needs stay in the body. So the body must live as long as the
// call, and the function may write to it. FC_CODE_BINARY_FRAMING when the lengths and the
// body do not agree.
fc_status_t fc_framed_decode(fc_frame_t *frame, fc_str_t body,
                             uint64_t document, fc_error_t *err);
// Writes the document, and after it the elements of tensors and the values declared as
// bytes (not text). *out_document becomes the size of the document in bytes.
fc_status_t fc_framed_encode(fc_frame_t *frame, fc_sink_t *sink,
                             uint64_t *out_document, fc_error_t *err);

#endif  // FARCALL_MARSHAL_FRAMED_H_
