// SPDX-License-Identifier: Apache-2.0
//
// The answers of TensorFlow Serving's gRPC services about a model. They say what /v1
// says (tf_document.c).
#include "base/proto.h"
#include "dialect/grpc_tf.h"
#include "dialect/oip.h"
#include "dialect/place.h"
#include "marshal/model.h"
#include "marshal/tf_message.h"

#define SIGNATURE_DEF FC_STR("signature_def")
#define SIGNATURE FC_STR("serving_default")
#define METHOD FC_STR("tensorflow/serving/predict")
#define MAP_TYPE \
  FC_STR("type.googleapis.com/tensorflow.serving.SignatureDefMap")

static fc_status_t put_spec(const fc_generation_t *generation,
                            const fc_function_t *function, fc_sink_t *sink,
                            fc_error_t *err) {
  char pair[FC_OIP_NAME_MAX];
  uint32_t only;
  const bool alone =
      fc_place_only_function(generation, function->module, &only);
  return fc_tf_message_put_spec(sink, 1,
                                fc_oip_model_name(function, alone, pair),
                                fc_module_get_version(function->module), err);
}

// ---------------------------------------------------------------------------
// SignatureDef: {1 inputs, 2 outputs, 3 method_name}

// Returns the dims, and their number in *out_rank; -1: not known. A text is one value:
// it has no dims.
static const int64_t *shape_of(const fc_op_t *op, int32_t *out_rank) {
  *out_rank = 0;
  if (op->kind == FC_TYPE_BYTES) return NULL;
  if (fc_model_is_any(op) || op->rank < 0) *out_rank = -1;
  return *out_rank < 0 ? NULL : fc_model_shape(op, out_rank);
}

static size_t dim_size(int64_t dim) {
  if (!dim) return 0;
  return fc_proto_value_size(1, dim < 0 ? UINT64_MAX : (uint64_t)dim);
}

// TensorShapeProto: {2 {1 size}, 3 unknown_rank}
static uint64_t shape_size(const int64_t *dims, int32_t rank) {
  uint64_t size = 0;
  if (rank < 0) return fc_proto_value_size(3, 1);
  for (int32_t i = 0; i < rank; i++) {
    size += fc_proto_bytes_size(2, dim_size(dims[i]));
  }
  return size;
}

static fc_status_t put_shape(const int64_t *dims, int32_t rank, fc_sink_t *sink,
                             fc_error_t *err) {
  FC_TRY(fc_proto_put_head(sink, 3, shape_size(dims, rank), err));
  if (rank < 0) return fc_proto_put_value(sink, 3, 1, err);
  for (int32_t i = 0; i < rank; i++) {
    FC_TRY(fc_proto_put_head(sink, 2, dim_size(dims[i]), err));
    FC_TRY(fc_proto_put_value(
        sink, 1, dims[i] < 0 ? UINT64_MAX : (uint64_t)dims[i], err));
  }
  return FC_OK;
}

// Entries of the map of inputs or outputs: {1 key, 2 TensorInfo{1 name, 2 dtype, 3
// tensor_shape}}
static fc_status_t put_tensors(uint32_t number,
                               const fc_model_tensor_t *tensors, uint32_t count,
                               fc_sink_t *sink, fc_error_t *err) {
  for (uint32_t i = 0; i < count; i++) {
    int32_t rank;
    const fc_str_t name = tensors[i].name;
    const int64_t *dims = shape_of(tensors[i].op, &rank);
    const fc_tf_type_t *type =
        fc_tf_type_named(fc_model_datatype(tensors[i].op));
    const uint64_t number_of = type ? type->number : 0;
    const uint64_t info = fc_proto_bytes_size(1, name.size) +
                          (type ? fc_proto_value_size(2, number_of) : 0) +
                          fc_proto_bytes_size(3, shape_size(dims, rank));
    FC_TRY(fc_proto_put_head(
        sink, number,
        fc_proto_bytes_size(1, name.size) + fc_proto_bytes_size(2, info), err));
    FC_TRY(fc_proto_put_bytes(sink, 1, name, err));
    FC_TRY(fc_proto_put_head(sink, 2, info, err));
    FC_TRY(fc_proto_put_bytes(sink, 1, name, err));
    FC_TRY(fc_proto_put_value(sink, 2, number_of, err));
    FC_TRY(put_shape(dims, rank, sink, err));
  }
  return FC_OK;
}

static fc_status_t put_definition(const fc_model_t *model, fc_sink_t *sink,
                                  fc_error_t *err) {
  FC_TRY(put_tensors(1, model->inputs, model->input_count, sink, err));
  FC_TRY(put_tensors(2, model->outputs, model->output_count, sink, err));
  return fc_proto_put_bytes(sink, 3, METHOD, err);
}

// The entry {1 "signature_def", 2 Any{1 type, 2 {1 {1 "serving_default", 2 definition}}}}
static fc_status_t put_metadata(fc_str_t definition, fc_sink_t *sink,
                                fc_error_t *err) {
  const uint64_t entry = fc_proto_bytes_size(1, SIGNATURE.size) +
                         fc_proto_bytes_size(2, definition.size);
  const uint64_t map = fc_proto_bytes_size(1, entry);
  const uint64_t any =
      fc_proto_bytes_size(1, MAP_TYPE.size) + fc_proto_bytes_size(2, map);
  FC_TRY(fc_proto_put_head(
      sink, 2,
      fc_proto_bytes_size(1, SIGNATURE_DEF.size) + fc_proto_bytes_size(2, any),
      err));
  FC_TRY(fc_proto_put_bytes(sink, 1, SIGNATURE_DEF, err));
  FC_TRY(fc_proto_put_head(sink, 2, any, err));
  FC_TRY(fc_proto_put_bytes(sink, 1, MAP_TYPE, err));
  FC_TRY(fc_proto_put_head(sink, 2, map, err));
  FC_TRY(fc_proto_put_head(sink, 1, entry, err));
  FC_TRY(fc_proto_put_bytes(sink, 1, SIGNATURE, err));
  return fc_proto_put_bytes(sink, 2, definition, err);
}

// ---------------------------------------------------------------------------
// Responses

// The request must have metadata_field, and its only allowed value is 'signature_def',
// as in TensorFlow Serving.
static fc_status_t check_fields(fc_str_t body, fc_error_t *err) {
  fc_proto_t wire = fc_proto_begin(body);
  fc_proto_field_t field;
  bool more, asked = false;
  for (;;) {
    FC_TRY(fc_proto_next(&wire, &field, &more, err));
    if (!more) break;
    if (field.number != 2) continue;
    asked = field.type == FC_PROTO_BYTES &&
            fc_str_equal(field.bytes, SIGNATURE_DEF);
    if (!asked) break;
  }
  return asked ? FC_OK
               : fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                         "metadata_field must be 'signature_def'");
}

// GetModelMetadataResponse
static fc_status_t write_metadata(const fc_request_t *request,
                                  const fc_generation_t *generation,
                                  const fc_function_t *function,
                                  fc_sink_t *sink, fc_error_t *err) {
  const fc_model_t *model;
  fc_text_t text;
  FC_TRY(check_fields(request->body, err));
  FC_TRY(fc_oip_check_model(function, err));
  FC_TRY(fc_plan_model(function->plan, &model, err));
  FC_TRY(put_spec(generation, function, sink, err));
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  fc_status_t status = put_definition(model, &text.sink, err);
  if (status == FC_OK) status = put_metadata(fc_text_str(&text), sink, err);
  fc_text_deinit(&text);
  return status;
}

// GetModelStatusResponse: {1 {1 version, 2 state, 3 {}}}. 20 LOADING, 30 AVAILABLE.
static fc_status_t write_status(const fc_generation_t *generation,
                                const fc_function_t *function, fc_sink_t *sink,
                                fc_error_t *err) {
  uint64_t version = 0;
  const uint64_t state =
      fc_generation_state(generation) == FC_GENERATION_READY ? 30 : 20;
  FC_TRY(fc_oip_check_model(function, err));
  (void)fc_tf_message_version(fc_module_get_version(generation->module),
                              &version);
  FC_TRY(fc_proto_put_head(sink, 1,
                           (version ? fc_proto_value_size(1, version) : 0) +
                               fc_proto_value_size(2, state) +
                               fc_proto_bytes_size(3, 0),
                           err));
  FC_TRY(fc_proto_put_value(sink, 1, version, err));
  FC_TRY(fc_proto_put_value(sink, 2, state, err));
  return fc_proto_put_head(sink, 3, 0, err);
}

fc_status_t fc_grpc_tf_document(const fc_server_t *server,
                                const fc_request_t *request,
                                const fc_place_t *place,
                                fc_document_t *out_document, fc_sink_t *sink,
                                fc_error_t *err) {
  const fc_generation_t *generation =
      fc_generations_at(&server->modules->generations, place->module);
  const fc_function_t *function =
      fc_module_function(generation->module, place->function);
  *out_document = (fc_document_t){.content_type = FC_STR("application/grpc")};
  return place->route == FC_ROUTE_GRPC_TF_METADATA
             ? write_metadata(request, generation, function, sink, err)
             : write_status(generation, function, sink, err);
}
