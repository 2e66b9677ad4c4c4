// SPDX-License-Identifier: Apache-2.0
#include "grpc/rpc.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>

#include "file.h"
#include "grpc/stream.h"

#define ANSWER_LIMIT ((size_t)257 << 20)  // the same limit as over HTTP

typedef struct rpc_t {
  const fc_remote_t *server;
  fc_wire_t wire;
  fc_rpc_stream_t stream;
  bool begun;            // the server has sent bytes
  uint64_t deadline_ns;  // 0: none
  fc_text_t body;
} rpc_t;

static fc_status_t lost(const rpc_t *rpc, const char *why, fc_error_t *err) {
  return fc_fail_as(err, FC_CODE_NOT_READY, FC_UNAVAILABLE,
                    "no answer from %s: %s", rpc->server->url, why);
}

// ---------------------------------------------------------------------------
// The connection

// Says what a server that began with `bytes` speaks instead of HTTP/2; NULL: it may speak
// HTTP/2. Servers that speak TLS answer plain bytes by an alert, or by a page of HTTP/1.1
// that names TLS or HTTPS.
static const char *why_no_http2(fc_str_t bytes, bool is_https) {
  static const char kTls[] = "the port speaks TLS: try grpcs://";
  const bool is_page = fc_str_starts(bytes, FC_STR("HTTP/1."));
  if (is_https) {
    return is_page ? "the port speaks HTTP/1.1: try https://" : NULL;
  }
  if (fc_str_starts(bytes, FC_STR("\x15\x03"))) return kTls;
  if (!is_page) return NULL;
  return memmem(bytes.data, bytes.size, "TLS", 3) ||
                 memmem(bytes.data, bytes.size, "HTTPS", 5)
             ? kTls
             : "the port speaks HTTP/1.1: try http://";
}

// Returns the milliseconds until the deadline; -1: there is no deadline.
static int time_left(const rpc_t *rpc) {
  const uint64_t now = fc_clock_ns(), end = rpc->deadline_ns;
  const uint64_t left = end > now ? (end - now) / 1000000 + 1 : 0;
  return !end ? -1 : left > INT_MAX ? INT_MAX : (int)left;
}

// Waits until the socket is ready. After the deadline it fails even if bytes are ready: a
// server may send without end.
static fc_status_t wait_for(const rpc_t *rpc, short events, fc_error_t *err) {
  for (int left_ms; (left_ms = time_left(rpc));) {
    struct pollfd wait = {.fd = rpc->wire.file, .events = events};
    const int ready = poll(&wait, 1, left_ms);
    if (ready > 0) return FC_OK;
    if (ready < 0 && errno != EINTR) return lost(rpc, strerror(errno), err);
  }
  return lost(rpc, "it was not complete in time", err);
}

static fc_status_t send_all(rpc_t *rpc, const char *data, size_t size,
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
    const fc_str_t bytes = fc_rpc_stream_next(&rpc->stream);
    if (!bytes.data) return fc_fail_memory(err);
    if (!bytes.size) return FC_OK;
    FC_TRY(send_all(rpc, bytes.data, bytes.size, err));
  }
}

static fc_status_t receive(rpc_t *rpc, fc_error_t *err) {
  char block[16384];
  if (!fc_wire_has(&rpc->wire)) FC_TRY(wait_for(rpc, POLLIN, err));
  const ssize_t size = fc_wire_recv(&rpc->wire, block, sizeof block);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return FC_OK;
  if (size < 0) {
    return lost(rpc, errno == EPROTO ? fc_wire_why() : strerror(errno), err);
  }
  if (!size) return lost(rpc, "the connection was closed", err);
  const fc_str_t bytes = fc_str_make(block, (size_t)size);
  const char *why =
      rpc->begun ? NULL : why_no_http2(bytes, rpc->server->is_https);
  rpc->begun = true;
  if (!why) why = fc_rpc_stream_take(&rpc->stream, bytes);
  return why ? lost(rpc, why, err) : FC_OK;
}

static bool take(void *context, fc_str_t bytes) {
  rpc_t *rpc = context;
  fc_error_t err;
  return fc_sink_put(&rpc->body.sink, bytes, &err) == FC_OK;
}

static fc_status_t talk(rpc_t *rpc, const fc_rpc_call_t *call,
                        fc_error_t *err) {
  FC_TRY(fc_rpc_stream_open(&rpc->stream, err));
  FC_TRY(fc_rpc_stream_ask(&rpc->stream, call, err));
  for (;;) {
    FC_TRY(send_frames(rpc, err));
    if (rpc->stream.closed) return FC_OK;
    FC_TRY(receive(rpc, err));
  }
}

// ---------------------------------------------------------------------------
// The answer

static fc_status_t check_answer(const rpc_t *rpc, fc_error_t *err) {
  char why[80];
  const fc_str_t body = fc_text_str(&rpc->body);
  if (rpc->stream.status == FC_RPC_NO_STATUS && rpc->stream.http &&
      rpc->stream.http != 200) {
    snprintf(why, sizeof why, "%d, and no gRPC", rpc->stream.http);
    return lost(rpc, why, err);
  }
  if (rpc->stream.status == FC_RPC_NO_STATUS) {
    snprintf(why, sizeof why, "the stream was closed: %s",
             nghttp2_http2_strerror(rpc->stream.reset));
    return lost(rpc, why, err);
  }
  if (rpc->stream.status) return FC_OK;
  if (body.size < FC_RPC_HEAD || body.data[0]) {
    return lost(rpc, "its message is compressed, or there is none", err);
  }
  uint32_t size = 0;
  for (int i = 1; i < FC_RPC_HEAD; i++)
    size = size << 8 | (uint8_t)body.data[i];
  return body.size - FC_RPC_HEAD == size
             ? FC_OK
             : lost(rpc, "its message is of another size than it says", err);
}

static fc_status_t copy_answer(const rpc_t *rpc, fc_arena_t *arena,
                               fc_rpc_reply_t *out, fc_error_t *err) {
  const fc_rpc_stream_t *stream = &rpc->stream;
  const fc_str_t body = fc_text_str(&rpc->body);
  const fc_str_t message =
      stream->status
          ? FC_STR("")
          : fc_str_make(body.data + FC_RPC_HEAD, body.size - FC_RPC_HEAD);
  out->status = stream->status;
  out->message = fc_arena_copy(arena, message);
  out->detail = fc_print(arena, "%s", stream->detail);
  out->code = fc_print(arena, "%s", fc_rpc_stream_code(stream));
  return out->message.data && out->detail && out->code ? FC_OK
                                                       : fc_fail_memory(err);
}

// Returns the value of a header field's line.
static const char *value_of(fc_arena_t *arena, const char *line) {
  const char *colon = strchr(line, ':');
  return fc_print(arena, "%.*s", (int)strcspn(colon + 2, "\r"), colon + 2);
}

fc_status_t fc_rpc_call_make(fc_arena_t *arena, const fc_remote_t *server,
                             const char *method, fc_str_t message,
                             fc_rpc_call_t *out, fc_error_t *err) {
  const char *line = server->authorization;
  if (message.size > UINT32_MAX) {
    return fc_fail(err, FC_CODE_BODY_TOO_LARGE,
                   "%zu bytes are too many for a message", message.size);
  }
  *out = (fc_rpc_call_t){.server = server,
                         .method = method,
                         .token = line ? value_of(arena, line) : NULL,
                         .timeout_ms = server->timeout_ms,
                         .message = message};
  return line && !out->token ? fc_fail_memory(err) : FC_OK;
}

fc_status_t fc_rpc_ask(fc_arena_t *arena, const fc_rpc_call_t *call,
                       fc_rpc_reply_t *out_reply, fc_error_t *err) {
  rpc_t rpc = {.server = call->server, .wire = FC_WIRE_CLOSED};
  rpc.stream.take = take;
  rpc.stream.context = &rpc;
  if (call->timeout_ms) {
    rpc.deadline_ns = fc_clock_ns() + call->timeout_ms * 1000000;
  }
  FC_TRY(fc_server_connect(call->server, &rpc.wire, err));
  fc_text_init(&rpc.body, fc_allocator_system(), ANSWER_LIMIT);
  fc_status_t status = talk(&rpc, call, err);
  if (rpc.stream.status == FC_RPC_NO_STATUS && rpc.stream.http == 404) {
    rpc.stream.status = FC_RPC_UNIMPLEMENTED;  // clients treat a 404 so
    snprintf(rpc.stream.detail, sizeof rpc.stream.detail, "it has no %s",
             call->method);
  }
  if (status == FC_OK) status = check_answer(&rpc, err);
  if (status == FC_OK) status = copy_answer(&rpc, arena, out_reply, err);
  fc_rpc_stream_close(&rpc.stream);
  fc_text_deinit(&rpc.body);
  fc_wire_close(&rpc.wire);
  return status;
}
