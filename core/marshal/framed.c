// SPDX-License-Identifier: Apache-2.0
//
// Writes an answer with raw bytes after the document. encode.c keeps these in the frame
// while it writes the document; decode.c reads them.
#include "marshal/framed.h"

#include "marshal/encoder.h"
#include "marshal/profiled.h"

// Writes the raw bytes that follow the document.
static fc_status_t write_raw_bytes(fc_encoder_t *encoder,
                                   uint64_t *out_document, fc_error_t *err) {
  *out_document = fc_encoder_written(encoder);
  const fc_raw_t *raw = encoder->frame->raw_first;
  for (; raw && raw->next; raw = raw->next) {
    FC_TRY(fc_sink_put(encoder->sink, raw->bytes, err));
  }
  return raw ? fc_encoder_put_last(encoder, raw->bytes, err) : FC_OK;
}

static fc_status_t encode_framed(fc_frame_t *frame,
                                 fc_status_t (*write)(fc_encoder_t *encoder,
                                                      fc_error_t *err),
                                 fc_sink_t *sink, uint64_t *out_document,
                                 fc_error_t *err) {
  fc_encoder_t encoder;
  frame->raw_results = true;
  FC_TRY(fc_encoder_begin(&encoder, frame, sink, err));
  fc_status_t status = write(&encoder, err);
  if (status == FC_OK) status = write_raw_bytes(&encoder, out_document, err);
  return fc_encoder_end(&encoder, status, err);
}

fc_status_t fc_framed_encode(fc_frame_t *frame, fc_sink_t *sink,
                             uint64_t *out_document, fc_error_t *err) {
  return encode_framed(frame, fc_encoder_results, sink, out_document, err);
}

fc_status_t fc_framed_encode_profiled(fc_frame_t *frame, fc_sink_t *sink,
                                      uint64_t *out_document, fc_error_t *err) {
  return encode_framed(frame, fc_encoder_profiled, sink, out_document, err);
}
