// SPDX-License-Identifier: Apache-2.0
//
// Writes flat results as a document, followed by the bytes of the outputs that are sent
// raw. Also writes the lists of a model's metadata.
#include <stdio.h>

#include "base/utf8.h"
#include "json/writer.h"
#include "marshal/oip_read.h"

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
    // A dynamic dim of the signature, named or not, is written as -1.
    FC_TRY(fc_json_write_i64(sink, dims[i] < 0 ? -1 : dims[i], err));
  }
  return put(sink, "]", err);
}

static fc_status_t write_head(fc_sink_t *sink, fc_str_t name,
                              const char *datatype, const int64_t *dims,
                              int32_t rank, fc_error_t *err) {
  FC_TRY(put(sink, "{\"name\":", err));
  FC_TRY(fc_json_write_string(sink, name, err));
  FC_TRY(put(sink, ",\"datatype\":\"", err));
  FC_TRY(put(sink, datatype, err));
  FC_TRY(put(sink, "\",\"shape\":", err));
  return write_shape(sink, dims, rank, err);
}

static fc_status_t write_texts(fc_oip_answer_t *answer, const fc_sent_t *sent,
                               fc_error_t *err) {
  fc_sink_t *sink = answer->encoder.sink;
  FC_TRY(put(sink, ",\"data\":[", err));
  for (size_t i = 0; i < sent->count; i++) {
    const fc_str_t bytes = sent->texts[i].bytes;
    bool valid;
    FC_TRY(fc_utf8_check(bytes, answer->encoder.limited.stop, &valid, err));
    if (!valid) {
      return fc_fail(err, FC_CODE_BAD_RESULT,
                     "result %u: its bytes are not UTF-8, so JSON cannot say "
                     "them: ask for them with \"binary_data\":true",
                     answer->encoder.number);
    }
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(fc_json_write_string(sink, bytes, err));
  }
  return put(sink, "]", err);
}

static fc_status_t write_data(fc_oip_answer_t *answer, const fc_sent_t *sent,
                              fc_error_t *err) {
  fc_sink_t *sink = answer->encoder.sink;
  if (sent->texts) return write_texts(answer, sent, err);
  const int64_t flat = (int64_t)sent->count;
  FC_TRY(put(sink, ",\"data\":", err));
  return fc_json_write_array(sink, sent->tensor.dtype, 1, &flat, NULL,
                             sent->tensor.data, false, err);
}

// Sets the elements, dims and size of an output of byte strings.
static fc_status_t find_texts(fc_oip_answer_t *answer, const fc_op_t *op,
                              const fc_value_t *value, fc_sent_t *sent,
                              fc_error_t *err) {
  fc_encoder_t *encoder = &answer->encoder;
  const fc_op_t *element = op->kind == FC_TYPE_BYTES ? op : fc_op_child(op);
  const fc_value_t *list = value;
  sent->texts = value;
  sent->count = 1;
  sent->size = 0;
  sent->tensor = (fc_tensor_t){.rank = 1};
  if (op->kind == FC_TYPE_REFARRAY) {
    FC_TRY(fc_encoder_dims(encoder, op, value, &sent->tensor.shape, err));
    sent->tensor.rank = op->rank;
    list = &value->list.items[0];
  }
  if (op->kind != FC_TYPE_BYTES) {
    FC_TRY(fc_encoder_check_list(encoder, list, err));
    static const fc_value_t kNone[1];
    sent->count = list->list.count;
    sent->texts = sent->count ? list->list.items : kNone;
  }
  for (size_t i = 0; i < sent->count; i++) {
    fc_str_t bytes;
    FC_TRY(fc_encoder_bytes(encoder, element, &sent->texts[i], &bytes, err));
    sent->size += bytes.size + 4;
  }
  return FC_OK;
}

// Finds the datatype of a tensor whose type is known only from its value.
static fc_status_t find_datatype(const fc_oip_answer_t *answer,
                                 fc_dtype_t dtype, const char **out_datatype,
                                 fc_error_t *err) {
  *out_datatype = fc_dtype_info(dtype)->oip;
  if (**out_datatype) return FC_OK;
  return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE,
                 "result %u is of %s, which this protocol lacks",
                 answer->encoder.number, fc_dtype_info(dtype)->text);
}

fc_status_t fc_oip_find_output(fc_oip_answer_t *answer, uint32_t number,
                               fc_sent_t *sent, const char **out_datatype,
                               fc_error_t *err) {
  const fc_model_tensor_t *output = &answer->oip->model->outputs[number];
  const fc_op_t *op = output->op;
  const fc_value_t *value = NULL;
  FC_TRY(fc_encoder_find(&answer->encoder, output->way, &value, err));
  const fc_op_t *texts = fc_model_is_any(op) ? fc_model_texts_of(value) : NULL;
  if (texts) op = texts;
  *out_datatype = fc_model_datatype(op);
  sent->texts = NULL;
  if (fc_model_is_text(op)) return find_texts(answer, op, value, sent, err);
  FC_TRY(fc_encoder_tensor(&answer->encoder, op, value, &sent->tensor,
                           &sent->count, &sent->size, err));
  if (op->kind != FC_TYPE_TENSOR || op->dtype != FC_DTYPE_NONE) return FC_OK;
  return find_datatype(answer, sent->tensor.dtype, out_datatype, err);
}

static fc_status_t write_output(fc_oip_answer_t *answer, uint32_t number,
                                fc_sent_t *sent, fc_error_t *err) {
  fc_encoder_t *encoder = &answer->encoder;
  const fc_model_tensor_t *output = &answer->oip->model->outputs[number];
  const uint8_t form =
      answer->oip->chosen ? answer->oip->forms[number] : FC_OIP_UNSAID;
  sent->raw = form == FC_OIP_RAW || (form == FC_OIP_UNSAID && answer->oip->raw);
  const char *datatype;
  FC_TRY(fc_oip_find_output(answer, number, sent, &datatype, err));
  const int64_t flat = (int64_t)sent->count;
  const int64_t *dims = sent->tensor.shape ? sent->tensor.shape : &flat;
  FC_TRY(write_head(encoder->sink, output->name, datatype, dims,
                    sent->tensor.rank, err));
  if (!sent->raw) {
    FC_TRY(write_data(answer, sent, err));
  } else {
    FC_TRY(put(encoder->sink, ",\"parameters\":{\"binary_data_size\":", err));
    FC_TRY(fc_json_write_u64(encoder->sink, sent->size, err));
    FC_TRY(put(encoder->sink, "}", err));
  }
  return put(encoder->sink, "}", err);
}

// Writes raw bytes. `last`: nothing follows them.
static fc_status_t write_bytes(fc_oip_answer_t *answer, fc_str_t bytes,
                               bool last, fc_error_t *err) {
  return last ? fc_encoder_put_last(&answer->encoder, bytes, err)
              : fc_sink_put(answer->encoder.sink, bytes, err);
}

static fc_status_t write_text(fc_oip_answer_t *answer, fc_str_t bytes,
                              bool last, fc_error_t *err) {
  const size_t size = bytes.size;
  if (size > UINT32_MAX) {
    return fc_fail(err, FC_CODE_RESULT_TOO_LARGE,
                   "%zu bytes are too many for an element of BYTES", size);
  }
  const char head[4] = {(char)size, (char)(size >> 8), (char)(size >> 16),
                        (char)(size >> 24)};
  FC_TRY(
      fc_sink_put(answer->encoder.sink, fc_str_make(head, sizeof head), err));
  return write_bytes(answer, bytes, last, err);
}

fc_status_t fc_oip_write_raw(fc_oip_answer_t *answer, const fc_sent_t *sent,
                             bool last, fc_error_t *err) {
  if (!sent->texts) {
    const fc_str_t bytes = fc_str_make(sent->tensor.data, sent->size);
    return write_bytes(answer, bytes, last, err);
  }
  for (size_t i = 0; i < sent->count; i++) {
    const bool end = last && i + 1 == sent->count;
    FC_TRY(write_text(answer, sent->texts[i].bytes, end, err));
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The document

fc_str_t fc_oip_print_warning(const fc_oip_t *oip, char out[FC_OIP_WARNING]) {
  char sent[80], name[80];
  fc_escape(sent, sizeof sent, 64, oip->renamed);
  fc_escape(name, sizeof name, 64, oip->model->inputs[0].name);
  snprintf(out, FC_OIP_WARNING,
           "there is no input '%s': it was taken as '%s', the only one", sent,
           name);
  return fc_str(out);
}

static fc_status_t write_warning(fc_oip_answer_t *answer, fc_error_t *err) {
  char text[FC_OIP_WARNING];
  FC_TRY(put(answer->encoder.sink, ",\"parameters\":{\"warning\":", err));
  FC_TRY(fc_json_write_string(answer->encoder.sink,
                              fc_oip_print_warning(answer->oip, text), err));
  return put(answer->encoder.sink, "}", err);
}

static fc_status_t write_document(fc_oip_answer_t *answer, fc_str_t model,
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
  if (oip->renamed.data) FC_TRY(write_warning(answer, err));
  FC_TRY(put(sink, ",\"outputs\":[", err));
  for (uint32_t i = 0; i < answer->count; i++) {
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(write_output(answer, fc_oip_output_at(answer, i), &answer->sent[i],
                        err));
  }
  return put(sink, "]}", err);
}

static fc_status_t write_answer(fc_oip_answer_t *answer, fc_str_t model,
                                fc_str_t version, uint64_t *out_document,
                                fc_error_t *err) {
  FC_TRY(write_document(answer, model, version, err));
  const uint64_t document = fc_encoder_written(&answer->encoder);
  uint32_t end = answer->count;  // number of the last raw output, plus 1
  while (end && !answer->sent[end - 1].raw) end--;
  if (end) *out_document = document;
  for (uint32_t i = 0; i < end; i++) {
    if (!answer->sent[i].raw) continue;
    FC_TRY(fc_oip_write_raw(answer, &answer->sent[i], i + 1 == end, err));
  }
  return FC_OK;
}

fc_status_t fc_oip_answer_begin(fc_oip_answer_t *answer, fc_frame_t *frame,
                                fc_sink_t *sink, fc_error_t *err) {
  const fc_oip_t *oip = frame->oip;
  if (!oip) return fc_frame_fail_idle(err);
  void *sent = NULL;
  answer->oip = oip;
  answer->count = oip->chosen ? oip->order_count : oip->model->output_count;
  FC_TRY(fc_frame_alloc(frame, answer->count + (size_t)1, sizeof(fc_sent_t),
                        &sent, err));
  answer->sent = sent;
  return fc_encoder_begin(&answer->encoder, frame, sink, err);
}

fc_status_t fc_oip_encode(fc_frame_t *frame, fc_str_t model, fc_str_t version,
                          fc_sink_t *sink, uint64_t *out_document,
                          fc_error_t *err) {
  fc_oip_answer_t answer;
  FC_TRY(fc_oip_answer_begin(&answer, frame, sink, err));
  return fc_encoder_end(
      &answer.encoder, write_answer(&answer, model, version, out_document, err),
      err);
}

// ---------------------------------------------------------------------------
// Metadata

static fc_status_t write_tensors(const fc_model_tensor_t *tensors,
                                 uint32_t count, fc_sink_t *sink,
                                 fc_error_t *err) {
  for (uint32_t i = 0; i < count; i++) {
    const fc_op_t *op = tensors[i].op;
    int32_t rank;
    const int64_t *dims = fc_model_shape(op, &rank);
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(write_head(sink, tensors[i].name, fc_model_datatype(op), dims, rank,
                      err));
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
