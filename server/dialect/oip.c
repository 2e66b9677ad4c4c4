// SPDX-License-Identifier: Apache-2.0
//
// Reads the head of a call, decodes and encodes, and gives the status of errors. The
// documents are in oip_document.c.
#include "dialect/oip.h"

#include "dialect/admission.h"
#include "dialect/problem.h"
#include "marshal/oip.h"
#include "obs/code.h"

// The data of a call that admit passes to decode and encode.
typedef struct parameters_t {
  uint64_t document;  // bytes of the JSON, or FC_OIP_ALL
  bool alone;         // the client named the module alone
  bool in_sequence;   // find_sequence has read that the call is part of one
} parameters_t;
_Static_assert(sizeof(parameters_t) <= FC_CALL_PARAMETERS, "they fit a call");

static parameters_t parameters_of(const uint8_t *bytes) {
  parameters_t parameters;
  memcpy(&parameters, bytes, sizeof parameters);
  return parameters;
}

// Does the path name the model by its module only? The answer repeats the name that the
// client used.
static bool names_module(const fc_server_t *server, fc_str_t path,
                         const fc_place_t *place) {
  static const fc_str_t kBefore = FC_STR("/v2/models/");
  const fc_generation_t *generation =
      fc_generations_at(&server->modules->generations, place->module);
  fc_str_t rest =
      fc_str_make(path.data + kBefore.size, path.size - kBefore.size);
  // The framing validator refuses longer targets.
  char decoded[FC_LIMIT_TARGET];
  size_t size;
  return fc_percent_decode(fc_str_take(&rest, '/'), decoded, &size) &&
         fc_str_equal(fc_str_make(decoded, size), generation->claim.name);
}

// The JSON at the beginning of a body says which tensors follow as raw bytes.
// Content-Type and Accept are ignored, because clients omit them or send wrong ones.
static fc_status_t admit(const fc_server_t *server, const fc_request_t *request,
                         const fc_place_t *place, fc_admission_t *out_admission,
                         fc_error_t *err) {
  parameters_t parameters = {
      .document = FC_OIP_ALL,
      .alone = names_module(server, request->path, place)};
  const fc_str_t length = request->fields[FC_FIELD_DOCUMENT];
  FC_TRY(fc_admission_coding(request, out_admission, err));
  if (length.data) {
    FC_TRY(fc_admission_document(length, &parameters.document, err));
    out_admission->document = parameters.document;
  }
  memcpy(out_admission->parameters, &parameters, sizeof parameters);
  return fc_admission_body(server, request, out_admission, err);
}

// Searches only short documents: a long search would make the turn too long.
static fc_status_t find_sequence(fc_str_t body, uint8_t *bytes,
                                 fc_sequence_t *out_sequence, fc_error_t *err) {
  parameters_t parameters = parameters_of(bytes);
  if (parameters.document < body.size) body.size = (size_t)parameters.document;
  out_sequence->name_size = 0;
  if (body.size > FC_LIMIT_SEQUENCE) return FC_OK;
  FC_TRY(fc_oip_find_sequence(body, out_sequence, err));
  parameters.in_sequence = out_sequence->name_size > 0;
  memcpy(bytes, &parameters, sizeof parameters);
  return FC_OK;
}

static fc_status_t decode(fc_frame_t *frame, fc_str_t body,
                          const uint8_t *parameters, fc_error_t *err) {
  const parameters_t of = parameters_of(parameters);
  fc_oip_set_sequence(frame, of.in_sequence);
  return fc_oip_decode(frame, body, of.document, err);
}

fc_str_t fc_oip_model_name(const fc_function_t *function, bool is_alone,
                           char pair[FC_OIP_NAME_MAX]) {
  const fc_str_t alone = fc_module_get_name(function->module);
  const size_t size = alone.size + 1 + function->name.size;
  if (is_alone || size > FC_OIP_NAME_MAX) return alone;
  memcpy(pair, alone.data, alone.size);
  pair[alone.size] = '.';
  memcpy(pair + alone.size + 1, function->name.data, function->name.size);
  return fc_str_make(pair, size);
}

static fc_status_t encode(fc_frame_t *frame, const fc_function_t *function,
                          const uint8_t *parameters, fc_sink_t *sink,
                          uint64_t *out_document, fc_error_t *err) {
  char pair[FC_OIP_NAME_MAX];
  return fc_oip_encode(
      frame, fc_oip_model_name(function, parameters_of(parameters).alone, pair),
      fc_module_get_version(function->module), sink, out_document, err);
}

static size_t name(fc_str_t body, const uint8_t *parameters,
                   char out[FC_OUTCOME_NAME]) {
  const uint64_t document = parameters_of(parameters).document;
  if (document < body.size) body.size = (size_t)document;
  const fc_str_t id = fc_oip_find_id(body);
  return id.size <= FC_OUTCOME_NAME ? fc_json_unescape(id, out) : 0;
}

static bool is_text(const fc_frame_t *frame, const uint8_t *parameters) {
  (void)parameters;
  return !fc_oip_is_raw(frame);
}

static const fc_dialect_worker_t kWorker = {
    .decode = decode, .encode = encode, .name = name, .is_text = is_text};

static fc_str_t result_type(const uint8_t *parameters, uint64_t document) {
  (void)parameters;
  return document ? FC_STR("application/octet-stream")
                  : FC_STR("application/json");
}

fc_status_t fc_oip_read(fc_json_reader_t *reader, fc_str_t body,
                        const fc_json_member_t *members, size_t count,
                        void *context, fc_error_t *err) {
  fc_json_token_t token;
  if (body.size == 0) return FC_OK;
  fc_json_reader_init(reader, 64, 4096);
  fc_json_reader_feed(reader, body.data, body.size, true);
  FC_TRY(fc_json_next(reader, &token, err));
  if (token != FC_JSON_OBJECT_BEGIN) {
    return fc_json_fail(reader, err, FC_CODE_JSON_SCHEMA, "expected an object");
  }
  FC_TRY(fc_json_read_members(reader, members, count, context, err));
  return fc_json_next(reader, &token, err);
}

fc_status_t fc_oip_read_flag(fc_json_reader_t *reader, const char *name,
                             bool *out_value, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(reader, &token, err));
  *out_value = token == FC_JSON_TRUE;
  if (*out_value || token == FC_JSON_FALSE) return FC_OK;
  return fc_json_fail(reader, err, FC_CODE_TYPE_MISMATCH,
                      "'%s' is true or false", name);
}

// ---------------------------------------------------------------------------
// Errors

int fc_oip_status(const fc_error_t *error) {
  const int status = fc_http_status(error);
  return status == 422 ? 400 : status;
}

const fc_dialect_t fc_dialect_oip = {
    .name = "oip",
    .admit = admit,
    .find_sequence = find_sequence,
    .worker = &kWorker,
    .result_type = result_type,
    .document = fc_oip_document,
    .begin_act = fc_oip_begin_act,
    .act_module = fc_oip_act_module,
    .read_act = fc_oip_read_act,
    .tell_act = fc_oip_tell_act,
    .status_of = fc_oip_status,
    .encode_error = fc_problem_write,
    .error_type = "application/json",
    .names_code = true,
};
