// SPDX-License-Identifier: Apache-2.0
//
// What clients of Triton ask a server for before they call it: the
// configuration of a model, and the settings of traces, which cannot be changed
// here.
#include "dialect/oip.h"
#include "json/writer.h"
#include "marshal/model.h"

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

// Writes "TYPE_INT32" and so on; BYTES is called TYPE_STRING here.
static fc_status_t write_type(const fc_op_t *op, fc_sink_t *sink,
                              fc_error_t *err) {
  FC_TRY(put(sink, ",\"data_type\":\"TYPE_", err));
  FC_TRY(put(sink, op->kind == FC_TYPE_BYTES ? "STRING" : fc_model_datatype(op),
             err));
  return put(sink, "\",\"dims\":[", err);
}

static fc_status_t write_tensor(const fc_model_tensor_t *tensor, bool input,
                                fc_sink_t *sink, fc_error_t *err) {
  const fc_op_t *op = tensor->op;
  const bool bytes = op->kind == FC_TYPE_BYTES;
  FC_TRY(put(sink, "{\"name\":", err));
  FC_TRY(fc_json_write_string(sink, tensor->name, err));
  FC_TRY(write_type(op, sink, err));
  if (bytes) FC_TRY(put(sink, "1", err));
  else if (op->rank < 0) FC_TRY(put(sink, "-1", err));
  for (int32_t i = 0; !bytes && i < op->rank; i++) {
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(fc_json_write_i64(sink, op->dims[i] < 0 ? -1 : op->dims[i], err));
  }
  return put(sink, input ? "],\"optional\":false}" : "]}", err);
}

static fc_status_t write_tensors(const fc_model_tensor_t *tensors,
                                 uint32_t count, bool input, fc_sink_t *sink,
                                 fc_error_t *err) {
  for (uint32_t i = 0; i < count; i++) {
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(write_tensor(&tensors[i], input, sink, err));
  }
  return FC_OK;
}

// Calls are not batched, so max_batch_size is 0 and dims are whole.
fc_status_t fc_oip_write_config(const fc_generation_t *generation,
                                const fc_function_t *function, fc_sink_t *sink,
                                fc_error_t *err) {
  const fc_model_t *model;
  FC_TRY(fc_plan_model(function->plan, &model, err));
  FC_TRY(put(sink, "{\"name\":", err));
  FC_TRY(fc_oip_put_name(function, sink, err));
  FC_TRY(put(sink, ",\"platform\":\"farcall_", err));
  FC_TRY(put(sink, generation->kind, err));
  FC_TRY(put(sink,
             "\",\"backend\":\"farcall\",\"version_policy\":{\"latest\":{"
             "\"num_versions\":1}},\"max_batch_size\":0,\"input\":[",
             err));
  FC_TRY(write_tensors(model->inputs, model->input_count, true, sink, err));
  FC_TRY(put(sink, "],\"output\":[", err));
  FC_TRY(write_tensors(model->outputs, model->output_count, false, sink, err));
  return put(sink, "]}", err);
}

fc_status_t fc_oip_write_trace(fc_sink_t *sink, fc_error_t *err) {
  return put(sink,
             "{\"trace_level\":[\"OFF\"],\"trace_rate\":\"1000\","
             "\"trace_count\":\"-1\",\"log_frequency\":\"0\","
             "\"trace_file\":\"\",\"trace_mode\":\"triton\"}",
             err);
}
