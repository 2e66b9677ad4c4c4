// SPDX-License-Identifier: Apache-2.0
//
// Writes flat results as nested arrays by name, whole or row by row.
#include "json/writer.h"
#include "marshal/encoder.h"
#include "marshal/model.h"
#include "marshal/tf.h"

// One result. A BYTES has `bytes` and no tensor, and counts as one row.
typedef struct output_t {
  const fc_model_tensor_t *output;
  fc_tensor_t tensor;
  fc_str_t bytes;
  size_t row_size;
} output_t;

typedef struct answer_t {
  fc_encoder_t encoder;
  output_t *outputs;
  uint32_t count;
} answer_t;

static fc_status_t put(answer_t *answer, const char *text, fc_error_t *err) {
  return fc_sink_put(answer->encoder.sink, fc_str(text), err);
}

static bool is_bytes(const output_t *output) {
  return output->output->op->kind == FC_TYPE_BYTES;
}

static int64_t rows_of(const output_t *output) {
  return is_bytes(output) ? 1 : output->tensor.shape[0];
}

static fc_status_t read_output(answer_t *answer, output_t *output,
                               fc_error_t *err) {
  fc_encoder_t *encoder = &answer->encoder;
  const fc_model_tensor_t *tensor = output->output;
  const fc_value_t *value = NULL;
  size_t count = 0, size = 0;
  FC_TRY(fc_encoder_find(encoder, tensor->way, &value, err));
  if (is_bytes(output)) {
    return fc_encoder_bytes(encoder, tensor->op, value, &output->bytes, err);
  }
  FC_TRY(fc_encoder_tensor(encoder, tensor->op, value, &output->tensor, &count,
                           &size, err));
  const fc_tensor_t *read = &output->tensor;
  if (read->rank > 0 && read->shape[0] > 0) {
    output->row_size = size / (size_t)read->shape[0];
  }
  return FC_OK;
}

static fc_status_t write_bytes(answer_t *answer, const output_t *output,
                               fc_error_t *err) {
  fc_sink_t *sink = answer->encoder.sink;
  if (output->output->op->flavor == FC_FLAVOR_UTF8) {
    return fc_json_write_string(sink, output->bytes, err);
  }
  FC_TRY(put(answer, "{\"b64\":", err));
  FC_TRY(
      fc_json_write_base64(sink, output->bytes.data, output->bytes.size, err));
  return put(answer, "}", err);
}

static fc_status_t write_whole(answer_t *answer, const output_t *output,
                               fc_error_t *err) {
  const fc_tensor_t *tensor = &output->tensor;
  if (is_bytes(output)) return write_bytes(answer, output, err);
  return fc_json_write_array(answer->encoder.sink, tensor->dtype, tensor->rank,
                             tensor->shape, NULL, tensor->data, false, err);
}

static fc_status_t write_row(answer_t *answer, const output_t *output,
                             int64_t row, fc_error_t *err) {
  const fc_tensor_t *tensor = &output->tensor;
  if (is_bytes(output)) return write_bytes(answer, output, err);
  const char *data = tensor->data;
  return fc_json_write_array(answer->encoder.sink, tensor->dtype,
                             tensor->rank - 1, tensor->shape + 1, NULL,
                             data + (size_t)row * output->row_size, false, err);
}

// Writes one row of all results or, with -1 as `row`, the whole results. A single
// result is written without its name, several as an object with names.
static fc_status_t write_some(answer_t *answer, int64_t row, fc_error_t *err) {
  const bool bare = answer->count == 1;
  if (!bare) FC_TRY(put(answer, "{", err));
  for (uint32_t i = 0; i < answer->count; i++) {
    const output_t *output = &answer->outputs[i];
    if (!bare) {
      if (i) FC_TRY(put(answer, ",", err));
      FC_TRY(fc_json_write_string(answer->encoder.sink, output->output->name,
                                  err));
      FC_TRY(put(answer, ":", err));
    }
    FC_TRY(row < 0 ? write_whole(answer, output, err)
                   : write_row(answer, output, row, err));
  }
  return bare ? FC_OK : put(answer, "}", err);
}

static fc_status_t count_rows(const answer_t *answer, int64_t *out_rows,
                              fc_error_t *err) {
  *out_rows = 0;
  for (uint32_t i = 0; i < answer->count; i++) {
    const output_t *output = &answer->outputs[i];
    if (!is_bytes(output) && output->tensor.rank == 0) {
      return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                     "result %u has no dim to count rows: send \"inputs\"",
                     output->output->way->param->number);
    }
    const int64_t rows = rows_of(output);
    if (i && rows != *out_rows) {
      return fc_fail(err, FC_CODE_SHAPE_MISMATCH,
                     "results of %lld and %lld rows are no rows of both: send "
                     "\"inputs\"",
                     (long long)*out_rows, (long long)rows);
    }
    *out_rows = rows;
  }
  return FC_OK;
}

static fc_status_t write_rows(answer_t *answer, fc_error_t *err) {
  int64_t rows;
  FC_TRY(count_rows(answer, &rows, err));
  FC_TRY(put(answer, "{\"predictions\":[", err));
  for (int64_t i = 0; i < rows; i++) {
    if (i) FC_TRY(put(answer, ",", err));
    FC_TRY(write_some(answer, i, err));
  }
  return put(answer, "]}", err);
}

static fc_status_t write_answer(answer_t *answer, const fc_model_t *model,
                                fc_error_t *err) {
  fc_frame_t *frame = answer->encoder.frame;
  void *memory = NULL;
  answer->count = model->output_count;
  FC_TRY(fc_frame_alloc(frame, answer->count + (size_t)1, sizeof(output_t),
                        &memory, err));
  answer->outputs = memory;
  for (uint32_t i = 0; i < answer->count; i++) {
    answer->outputs[i].output = &model->outputs[i];
    FC_TRY(read_output(answer, &answer->outputs[i], err));
  }
  if (frame->by_rows) return write_rows(answer, err);
  FC_TRY(put(answer, "{\"outputs\":", err));
  FC_TRY(write_some(answer, -1, err));
  return put(answer, "}", err);
}

fc_status_t fc_tf_encode(fc_frame_t *frame, fc_sink_t *sink, fc_error_t *err) {
  const fc_model_t *model;
  answer_t answer = {.count = 0};
  if (!frame->plan) return fc_frame_fail_idle(err);
  FC_TRY(fc_plan_model(frame->plan, &model, err));
  FC_TRY(fc_encoder_begin(&answer.encoder, frame, sink, err));
  return fc_encoder_end(&answer.encoder, write_answer(&answer, model, err),
                        err);
}
