// SPDX-License-Identifier: Apache-2.0
//
// gRPC over HTTP/2: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
#include "grpc/stream.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hex.h"
#include "farcall/version.h"

#define WINDOW ((int32_t)1 << 24)

// ---------------------------------------------------------------------------
// Receiving

static uint32_t read_number(fc_str_t text) {
  uint32_t number = 0;
  for (size_t i = 0; i < text.size && number < 1000; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return FC_RPC_NO_STATUS;
    number = 10 * number + (uint32_t)(text.data[i] - '0');
  }
  return text.size ? number : FC_RPC_NO_STATUS;
}

// Decodes percent-encoding, as far as there is room in `out`.
static void read_detail(fc_str_t text, char out[FC_RPC_DETAIL]) {
  size_t size = 0;
  for (size_t i = 0; i < text.size && size < FC_RPC_DETAIL - 1; i++) {
    const int high = text.size - i > 2 ? fc_hex_value(text.data[i + 1]) : -1;
    const int low = high < 0 ? -1 : fc_hex_value(text.data[i + 2]);
    const bool coded = text.data[i] == '%' && low >= 0;
    out[size] = text.data[i];
    if (coded) out[size] = (char)(high * 16 + low);
    size++;
    if (coded) i += 2;
  }
  out[size] = '\0';
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
                     const uint8_t *name, size_t name_size,
                     const uint8_t *value, size_t value_size, uint8_t flags,
                     void *context) {
  fc_rpc_stream_t *call = context;
  const fc_str_t field = {(const char *)name, name_size};
  const fc_str_t text = {(const char *)value, value_size};
  (void)session, (void)frame, (void)flags;
  if (fc_str_equal(field, FC_STR(":status")))
    call->http = (int)read_number(text);
  if (fc_str_equal(field, FC_STR("grpc-status"))) {
    call->status = read_number(text);
  } else if (fc_str_equal(field, FC_STR("grpc-message"))) {
    read_detail(text, call->detail);
  } else if (fc_str_equal(field, FC_STR("farcall-error-code"))) {
    snprintf(call->code, sizeof call->code, "%.*s", FC_STR_ARG(text));
  }
  return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
                   const uint8_t *data, size_t size, void *context) {
  const fc_rpc_stream_t *call = context;
  (void)session, (void)flags, (void)id;
  return call->take(call->context, fc_str_make((const char *)data, size))
             ? 0
             : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code,
                    void *context) {
  fc_rpc_stream_t *call = context;
  (void)session, (void)id;
  call->closed = true;
  call->reset = code;
  return 0;
}

static ssize_t give(nghttp2_session *session, int32_t id, uint8_t *out,
                    size_t size, uint32_t *flags, nghttp2_data_source *source,
                    void *context) {
  fc_rpc_stream_t *call = context;
  size_t given = 0;
  (void)session, (void)id, (void)source;
  for (size_t i = 0; i < FC_ARRAY_COUNT(call->parts); i++) {
    fc_str_t *part = &call->parts[i];
    const size_t room = size - given;
    const size_t taken = part->size < room ? part->size : room;
    if (taken) memcpy(out + given, part->data, taken);
    *part = fc_str_make(part->data + taken, part->size - taken);
    given += taken;
  }
  if (!call->parts[0].size && !call->parts[1].size) {
    *flags = NGHTTP2_DATA_FLAG_EOF;
  }
  return (ssize_t)given;
}

// ---------------------------------------------------------------------------
// The connection

fc_status_t fc_rpc_stream_open(fc_rpc_stream_t *stream, fc_error_t *err) {
  static const nghttp2_settings_entry kSettings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW}};
  nghttp2_session_callbacks *callbacks;
  if (nghttp2_session_callbacks_new(&callbacks)) return fc_fail_memory(err);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  const int failed =
      nghttp2_session_client_new(&stream->session, callbacks, stream);
  nghttp2_session_callbacks_del(callbacks);
  return failed ||
                 nghttp2_submit_settings(stream->session, NGHTTP2_FLAG_NONE,
                                         kSettings,
                                         FC_ARRAY_COUNT(kSettings)) ||
                 nghttp2_session_set_local_window_size(
                     stream->session, NGHTTP2_FLAG_NONE, 0, WINDOW)
             ? fc_fail_memory(err)
             : FC_OK;
}

void fc_rpc_stream_close(fc_rpc_stream_t *stream) {
  nghttp2_session_del(stream->session);
  stream->session = NULL;
}

static nghttp2_nv field(const char *name, const char *value) {
  return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value,
                      strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static void begin(fc_rpc_stream_t *stream, fc_str_t message) {
  for (int i = 1; i < FC_RPC_HEAD; i++) {
    stream->head[i] = (char)(message.size >> (8 * (FC_RPC_HEAD - 1 - i)));
  }
  stream->parts[0] = fc_str_make(stream->head, FC_RPC_HEAD);
  stream->parts[1] = message;
  stream->status = FC_RPC_NO_STATUS;
  stream->http = 0;
  stream->closed = false;
  stream->code[0] = stream->detail[0] = '\0';
}

fc_status_t fc_rpc_stream_ask(fc_rpc_stream_t *stream,
                              const fc_rpc_call_t *call, fc_error_t *err) {
  const nghttp2_data_provider body = {.read_callback = give};
  char agent[40], timeout[24];
  size_t count = 7;
  snprintf(agent, sizeof agent, "farcall/%s", fc_version());
  nghttp2_nv fields[9] = {
      field(":method", "POST"),
      field(":scheme", call->server->is_https ? "https" : "http"),
      field(":path", call->method),
      field(":authority", call->server->authority),
      field("content-type", "application/grpc"),
      field("te", "trailers"),
      field("user-agent", agent)};
  // grpc-timeout has at most eight digits.
  if (call->timeout_ms && call->timeout_ms < 100000000) {
    snprintf(timeout, sizeof timeout, "%" PRIu64 "m", call->timeout_ms);
    fields[count++] = field("grpc-timeout", timeout);
  }
  if (call->token) fields[count++] = field("authorization", call->token);
  begin(stream, call->message);
  return nghttp2_submit_request(stream->session, NULL, fields, count, &body,
                                NULL) < 0
             ? fc_fail_memory(err)
             : FC_OK;
}

bool fc_rpc_stream_may_ask(const fc_rpc_stream_t *stream) {
  return nghttp2_session_check_request_allowed(stream->session);
}

fc_str_t fc_rpc_stream_next(fc_rpc_stream_t *stream) {
  const uint8_t *data = NULL;
  const ssize_t size = nghttp2_session_mem_send(stream->session, &data);
  return size < 0   ? (fc_str_t){0}
         : size > 0 ? fc_str_make((const char *)data, (size_t)size)
                    : FC_STR("");
}

const char *fc_rpc_stream_take(fc_rpc_stream_t *stream, fc_str_t bytes) {
  const ssize_t taken = nghttp2_session_mem_recv(
      stream->session, (const uint8_t *)bytes.data, bytes.size);
  return taken == NGHTTP2_ERR_CALLBACK_FAILURE
             ? "the answer is larger than 257 MiB"
         : taken < 0 ? "that is not HTTP/2"
         : nghttp2_session_want_read(stream->session) || stream->closed
             ? NULL
             : "the connection was ended";
}

const char *fc_rpc_stream_code(const fc_rpc_stream_t *stream) {
  static const char *const kNames[] = {"ok",
                                       "cancelled",
                                       "unknown",
                                       "invalid_argument",
                                       "deadline_exceeded",
                                       "not_found",
                                       "already_exists",
                                       "permission_denied",
                                       "resource_exhausted",
                                       "failed_precondition",
                                       "aborted",
                                       "out_of_range",
                                       "unimplemented",
                                       "internal",
                                       "unavailable",
                                       "data_loss",
                                       "unauthenticated"};
  const bool known = stream->status < FC_ARRAY_COUNT(kNames);
  return stream->code[0] ? stream->code : kNames[known ? stream->status : 2];
}
