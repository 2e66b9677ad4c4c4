// SPDX-License-Identifier: Apache-2.0
//
// Reads the names of the model from the beginning of a message, compressed or not.
#include "dialect/admission.h"
#include "dialect/grpc.h"
#include "marshal/message.h"

// The most bytes that are read of a compressed message: a hundred bytes may expand to
// 64 KiB.
#define PACKED 4096u

// Inflates a compressed message as far as it may be read. `text` holds the bytes.
static fc_str_t inflate_begin(const fc_request_t *request, fc_str_t packed,
                              fc_text_t *text) {
  const fc_coding_t coding =
      fc_request_coding(request->fields[FC_FIELD_GRPC_ENCODING]);
  if (!coding) return FC_STR("");
  // The message may be cut off or too long; the bytes inflated before that stay in
  // `text`.
  (void)fc_inflate(coding, packed, PACKED, text, NULL, NULL);
  return fc_text_str(text);
}

static fc_status_t too_late(size_t most, fc_error_t *err) {
  return fc_fail(err, FC_CODE_BINARY_FRAMING,
                 "the model's name does not stand within the first %zu bytes",
                 most);
}

// Reads the names from the beginning of a message, `begin`, after the message's head.
static fc_status_t read_names(fc_grpc_names_t *read,
                              const fc_request_t *request, fc_text_t *text,
                              fc_message_names_t *out_names, fc_error_t *err) {
  fc_str_t begin = request->begin;
  const uint32_t size = fc_message_size(begin);
  const bool compressed = begin.data[0] & 1;
  const size_t most = compressed ? PACKED : FC_LIMIT_PEEK;
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
  is_all = is_all && begin.size < most;
  FC_TRY(read(begin, is_all, out_names, err));
  if (out_names->complete) return FC_OK;
  return request->begin.size < FC_LIMIT_PEEK && begin.size < most
             ? FC_OK
             : too_late(most, err);
}

// Copies the names to `kept`: those of a compressed message lie in `text`, which is
// freed.
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
  fc_text_init(&text, fc_allocator_system(), FC_LIMIT_PEEK);
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
