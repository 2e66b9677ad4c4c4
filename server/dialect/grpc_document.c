// SPDX-License-Identifier: Apache-2.0
//
// What gRPC's services say of the server and its models, as /v2 does.
#include <stdio.h>

#include "base/proto.h"
#include "dialect/grpc.h"
#include "dialect/oip.h"
#include "dialect/place.h"
#include "dialect/ready.h"
#include "farcall/version.h"
#include "marshal/model.h"

static fc_status_t no_document(fc_error_t *err) {
  return fc_fail(err, FC_CODE_INTERNAL, "a route without a document");
}

// ServerMetadataResponse
static fc_status_t write_server(fc_sink_t *sink, fc_error_t *err) {
  static const char *const kExtensions[] = {FC_OIP_EXTENSIONS};
  FC_TRY(fc_proto_put_text(sink, 1, FC_STR("farcalld"), err));
  FC_TRY(fc_proto_put_text(sink, 2, fc_str(fc_version()), err));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kExtensions); i++) {
    FC_TRY(fc_proto_put_text(sink, 3, fc_str(kExtensions[i]), err));
  }
  return FC_OK;
}

// ModelReadyResponse. A model that is not there is not ready.
static fc_status_t write_model_ready(const fc_generation_t *generation,
                                     fc_sink_t *sink, fc_error_t *err) {
  const bool ready =
      generation && (fc_generation_state(generation) == FC_GENERATION_READY ||
                     fc_generation_is_coming(generation));
  return fc_proto_put_value(sink, 1, ready, err);
}

// TensorMetadata: {1 name, 2 datatype, 3 shape}, of which dims of any size are -1.
static fc_status_t write_tensor(uint32_t number,
                                const fc_model_tensor_t *tensor,
                                fc_sink_t *sink, fc_error_t *err) {
  int32_t rank;
  size_t shape = 0;
  const int64_t *dims = fc_model_shape(tensor->op, &rank);
  const fc_str_t datatype = fc_str(fc_model_datatype(tensor->op));
  for (int32_t i = 0; i < rank; i++) {
    shape += fc_proto_varint_size((uint64_t)(dims[i] < 0 ? -1 : dims[i]));
  }
  FC_TRY(fc_proto_put_head(sink, number,
                           fc_proto_bytes_size(1, tensor->name.size) +
                               fc_proto_bytes_size(2, datatype.size) +
                               fc_proto_bytes_size(3, shape),
                           err));
  FC_TRY(fc_proto_put_bytes(sink, 1, tensor->name, err));
  FC_TRY(fc_proto_put_bytes(sink, 2, datatype, err));
  FC_TRY(fc_proto_put_head(sink, 3, shape, err));
  for (int32_t i = 0; i < rank; i++) {
    FC_TRY(
        fc_proto_put_varint(sink, (uint64_t)(dims[i] < 0 ? -1 : dims[i]), err));
  }
  return FC_OK;
}

static fc_status_t write_tensors(uint32_t number,
                                 const fc_model_tensor_t *tensors,
                                 uint32_t count, fc_sink_t *sink,
                                 fc_error_t *err) {
  for (uint32_t i = 0; i < count; i++) {
    FC_TRY(write_tensor(number, &tensors[i], sink, err));
  }
  return FC_OK;
}

// The name of a model, as lists have it.
static fc_status_t write_name(const fc_generation_t *generation,
                              const fc_function_t *function, fc_sink_t *sink,
                              fc_error_t *err) {
  char pair[FC_OIP_NAME_MAX];
  uint32_t only;
  const bool alone =
      fc_place_only_function(generation, function->module, &only);
  return fc_proto_put_text(sink, 1, fc_oip_model_name(function, alone, pair),
                           err);
}

// All versions of the model's module, beginning with the one that was asked for.
static fc_status_t write_versions(const fc_generation_t *generation,
                                  fc_sink_t *sink, fc_error_t *err) {
  const fc_generation_t *g = generation;
  do {
    FC_TRY(fc_proto_put_text(sink, 2, g->claim.version, err));
    g = g->claim.sibling;
  } while (generation->claim.current && g != generation);
  return FC_OK;
}

// ModelMetadataResponse
static fc_status_t write_model(const fc_generation_t *generation,
                               const fc_function_t *function, fc_sink_t *sink,
                               fc_error_t *err) {
  const fc_model_t *model;
  char platform[40];
  FC_TRY(fc_oip_check_model(function, err));
  FC_TRY(fc_plan_model(function->plan, &model, err));
  snprintf(platform, sizeof platform, "farcall_%s", generation->kind);
  FC_TRY(write_name(generation, function, sink, err));
  FC_TRY(write_versions(generation, sink, err));
  FC_TRY(fc_proto_put_text(sink, 3, fc_str(platform), err));
  FC_TRY(write_tensors(4, model->inputs, model->input_count, sink, err));
  return write_tensors(5, model->outputs, model->output_count, sink, err);
}

// HealthCheckResponse: 1 SERVING, 2 NOT_SERVING. The services are those of the server.
static fc_status_t write_health(const fc_server_t *server, fc_str_t body,
                                fc_sink_t *sink, fc_error_t *err) {
  static const char *const kServices[] = {"", "inference.GRPCInferenceService",
                                          "grpc.health.v1.Health"};
  static const fc_proto_row_t kRow = {1, FC_PROTO_TEXT, 0};
  fc_str_t name = FC_STR("");
  bool known = false;
  FC_TRY(fc_proto_read(body, &kRow, 1, &name, err));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kServices); i++) {
    known |= fc_str_equal(name, fc_str(kServices[i]));
  }
  if (known) {
    return fc_proto_put_value(sink, 1, fc_ready_is(server) ? 1 : 2, err);
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  return fc_fail(err, FC_CODE_NOT_FOUND, "there is no service '%s'", shown);
}

fc_status_t fc_grpc_document(const fc_server_t *server,
                             const fc_request_t *request,
                             const fc_place_t *place,
                             fc_document_t *out_document, fc_sink_t *sink,
                             fc_error_t *err) {
  const fc_generation_t *generation =
      fc_generations_at(&server->modules->generations, place->module);
  const fc_function_t *function =
      generation ? fc_module_function(generation->module, place->function)
                 : NULL;
  *out_document = (fc_document_t){.content_type = FC_STR("application/grpc")};
  switch ((int)place->route) {
#define FC_GRPC_ROUTE(name, path, methods, scope, document) \
  case FC_ROUTE_##name:                                     \
    return document;
#include "dialect/route.def"
  }
  return no_document(err);
}
