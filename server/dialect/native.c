// SPDX-License-Identifier: Apache-2.0
//
// The head alone decides whether a call is admitted; members of the body never do.
#include "dialect/native.h"

#include "dialect/admission.h"
#include "dialect/iterate.h"
#include "dialect/parameter.h"
#include "dialect/problem.h"
#include "dialect/reflect.h"
#include "marshal/framed.h"
#include "marshal/packed.h"
#include "marshal/profiled.h"
#include "marshal/values.h"
#include "obs/code.h"

typedef enum form_t {
#define FC_FORM(name, type, subtype) FORM_##name,
#include "dialect/native_form.def"
#undef FC_FORM
  FORM_COUNT
} form_t;

static const struct {
  fc_str_t type;
  fc_str_t subtype;
  fc_str_t text;
} kForms[FORM_COUNT] = {
#define FC_FORM(name, type, subtype) \
  {FC_STR(type), FC_STR(subtype), FC_STR(type "/" subtype)},
#include "dialect/native_form.def"
#undef FC_FORM
};

// packed_of converts a row to an fc_packed_t by its position. In another order, the
// functions of one form would read and write another.
_Static_assert((int)FC_PACKED_NPY == 0 &&
                   (int)FC_PACKED_NPZ == FORM_NPZ - FORM_NPY &&
                   (int)FC_PACKED_SAFETENSORS == FORM_SAFETENSORS - FORM_NPY &&
                   (int)FC_PACKED_COUNT == FORM_COUNT - FORM_NPY,
               "the rows from NPY on are fc_packed_t, in its order");

// The data of a call that admit passes to decode and encode.
typedef struct parameters_t {
  uint64_t document;  // bytes of the JSON, in the form FRAMED
  // The most bytes that the entries of an .npz may expand to. For an iteration, which
  // takes no .npz, the most steps.
  uint64_t most;
  uint8_t body;    // form_t
  uint8_t answer;  // form_t
  bool profiled;   // the document of the answer has a profile
  bool unsaid;  // no header gave the form of the body: its first bytes decide
} parameters_t;
_Static_assert(sizeof(parameters_t) <= FC_CALL_PARAMETERS, "they fit a call");

static parameters_t parameters_of(const uint8_t *bytes) {
  parameters_t parameters;
  memcpy(&parameters, bytes, sizeof parameters);
  return parameters;
}

// ---------------------------------------------------------------------------
// Decoding and encoding, on a worker

static bool is_packed(uint8_t form) { return form >= FORM_NPY; }

static fc_packed_t packed_of(uint8_t form) {
  return (fc_packed_t)(form - FORM_NPY);
}

// Returns the form of a body without a declared form. JSON begins with none of the bytes
// tested here. A safetensors file begins with the size of its JSON, whose upper bytes are
// zeros.
static uint8_t form_of(fc_str_t body) {
  uint8_t size[8];
  uint64_t document = 0;
  if (fc_str_starts(body, FC_STR("\x93NUMPY"))) return FORM_NPY;
  if (fc_str_starts(body, FC_STR("PK\x03\x04"))) return FORM_NPZ;
  if (body.size <= sizeof size || body.data[sizeof size] != '{')
    return FORM_JSON;
  memcpy(size, body.data, sizeof size);
  for (size_t i = sizeof size; i-- > 0;) document = document << 8 | size[i];
  return document <= body.size - sizeof size ? FORM_SAFETENSORS : FORM_JSON;
}

static fc_status_t decode(fc_frame_t *frame, fc_str_t body,
                          const uint8_t *parameters, fc_error_t *err) {
  parameters_t call = parameters_of(parameters);
  if (call.unsaid) call.body = form_of(body);
  // Results that the wanted form cannot hold are refused before the call.
  if (is_packed(call.answer)) {
    FC_TRY(fc_packed_check(frame, packed_of(call.answer), err));
  }
  if (is_packed(call.body)) {
    return fc_packed_decode(frame, packed_of(call.body), body,
                            (size_t)call.most, err);
  }
  if (call.body == FORM_FRAMED) {
    return fc_framed_decode(frame, body, call.document, err);
  }
  return fc_frame_decode(frame, body, err);
}

fc_status_t fc_native_decode_value(fc_frame_t *frame, fc_str_t body,
                                   const uint8_t *parameters, fc_error_t *err) {
  parameters_t call = parameters_of(parameters);
  if (call.unsaid) call.body = form_of(body);
  if (is_packed(call.body)) {
    return fc_packed_decode(frame, packed_of(call.body), body,
                            (size_t)call.most, err);
  }
  if (call.body == FORM_JSON) return fc_values_decode(frame, body, err);
  return fc_fail(err, FC_CODE_UNSUPPORTED_MEDIA_TYPE,
                 "a value is application/json, x-npy, x-npz or x-safetensors");
}

// Encodes results in any form other than plain JSON alone.
static __attribute__((noinline)) fc_status_t encode_otherwise(
    fc_frame_t *frame, const uint8_t *parameters, fc_sink_t *sink,
    uint64_t *out_document, fc_error_t *err) {
  const parameters_t call = parameters_of(parameters);
  if (is_packed(call.answer)) {
    return fc_packed_encode(frame, packed_of(call.answer), sink, err);
  }
  if (call.answer == FORM_JSON)
    return fc_frame_encode_profiled(frame, sink, err);
  return call.profiled
             ? fc_framed_encode_profiled(frame, sink, out_document, err)
             : fc_framed_encode(frame, sink, out_document, err);
}

static fc_status_t encode(fc_frame_t *frame, const fc_function_t *function,
                          const uint8_t *parameters, fc_sink_t *sink,
                          uint64_t *out_document, fc_error_t *err) {
  const parameters_t call = parameters_of(parameters);
  (void)function;
  return call.answer == FORM_JSON && !call.profiled
             ? fc_frame_encode(frame, sink, err)
             : encode_otherwise(frame, parameters, sink, out_document, err);
}

static bool is_text(const fc_frame_t *frame, const uint8_t *parameters) {
  (void)frame;
  return parameters_of(parameters).answer == FORM_JSON;
}

static fc_status_t run_turn(fc_turn_t *turn, fc_error_t *err) {
  return fc_iterate_turn(turn, parameters_of(turn->parameters).most, err);
}

static const fc_dialect_worker_t kWorker = {
    .decode = decode, .encode = encode, .is_text = is_text, .turn = run_turn};

// ---------------------------------------------------------------------------
// Reading the head of a call

// Does the Content-Type leave the form of the body open? It does if it is missing, or
// is x-www-form-urlencoded, which `curl` sends with -d and --data-binary. Then the
// body's first bytes decide. This does not open the server to pages of other sites: the
// Origin rule stops them.
static bool says_nothing(fc_str_t type) {
  return type.size == 0 ||
         fc_str_equal(type, FC_STR("application/x-www-form-urlencoded"));
}

static int find_form(fc_str_t type) {
  if (type.size == 0 || fc_str_equal(type, FC_STR("application/json"))) {
    return FORM_JSON;
  }
  size_t end = 0;
  while (end < type.size && type.data[end] != ';' && type.data[end] != ' ') {
    end++;
  }
  const fc_str_t essence = fc_str_make(type.data, end);
  for (int i = 0; i < FORM_COUNT; i++) {
    if (fc_request_same_text(essence, kForms[i].text)) return i;
  }
  const bool json = fc_request_same_text(
                        essence, FC_STR("application/x-www-form-urlencoded")) ||
                    fc_request_same_text(essence, FC_STR("text/plain"));
  return json ? FORM_JSON : -1;
}

// Reads the form of the body. With Inference-Header-Content-Length, the body is a JSON
// document that raw bytes may follow.
static fc_status_t read_form(const fc_request_t *request, parameters_t *call,
                             fc_error_t *err) {
  const fc_str_t type = request->fields[FC_FIELD_CONTENT_TYPE];
  const fc_str_t length = request->fields[FC_FIELD_DOCUMENT];
  const int form = find_form(type);
  if (form < 0) {
    fc_status_t status = fc_fail(
        err, FC_CODE_UNSUPPORTED_MEDIA_TYPE,
        "the body must be application/json, or raw bytes in a form that is "
        "known");
    fc_error_expected(err, "application/json");
    fc_error_got(err, type);
    return status;
  }
  call->body = (uint8_t)form;
  if (is_packed(call->body)) return FC_OK;
  call->unsaid = !length.data && says_nothing(type);
  if (!length.data && form == FORM_JSON) return FC_OK;
  if (!length.data) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING,
                   "application/octet-stream needs "
                   "'Inference-Header-Content-Length', the bytes of its JSON");
  }
  call->body = FORM_FRAMED;
  return fc_admission_document(length, &call->document, err);
}

static fc_status_t choose_answer(const fc_request_t *request,
                                 parameters_t *call, fc_error_t *err) {
  const fc_str_t accept = request->fields[FC_FIELD_ACCEPT];
  uint32_t most = 0;
  // Most clients send this: they get JSON, the first of the forms.
  if (accept.size == 0 || fc_str_equal(accept, FC_STR("*/*"))) return FC_OK;
  for (int i = 0; i < FORM_COUNT; i++) {
    const uint32_t weight =
        fc_request_weight(accept, kForms[i].type, kForms[i].subtype);
    if (weight <= most) continue;
    most = weight;
    call->answer = (uint8_t)i;
  }
  if (most) return FC_OK;
  fc_status_t status =
      fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "the answer is application/json");
  fc_error_expected(err, "application/json");
  fc_error_got(err, accept);
  return status;
}

// Reads what the client wants besides results.
static fc_status_t read_query(fc_str_t query, parameters_t *call,
                              fc_admission_t *out_admission, fc_error_t *err) {
  const fc_str_t validate = fc_request_query(query, FC_STR("validate"));
  const fc_str_t profile = fc_request_query(query, FC_STR("profile"));
  call->profiled = fc_str_equal(profile, FC_STR("1"));
  if (fc_str_equal(validate, FC_STR("only"))) {
    out_admission->flags = FC_CALL_VALIDATE;
    if (!call->profiled) return FC_OK;
    return fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                   "'profile' is of a call that is made, not of one that "
                   "'validate' checks");
  }
  if (!call->profiled) return FC_OK;
  out_admission->flags = FC_CALL_PROFILE;
  if (!is_packed(call->answer)) return FC_OK;
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                 "a profile has its place in application/json or "
                 "application/octet-stream");
}

static bool wants_timing(const fc_request_t *request) {
  return fc_str_equal(fc_request_query(request->query, FC_STR("timing")),
                      FC_STR("1"));
}

// Admits an iteration: one request that calls a function many times, and is sent each
// result at once.
static fc_status_t admit_steps(const fc_server_t *server,
                               const fc_request_t *request, parameters_t *call,
                               fc_admission_t *out_admission, fc_error_t *err) {
  call->most = server->options->max_steps;
  if (call->body != FORM_JSON) {
    return fc_fail(err, FC_CODE_UNSUPPORTED_MEDIA_TYPE,
                   "with 'iterate' the body is application/json");
  }
  if (out_admission->flags) {
    return fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                   "'validate' and 'profile' are of one call, 'iterate' makes "
                   "many");
  }
  // A compressed part could not be sent before the parts after it.
  out_admission->answer_coding = FC_CODING_NONE;
  if (wants_timing(request)) out_admission->flags = FC_CALL_TIMED;
  return fc_admission_parts(request, out_admission, err);
}

fc_status_t fc_native_read_forms(const fc_server_t *server,
                                 const fc_request_t *request,
                                 fc_admission_t *out_admission,
                                 fc_error_t *err) {
  parameters_t call = {.most = server->options->max_body};
  FC_TRY(fc_admission_coding(request, out_admission, err));
  FC_TRY(read_form(request, &call, err));
  FC_TRY(choose_answer(request, &call, err));
  memcpy(out_admission->parameters, &call, sizeof call);
  return FC_OK;
}

fc_status_t fc_native_read_export(const fc_request_t *request,
                                  fc_admission_t *out_admission,
                                  fc_error_t *err) {
  const parameters_t call = {.answer = FORM_SAFETENSORS};
  const fc_str_t accept = request->fields[FC_FIELD_ACCEPT];
  memcpy(out_admission->parameters, &call, sizeof call);
  if (fc_request_weight(accept, kForms[call.answer].type,
                        kForms[call.answer].subtype)) {
    return FC_OK;
  }
  fc_status_t status = fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                               "an export is application/x-safetensors");
  fc_error_expected(err, "application/x-safetensors");
  fc_error_got(err, accept);
  return status;
}

fc_status_t fc_native_admit(const fc_server_t *server,
                            const fc_request_t *request,
                            const fc_place_t *place,
                            fc_admission_t *out_admission, fc_error_t *err) {
  (void)place;
  parameters_t call = {.most = server->options->max_body};
  FC_TRY(fc_admission_coding(request, out_admission, err));
  FC_TRY(read_form(request, &call, err));
  out_admission->document = call.document;
  const bool iterates =
      request->query.size &&
      fc_request_query(request->query, FC_STR("iterate")).data;
  if (!iterates) FC_TRY(choose_answer(request, &call, err));
  FC_TRY(fc_admission_body(server, request, out_admission, err));
  if (request->query.size) {
    FC_TRY(read_query(request->query, &call, out_admission, err));
  }
  if (iterates) {
    FC_TRY(admit_steps(server, request, &call, out_admission, err));
  } else if (request->query.size && wants_timing(request)) {
    return fc_fail(err, FC_CODE_UNKNOWN_FIELD,
                   "'timing' goes with 'iterate': other answers have "
                   "'Server-Timing'");
  }
  memcpy(out_admission->parameters, &call, sizeof call);
  return FC_OK;
}

static fc_status_t match(const fc_request_t *request, const fc_place_t *place,
                         fc_error_t *err) {
  if (request->query.size == 0) return FC_OK;  // nearly always
  return fc_parameter_check(
      place->route, request->input.data ? FC_METHOD_SOURCE : request->method,
      request->query, err);
}

static fc_str_t result_type(const uint8_t *parameters, uint64_t document) {
  (void)document;
  return kForms[parameters_of(parameters).answer].text;
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
