// SPDX-License-Identifier: Apache-2.0
//
// What clients of Triton ask a server for before they call it: the configuration of
// a model, and Triton's settings of traces, which are always the same here.
#include "dialect/oip.h"
#include "json/writer.h"
#include "marshal/model.h"
#include "modules/policy.h"

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

// Writes "data_type", such as TYPE_INT32, and opens "dims". In a configuration BYTES is
// TYPE_STRING, and a type that the value says TYPE_INVALID.
static fc_status_t write_type(const fc_op_t *op, fc_sink_t *sink,
                              fc_error_t *err) {
  const char *type = fc_model_datatype(op);
  if (fc_model_is_text(op)) type = "STRING";
  else if (op->dtype == FC_DTYPE_NONE) type = "INVALID";
  return fc_json_print(sink, err, ",'data_type':'TYPE_%s','dims':[", type);
}

static fc_status_t write_tensor(const fc_model_tensor_t *tensor, bool input,
                                fc_sink_t *sink, fc_error_t *err) {
  int32_t rank;
  const int64_t *dims = fc_model_shape(tensor->op, &rank);
  FC_TRY(fc_json_print(sink, err, "{'name':'%.*s'", FC_STR_ARG(tensor->name)));
  FC_TRY(write_type(tensor->op, sink, err));
  for (int32_t i = 0; i < rank; i++) {
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(fc_json_write_i64(sink, dims[i] < 0 ? -1 : dims[i], err));
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

// Writes "latest:2" as {"latest":{"num_versions":2}}, "1+3" as
// {"specific":{"versions":[1,3]}}. The numbers are copied from the policy.
static fc_status_t write_version_policy(const fc_module_policy_t *policy,
                                        fc_sink_t *sink, fc_error_t *err) {
  static const fc_str_t kLatest = FC_STR("latest:");
  fc_str_t rest = fc_str(policy ? policy->versions : "all");
  if (fc_str_equal(rest, FC_STR("all"))) return put(sink, "{\"all\":{}}", err);
  if (fc_str_starts(rest, kLatest)) {
    FC_TRY(put(sink, "{\"latest\":{\"num_versions\":", err));
    FC_TRY(fc_sink_put(
        sink, fc_str_make(rest.data + kLatest.size, rest.size - kLatest.size),
        err));
    return put(sink, "}}", err);
  }
  FC_TRY(put(sink, "{\"specific\":{\"versions\":[", err));
  for (bool first = true; rest.size; first = false) {
    if (!first) FC_TRY(put(sink, ",", err));
    FC_TRY(fc_sink_put(sink, fc_str_take(&rest, '+'), err));
  }
  return put(sink, "]}}", err);
}

// Calls are not batched, so max_batch_size is 0 and "dims" has all dims of a tensor.
fc_status_t fc_oip_write_config(const fc_generation_t *generation,
                                const fc_function_t *function, fc_sink_t *sink,
                                fc_error_t *err) {
  const fc_model_t *model;
  FC_TRY(fc_plan_model(function->plan, &model, err));
  FC_TRY(put(sink, "{\"name\":", err));
  FC_TRY(fc_oip_put_name(generation, function, sink, err));
  FC_TRY(fc_json_print(
      sink, err,
      ",'platform':'farcall_%s','backend':'farcall','version_policy':",
      generation->kind));
  FC_TRY(write_version_policy(generation->policy, sink, err));
  FC_TRY(put(sink, ",\"max_batch_size\":0,\"input\":[", err));
  FC_TRY(write_tensors(model->inputs, model->input_count, true, sink, err));
  FC_TRY(put(sink, "],\"output\":[", err));
  FC_TRY(write_tensors(model->outputs, model->output_count, false, sink, err));
  return put(sink, "]}", err);
}

fc_status_t fc_oip_write_trace(fc_sink_t *sink, fc_error_t *err) {
  return fc_json_print(
      sink, err,
      "{'trace_level':['OFF'],'trace_rate':'1000','trace_count':'-1',"
      "'log_frequency':'0','trace_file':'','trace_mode':'triton'}");
}
