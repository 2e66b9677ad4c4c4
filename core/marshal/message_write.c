// SPDX-License-Identifier: Apache-2.0
//
// Writes flat results as a ModelInferResponse: the descriptions of the outputs, then the
// raw bytes of each. Clients index the raw entries without a check, so each output has
// one.
#include <stdio.h>

#include "base/proto.h"
#include "marshal/message.h"
#include "marshal/oip_read.h"

enum {
  ANSWER_MODEL = 1,
  ANSWER_VERSION,
  ANSWER_ID,
  ANSWER_PARAMETERS,
  ANSWER_OUTPUTS,
  ANSWER_RAW
};

// The most bytes of an answer. Most clients read messages of at most 2 GiB, and the
// length before a message has four bytes.
#define ANSWER_MAX ((uint64_t)INT32_MAX)

static size_t shape_size(const fc_sent_t *sent, const int64_t *dims) {
  size_t size = 0;
  for (int32_t i = 0; i < sent->tensor.rank; i++) {
    size += fc_proto_varint_size((uint64_t)dims[i]);
  }
  return size;
}

static fc_status_t write_output(fc_oip_answer_t *answer, uint32_t number,
                                fc_sent_t *sent, fc_error_t *err) {
  fc_sink_t *sink = answer->encoder.sink;
  const fc_str_t name = answer->oip->model->outputs[number].name;
  const char *datatype;
  FC_TRY(fc_oip_find_output(answer, number, sent, &datatype, err));
  const int64_t flat = (int64_t)sent->count;
  const int64_t *dims = sent->tensor.shape ? sent->tensor.shape : &flat;
  const size_t shape = shape_size(sent, dims);
  FC_TRY(fc_proto_put_head(sink, ANSWER_OUTPUTS,
                           fc_proto_bytes_size(1, name.size) +
                               fc_proto_bytes_size(2, strlen(datatype)) +
                               (shape ? fc_proto_bytes_size(3, shape) : 0),
                           err));
  FC_TRY(fc_proto_put_bytes(sink, 1, name, err));
  FC_TRY(fc_proto_put_bytes(sink, 2, fc_str(datatype), err));
  if (!shape) return FC_OK;
  FC_TRY(fc_proto_put_head(sink, 3, shape, err));
  for (int32_t i = 0; i < sent->tensor.rank; i++) {
    FC_TRY(fc_proto_put_varint(sink, (uint64_t)dims[i], err));
  }
  return FC_OK;
}

// Writes a warning in the same form as in a JSON document: {"warning": "…"}.
static fc_status_t write_warning(fc_oip_answer_t *answer, fc_error_t *err) {
  char text[FC_OIP_WARNING];
  fc_sink_t *sink = answer->encoder.sink;
  const fc_str_t key = FC_STR("warning");
  const fc_str_t value = fc_oip_print_warning(answer->oip, text);
  const size_t choice = fc_proto_bytes_size(3, value.size);
  FC_TRY(fc_proto_put_head(
      sink, ANSWER_PARAMETERS,
      fc_proto_bytes_size(1, key.size) + fc_proto_bytes_size(2, choice), err));
  FC_TRY(fc_proto_put_bytes(sink, 1, key, err));
  FC_TRY(fc_proto_put_head(sink, 2, choice, err));
  return fc_proto_put_bytes(sink, 3, value, err);
}

static fc_status_t write_answer(fc_oip_answer_t *answer, fc_str_t model,
                                fc_str_t version, fc_error_t *err) {
  fc_sink_t *sink = answer->encoder.sink;
  uint64_t size = 0;
  FC_TRY(fc_proto_put_text(sink, ANSWER_MODEL, model, err));
  FC_TRY(fc_proto_put_text(sink, ANSWER_VERSION, version, err));
  FC_TRY(fc_proto_put_text(sink, ANSWER_ID, answer->oip->id, err));
  if (answer->oip->renamed.data) FC_TRY(write_warning(answer, err));
  for (uint32_t i = 0; i < answer->count; i++) {
    FC_TRY(write_output(answer, fc_oip_output_at(answer, i), &answer->sent[i],
                        err));
    size += answer->sent[i].size + 16;
  }
  if (fc_encoder_written(&answer->encoder) + size > ANSWER_MAX) {
    return fc_fail(err, FC_CODE_RESULT_TOO_LARGE,
                   "the answer would exceed the 2 GiB of a message");
  }
  for (uint32_t i = 0; i < answer->count; i++) {
    const fc_sent_t *sent = &answer->sent[i];
    FC_TRY(fc_proto_put_head(sink, ANSWER_RAW, sent->size, err));
    FC_TRY(fc_oip_write_raw(answer, sent, i + 1 == answer->count, err));
  }
  return FC_OK;
}

fc_status_t fc_message_encode(fc_frame_t *frame, fc_str_t model,
                              fc_str_t version, fc_sink_t *sink,
                              fc_error_t *err) {
  fc_oip_answer_t answer;
  FC_TRY(fc_oip_answer_begin(&answer, frame, sink, err));
  return fc_encoder_end(&answer.encoder,
                        write_answer(&answer, model, version, err), err);
}
