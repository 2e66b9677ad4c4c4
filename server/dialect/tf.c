// SPDX-License-Identifier: Apache-2.0
//
// Reads the head of a call, decodes and encodes. The documents are in tf_document.c.
#include "dialect/tf.h"

#include "dialect/admission.h"
#include "dialect/oip.h"
#include "dialect/problem.h"
#include "marshal/tf.h"

// Content-Type and Accept are ignored: this protocol has only JSON.
static fc_status_t admit(const fc_server_t *server, const fc_request_t *request,
                         const fc_place_t *place, fc_admission_t *out_admission,
                         fc_error_t *err) {
  (void)place;
  FC_TRY(fc_admission_coding(request, out_admission, err));
  return fc_admission_body(server, request, out_admission, err);
}

static fc_status_t decode(fc_frame_t *frame, fc_str_t body,
                          const uint8_t *parameters, fc_error_t *err) {
  (void)parameters;
  return fc_tf_decode(frame, body, err);
}

static fc_status_t encode(fc_frame_t *frame, const fc_function_t *function,
                          const uint8_t *parameters, fc_sink_t *sink,
                          uint64_t *out_document, fc_error_t *err) {
  (void)function;
  (void)parameters;
  (void)out_document;
  return fc_tf_encode(frame, sink, err);
}

static const fc_dialect_worker_t kWorker = {.decode = decode, .encode = encode};

static fc_str_t result_type(const uint8_t *parameters, uint64_t document) {
  (void)parameters;
  (void)document;
  return FC_STR("application/json");
}

const fc_dialect_t fc_dialect_tf = {
    .name = "tf",
    .admit = admit,
    .worker = &kWorker,
    .result_type = result_type,
    .document = fc_tf_document,
    .status_of = fc_oip_status,
    .encode_error = fc_problem_write,
    .error_type = "application/json",
    .names_code = true,
};
