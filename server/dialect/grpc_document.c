// SPDX-License-Identifier: Apache-2.0
//
// The answers of gRPC's services about the server and its models. They say what /v2
// says.
#include <stdio.h>

#include "base/proto.h"
#include "dialect/grpc.h"
#include "dialect/grpc_reflection.h"
#include "dialect/oip.h"
#include "dialect/place.h"
#include "dialect/ready.h"
#include "farcall/version.h"
#include "marshal/batch.h"
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

// ModelReadyResponse. A model that does not exist is not ready.
static fc_status_t write_model_ready(const fc_generation_t *generation,
                                     fc_sink_t *sink, fc_error_t *err) {
  const bool ready =
      generation && (fc_generation_state(generation) == FC_GENERATION_READY ||
                     fc_generation_is_coming(generation));
  return fc_proto_put_value(sink, 1, ready, err);
}

// A dim that may have any size is written as -1.
static uint64_t dim_of(int64_t dim) {
  return dim < 0 ? UINT64_MAX : (uint64_t)dim;
}

static size_t dims_size(const fc_model_tensor_t *tensor, int32_t from) {
  int32_t rank;
  size_t size = 0;
  const int64_t *dims = fc_model_shape(tensor->op, &rank);
  for (int32_t i = from; i < rank; i++) {
    size += fc_proto_varint_size(dim_of(dims[i]));
  }
  return size;
}

// Writes the dims from `from` on, which have `size` bytes.
static fc_status_t write_dims(uint32_t number, const fc_model_tensor_t *tensor,
                              int32_t from, size_t size, fc_sink_t *sink,
                              fc_error_t *err) {
  int32_t rank;
  const int64_t *dims = fc_model_shape(tensor->op, &rank);
  FC_TRY(fc_proto_put_head(sink, number, size, err));
  for (int32_t i = from; i < rank; i++) {
    FC_TRY(fc_proto_put_varint(sink, dim_of(dims[i]), err));
  }
  return FC_OK;
}

// TensorMetadata: {1 name, 2 datatype, 3 shape}
static fc_status_t write_tensor(uint32_t number,
                                const fc_model_tensor_t *tensor,
                                fc_sink_t *sink, fc_error_t *err) {
  const size_t shape = dims_size(tensor, 0);
  const fc_str_t datatype = fc_str(fc_model_datatype(tensor->op));
  FC_TRY(fc_proto_put_head(sink, number,
                           fc_proto_bytes_size(1, tensor->name.size) +
                               fc_proto_bytes_size(2, datatype.size) +
                               fc_proto_bytes_size(3, shape),
                           err));
  FC_TRY(fc_proto_put_bytes(sink, 1, tensor->name, err));
  FC_TRY(fc_proto_put_bytes(sink, 2, datatype, err));
  return write_dims(3, tensor, 0, shape, sink, err);
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

// Writes the name of a model as lists show it.
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

// Writes all versions of the model's module, beginning with the requested one. For a
// generation that is not current, writes only its own.
static fc_status_t write_versions(const fc_generation_t *generation,
                                  fc_sink_t *sink, fc_error_t *err) {
  const fc_generation_t *g = generation;
  do {
    FC_TRY(fc_proto_put_text(sink, 2, g->claim.version, err));
    g = g->claim.sibling;
  } while (generation->claim.current && g != generation);
  return FC_OK;
}

#define PLATFORM_MAX 40
static fc_str_t platform_of(const fc_generation_t *generation,
                            char out[PLATFORM_MAX]) {
  snprintf(out, PLATFORM_MAX, "farcall_%s", generation->kind);
  return fc_str(out);
}

// ModelMetadataResponse
static fc_status_t write_model(const fc_generation_t *generation,
                               const fc_function_t *function, fc_sink_t *sink,
                               fc_error_t *err) {
  const fc_model_t *model;
  char platform[PLATFORM_MAX];
  FC_TRY(fc_oip_check_model(function, err));
  FC_TRY(fc_plan_model(function->plan, &model, err));
  FC_TRY(write_name(generation, function, sink, err));
  FC_TRY(write_versions(generation, sink, err));
  FC_TRY(fc_proto_put_text(sink, 3, platform_of(generation, platform), err));
  FC_TRY(write_tensors(4, model->inputs, model->input_count, sink, err));
  return write_tensors(5, model->outputs, model->output_count, sink, err);
}

// ---------------------------------------------------------------------------
// Messages that only Triton's clients ask for: configurations and statistics

// Triton's number for the type of the tensor. 0: Triton has none, as for ANY, a type
// that is known only when there is a value.
static uint64_t type_of(const fc_op_t *op) {
  static const struct {
    const char *name;
    uint8_t number;
  } kTypes[] = {
      {"BOOL", 1},  {"UINT8", 2}, {"UINT16", 3}, {"UINT32", 4}, {"UINT64", 5},
      {"INT8", 6},  {"INT16", 7}, {"INT32", 8},  {"INT64", 9},  {"FP16", 10},
      {"FP32", 11}, {"FP64", 12}, {"BYTES", 13}, {"BF16", 14},
  };
  const fc_str_t name = fc_str(fc_model_datatype(op));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTypes); i++) {
    if (fc_str_equal(name, fc_str(kTypes[i].name))) return kTypes[i].number;
  }
  return 0;
}

// ModelInput has its dims in field 4, ModelOutput in 3.
static fc_status_t write_configured(uint32_t number, uint32_t dims_number,
                                    const fc_model_tensor_t *tensors,
                                    uint32_t count, int32_t from,
                                    fc_sink_t *sink, fc_error_t *err) {
  for (uint32_t i = 0; i < count; i++) {
    const fc_model_tensor_t *tensor = &tensors[i];
    const uint64_t type = type_of(tensor->op);
    const size_t dims = dims_size(tensor, from);
    FC_TRY(fc_proto_put_head(sink, number,
                             fc_proto_bytes_size(1, tensor->name.size) +
                                 (type ? fc_proto_value_size(2, type) : 0) +
                                 fc_proto_bytes_size(dims_number, dims),
                             err));
    FC_TRY(fc_proto_put_bytes(sink, 1, tensor->name, err));
    FC_TRY(fc_proto_put_value(sink, 2, type, err));
    FC_TRY(write_dims(dims_number, tensor, from, dims, sink, err));
  }
  return FC_OK;
}

// Writes the text that was gathered in `text` as one field, and frees its memory.
static fc_status_t put_gathered(fc_text_t *text, fc_status_t status,
                                uint32_t number, fc_sink_t *sink,
                                fc_error_t *err) {
  if (status == FC_OK) {
    status = fc_proto_put_bytes(sink, number, fc_text_str(text), err);
  }
  fc_text_deinit(text);
  return status;
}

// ModelDynamicBatching: {1 preferred_batch_size, 2 max_queue_delay_microseconds}
static fc_status_t put_sizes(const fc_batch_t *batch, fc_sink_t *sink,
                             fc_error_t *err) {
  for (uint32_t i = 0; i < batch->count; i++) {
    FC_TRY(fc_proto_put_value(sink, 1, (uint64_t)batch->buckets[i].rows, err));
  }
  return fc_proto_put_value(sink, 2, batch->delay_ns / 1000, err);
}

// ModelConfig. Its length comes before it, so the message is gathered first.
static fc_status_t put_config(const fc_generation_t *generation,
                              const fc_function_t *function,
                              const fc_model_t *model, fc_sink_t *sink,
                              fc_error_t *err) {
  char platform[PLATFORM_MAX];
  FC_TRY(write_name(generation, function, sink, err));
  FC_TRY(fc_proto_put_text(sink, 2, platform_of(generation, platform), err));
  const int64_t most = fc_oip_batch_max(function, model);
  FC_TRY(fc_proto_put_value(sink, 4, (uint64_t)most, err));
  FC_TRY(write_configured(5, 4, model->inputs, model->input_count, most > 0,
                          sink, err));
  FC_TRY(write_configured(6, 3, model->outputs, model->output_count, most > 0,
                          sink, err));
  if (most && fc_oip_joins(generation)) {
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
    FC_TRY(put_gathered(&text,
                        put_sizes(function->plan->batch, &text.sink, err), 11,
                        sink, err));
  }
  if (function->plan->state_count) FC_TRY(fc_proto_put_head(sink, 13, 0, err));
  return fc_proto_put_text(sink, 17, FC_STR("farcall"), err);
}

// ModelConfigResponse
static fc_status_t write_config(const fc_generation_t *generation,
                                const fc_function_t *function, fc_sink_t *sink,
                                fc_error_t *err) {
  const fc_model_t *model;
  fc_text_t text;
  FC_TRY(fc_oip_check_model(function, err));
  FC_TRY(fc_plan_model(function->plan, &model, err));
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  return put_gathered(&text,
                      put_config(generation, function, model, &text.sink, err),
                      1, sink, err);
}

// StatisticDuration: {1 count, 2 ns}
static fc_status_t put_duration(uint32_t number, uint64_t count, uint64_t ns,
                                fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_proto_put_head(sink, number,
                           (count ? fc_proto_value_size(1, count) : 0) +
                               (ns ? fc_proto_value_size(2, ns) : 0),
                           err));
  FC_TRY(fc_proto_put_value(sink, 1, count, err));
  return fc_proto_put_value(sink, 2, ns, err);
}

// InferStatistics: all eight durations, because measuring programs expect them.
static fc_status_t put_durations(const fc_function_counts_t *counts,
                                 fc_sink_t *sink, fc_error_t *err) {
  const uint64_t count = counts->succeeded;
  const struct {
    uint64_t count, ns;
  } rows[] = {{count, counts->success_ns},
              {counts->failed, counts->fail_ns},
              {count, counts->queue_ns},
              {count, counts->decode_ns},
              {count, counts->call_ns},
              {count, counts->encode_ns},
              {0, 0},
              {0, 0}};
  for (uint32_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    FC_TRY(put_duration(i + 1, rows[i].count, rows[i].ns, sink, err));
  }
  return FC_OK;
}

// InferBatchStatistics
static fc_status_t put_size(const fc_size_counts_t *size, fc_sink_t *sink,
                            fc_error_t *err) {
  const uint64_t count = size->executions;
  FC_TRY(fc_proto_put_value(sink, 1, size->rows, err));
  FC_TRY(put_duration(2, count, size->decode_ns, sink, err));
  FC_TRY(put_duration(3, count, size->call_ns, sink, err));
  return put_duration(4, count, size->encode_ns, sink, err);
}

// ModelStatistics
static fc_status_t put_statistics(const fc_server_t *server,
                                  const fc_generation_t *generation,
                                  const fc_function_t *function,
                                  fc_sink_t *sink, fc_error_t *err) {
  const fc_function_counts_t *counted =
      fc_generation_counts(generation, function->index);
  const fc_function_counts_t counts =
      counted ? *counted : (fc_function_counts_t){0};
  FC_TRY(write_name(generation, function, sink, err));
  FC_TRY(
      fc_proto_put_text(sink, 2, fc_module_get_version(function->module), err));
  FC_TRY(fc_proto_put_value(sink, 3, fc_oip_last_ms(server, &counts), err));
  FC_TRY(fc_proto_put_value(sink, 4, fc_oip_inferences(&counts), err));
  FC_TRY(fc_proto_put_value(sink, 5, fc_oip_executions(&counts), err));
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1024);
  FC_TRY(put_gathered(&text, put_durations(&counts, &text.sink, err), 6, sink,
                      err));
  for (fc_size_counts_t size = {0}; fc_counts_next_size(&counts, &size);) {
    fc_text_init(&text, fc_allocator_system(), 1024);
    FC_TRY(put_gathered(&text, put_size(&size, &text.sink, err), 7, sink, err));
  }
  return FC_OK;
}

fc_status_t fc_grpc_write_statistics(const fc_server_t *server,
                                     const fc_generation_t *generation,
                                     const fc_function_t *function,
                                     fc_sink_t *sink, fc_error_t *err) {
  fc_text_t text;
  FC_TRY(fc_oip_check_model(function, err));
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  return put_gathered(
      &text, put_statistics(server, generation, function, &text.sink, err), 1,
      sink, err);
}

// Returns the service in a path of gRPC, "/SERVICE/METHOD"; "" of any other path.
static fc_str_t service_of(fc_str_t path) {
  (void)fc_str_take(&path, '/');
  const fc_str_t service = fc_str_take(&path, '/');
  return path.size ? service : FC_STR("");
}

// The empty name is that of the server.
static bool has_service(fc_str_t name) {
  static const fc_str_t kPaths[] = {
#define FC_GRPC_ROUTE(name, path, methods, scope, document) FC_STR(path),
#define FC_GRPC_DIALECT_ROUTE(name, path, methods, scope, dialect) FC_STR(path),
#include "dialect/route.def"
  };
  bool has = name.size == 0;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kPaths); i++) {
    has |= fc_str_equal(name, service_of(kPaths[i]));
  }
  return has;
}

static fc_status_t find_service(fc_str_t body, fc_str_t *out_name,
                                bool *out_known, fc_error_t *err) {
  static const fc_proto_row_t kRow = {1, FC_PROTO_TEXT, 0};
  *out_name = FC_STR("");
  *out_known = false;
  FC_TRY(fc_proto_read(body, &kRow, 1, out_name, err));
  *out_known = has_service(*out_name);
  return FC_OK;
}

fc_status_t fc_grpc_tell(bool knows, bool ready, fc_sink_t *sink,
                         fc_error_t *err) {
  enum { SERVING = 1, NOT_SERVING, SERVICE_UNKNOWN };
  return fc_proto_put_value(sink, 1,
                            !knows  ? SERVICE_UNKNOWN
                            : ready ? SERVING
                                    : NOT_SERVING,
                            err);
}

static fc_status_t write_health(const fc_server_t *server, fc_str_t body,
                                fc_sink_t *sink, fc_error_t *err) {
  fc_str_t name;
  bool known;
  FC_TRY(find_service(body, &name, &known, err));
  if (known) return fc_grpc_tell(true, fc_ready_is(server), sink, err);
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  return fc_fail(err, FC_CODE_NOT_FOUND, "there is no service '%s'", shown);
}

static fc_status_t watch_health(fc_str_t body, fc_document_t *out_document,
                                fc_error_t *err) {
  fc_str_t name;
  out_document->watches = true;
  return find_service(body, &name, &out_document->watches_known, err);
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
