// SPDX-License-Identifier: Apache-2.0
//
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
#include "grpc/rpc.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdio.h>

#include "base/hex.h"
#include "farcall/version.h"
#include "file.h"

#define ANSWER_LIMIT ((size_t)257 << 20)  // as over HTTP
#define WINDOW ((int32_t)1 << 24)
#define HEAD 5  // bytes in front of a message
#define DETAIL 1024
#define NO_STATUS UINT32_MAX
#define UNIMPLEMENTED 12  // as clients take a 404

typedef struct rpc_t {
  const fc_remote_t *server;
  fc_wire_t wire;
  nghttp2_session *session;
  uint64_t deadline_ns;  // 0: none
  fc_str_t parts[2];     // of the request, that are still to be sent
  fc_text_t body;
  uint32_t status;
  int http;
  uint32_t reset;  // the error code with which the stream was closed
  bool closed;
  char code[64];
  char detail[DETAIL];
} rpc_t;

static fc_status_t lost(const rpc_t *rpc, const char *why, fc_error_t *err) {
  return fc_fail_as(err, FC_CODE_NOT_READY, FC_UNAVAILABLE,
                    "no answer from %s: %s", rpc->server->url, why);
}

// ---------------------------------------------------------------------------
// What comes

static uint32_t read_number(fc_str_t text) {
  uint32_t number = 0;
  for (size_t i = 0; i < text.size && number < 1000; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return NO_STATUS;
    number = 10 * number + (uint32_t)(text.data[i] - '0');
  }
  return text.size ? number : NO_STATUS;
}

// Percent-decodes as much as there is room for.
static void read_detail(fc_str_t text, char out[DETAIL]) {
  size_t size = 0;
  for (size_t i = 0; i < text.size && size < DETAIL - 1; i++) {
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
  rpc_t *rpc = context;
  const fc_str_t field = {(const char *)name, name_size};
  const fc_str_t text = {(const char *)value, value_size};
  (void)session, (void)frame, (void)flags;
  if (fc_str_equal(field, FC_STR(":status")))
    rpc->http = (int)read_number(text);
  if (fc_str_equal(field, FC_STR("grpc-status"))) {
    rpc->status = read_number(text);
  } else if (fc_str_equal(field, FC_STR("grpc-message"))) {
    read_detail(text, rpc->detail);
  } else if (fc_str_equal(field, FC_STR("farcall-error-code"))) {
    snprintf(rpc->code, sizeof rpc->code, "%.*s", FC_STR_ARG(text));
  }
  return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream,
                   const uint8_t *data, size_t size, void *context) {
  rpc_t *rpc = context;
  fc_error_t err;
  (void)session, (void)flags, (void)stream;
  return fc_sink_put(&rpc->body.sink, fc_str_make((const char *)data, size),
                     &err)
             ? NGHTTP2_ERR_CALLBACK_FAILURE
             : 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code,
                    void *context) {
  rpc_t *rpc = context;
  (void)session, (void)stream;
  rpc->closed = true;
  rpc->reset = code;
  return 0;
}

static ssize_t give(nghttp2_session *session, int32_t stream, uint8_t *out,
                    size_t size, uint32_t *flags, nghttp2_data_source *source,
                    void *context) {
  rpc_t *rpc = context;
  fc_str_t *part = &rpc->parts[rpc->parts[0].size ? 0 : 1];
  (void)session, (void)stream, (void)source;
  if (size > part->size) size = part->size;
  if (size) memcpy(out, part->data, size);
  *part = fc_str_make(part->data + size, part->size - size);
  if (!rpc->parts[0].size && !rpc->parts[1].size)
    *flags = NGHTTP2_DATA_FLAG_EOF;
  return (ssize_t)size;
}

// ---------------------------------------------------------------------------
// The connection

// Milliseconds until the deadline; -1: there is none.
static int time_left(const rpc_t *rpc) {
  const uint64_t now = fc_clock_ns(), end = rpc->deadline_ns;
  const uint64_t left = end > now ? (end - now) / 1000000 + 1 : 0;
  return !end ? -1 : left > INT_MAX ? INT_MAX : (int)left;
}

// Also what is ready comes too late behind the deadline: a server may send for ever.
static fc_status_t wait_for(const rpc_t *rpc, short events, fc_error_t *err) {
  for (int left_ms; (left_ms = time_left(rpc));) {
    struct pollfd wait = {.fd = rpc->wire.file, .events = events};
    const int ready = poll(&wait, 1, left_ms);
    if (ready > 0) return FC_OK;
    if (ready < 0 && errno != EINTR) return lost(rpc, strerror(errno), err);
  }
  return lost(rpc, "it was not complete in time", err);
}

static fc_status_t send_all(rpc_t *rpc, const uint8_t *data, size_t size,
                            fc_error_t *err) {
  while (size) {
    const ssize_t sent = fc_wire_send(&rpc->wire, data, size);
    if (sent > 0) {
      data += sent;
      size -= (size_t)sent;
    } else if (errno != EAGAIN && errno != EINTR) {
      return lost(rpc, errno == EPROTO ? fc_wire_why() : strerror(errno), err);
    } else {
      FC_TRY(wait_for(rpc, POLLOUT, err));
    }
  }
  return FC_OK;
}

static fc_status_t send_frames(rpc_t *rpc, fc_error_t *err) {
  for (;;) {
    const uint8_t *data;
    const ssize_t size = nghttp2_session_mem_send(rpc->session, &data);
    if (size < 0) return lost(rpc, nghttp2_strerror((int)size), err);
    if (!size) return FC_OK;
    FC_TRY(send_all(rpc, data, (size_t)size, err));
  }
}

static fc_status_t receive(rpc_t *rpc, fc_error_t *err) {
  uint8_t block[16384];
  if (!fc_wire_has(&rpc->wire)) FC_TRY(wait_for(rpc, POLLIN, err));
  const ssize_t size = fc_wire_recv(&rpc->wire, block, sizeof block);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return FC_OK;
  if (size < 0) {
    return lost(rpc, errno == EPROTO ? fc_wire_why() : strerror(errno), err);
  }
  if (!size) return lost(rpc, "the connection was closed", err);
  const ssize_t taken =
      nghttp2_session_mem_recv(rpc->session, block, (size_t)size);
  if (taken == NGHTTP2_ERR_CALLBACK_FAILURE) {
    return lost(rpc, "the answer is larger than 257 MiB", err);
  }
  if (taken < 0) return lost(rpc, "that is not HTTP/2", err);
  return nghttp2_session_want_read(rpc->session) || rpc->closed
             ? FC_OK
             : lost(rpc, "the connection was ended", err);
}

// ---------------------------------------------------------------------------
// The request

static nghttp2_nv field(const char *name, const char *value) {
  return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value,
                      strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static int submit(rpc_t *rpc, const char *method, const char *token) {
  static const nghttp2_settings_entry kSettings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW}};
  const nghttp2_data_provider body = {.read_callback = give};
  char agent[40], timeout[24];
  size_t count = 7;
  snprintf(agent, sizeof agent, "farcall/%s", fc_version());
  nghttp2_nv fields[9] = {
      field(":method", "POST"),
      field(":scheme", rpc->server->is_https ? "https" : "http"),
      field(":path", method),
      field(":authority", rpc->server->authority),
      field("content-type", "application/grpc"),
      field("te", "trailers"),
      field("user-agent", agent)};
  // At most eight digits.
  if (rpc->server->timeout_ms && rpc->server->timeout_ms < 100000000) {
    snprintf(timeout, sizeof timeout, "%" PRIu64 "m", rpc->server->timeout_ms);
    fields[count++] = field("grpc-timeout", timeout);
  }
  if (token) fields[count++] = field("authorization", token);
  if (nghttp2_submit_settings(rpc->session, NGHTTP2_FLAG_NONE, kSettings,
                              FC_ARRAY_COUNT(kSettings)) ||
      nghttp2_session_set_local_window_size(rpc->session, NGHTTP2_FLAG_NONE, 0,
                                            WINDOW)) {
    return -1;
  }
  return nghttp2_submit_request(rpc->session, NULL, fields, count, &body, NULL);
}

static fc_status_t open_session(rpc_t *rpc, fc_error_t *err) {
  nghttp2_session_callbacks *callbacks;
  if (nghttp2_session_callbacks_new(&callbacks)) return fc_fail_memory(err);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  const int failed = nghttp2_session_client_new(&rpc->session, callbacks, rpc);
  nghttp2_session_callbacks_del(callbacks);
  return failed ? fc_fail_memory(err) : FC_OK;
}

// The value of a field's line.
static const char *value_of(fc_arena_t *arena, const char *line) {
  const char *colon = strchr(line, ':');
  return fc_print(arena, "%.*s", (int)strcspn(colon + 2, "\r"), colon + 2);
}

static fc_status_t talk(rpc_t *rpc, fc_arena_t *arena, const char *method,
                        fc_error_t *err) {
  const char *line = rpc->server->authorization;
  const char *token = line ? value_of(arena, line) : NULL;
  if (line && !token) return fc_fail_memory(err);
  FC_TRY(open_session(rpc, err));
  if (submit(rpc, method, token) < 0) return fc_fail_memory(err);
  for (;;) {
    FC_TRY(send_frames(rpc, err));
    if (rpc->closed) return FC_OK;
    FC_TRY(receive(rpc, err));
  }
}

// ---------------------------------------------------------------------------
// The answer

static fc_status_t check_answer(const rpc_t *rpc, fc_error_t *err) {
  char why[80];
  const fc_str_t body = fc_text_str(&rpc->body);
  if (rpc->status == NO_STATUS && rpc->http && rpc->http != 200) {
    snprintf(why, sizeof why, "%d, and no gRPC", rpc->http);
    return lost(rpc, why, err);
  }
  if (rpc->status == NO_STATUS) {
    snprintf(why, sizeof why, "the stream was closed: %s",
             nghttp2_http2_strerror(rpc->reset));
    return lost(rpc, why, err);
  }
  if (rpc->status) return FC_OK;
  if (body.size < HEAD || body.data[0]) {
    return lost(rpc, "its message is compressed, or there is none", err);
  }
  uint32_t size = 0;
  for (int i = 1; i < HEAD; i++) size = size << 8 | (uint8_t)body.data[i];
  return body.size - HEAD == size
             ? FC_OK
             : lost(rpc, "its message is of another size than it says", err);
}

static fc_status_t copy_answer(const rpc_t *rpc, fc_arena_t *arena,
                               fc_rpc_reply_t *out, fc_error_t *err) {
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
  const bool known = rpc->status < FC_ARRAY_COUNT(kNames);
  const char *code = rpc->code[0] ? rpc->code : kNames[known ? rpc->status : 2];
  const fc_str_t body = fc_text_str(&rpc->body);
  const fc_str_t message =
      rpc->status ? FC_STR("")
                  : fc_str_make(body.data + HEAD, body.size - HEAD);
  out->status = rpc->status;
  out->message = fc_arena_copy(arena, message);
  out->detail = fc_print(arena, "%s", rpc->detail);
  out->code = fc_print(arena, "%s", code);
  return out->message.data && out->detail && out->code ? FC_OK
                                                       : fc_fail_memory(err);
}

fc_status_t fc_rpc_ask(fc_arena_t *arena, const fc_remote_t *server,
                       const char *method, fc_str_t message,
                       fc_rpc_reply_t *out_reply, fc_error_t *err) {
  char head[HEAD] = {0};
  rpc_t rpc = {.server = server, .status = NO_STATUS, .wire = FC_WIRE_CLOSED};
  if (message.size > UINT32_MAX) {
    return fc_fail(err, FC_CODE_BODY_TOO_LARGE,
                   "%zu bytes are too many for a message", message.size);
  }
  for (int i = 1; i < HEAD; i++) {
    head[i] = (char)(message.size >> (8 * (HEAD - 1 - i)));
  }
  rpc.parts[0] = fc_str_make(head, HEAD);
  rpc.parts[1] = message;
  if (server->timeout_ms) {
    rpc.deadline_ns = fc_clock_ns() + server->timeout_ms * 1000000;
  }
  FC_TRY(fc_server_connect(server, &rpc.wire, err));
  fc_text_init(&rpc.body, fc_allocator_system(), ANSWER_LIMIT);
  fc_status_t status = talk(&rpc, arena, method, err);
  if (rpc.status == NO_STATUS && rpc.http == 404) {
    rpc.status = UNIMPLEMENTED;
    snprintf(rpc.detail, sizeof rpc.detail, "it has no %s", method);
  }
  if (status == FC_OK) status = check_answer(&rpc, err);
  if (status == FC_OK) status = copy_answer(&rpc, arena, out_reply, err);
  nghttp2_session_del(rpc.session);
  fc_text_deinit(&rpc.body);
  fc_wire_close(&rpc.wire);
  return status;
}
