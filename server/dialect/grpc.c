// SPDX-License-Identifier: Apache-2.0
//
// The head of a call, the names in its body, decode and encode.
#include "dialect/grpc.h"

#include "dialect/admission.h"
#include "dialect/oip.h"
#include "marshal/message.h"
#include "marshal/oip.h"
#include "obs/code.h"

// What a call carries from admit to encode.
typedef struct parameters_t {
  bool alone;        // the client named the module alone
  bool in_sequence;  // find_sequence has read that the call is part of one
} parameters_t;
_Static_assert(sizeof(parameters_t) <= FC_CALL_PARAMETERS, "they fit a call");

// ---------------------------------------------------------------------------
// The names in the body

// A message that comes compressed: as much of it as may be looked at. `text` holds it.
static fc_str_t inflate_begin(const fc_request_t *request, fc_str_t packed,
                              fc_text_t *text) {
  const fc_coding_t coding =
      fc_request_coding(request->fields[FC_FIELD_GRPC_ENCODING]);
  if (!coding) return FC_STR("");
  // It may be cut off or too long; what was inflated before stays.
  (void)fc_inflate(coding, packed, FC_LIMIT_PEEK, text, NULL, NULL);
  return fc_text_str(text);
}

static fc_status_t too_late(fc_error_t *err) {
  return fc_fail(err, FC_CODE_BINARY_FRAMING,
                 "the model's name does not stand within the first %u bytes",
                 FC_LIMIT_PEEK);
}

// Reads the names of the message that `begin` is the beginning of, without its head.
static fc_status_t read_names(fc_grpc_names_t *read,
                              const fc_request_t *request, fc_text_t *text,
                              fc_message_names_t *out_names, fc_error_t *err) {
  fc_str_t begin = request->begin;
  const uint32_t size = fc_message_size(begin);
  const bool compressed = begin.data[0] & 1;
  begin.data += FC_MESSAGE_HEAD;
  begin.size -= FC_MESSAGE_HEAD;
  bool is_all = begin.size >= size;
  if (is_all) begin.size = size;
  else if (request->begin_is_all) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING,
                   "the message has %zu bytes, its head says %u", begin.size,
                   size);
  }
  if (compressed) begin = inflate_begin(request, begin, text);
  is_all = is_all && begin.size < FC_LIMIT_PEEK;
  FC_TRY(read(begin, is_all, out_names, err));
  if (out_names->complete) return FC_OK;
  return request->begin.size < FC_LIMIT_PEEK && begin.size < FC_LIMIT_PEEK
             ? FC_OK
             : too_late(err);
}

// The names of a compressed message do not outlast `text`.
static fc_status_t keep(const fc_message_names_t *names,
                        char kept[FC_ROUTE_KEPT], fc_route_names_t *out_names,
                        fc_error_t *err) {
  const fc_str_t model = names->model, version = names->version;
  if (model.size > FC_ROUTE_KEPT || version.size > FC_ROUTE_KEPT - model.size) {
    return fc_fail(err, FC_CODE_MODULE_NOT_FOUND,
                   "no model has a name of %zu bytes", model.size);
  }
  if (model.size) memcpy(kept, model.data, model.size);
  out_names->model = fc_str_make(kept, model.size);
  if (!version.data) return FC_OK;
  memcpy(kept + model.size, version.data, version.size);
  out_names->version = fc_str_make(kept + model.size, version.size);
  return FC_OK;
}

fc_status_t fc_grpc_peek(fc_grpc_names_t *read, const fc_request_t *request,
                         char kept[FC_ROUTE_KEPT], fc_route_names_t *out_names,
                         bool *out_more, fc_error_t *err) {
  fc_message_names_t names = {0};
  uint8_t coding;
  FC_TRY(fc_admission_message_coding(request, &coding, err));
  *out_more = request->begin.size < FC_MESSAGE_HEAD;
  if (*out_more && request->begin_is_all) {
    return fc_fail(err, FC_CODE_BINARY_FRAMING, "there is no message");
  }
  if (*out_more) return FC_OK;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 2 * FC_LIMIT_PEEK);
  fc_status_t status = read_names(read, request, &text, &names, err);
  *out_more = status == FC_OK && !names.complete;
  if (status == FC_OK && !*out_more) {
    status = keep(&names, kept, out_names, err);
  }
  fc_text_deinit(&text);
  return status;
}

bool fc_grpc_names_module(fc_grpc_names_t *read, const fc_server_t *server,
                          const fc_request_t *request,
                          const fc_place_t *place) {
  char kept[FC_ROUTE_KEPT];
  fc_route_names_t names = {0};
  bool more;
  const fc_generation_t *generation =
      fc_generations_at(&server->modules->generations, place->module);
  return fc_grpc_peek(read, request, kept, &names, &more, NULL) == FC_OK &&
         !more && fc_str_equal(names.model, generation->claim.name);
}

static fc_status_t peek(const fc_request_t *request, char kept[FC_ROUTE_KEPT],
                        fc_route_names_t *out_names, bool *out_more,
                        fc_error_t *err) {
  return fc_grpc_peek(fc_message_names, request, kept, out_names, out_more,
                      err);
}

// ---------------------------------------------------------------------------
// Calls

// Where the first raw tensor lies in the body, if that is known.
static uint64_t find_raw(const fc_request_t *request) {
  fc_message_names_t names;
  fc_str_t begin = request->begin;
  if (begin.size < FC_MESSAGE_HEAD || begin.data[0]) return 0;
  begin.data += FC_MESSAGE_HEAD;
  begin.size -= FC_MESSAGE_HEAD;
  if (fc_message_names(begin, false, &names, NULL) != FC_OK || !names.raw) {
    return 0;
  }
  return names.raw + FC_MESSAGE_HEAD;
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

// The names are those of /v2, so that a sequence may go on there.
static fc_status_t find_sequence(fc_str_t body, uint8_t *bytes,
                                 fc_sequence_t *out, fc_error_t *err) {
  fc_message_sequence_t found;
  parameters_t parameters;
  FC_TRY(fc_message_sequence(body, &found, err));
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
    .document = fc_grpc_document,
    .status_of = fc_http_status,
    .encode_error = fc_grpc_write_error,
    .error_type = "application/grpc",
    .encode_failure = fc_grpc_write_failure,
    .names_code = true,
    .framed = true,
    .peek = peek,
};
