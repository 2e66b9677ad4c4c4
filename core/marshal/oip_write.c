// SPDX-License-Identifier: Apache-2.0
//
// Flat results -> a document, followed by the bytes of the outputs that were asked for
// raw. Also the lists of a model's metadata.
#include "base/utf8.h"
#include "json/writer.h"
#include "marshal/encoder.h"
#include "marshal/oip_read.h"

// One output that is sent. A BYTES has `bytes` and no tensor.
typedef struct sent_t {
  fc_tensor_t tensor;
  fc_str_t bytes;
  size_t count;
  size_t size;  // in bytes, if it is sent raw
  bool raw;
} sent_t;

typedef struct answer_t {
  fc_encoder_t encoder;
  const fc_oip_t *oip;
  sent_t *sent;  // by place in the answer
  uint32_t count;
} answer_t;

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

// ---------------------------------------------------------------------------
// Outputs

static fc_status_t write_shape(fc_sink_t *sink, const int64_t *dims,
                               int32_t rank, fc_error_t *err) {
  FC_TRY(put(sink, "[", err));
  for (int32_t i = 0; i < rank; i++) {
    if (i) FC_TRY(put(sink, ",", err));
    // A dim that the signature leaves open is -1, whether it has a name or none.
    FC_TRY(fc_json_write_i64(sink, dims[i] < 0 ? -1 : dims[i], err));
  }
  return put(sink, "]", err);
}

static fc_status_t write_head(fc_sink_t *sink, const fc_model_tensor_t *tensor,
                              fc_error_t *err) {
  FC_TRY(put(sink, "{\"name\":", err));
  FC_TRY(fc_json_write_string(sink, tensor->name, err));
  FC_TRY(put(sink, ",\"datatype\":\"", err));
  FC_TRY(put(sink, fc_model_datatype(tensor->op), err));
  return put(sink, "\",\"shape\":", err);
}

static fc_status_t write_data(answer_t *answer, const fc_model_tensor_t *output,
                              const sent_t *sent, fc_error_t *err) {
  fc_sink_t *sink = answer->encoder.sink;
  if (output->op->kind != FC_TYPE_BYTES) {
    const int64_t flat = (int64_t)sent->count;
    FC_TRY(put(sink, ",\"data\":", err));
    return fc_json_write_array(sink, sent->tensor.dtype, 1, &flat, NULL,
                               sent->tensor.data, false, err);
  }
  bool valid;
  FC_TRY(fc_utf8_check(sent->bytes, answer->encoder.limited.stop, &valid, err));
  if (!valid) {
    return fc_fail(err, FC_CODE_BAD_RESULT,
                   "result %u: its bytes are not UTF-8, so JSON cannot say "
                   "them: ask for them with \"binary_data\":true",
                   answer->encoder.number);
  }
  FC_TRY(put(sink, ",\"data\":[", err));
  FC_TRY(fc_json_write_string(sink, sent->bytes, err));
  return put(sink, "]", err);
}

static fc_status_t write_output(answer_t *answer, uint32_t number, sent_t *sent,
                                fc_error_t *err) {
  static const int64_t kOne = 1;
  fc_encoder_t *encoder = &answer->encoder;
  const fc_model_tensor_t *output = &answer->oip->model->outputs[number];
  const uint8_t form =
      answer->oip->chosen ? answer->oip->forms[number] : FC_OIP_UNSAID;
  const fc_value_t *value = NULL;
  FC_TRY(fc_encoder_find(encoder, output->way, &value, err));
  sent->raw = form == FC_OIP_RAW || (form == FC_OIP_UNSAID && answer->oip->raw);
  FC_TRY(write_head(encoder->sink, output, err));
  if (output->op->kind == FC_TYPE_BYTES) {
    FC_TRY(fc_encoder_bytes(encoder, output->op, value, &sent->bytes, err));
    sent->size = sent->bytes.size + 4;
    FC_TRY(write_shape(encoder->sink, &kOne, 1, err));
  } else {
    FC_TRY(fc_encoder_tensor(encoder, output->op, value, &sent->tensor,
                             &sent->count, &sent->size, err));
    FC_TRY(
        write_shape(encoder->sink, sent->tensor.shape, sent->tensor.rank, err));
  }
  if (!sent->raw) {
    FC_TRY(write_data(answer, output, sent, err));
  } else {
    FC_TRY(put(encoder->sink, ",\"parameters\":{\"binary_data_size\":", err));
    FC_TRY(fc_json_write_u64(encoder->sink, sent->size, err));
    FC_TRY(put(encoder->sink, "}", err));
  }
  return put(encoder->sink, "}", err);
}

// `last`: nothing follows.
static fc_status_t write_bytes(answer_t *answer, fc_str_t bytes, bool last,
                               fc_error_t *err) {
  return last ? fc_encoder_put_last(&answer->encoder, bytes, err)
              : fc_sink_put(answer->encoder.sink, bytes, err);
}

static fc_status_t write_raw(answer_t *answer, const sent_t *sent, bool last,
                             fc_error_t *err) {
  if (sent->tensor.dtype) {
    const fc_str_t bytes = fc_str_make(sent->tensor.data, sent->size);
    return write_bytes(answer, bytes, last, err);
  }
  const size_t size = sent->bytes.size;
  if (size > UINT32_MAX) {
    return fc_fail(err, FC_CODE_RESULT_TOO_LARGE,
                   "%zu bytes are too many for an element of BYTES", size);
  }
  const char head[4] = {(char)size, (char)(size >> 8), (char)(size >> 16),
                        (char)(size >> 24)};
  FC_TRY(
      fc_sink_put(answer->encoder.sink, fc_str_make(head, sizeof head), err));
  return write_bytes(answer, sent->bytes, last, err);
}

// ---------------------------------------------------------------------------
// The document

static fc_status_t write_document(answer_t *answer, fc_str_t model,
                                  fc_str_t version, fc_error_t *err) {
  fc_sink_t *sink = answer->encoder.sink;
  const fc_oip_t *oip = answer->oip;
  FC_TRY(put(sink, "{\"model_name\":", err));
  FC_TRY(fc_json_write_string(sink, model, err));
  FC_TRY(put(sink, ",\"model_version\":", err));
  FC_TRY(fc_json_write_string(sink, version, err));
  if (oip->has_id) {
    FC_TRY(put(sink, ",\"id\":\"", err));
    FC_TRY(fc_sink_put(sink, oip->id, err));
    FC_TRY(put(sink, "\"", err));
  }
  FC_TRY(put(sink, ",\"outputs\":[", err));
  for (uint32_t i = 0; i < answer->count; i++) {
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(write_output(answer, oip->chosen ? oip->order[i] : i,
                        &answer->sent[i], err));
  }
  return put(sink, "]}", err);
}

static fc_status_t write_answer(answer_t *answer, fc_str_t model,
                                fc_str_t version, uint64_t *out_document,
                                fc_error_t *err) {
  FC_TRY(write_document(answer, model, version, err));
  const uint64_t document = fc_encoder_written(&answer->encoder);
  uint32_t end = answer->count;  // behind the last that is raw
  while (end && !answer->sent[end - 1].raw) end--;
  if (end) *out_document = document;
  for (uint32_t i = 0; i < end; i++) {
    if (!answer->sent[i].raw) continue;
    FC_TRY(write_raw(answer, &answer->sent[i], i + 1 == end, err));
  }
  return FC_OK;
}

fc_status_t fc_oip_encode(fc_frame_t *frame, fc_str_t model, fc_str_t version,
                          fc_sink_t *sink, uint64_t *out_document,
                          fc_error_t *err) {
  const fc_oip_t *oip = frame->oip;
  if (!oip) return fc_frame_fail_idle(err);
  answer_t answer = {.oip = oip};
  answer.count = oip->chosen ? oip->order_count : oip->model->output_count;
  void *sent = NULL;
  FC_TRY(fc_frame_alloc(frame, answer.count + (size_t)1, sizeof(sent_t), &sent,
                        err));
  answer.sent = sent;
  FC_TRY(fc_encoder_begin(&answer.encoder, frame, sink, err));
  return fc_encoder_end(
      &answer.encoder, write_answer(&answer, model, version, out_document, err),
      err);
}

// ---------------------------------------------------------------------------
// Metadata

static fc_status_t write_tensors(const fc_model_tensor_t *tensors,
                                 uint32_t count, fc_sink_t *sink,
                                 fc_error_t *err) {
  static const int64_t kAny = -1, kOne = 1;
  for (uint32_t i = 0; i < count; i++) {
    const fc_op_t *op = tensors[i].op;
    const bool bytes = op->kind == FC_TYPE_BYTES;
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(write_head(sink, &tensors[i], err));
    if (bytes) FC_TRY(write_shape(sink, &kOne, 1, err));
    // The protocol cannot say that any number of dims will do: [-1] stands for it.
    else if (op->rank < 0) FC_TRY(write_shape(sink, &kAny, 1, err));
    else FC_TRY(write_shape(sink, op->dims, op->rank, err));
    FC_TRY(put(sink, "}", err));
  }
  return FC_OK;
}

fc_status_t fc_oip_write_tensors(const fc_plan_t *plan, fc_sink_t *sink,
                                 fc_error_t *err) {
  const fc_model_t *model;
  FC_TRY(fc_plan_model(plan, &model, err));
  FC_TRY(put(sink, "\"inputs\":[", err));
  FC_TRY(write_tensors(model->inputs, model->input_count, sink, err));
  FC_TRY(put(sink, "],\"outputs\":[", err));
  FC_TRY(write_tensors(model->outputs, model->output_count, sink, err));
  return put(sink, "]", err);
}
