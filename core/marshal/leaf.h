// SPDX-License-Identifier: Apache-2.0
//
// One value without parts, and what the rooms that read such values share: the text of a
// token, raw bytes behind the document, messages. Private to the marshaller.
#ifndef FARCALL_MARSHAL_LEAF_H_
#define FARCALL_MARSHAL_LEAF_H_

#include "marshal/frame.h"

// Reads a leaf whose token was just read; `dest` NULL: the value goes nowhere
// (a null at an index that a SIP signature, farcall/abi.h, left out).
fc_status_t fc_leaf_decode(fc_frame_t *frame, const fc_op_t *op,
                           fc_json_token_t token, fc_value_t *dest,
                           fc_error_t *err);
// The content of the string or key just read, unescaped. It lasts as long as the call.
fc_status_t fc_leaf_text(fc_frame_t *frame, fc_str_t *out_text,
                         fc_error_t *err);
// Fails with "expected X, found Y" at the token just read.
fc_status_t fc_leaf_mismatch(fc_frame_t *frame, fc_code_t code,
                             fc_json_token_t token, const char *expected,
                             fc_error_t *err);
// Fails because a value of several members lacks `name`.
fc_status_t fc_leaf_missing(fc_frame_t *frame, const char *name,
                            fc_error_t *err);

// True when the key just read is "binary_data_size", and raw bytes may follow the
// document.
bool fc_leaf_names_raw(const fc_frame_t *frame);
// Reads the value of that key, and takes so many of the raw bytes.
// FC_CODE_BINARY_FRAMING.
fc_status_t fc_leaf_read_raw(fc_frame_t *frame, fc_str_t *out_bytes,
                             fc_error_t *err);

#endif  // FARCALL_MARSHAL_LEAF_H_
