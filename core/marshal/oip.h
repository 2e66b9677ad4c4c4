// SPDX-License-Identifier: Apache-2.0
//
// DECODE and ENCODE of the Open Inference Protocol: tensors by name, as JSON or as raw
// bytes after the JSON document. Called by a worker, on a frame that was begun, in
// place of fc_frame_decode and fc_frame_encode. docs/oip.md has the rules.
#ifndef FARCALL_MARSHAL_OIP_H_
#define FARCALL_MARSHAL_OIP_H_

#include "farcall/codec.h"

// For a request that does not state the size of its document: the whole body is
// the document.
#define FC_OIP_ALL UINT64_MAX

// Reads a request. The first `document` bytes of the body are the document; with
// FC_OIP_ALL the whole body is. With 0 there is no document, and the body is the elements
// of the only input. Raw tensors that are aligned as the function needs stay in the body.
// So the body must live as long as the call, and the function may write to it.
// FC_CODE_BINARY_FRAMING when lengths and body do not agree, an input has both data and
// raw bytes, or the function's inputs cannot be read from a body without a document;
// FC_CODE_UNSUPPORTED_TYPE when the function is not a model (model.h).
fc_status_t fc_oip_decode(fc_frame_t *frame, fc_str_t body, uint64_t document,
                          fc_error_t *err);
// Sets whether documents that fc_oip_decode reads from now on may say that they are
// part of a sequence; initially they may not. The code that makes the calls knows whether
// they are.
void fc_oip_set_sequence(fc_frame_t *frame, bool in_sequence);
// Writes the answer. Call it only after fc_oip_decode. *out_document becomes the size of
// the document in bytes if an output is sent raw, and stays unchanged otherwise.
fc_status_t fc_oip_encode(fc_frame_t *frame, fc_str_t model, fc_str_t version,
                          fc_sink_t *sink, uint64_t *out_document,
                          fc_error_t *err);
// True when an output will be sent raw. Call it after fc_oip_decode.
bool fc_oip_is_raw(const fc_frame_t *frame);

// Finds the "id" of a document that was refused, for the answer; `document` may
// be cut off anywhere. Returns the text between the quotes, still escaped. Its
// data is NULL if the first "id" is not a string, or if there is no "id" before
// the end or the first error.
fc_str_t fc_oip_find_id(fc_str_t document);

// Writes "inputs":[…],"outputs":[…] of a function's metadata. FC_CODE_UNSUPPORTED_TYPE
// when the function is not a model.
fc_status_t fc_oip_write_tensors(const fc_plan_t *plan, fc_sink_t *sink,
                                 fc_error_t *err);

#endif  // FARCALL_MARSHAL_OIP_H_
