// SPDX-License-Identifier: Apache-2.0
//
// What clients of Triton ask for before they make calls: the configuration of a model,
// and Triton's settings of traces, which are always the same here.
#include "dialect/oip.h"
#include "json/writer.h"
#include "marshal/batch.h"
#include "modules/policy.h"

// Names of types in a configuration: BYTES is STRING; a type that only the value tells
// is INVALID.
static const char *type_of(const fc_op_t *op) {
  if (fc_model_is_text(op)) return "STRING";
  return op->dtype == FC_DTYPE_NONE ? "INVALID" : fc_model_datatype(op);
}

// Writes the dims from `from` on.
static fc_status_t write_tensor(const fc_model_tensor_t *tensor, bool input,
                                int32_t from, fc_sink_t *sink,
                                fc_error_t *err) {
  int32_t rank;
  const int64_t *dims = fc_model_shape(tensor->op, &rank);
  FC_TRY(fc_json_print(sink, err,
                       "{'name':'%.*s','data_type':'TYPE_%s','dims':[",
                       FC_STR_ARG(tensor->name), type_of(tensor->op)));
  for (int32_t i = from; i < rank; i++) {
    FC_TRY(fc_json_print(sink, err, "%s%ld", i > from ? "," : "",
                         dims[i] < 0 ? -1 : dims[i]));
  }
  return fc_json_print(sink, err, "]%s}", input ? ",\"optional\":false" : "");
}

static fc_status_t write_tensors(const fc_model_tensor_t *tensors,
                                 uint32_t count, bool input, int32_t from,
                                 fc_sink_t *sink, fc_error_t *err) {
  for (uint32_t i = 0; i < count; i++) {
    if (i) FC_TRY(fc_json_print(sink, err, ","));
    FC_TRY(write_tensor(&tensors[i], input, from, sink, err));
  }
  return FC_OK;
}

// Writes "latest:2" as {"latest":{"num_versions":2}}, "1+3" as
// {"specific":{"versions":[1,3]}}. The numbers are copied from the policy.
static fc_status_t write_version_policy(const fc_module_policy_t *policy,
                                        fc_sink_t *sink, fc_error_t *err) {
  static const fc_str_t kLatest = FC_STR("latest:");
  fc_str_t rest = fc_str(policy ? policy->versions : "all");
  if (fc_str_equal(rest, FC_STR("all")))
    return fc_json_print(sink, err, "{'all':{}}");
  if (fc_str_starts(rest, kLatest)) {
    return fc_json_print(sink, err, "{'latest':{'num_versions':%s}}",
                         rest.data + kLatest.size);
  }
  FC_TRY(fc_json_print(sink, err, "{'specific':{'versions':["));
  for (const char *comma = ""; rest.size; comma = ",") {
    const fc_str_t version = fc_str_take(&rest, '+');
    FC_TRY(fc_json_print(sink, err, "%s%.*s", comma, FC_STR_ARG(version)));
  }
  return fc_json_print(sink, err, "]}}");
}

static bool all_have_rows(const fc_batch_t *batch,
                          const fc_model_tensor_t *tensors, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    int32_t rank;
    const int64_t *dims = fc_model_shape(tensors[i].op, &rank);
    if (rank < 1 || dims[0] != -2 - (int64_t)batch->name) return false;
  }
  return count > 0;
}

int64_t fc_oip_batch_max(const fc_function_t *function,
                         const fc_model_t *model) {
  const fc_batch_t *batch = function->plan->batch;
  if (!batch || !batch->on || !batch->count ||
      !all_have_rows(batch, model->inputs, model->input_count) ||
      !all_have_rows(batch, model->outputs, model->output_count)) {
    return 0;
  }
  const int64_t rows = batch->buckets[batch->count - 1].rows;
  return rows < INT32_MAX ? rows : INT32_MAX;
}

bool fc_oip_joins(const fc_generation_t *generation) {
  const fc_module_policy_t *policy = generation->policy;
  return policy && policy->batch != FC_BATCH_CALLS_OFF;
}

static fc_status_t write_batching(const fc_function_t *function,
                                  fc_sink_t *sink, fc_error_t *err) {
  const fc_batch_t *batch = function->plan->batch;
  FC_TRY(fc_json_print(sink, err,
                       ",'dynamic_batching':{'preferred_batch_size':["));
  for (uint32_t i = 0; i < batch->count; i++) {
    FC_TRY(fc_json_print(sink, err, "%s%ld", i ? "," : "",
                         batch->buckets[i].rows));
  }
  return fc_json_print(sink, err, "],'max_queue_delay_microseconds':%lu}",
                       batch->delay_ns / 1000);
}

fc_status_t fc_oip_write_config(const fc_generation_t *generation,
                                const fc_function_t *function, fc_sink_t *sink,
                                fc_error_t *err) {
  const fc_model_t *model;
  FC_TRY(fc_plan_model(function->plan, &model, err));
  FC_TRY(fc_json_print(sink, err, "{'name':"));
  FC_TRY(fc_oip_put_name(generation, function, sink, err));
  FC_TRY(fc_json_print(
      sink, err,
      ",'platform':'farcall_%s','backend':'farcall','version_policy':",
      generation->kind));
  FC_TRY(write_version_policy(generation->policy, sink, err));
  const int64_t most = fc_oip_batch_max(function, model);
  FC_TRY(fc_json_print(sink, err, ",'max_batch_size':%ld,'input':[", most));
  FC_TRY(write_tensors(model->inputs, model->input_count, true, most > 0, sink,
                       err));
  FC_TRY(fc_json_print(sink, err, "],'output':["));
  FC_TRY(write_tensors(model->outputs, model->output_count, false, most > 0,
                       sink, err));
  FC_TRY(fc_json_print(sink, err, "]"));
  if (most && fc_oip_joins(generation)) {
    FC_TRY(write_batching(function, sink, err));
  }
  return fc_json_print(
      sink, err,
      function->plan->state_count ? ",'sequence_batching':{}}" : "}");
}

fc_status_t fc_oip_write_trace(fc_sink_t *sink, fc_error_t *err) {
  return fc_json_print(
      sink, err,
      "{'trace_level':['OFF'],'trace_rate':'1000','trace_count':'-1',"
      "'log_frequency':'0','trace_file':'','trace_mode':'triton'}");
}
