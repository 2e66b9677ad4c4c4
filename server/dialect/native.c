// SPDX-License-Identifier: Apache-2.0
//
// Headers decide admission here, body members never do.
#include "dialect/native.h"

#include "dialect/admission.h"
#include "dialect/http_status.h"
#include "dialect/parameter.h"
#include "dialect/problem.h"
#include "dialect/reflect.h"

// The native dialect has no parameters.
static fc_status_t decode(fc_frame_t *frame, fc_str_t body,
                          const uint8_t *parameters, fc_error_t *err) {
  (void)parameters;
  return fc_frame_decode(frame, body, err);
}

static fc_status_t encode(fc_frame_t *frame, const fc_function_t *function,
                          const uint8_t *parameters, fc_sink_t *sink,
                          uint64_t *out_document, fc_error_t *err) {
  (void)function;
  (void)parameters;
  (void)out_document;
  return fc_frame_encode(frame, sink, err);
}

static const fc_dialect_worker_t kWorker = {decode, encode, NULL};

// `curl -d` says x-www-form-urlencoded and `fetch` with a string says
// text/plain, and both mean JSON; so does no Content-Type. This does not open
// the server to pages of other sites: the Origin rule stops those.
static bool is_json(fc_str_t type) {
  static const char *const kTypes[] = {
      "application/json", "application/x-www-form-urlencoded", "text/plain"};
  if (type.size == 0) return true;
  size_t end = 0;
  while (end < type.size && type.data[end] != ';' && type.data[end] != ' ') {
    end++;
  }
  fc_str_t essence = fc_str_make(type.data, end);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTypes); i++) {
    if (fc_request_same_text(essence, fc_str(kTypes[i]))) return true;
  }
  return false;
}

static fc_status_t check_type(const fc_request_t *request, fc_error_t *err) {
  fc_str_t type = request->fields[FC_FIELD_CONTENT_TYPE];
  if (!is_json(type)) {
    fc_status_t status = fc_fail(err, FC_CODE_UNSUPPORTED_MEDIA_TYPE,
                                 "the body must be application/json");
    fc_error_expected(err, "application/json");
    fc_error_got(err, type);
    return status;
  }
  fc_str_t accept = request->fields[FC_FIELD_ACCEPT];
  if (fc_request_accepts(accept, FC_STR("application"), FC_STR("json"))) {
    return FC_OK;
  }
  fc_status_t status =
      fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "the answer is application/json");
  fc_error_expected(err, "application/json");
  fc_error_got(err, accept);
  return status;
}

fc_status_t fc_native_admit(const fc_server_t *server,
                            const fc_request_t *request,
                            const fc_place_t *place,
                            fc_admission_t *out_admission, fc_error_t *err) {
  (void)place;
  FC_TRY(fc_admission_coding(request, err));
  FC_TRY(check_type(request, err));
  FC_TRY(fc_admission_body(server, request, out_admission, err));
  fc_str_t validate = fc_request_query(request->query, FC_STR("validate"));
  if (fc_str_equal(validate, FC_STR("only"))) {
    out_admission->flags = FC_CALL_VALIDATE;
  }
  return FC_OK;
}

static fc_status_t match(const fc_request_t *request, const fc_place_t *place,
                         fc_error_t *err) {
  return fc_parameter_check(place->route, request->method, request->query, err);
}

static const char *result_type(const uint8_t *parameters, uint64_t document) {
  (void)parameters;
  (void)document;
  return "application/json";
}

const fc_dialect_t fc_dialect_native = {
    .name = "native",
    .match = match,
    .admit = fc_native_admit,
    .worker = &kWorker,
    .result_type = result_type,
    .document = fc_reflect_document,
    .status_of = fc_http_status,
    .encode_error = fc_problem_write,
    .error_type = "application/problem+json",
};
