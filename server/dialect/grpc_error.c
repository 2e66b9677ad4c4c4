// SPDX-License-Identifier: Apache-2.0
//
// Errors in gRPC's form: field lines after the body, or in place of the body.
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
#include "base/proto.h"
#include "base/utf8.h"
#include "dialect/grpc.h"
#include "dialect/grpc_reflection.h"

// Errors after which clients should try again are UNAVAILABLE: KServe's clients try
// again after no other status.
static const struct {
  fc_code_t code;
  fc_status_t status;
} kStatuses[] = {
    {FC_CODE_OVERLOADED, FC_UNAVAILABLE},
    {FC_CODE_TOO_MANY_REQUESTS, FC_UNAVAILABLE},
    {FC_CODE_WORKER_CRASHED, FC_INTERNAL},
    {FC_CODE_WORKER_OUT_OF_MEMORY, FC_INTERNAL},
    {FC_CODE_UNSUPPORTED_MEDIA_TYPE, FC_UNIMPLEMENTED},
    {FC_CODE_METHOD_NOT_ALLOWED, FC_UNIMPLEMENTED},
};

fc_status_t fc_grpc_status(const fc_error_t *error) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kStatuses); i++) {
    if (kStatuses[i].code == error->code) return kStatuses[i].status;
  }
  // Those of IREE alone, such as a function may fail with, are no status of gRPC.
  return error->status > FC_UNAUTHENTICATED ? FC_FAILED_PRECONDITION
                                            : error->status;
}

// Percent-encodes all but printable ASCII.
static fc_status_t put_percent(fc_sink_t *sink, fc_str_t text,
                               fc_error_t *err) {
  static const char kDigits[] = "0123456789ABCDEF";
  for (size_t i = 0; i < text.size; i++) {
    const uint8_t byte = (uint8_t)text.data[i];
    const char code[3] = {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    const bool plain = byte >= ' ' && byte <= '~' && byte != '%';
    FC_TRY(fc_sink_put(
        sink, plain ? fc_str_make(&text.data[i], 1) : fc_str_make(code, 3),
        err));
  }
  return FC_OK;
}

static fc_status_t put_base64(fc_sink_t *sink, fc_str_t bytes,
                              fc_error_t *err) {
  static const char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < bytes.size; i += 3) {
    uint32_t word = 0;
    char out[4];
    const size_t left = bytes.size - i < 3 ? bytes.size - i : 3;
    for (size_t k = 0; k < 3; k++) {
      word = word << 8 | (k < left ? (uint8_t)bytes.data[i + k] : 0);
    }
    for (size_t k = 0; k < 4; k++) out[k] = kDigits[word >> (18 - 6 * k) & 63];
    // The '=' at the end of base64 may be left out.
    FC_TRY(fc_sink_put(sink, fc_str_make(out, left + 1), err));
  }
  return FC_OK;
}

// Writes a message of google.rpc as an Any.
static fc_status_t put_any(fc_sink_t *sink, fc_str_t type, fc_str_t message,
                           fc_error_t *err) {
  FC_TRY(fc_proto_put_head(
      sink, 3,
      fc_proto_bytes_size(1, type.size) + fc_proto_bytes_size(2, message.size),
      err));
  FC_TRY(fc_proto_put_bytes(sink, 1, type, err));
  return fc_proto_put_bytes(sink, 2, message, err);
}

#define GOOGLE "type.googleapis.com/google.rpc."

// Writes the code as an ErrorInfo, and the place in the request as a BadRequest.
static fc_status_t put_details(const fc_error_t *error, fc_text_t *part,
                               fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_proto_put_text(&part->sink, 1,
                           fc_str(fc_code_info(error->code)->text), err));
  FC_TRY(fc_proto_put_text(&part->sink, 2, FC_STR("farcall"), err));
  FC_TRY(put_any(sink, FC_STR(GOOGLE "ErrorInfo"), fc_text_str(part), err));
  if (!error->has_pointer || !error->pointer[0]) return FC_OK;
  const fc_str_t pointer = fc_str(error->pointer);
  const fc_str_t said =
      fc_str(error->expected[0] ? error->expected : error->message);
  fc_text_reset(part);
  FC_TRY(fc_proto_put_head(
      &part->sink, 1,
      fc_proto_bytes_size(1, pointer.size) + fc_proto_bytes_size(2, said.size),
      err));
  FC_TRY(fc_proto_put_bytes(&part->sink, 1, pointer, err));
  FC_TRY(fc_proto_put_bytes(&part->sink, 2, said, err));
  return put_any(sink, FC_STR(GOOGLE "BadRequest"), fc_text_str(part), err);
}

static fc_status_t put_status(const fc_error_t *error, fc_str_t detail,
                              fc_text_t *part, fc_sink_t *sink,
                              fc_error_t *err) {
  FC_TRY(fc_proto_put_value(sink, 1, (uint64_t)fc_grpc_status(error), err));
  FC_TRY(fc_proto_put_text(sink, 2, detail, err));
  return put_details(error, part, sink, err);
}

// The details are left out if memory is short.
static fc_status_t write_details(const fc_error_t *error, fc_str_t detail,
                                 fc_sink_t *sink, fc_error_t *err) {
  fc_text_t text, part;
  fc_status_t status = FC_OK;
  fc_text_init(&text, fc_allocator_system(), 4096);
  fc_text_init(&part, fc_allocator_system(), 4096);
  if (error->code != FC_CODE_OUT_OF_MEMORY &&
      put_status(error, detail, &part, &text.sink, NULL) == FC_OK) {
    status = fc_sink_put(sink, FC_STR("grpc-status-details-bin: "), err);
    if (status == FC_OK) status = put_base64(sink, fc_text_str(&text), err);
    if (status == FC_OK) status = fc_sink_put(sink, FC_STR("\r\n"), err);
  }
  fc_text_deinit(&text);
  fc_text_deinit(&part);
  return status;
}

// A message of protobuf with a text that is not UTF-8 does not parse. The text of an
// error may come from native code, which can write any bytes.
static fc_str_t detail_of(const fc_error_t *error) {
  const fc_str_t detail = fc_str(
      error->code == FC_CODE_INTERNAL ? "internal error" : error->message);
  return fc_utf8_cut(detail, detail.size);
}

fc_status_t fc_grpc_write_error(const fc_problem_t *problem, fc_sink_t *sink,
                                fc_error_t *err) {
  const fc_error_t *error = problem->error;
  const bool secret = error->code == FC_CODE_INTERNAL;
  const fc_str_t detail = detail_of(error);
  const unsigned status = (unsigned)fc_grpc_status(error);
  const char digits[2] = {(char)('0' + status / 10), (char)('0' + status % 10)};
  FC_TRY(fc_sink_put(sink, FC_STR("grpc-status: "), err));
  FC_TRY(fc_sink_put(
      sink, fc_str_make(digits + (status < 10), status < 10 ? 1 : 2), err));
  FC_TRY(fc_sink_put(sink, FC_STR("\r\ngrpc-message: "), err));
  FC_TRY(put_percent(sink, detail, err));
  FC_TRY(fc_sink_put(sink, FC_STR("\r\n"), err));
  if (error->code == FC_CODE_UNSUPPORTED_MEDIA_TYPE) {
    FC_TRY(fc_sink_put(
        sink, FC_STR("grpc-accept-encoding: identity,deflate,gzip\r\n"), err));
  }
  return secret ? FC_OK : write_details(error, detail, sink, err);
}

fc_status_t fc_grpc_write_failure(const fc_problem_t *problem, fc_sink_t *sink,
                                  fc_error_t *err) {
  const fc_str_t detail = detail_of(problem->error);
  if (problem->is_asking) {
    return fc_grpc_reflect_error(fc_grpc_status(problem->error), detail, sink,
                                 err);
  }
  FC_TRY(fc_proto_put_text(sink, 1, detail, err));
  if (!problem->name.size) return FC_OK;
  FC_TRY(fc_proto_put_head(sink, 2, fc_proto_bytes_size(3, problem->name.size),
                           err));
  return fc_proto_put_bytes(sink, 3, problem->name, err);
}
