// SPDX-License-Identifier: Apache-2.0
//
// The documents of /v1 about models: their status, and their inputs and outputs as the
// signature "serving_default" of a TensorFlow model.
#include "dialect/oip.h"
#include "dialect/tf.h"
#include "json/writer.h"
#include "marshal/model.h"

// TensorFlow's type names are those of the Open Inference Protocol, except these.
static const char *type_of(const fc_op_t *op) {
  static const char *const kOthers[][2] = {
      {"FP16", "HALF"},   {"BF16", "BFLOAT16"}, {"FP32", "FLOAT"},
      {"FP64", "DOUBLE"}, {"BYTES", "STRING"},  {"ANY", "INVALID"}};
  const char *name = fc_model_datatype(op);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kOthers); i++) {
    if (!strcmp(name, kOthers[i][0])) return kOthers[i][1];
  }
  return name;
}

static fc_status_t write_dims(const fc_op_t *op, fc_sink_t *sink,
                              fc_error_t *err) {
  const int32_t rank = op->kind == FC_TYPE_BYTES ? 0 : op->rank;
  FC_TRY(fc_json_print(sink, err, "{'dim':["));
  for (int32_t i = 0; i < rank; i++) {
    if (i) FC_TRY(fc_json_print(sink, err, ","));
    // TensorFlow's JSON has 64-bit integers as text.
    FC_TRY(fc_json_print(sink, err, "{'size':'%ld','name':''}",
                         op->dims[i] < 0 ? -1 : op->dims[i]));
  }
  return fc_json_print(
      sink, err,
      rank < 0 ? "],'unknown_rank':true}" : "],'unknown_rank':false}");
}

static fc_status_t write_tensors(const fc_model_tensor_t *tensors,
                                 uint32_t count, fc_sink_t *sink,
                                 fc_error_t *err) {
  for (uint32_t i = 0; i < count; i++) {
    if (i) FC_TRY(fc_json_print(sink, err, ","));
    FC_TRY(fc_json_print(sink, err, "'%.*s':{'dtype':'DT_%s','tensor_shape':",
                         FC_STR_ARG(tensors[i].name), type_of(tensors[i].op)));
    FC_TRY(write_dims(tensors[i].op, sink, err));
    FC_TRY(fc_json_print(sink, err, ",'name':'%.*s'}",
                         FC_STR_ARG(tensors[i].name)));
  }
  return FC_OK;
}

static fc_status_t check_model(const fc_function_t *function,
                               const fc_model_t **out_model, fc_error_t *err) {
  FC_TRY(fc_oip_check_model(function, err));
  FC_TRY(fc_plan_model(function->plan, out_model, err));
  return fc_model_check_arrays(*out_model, err);
}

static fc_status_t write_metadata(const fc_generation_t *generation,
                                  const fc_function_t *function,
                                  fc_sink_t *sink, fc_error_t *err) {
  const fc_model_t *model;
  FC_TRY(check_model(function, &model, err));
  FC_TRY(fc_json_print(sink, err, "{'model_spec':{'name':"));
  FC_TRY(fc_oip_put_name(generation, function, sink, err));
  FC_TRY(fc_json_print(sink, err, ",'signature_name':'','version':"));
  FC_TRY(fc_json_write_string(sink, fc_module_get_version(generation->module),
                              err));
  FC_TRY(fc_json_print(
      sink, err,
      "},'metadata':{'signature_def':{'signature_def':{'serving_default':"
      "{'inputs':{"));
  FC_TRY(write_tensors(model->inputs, model->input_count, sink, err));
  FC_TRY(fc_json_print(sink, err, "},'outputs':{"));
  FC_TRY(write_tensors(model->outputs, model->output_count, sink, err));
  return fc_json_print(sink, err,
                       "},'method_name':'tensorflow/serving/predict'}}}}}");
}

// Writes the status of a model: the members of TensorFlow Serving and those of KServe.
static fc_status_t write_status(const fc_generation_t *generation,
                                const fc_function_t *function, fc_sink_t *sink,
                                fc_error_t *err) {
  const bool ready = fc_generation_state(generation) == FC_GENERATION_READY;
  const fc_model_t *model;
  FC_TRY(check_model(function, &model, err));
  FC_TRY(fc_json_print(sink, err, "{'name':"));
  FC_TRY(fc_oip_put_name(generation, function, sink, err));
  FC_TRY(fc_json_print(sink, err,
                       ",'ready':%s,'model_version_status':"
                       "[{'version':",
                       ready ? "true" : "false"));
  FC_TRY(fc_json_write_string(sink, fc_module_get_version(generation->module),
                              err));
  return fc_json_print(sink, err,
                       ",'state':'%s','status':{'error_code':'OK',"
                       "'error_message':''}}]}",
                       ready ? "AVAILABLE" : "LOADING");
}

static fc_status_t write_models(const fc_server_t *server,
                                const fc_request_t *request,
                                fc_document_t *out_document, fc_sink_t *sink,
                                fc_error_t *err) {
  const fc_place_t list = {.route = FC_ROUTE_OIP_MODELS,
                           .module = FC_ROUTE_NO_INDEX,
                           .function = FC_ROUTE_NO_INDEX};
  return fc_oip_document(server, request, &list, out_document, sink, err);
}

fc_status_t fc_tf_document(const fc_server_t *server,
                           const fc_request_t *request, const fc_place_t *place,
                           fc_document_t *out_document, fc_sink_t *sink,
                           fc_error_t *err) {
  const fc_generation_t *generation =
      fc_generations_at(&server->modules->generations, place->module);
  const fc_function_t *function =
      generation ? fc_module_function(generation->module, place->function)
                 : NULL;
  *out_document = (fc_document_t){.content_type = FC_STR("application/json")};
  switch ((int)place->route) {
#define FC_TF_ROUTE(name, path, methods, scope, document) \
  case FC_ROUTE_##name:                                   \
    return document;
#include "dialect/route.def"
  }
  return fc_fail(err, FC_CODE_INTERNAL, "a route without a document");
}
