// SPDX-License-Identifier: Apache-2.0
//
// Calls of ModelInfer and ModelStreamInfer: their head, decode and encode.
#include "dialect/grpc.h"

#include "dialect/admission.h"
#include "dialect/oip.h"
#include "marshal/message.h"
#include "marshal/oip.h"
#include "obs/code.h"

// The data of a call that admit passes to encode.
typedef struct parameters_t {
  bool alone;        // the client named the module alone
  bool in_sequence;  // find_sequence has read that the call is part of one
} parameters_t;
_Static_assert(sizeof(parameters_t) <= FC_CALL_PARAMETERS, "they fit a call");

static fc_status_t peek(const fc_request_t *request, char kept[FC_ROUTE_KEPT],
                        fc_route_names_t *out_names, bool *out_more,
                        fc_error_t *err) {
  return fc_grpc_peek(fc_message_names, request, kept, out_names, out_more,
                      err);
}

// ---------------------------------------------------------------------------
// Calls

// Returns where the first raw tensor begins in the body; 0: not known.
static uint64_t find_raw(const fc_request_t *request) {
  fc_str_t begin = request->begin;
  if (begin.size < FC_MESSAGE_HEAD || begin.data[0]) return 0;
  begin.data += FC_MESSAGE_HEAD;
  begin.size -= FC_MESSAGE_HEAD;
  const uint64_t front = fc_message_raw(begin);
  return front ? front + FC_MESSAGE_HEAD : 0;
}

static fc_status_t admit(const fc_server_t *server, const fc_request_t *request,
                         const fc_place_t *place, fc_admission_t *out_admission,
                         fc_error_t *err) {
  const parameters_t parameters = {
      .alone = fc_grpc_names_module(fc_message_names, server, request, place)};
  memcpy(out_admission->parameters, &parameters, sizeof parameters);
  out_admission->document = find_raw(request);
  FC_TRY(
      fc_admission_message_coding(request, &out_admission->body_coding, err));
  return fc_admission_body(server, request, out_admission, err);
}

// Sequences have the same names as in /v2, so a client may continue one there.
static fc_status_t find_sequence(fc_str_t body, uint8_t *bytes,
                                 fc_sequence_t *out, fc_error_t *err) {
  fc_message_sequence_t found;
  parameters_t parameters;
  FC_TRY(fc_message_sequence(body, FC_LIMIT_PEEK, &found, err));
  *out = (fc_sequence_t){.starts = found.starts, .ends = found.ends};
  if (found.text.size >= FC_SEQUENCE_NAME) {
    return fc_fail(err, FC_CODE_OUT_OF_RANGE,
                   "a sequence_id has at most %d bytes", FC_SEQUENCE_NAME - 1);
  }
  const char *id = found.text.size ? found.text.data : (char *)&found.number;
  const size_t size = found.text.size ? found.text.size : sizeof found.number;
  if (found.text.size || found.number) {
    out->name[0] = found.text.size ? 't' : 'n';
    memcpy(out->name + 1, id, size);
    out->name_size = (uint8_t)(1 + size);
  } else if (found.starts || found.ends) {
    return fc_fail(
        err, FC_CODE_MISSING_KEY,
        "a sequence needs a 'sequence_id', a number but 0 or a text");
  }
  memcpy(&parameters, bytes, sizeof parameters);
  parameters.in_sequence = out->name_size > 0;
  memcpy(bytes, &parameters, sizeof parameters);
  return FC_OK;
}

static fc_status_t decode(fc_frame_t *frame, fc_str_t body,
                          const uint8_t *bytes, fc_error_t *err) {
  parameters_t parameters;
  memcpy(&parameters, bytes, sizeof parameters);
  fc_oip_set_sequence(frame, parameters.in_sequence);
  return fc_message_decode(frame, body, err);
}

static size_t name(fc_str_t body, const uint8_t *parameters,
                   char out[FC_OUTCOME_NAME]) {
  const fc_str_t id = fc_message_id(body);
  (void)parameters;
  if (!id.size || id.size > FC_OUTCOME_NAME) return 0;
  memcpy(out, id.data, id.size);
  return id.size;
}

static fc_status_t encode(fc_frame_t *frame, const fc_function_t *function,
                          const uint8_t *bytes, fc_sink_t *sink,
                          uint64_t *out_document, fc_error_t *err) {
  parameters_t parameters;
  char pair[FC_OIP_NAME_MAX];
  (void)out_document;
  memcpy(&parameters, bytes, sizeof parameters);
  return fc_message_encode(frame,
                           fc_oip_model_name(function, parameters.alone, pair),
                           fc_module_get_version(function->module), sink, err);
}

static const fc_dialect_worker_t kWorker = {
    .decode = decode, .encode = encode, .name = name};

static fc_str_t result_type(const uint8_t *parameters, uint64_t document) {
  (void)parameters, (void)document;
  return FC_STR("application/grpc");
}

const fc_dialect_t fc_dialect_grpc = {
    .name = "grpc",
    .admit = admit,
    .find_sequence = find_sequence,
    .worker = &kWorker,
    .result_type = result_type,
    .begin_act = fc_grpc_begin_act,
    .act_module = fc_oip_act_module,
    .read_act = fc_grpc_read_act,
    .tell_act = fc_grpc_tell_act,
    .document = fc_grpc_document,
    .status_of = fc_http_status,
    .encode_error = fc_grpc_write_error,
    .error_type = "application/grpc",
    .encode_failure = fc_grpc_write_failure,
    .names_code = true,
    .framed = true,
    .tell = fc_grpc_tell,
    .peek = peek,
};
