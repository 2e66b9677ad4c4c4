// SPDX-License-Identifier: Apache-2.0
//
// Calls of Predict: their head, decode and encode. The documents are in grpc_tf_document.c.
#include "dialect/grpc_tf.h"

#include "dialect/admission.h"
#include "dialect/oip.h"
#include "marshal/tf_message.h"
#include "obs/code.h"

// The data of a call that admit passes to encode: the client named only the module.
typedef struct parameters_t {
  bool alone;
} parameters_t;
_Static_assert(sizeof(parameters_t) <= FC_CALL_PARAMETERS, "they fit a call");

static fc_status_t peek(const fc_request_t *request, char kept[FC_ROUTE_KEPT],
                        fc_route_names_t *out_names, bool *out_more,
                        fc_error_t *err) {
  return fc_grpc_peek(fc_tf_message_names, request, kept, out_names, out_more,
                      err);
}

static fc_status_t admit(const fc_server_t *server, const fc_request_t *request,
                         const fc_place_t *place, fc_admission_t *out_admission,
                         fc_error_t *err) {
  const parameters_t parameters = {
      .alone =
          fc_grpc_names_module(fc_tf_message_names, server, request, place)};
  memcpy(out_admission->parameters, &parameters, sizeof parameters);
  FC_TRY(
      fc_admission_message_coding(request, &out_admission->body_coding, err));
  return fc_admission_body(server, request, out_admission, err);
}

static fc_status_t decode(fc_frame_t *frame, fc_str_t body,
                          const uint8_t *parameters, fc_error_t *err) {
  (void)parameters;
  return fc_tf_message_decode(frame, body, err);
}

static fc_status_t encode(fc_frame_t *frame, const fc_function_t *function,
                          const uint8_t *bytes, fc_sink_t *sink,
                          uint64_t *out_document, fc_error_t *err) {
  parameters_t parameters;
  char pair[FC_OIP_NAME_MAX];
  (void)out_document;
  memcpy(&parameters, bytes, sizeof parameters);
  return fc_tf_message_encode(
      frame, fc_oip_model_name(function, parameters.alone, pair),
      fc_module_get_version(function->module), sink, err);
}

static const fc_dialect_worker_t kWorker = {.decode = decode, .encode = encode};

static fc_str_t result_type(const uint8_t *parameters, uint64_t document) {
  (void)parameters, (void)document;
  return FC_STR("application/grpc");
}

const fc_dialect_t fc_dialect_grpc_tf = {
    .name = "grpc_tf",
    .admit = admit,
    .worker = &kWorker,
    .result_type = result_type,
    .document = fc_grpc_tf_document,
    .status_of = fc_http_status,
    .encode_error = fc_grpc_write_error,
    .error_type = "application/grpc",
    .names_code = true,
    .framed = true,
    .peek = peek,
};
