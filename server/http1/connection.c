// SPDX-License-Identifier: Apache-2.0
//
// The journey of bytes: on_read -> feed -> (head) begin_exchange -> (body)
// receive -> submit -> answer -> after_answer -> feed. Reads stay armed while a
// call runs, so that a client that goes away is noticed at once; what it
// pipelines meanwhile is stashed, within a bound. One request is in flight at a
// time, so answers cannot overtake each other.
#include "http1/connection.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "exchange/access.h"
#include "dialect/http_status.h"
#include "dialect/native.h"
#include "dialect/problem.h"
#include "dialect/query.h"
#include "exchange/body.h"
#include "http1/response.h"
#include "config/limits.h"
#include "server.h"

static void give_stash(fc_connection_t *c) {
  fc_stash_clear(&c->stash, c->loop->blocks);
}

static void give_body(fc_connection_t *c) {
  fc_block_give(c->loop->blocks, c->exchange.job.call.body.block);
  c->exchange.job.call.body = (fc_piece_t){.block = FC_BLOCK_NONE};
}

static void give_pieces(fc_connection_t *c) {
  for (uint32_t i = 0; i < c->piece_count; i++) {
    fc_block_give(c->loop->blocks, c->pieces[i].block);
  }
  c->piece_count = 0;
}

// The generation of the place stays until the exchange is over.
static void hold_place(fc_connection_t *c) {
  fc_exchange_t *x = &c->exchange;
  x->generation =
      fc_generations_at(&c->loop->modules.generations, x->place.module);
  if (x->generation) fc_generation_hold(x->generation);
}

static void release_place(fc_connection_t *c) {
  fc_exchange_t *x = &c->exchange;
  if (x->generation) {
    fc_generations_release(&c->loop->modules.generations, x->generation);
  }
  x->generation = NULL;
  x->place = (fc_place_t){FC_ROUTE_NONE, FC_ROUTE_NO_INDEX, FC_ROUTE_NO_INDEX};
}

// ---------------------------------------------------------------------------
// Closing

static void on_closed(uv_handle_t *handle) {
  fc_connection_t *c = handle->data;
  fc_loop_t *loop = c->loop;
  give_pieces(c);
  give_stash(c);
  give_body(c);
  release_place(c);
  if (c->next) c->next->previous = c->previous;
  if (c->previous) c->previous->next = c->next;
  else loop->connections = c->next;
  loop->connection_count--;
  if (c->turned_away) loop->turned_away--;
  fc_free(loop->allocator, c);
}

static void close_with(fc_connection_t *c, bool reset) {
  if (c->state == FC_CONNECTION_CLOSED) return;
  if (c->state == FC_CONNECTION_CALL) {
    fc_pool_drop(&c->loop->pool, &c->exchange.job);
  }
  fc_loop_wait(c, FC_WAIT_NONE);
  c->state = FC_CONNECTION_CLOSED;
  if (reset && uv_tcp_close_reset(&c->tcp, on_closed) == 0) return;
  uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void close_now(fc_connection_t *c) { close_with(c, false); }

static void on_shutdown(uv_shutdown_t *request, int status) {
  fc_connection_t *c = request->data;
  if (status < 0) close_now(c);
}

static void follow_reading(fc_connection_t *c);

// Says FIN and goes on reading for a while, whatever comes: closing a socket
// with unread bytes would reset the connection and could take the answer with
// it.
static void begin_linger(fc_connection_t *c) {
  give_stash(c);
  if (c->input == FC_INPUT_ENDED) {
    close_now(c);
    return;
  }
  c->state = FC_CONNECTION_LINGER;
  c->shutdown.data = c;
  if (uv_shutdown(&c->shutdown, (uv_stream_t *)&c->tcp, on_shutdown)) {
    close_now(c);
    return;
  }
  fc_loop_wait(c, FC_WAIT_LINGER);
  follow_reading(c);
}

// ---------------------------------------------------------------------------
// WRITE

static void reset_exchange(fc_connection_t *c) {
  give_body(c);
  c->exchange.method = FC_METHOD_OTHER;
  c->exchange.method_name = NULL;
  c->exchange.chunked = false;
  c->exchange.peer = c->peer;
  release_place(c);
  c->exchange.left = c->exchange.body_seen = 0;
  c->exchange.began_ns = 0;
  c->exchange.retry_after = 0;
  c->exchange.id_size = 0;
  memset(c->exchange.spent_ns, 0, sizeof c->exchange.spent_ns);
  c->framing = (fc_framing_t){0};
}

// The answer is written and the request was read to its end. Whoever is not
// inside consume() goes on with pump().
static void end_exchange(fc_connection_t *c) {
  reset_exchange(c);
  // The time for the next head begins with its first byte.
  fc_loop_wait(c, FC_WAIT_NONE);
  if (c->close_after || c->loop->draining) {
    begin_linger(c);
    return;
  }
  c->state = FC_CONNECTION_HEAD;
}

static void after_answer(fc_connection_t *c) {
  give_pieces(c);
  if (c->close_after) {
    reset_exchange(c);
    begin_linger(c);
    return;
  }
  if (c->state == FC_CONNECTION_DISCARD) {
    if (c->input == FC_INPUT_ENDED) close_now(c);
    return;
  }
  end_exchange(c);
}

static void on_written(uv_write_t *request, int status);

// Sends the pieces, of which the first has the head in front of it.
static void send_pieces(fc_connection_t *c, char *head, size_t head_size,
                        bool with_body) {
  uv_buf_t buffers[FC_PIECES_MAX];
  unsigned count = 0;
  size_t total = 0;
  for (uint32_t i = 0; i < c->piece_count && (with_body || i == 0); i++) {
    char *data = (char *)fc_block_data(c->loop->blocks, c->pieces[i].block) +
                 c->pieces[i].offset;
    size_t size = with_body ? (size_t)c->pieces[i].size : 0;
    if (i == 0) {
      data = head;
      size += head_size;
    }
    buffers[count++] = (uv_buf_t){.base = data, .len = size};
    total += size;
  }
  uv_stream_t *stream = (uv_stream_t *)&c->tcp;
  int sent = uv_try_write(stream, buffers, count);
  if (sent < 0 && sent != UV_EAGAIN) {
    close_now(c);
    return;
  }
  size_t done = sent > 0 ? (size_t)sent : 0;
  if (done == total) {
    after_answer(c);
    return;
  }
  unsigned first = 0;
  while (done >= buffers[first].len) done -= buffers[first++].len;
  buffers[first].base += done;
  buffers[first].len -= done;
  c->writing = true;
  c->write.data = c;
  if (uv_write(&c->write, stream, buffers + first, count - first, on_written)) {
    c->writing = false;
    close_now(c);
    return;
  }
  if (c->state != FC_CONNECTION_DISCARD) c->state = FC_CONNECTION_WRITE;
  c->write_size = total;
  fc_pace_begin(&c->write_pace, uv_now(&c->loop->uv));
  fc_loop_wait(c, FC_WAIT_WRITE);
}

static fc_str_t exchange_id(const fc_exchange_t *x) {
  return fc_str_make(x->id, x->id_size);
}

static void module_names(const fc_connection_t *c, fc_str_t *out_module,
                         fc_str_t *out_function) {
  const fc_generation_t *generation = c->exchange.generation;
  const uint32_t function = c->exchange.place.function;
  *out_module = *out_function = FC_STR("");
  if (!generation) return;
  *out_module = generation->name;
  if (function == FC_ROUTE_NO_INDEX || !generation->module) return;
  *out_function = fc_module_function(generation->module, function)->name;
}

static bool is_health(fc_route_t route) {
  return route == FC_ROUTE_LIVE || route == FC_ROUTE_READY ||
         route == FC_ROUTE_STARTUP;
}

static void log_access(fc_connection_t *c, int status, fc_code_t code,
                       uint64_t bytes_out, bool is_call) {
  fc_exchange_t *x = &c->exchange;
  if (!c->loop->access_log) return;
  if (is_health(x->place.route) && status == 200) return;
  fc_log_field_t fields[11 + FC_STAGE_COUNT];
  size_t count = 0;
  fc_str_t module, function;
  module_names(c, &module, &function);
  fields[count++] = FC_LOG_TEXT("request_id", exchange_id(x));
  fields[count++] = FC_LOG_TEXT(
      "method", x->method_name ? fc_str(x->method_name) : FC_STR(""));
  fields[count++] = FC_LOG_TEXT("route", fc_str(fc_route_path(x->place.route)));
  fields[count++] = FC_LOG_TEXT("module", module);
  fields[count++] = FC_LOG_TEXT("function", function);
  fields[count++] = FC_LOG_NUMBER("status", (uint64_t)status);
  if (code != FC_CODE_NONE) {
    fields[count++] = FC_LOG_TEXT("code", fc_str(fc_code_info(code)->text));
  }
  fields[count++] = FC_LOG_NUMBER("bytes_in", x->body_seen);
  fields[count++] = FC_LOG_NUMBER("bytes_out", bytes_out);
  uint64_t total = x->began_ns ? fc_clock_ns() - x->began_ns : 0;
  fields[count++] = FC_LOG_NUMBER("us", total / 1000);
  static const char *const kKeys[FC_STAGE_COUNT] = {
#define FC_STAGE(name, text) text "_us",
#include "pool/stage.def"
#undef FC_STAGE
  };
  for (int i = 0; is_call && i < FC_STAGE_COUNT; i++) {
    fields[count++] = FC_LOG_NUMBER(kKeys[i], x->spent_ns[i] / 1000);
  }
  fc_log_fields(&c->loop->log, FC_LOG_INFO, FC_STR("request"), fields, count);
}

typedef struct answer_t {
  int status;
  fc_code_t code;
  fc_str_t content_type;
  fc_str_t digest;  // the entity tag, "" if none
  bool weak_digest;
  bool is_call;  // made all its stages
} answer_t;

// Sends c->pieces as the answer. The first has FC_LIMIT_HEAD bytes in front.
static void answer(fc_connection_t *c, const answer_t *what) {
  fc_exchange_t *x = &c->exchange;
  fc_loop_t *loop = c->loop;
  if (!x->keep_alive || loop->draining) c->close_after = true;
  fc_response_head_t head = {
      .status = what->status,
      .content_type = what->content_type,
      .no_length = what->status == 204 || what->status == 304,
      .request_id = exchange_id(x),
      .etag = what->digest,
      .weak_etag = what->weak_digest,
      .date = fc_loop_date(loop),
      .spent_ns = what->is_call ? x->spent_ns : NULL,
      .close = c->close_after,
      .keep_alive = x->http_10 && !c->close_after,
  };
  for (uint32_t i = 0; i < c->piece_count; i++)
    head.length += c->pieces[i].size;
  if (what->code == FC_CODE_METHOD_NOT_ALLOWED) {
    head.allow = fc_str(fc_route_allow(x->place.route));
  }
  if (what->status == 503 || what->status == 429) {
    head.retry_after = x->retry_after ? x->retry_after : FC_LIMIT_RETRY_AFTER;
  }
  char *end = (char *)fc_block_data(loop->blocks, c->pieces[0].block) +
              c->pieces[0].offset;
  char *begin = fc_response_head(&head, end);
  bool with_body = x->method != FC_METHOD_HEAD;
  fc_metrics_answer(&loop->metrics, what->status);
  log_access(c, what->status, what->code, head.length, what->is_call);
  send_pieces(c, begin, (size_t)(end - begin), with_body);
}

#define REFUSAL_MAX 1024  // bytes of its body

static fc_status_t fail_growth(fc_sink_t *sink, size_t need, fc_error_t *err) {
  (void)sink;
  return fc_fail(err, FC_CODE_RESULT_TOO_LARGE, "%zu bytes too many", need);
}

// An answer that needs no memory but `buffer`. The connection closes after it.
static fc_str_t print_refusal(fc_loop_t *loop, const fc_error_t *error,
                              fc_str_t id,
                              char buffer[FC_LIMIT_HEAD + REFUSAL_MAX]) {
  char *body = buffer + FC_LIMIT_HEAD;
  fc_sink_t sink = {
      .cursor = body, .end = body + REFUSAL_MAX, .grow = fail_growth};
  const fc_problem_t problem = {.error = error, .request_id = id};
  fc_status_t status = fc_problem_write(&problem, &sink, NULL);
  FC_ASSERT(status == FC_OK);
  const fc_response_head_t head = {
      .status = fc_http_status(error),
      .content_type = FC_STR("application/problem+json"),
      .length = (uint64_t)(sink.cursor - body),
      .request_id = id,
      .date = fc_loop_date(loop),
      .retry_after = FC_LIMIT_RETRY_AFTER,
      .close = true,
  };
  const char *begin = fc_response_head(&head, body);
  return fc_str_make(begin, (size_t)(sink.cursor - begin));
}

// There is no memory for an answer.
static void answer_nothing(fc_connection_t *c) {
  char text[FC_LIMIT_HEAD + REFUSAL_MAX];
  fc_error_t error;
  (void)fc_fail_memory(&error);
  fc_str_t answer =
      print_refusal(c->loop, &error, exchange_id(&c->exchange), text);
  uv_buf_t buffer = {.base = (char *)(uintptr_t)answer.data,
                     .len = answer.size};
  (void)uv_try_write((uv_stream_t *)&c->tcp, &buffer, 1);
  fc_metrics_answer(&c->loop->metrics, 503);
  log_access(c, 503, FC_CODE_OUT_OF_MEMORY, answer.size, false);
  c->close_after = true;
  after_answer(c);
}

// A sink in a fresh block with room for the head.
static bool open_answer(fc_connection_t *c, fc_block_sink_t *out) {
  uint32_t block;
  if (fc_block_take(c->loop->blocks, FC_LIMIT_HEAD, &block, NULL) != FC_OK) {
    return false;
  }
  fc_block_sink_init(out, c->loop->blocks, block, FC_LIMIT_HEAD, UINT32_MAX);
  return true;
}

static void close_answer(fc_connection_t *c, fc_block_sink_t *out) {
  fc_block_sink_finish(out);
  memcpy(c->pieces, out->pieces, out->count * sizeof *out->pieces);
  c->piece_count = out->count;
}

// `stage` is where it failed, FC_STAGE_COUNT when that is not worth saying.
static void answer_error(fc_connection_t *c, const fc_error_t *error,
                         fc_stage_t stage) {
  fc_exchange_t *x = &c->exchange;
  fc_problem_t problem = {.error = error, .request_id = exchange_id(x)};
  module_names(c, &problem.module, &problem.function);
  if (stage != FC_STAGE_COUNT) problem.stage = fc_stage_name(stage);
  if (error->code == FC_CODE_INTERNAL) {
    c->close_after = true;
    fc_log_field_t field = FC_LOG_TEXT("request_id", exchange_id(x));
    fc_log_fields(&c->loop->log, FC_LOG_ERROR, fc_str(error->message), &field,
                  1);
  }
  fc_block_sink_t out;
  if (!open_answer(c, &out)) {
    answer_nothing(c);
    return;
  }
  if (fc_problem_write(&problem, &out.sink, NULL) != FC_OK) {
    fc_block_sink_drop(&out);
    answer_nothing(c);
    return;
  }
  close_answer(c, &out);
  answer(c, &(answer_t){.status = fc_http_status(error),
                        .code = error->code,
                        .content_type = FC_STR("application/problem+json")});
}

// For what leaves the connection at an unknown place in the stream.
static void refuse(fc_connection_t *c, const fc_error_t *error,
                   fc_stage_t stage) {
  c->close_after = true;
  c->state = FC_CONNECTION_WRITE;
  answer_error(c, error, stage);
}

static fc_status_t write_document(fc_connection_t *c,
                                  const fc_request_t *request, fc_sink_t *sink,
                                  fc_document_t *out_document,
                                  fc_error_t *err) {
  const fc_place_t *place = &c->exchange.place;
  fc_reflect_t reflect = fc_loop_reflect(c->loop);
  FC_TRY(
      fc_query_document(request, place, reflect.generations, out_document, err));
  if (out_document->not_modified) return FC_OK;
  return fc_reflect_write(&reflect, place, request->query, sink, err);
}

static void answer_document(fc_connection_t *c, const fc_request_t *request) {
  fc_block_sink_t out;
  fc_error_t error;
  fc_error_reset(&error);
  if (!open_answer(c, &out)) {
    answer_nothing(c);
    return;
  }
  fc_document_t document;
  if (write_document(c, request, &out.sink, &document, &error) != FC_OK) {
    fc_block_sink_drop(&out);
    answer_error(c, &error, FC_STAGE_COUNT);
    return;
  }
  close_answer(c, &out);
  bool same = document.not_modified;
  answer(c,
         &(answer_t){.status = same ? 304 : 200,
                     .content_type = same ? FC_STR("") : document.content_type,
                     .digest = document.digest,
                     .weak_digest = document.weak_digest});
}

// ---------------------------------------------------------------------------
// The call

static void mark(fc_exchange_t *x, fc_stage_t stage) {
  uint64_t now = fc_clock_ns();
  x->spent_ns[stage] += now - x->marked_ns;
  x->marked_ns = now;
}

// The slot of the job holds the outcome.
static void answer_call(fc_connection_t *c) {
  fc_exchange_t *x = &c->exchange;
  fc_pool_t *pool = &c->loop->pool;
  fc_slot_t *slot = fc_pool_slot(pool, &x->job);
  x->spent_ns[FC_STAGE_QUEUE] = slot->began_ns - x->marked_ns;
  uint64_t ended_ns = slot->began_ns;
  for (int i = FC_STAGE_DECODE; i <= FC_STAGE_ENCODE; i++) {
    x->spent_ns[i] = slot->spent_ns[i];
    ended_ns += slot->spent_ns[i];
  }
  x->marked_ns = ended_ns;
  mark(x, FC_STAGE_WRITE);
  c->state = FC_CONNECTION_WRITE;
  if (slot->status != FC_OK) {
    fc_error_t error = slot->error;
    fc_stage_t stage = (fc_stage_t)slot->stage;
    fc_pool_finish(pool, &x->job);
    if (x->job.retry_s) x->retry_after = x->job.retry_s;
    answer_error(c, &error, stage);
    return;
  }
  bool validated = (slot->call.flags & FC_CALL_VALIDATE) != 0;
  memcpy(c->pieces, slot->pieces, slot->piece_count * sizeof *slot->pieces);
  c->piece_count = slot->piece_count;
  slot->piece_count = 0;
  fc_pool_finish(pool, &x->job);
  fc_block_sink_t out;
  if (validated) {
    if (!open_answer(c, &out)) {
      answer_nothing(c);
      return;
    }
    close_answer(c, &out);
  }
  answer(c, &(answer_t){.status = validated ? 204 : 200,
                        .content_type =
                            validated ? FC_STR("") : FC_STR("application/json"),
                        .is_call = true});
}

static void submit(fc_connection_t *c) {
  fc_exchange_t *x = &c->exchange;
  fc_pool_t *pool = &c->loop->pool;
  mark(x, FC_STAGE_READ);
  // The decoder may look past the end (FC_BLOCK_TAIL).
  fc_piece_t *body = &x->job.call.body;
  uint8_t *data = fc_block_data(c->loop->blocks, body->block) + body->offset;
  memset(data + body->size, 0, FC_BLOCK_TAIL);
  c->state = FC_CONNECTION_CALL;
  if (fc_pool_try_inline(pool, &x->job)) {
    answer_call(c);
    return;
  }
  fc_error_t error;
  if (fc_pool_admit(pool, x->job.call.generation, x->job.call.function,
                    x->job.call.deadline_ns, x->marked_ns, &x->retry_after,
                    &error) != FC_OK) {
    c->state = FC_CONNECTION_WRITE;
    answer_error(c, &error, FC_STAGE_ADMIT);
    return;
  }
  fc_loop_wait(c, FC_WAIT_NONE);
  fc_pool_enqueue(pool, &x->job);
}

// ---------------------------------------------------------------------------
// READ: bodies

static void complete_body(fc_connection_t *c) {
  if (c->state == FC_CONNECTION_BODY) submit(c);
  else if (c->writing) c->state = FC_CONNECTION_WRITE;
  else end_exchange(c);
}

// Whose memory the bytes of a request are.
static fc_owner_t owner_of(const fc_peer_t *peer) {
  fc_peer_t share = fc_peer_share(peer);
  fc_owner_t owner;
  _Static_assert(sizeof owner == sizeof share, "an address names an owner");
  memcpy(&owner, &share, sizeof owner);
  return owner;
}

// `left` more are to come, 0 if that is not known.
static fc_status_t put_body(fc_connection_t *c, fc_str_t bytes, uint64_t left,
                            fc_error_t *err) {
  fc_exchange_t *x = &c->exchange;
  const fc_owner_t owner = owner_of(&x->peer);
  return fc_body_put(&x->job.call.body, c->loop->blocks, &owner, bytes, left,
                     err);
}

// llhttp found bytes of a chunked body.
static bool on_chunk(void *context, fc_str_t piece) {
  fc_connection_t *c = context;
  c->exchange.body_seen += piece.size;
  return put_body(c, piece, 0, c->loop->parser.err) == FC_OK;
}

static size_t receive_chunked(fc_connection_t *c, fc_str_t bytes) {
  fc_loop_t *loop = c->loop;
  fc_error_t framing_error, error;
  size_t used;
  bool done, complete = false;
  fc_error_reset(&error);
  fc_status_t framing_status =
      fc_framing_chunked(&c->framing, bytes, loop->options->max_body, &used,
                         &done, &framing_error);
  loop->parser.on_body = on_chunk;
  loop->parser.context = c;
  c->parser.data = &loop->parser;
  fc_status_t status =
      fc_parser_read_body(&loop->parser, &c->parser,
                          fc_str_make(bytes.data, used), &complete, &error);
  if (status != FC_OK || framing_status != FC_OK) {
    refuse(c, status != FC_OK ? &error : &framing_error, FC_STAGE_READ);
    return bytes.size;
  }
  if (complete != done ||
      (done && c->framing.body != c->exchange.job.call.body.size)) {
    (void)fc_fail(&error, FC_CODE_HTTP_SYNTAX, "malformed chunked body");
    refuse(c, &error, FC_STAGE_READ);
    return bytes.size;
  }
  if (done) complete_body(c);
  return used;
}

static size_t receive_sized(fc_connection_t *c, fc_str_t bytes) {
  fc_exchange_t *x = &c->exchange;
  size_t size = bytes.size < x->left ? bytes.size : (size_t)x->left;
  x->body_seen += size;
  x->left -= size;
  fc_error_t *error = &c->loop->error;
  if (c->state == FC_CONNECTION_BODY &&
      put_body(c, fc_str_make(bytes.data, size), x->left, error) != FC_OK) {
    refuse(c, error, FC_STAGE_READ);
    return bytes.size;
  }
  if (x->left == 0) complete_body(c);
  return size;
}

// BODY, or DISCARD.
static void begin_body(fc_connection_t *c, fc_connection_state_t state) {
  c->state = (uint8_t)state;
  fc_pace_begin(&c->exchange.body_pace, uv_now(&c->loop->uv));
}

// ---------------------------------------------------------------------------
// READ: heads, ROUTE, ADMIT

static void take_request_id(fc_connection_t *c, fc_str_t given) {
  fc_exchange_t *x = &c->exchange;
  bool good = given.size > 0 && given.size <= sizeof x->id;
  for (size_t i = 0; i < given.size && good; i++) {
    good = given.data[i] > ' ' && given.data[i] < 0x7F;
  }
  if (good) {
    memcpy(x->id, given.data, given.size);
    x->id_size = (uint8_t)given.size;
    return;
  }
  fc_loop_request_id(c->loop, x->id);
  x->id_size = 16;
}

static fc_status_t admit_call(fc_connection_t *c, const fc_request_t *request,
                              fc_error_t *err) {
  fc_exchange_t *x = &c->exchange;
  fc_loop_t *loop = c->loop;
  const fc_server_options_t *options = loop->options;
  fc_native_call_t call;
  FC_TRY(fc_native_check(request, options->max_body, &call, err));
  const fc_generation_t *generation = x->generation;
  if (!loop->modules.started || generation->state == FC_GENERATION_LOADING) {
    return fc_fail(err, FC_CODE_NOT_READY, "modules are still being loaded");
  }
  const fc_function_t *function =
      fc_module_function(generation->module, x->place.function);
  const fc_signature_t *signature = function->signature;
  if (!function->plan) {
    fc_str_t reason = fc_signature_text(signature, signature->reason);
    return fc_fail(err, FC_CODE_UNSUPPORTED_TYPE, "function '%.*s': %.*s",
                   FC_STR_ARG(function->name), FC_STR_ARG(reason));
  }
  bool not_modified;
  FC_TRY(fc_query_check(request, fc_str_make(function->digest, FC_DIGEST_SIZE),
                        &not_modified, err));
  uint64_t timeout_ms = options->timeout;
  if (call.timeout_ms && (!timeout_ms || call.timeout_ms < timeout_ms)) {
    timeout_ms = call.timeout_ms;
  }
  x->job.call.generation = x->place.module;
  x->job.call.function = x->place.function;
  x->job.call.dialect = FC_DIALECT_NATIVE;
  x->job.call.flags = call.validate ? FC_CALL_VALIDATE : 0;
  x->job.call.deadline_ns =
      timeout_ms ? x->began_ns + timeout_ms * 1000000u : 0;
  FC_TRY(fc_pool_admit(&loop->pool, x->job.call.generation,
                       x->job.call.function, x->job.call.deadline_ns,
                       x->marked_ns, &x->retry_after, err));
  const fc_owner_t owner = owner_of(&x->peer);
  return fc_body_open(&x->job.call.body, loop->blocks, &owner, request->length,
                      err);
}

static bool say_continue(fc_connection_t *c) {
  static const char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";
  uv_buf_t buffer = {.base = (char *)(uintptr_t)kContinue,
                     .len = sizeof kContinue - 1};
  int sent = uv_try_write((uv_stream_t *)&c->tcp, &buffer, 1);
  if (sent == (int)buffer.len) return true;
  close_now(c);
  return false;
}

// An answer that does not need the body: it is sent now, and the body thrown
// away, or the connection closed when that would take long.
static void answer_early(fc_connection_t *c, const fc_head_t *head,
                         const fc_error_t *error, fc_stage_t stage) {
  fc_exchange_t *x = &c->exchange;
  bool has_body = head->chunked || head->request.length > 0;
  if (head->chunked || head->request.length > FC_LIMIT_DISCARD ||
      (has_body && head->expects_continue)) {
    c->close_after = true;
  }
  x->left = head->request.length;
  if (has_body && !c->close_after) begin_body(c, FC_CONNECTION_DISCARD);
  else c->state = FC_CONNECTION_WRITE;
  if (error) answer_error(c, error, stage);
  else answer_document(c, &head->request);
}

// Errors after which the next byte of the stream is no beginning of anything.
static bool breaks_framing(fc_code_t code) {
  return code == FC_CODE_HTTP_SYNTAX || code == FC_CODE_URI_TOO_LONG ||
         code == FC_CODE_HEADERS_TOO_LARGE || code == FC_CODE_BODY_TOO_LARGE ||
         code == FC_CODE_REQUEST_TIMEOUT;
}

static fc_status_t route(fc_connection_t *c, const fc_request_t *request,
                         fc_error_t *err) {
  fc_loop_t *loop = c->loop;
  fc_exchange_t *x = &c->exchange;
  fc_peer_t *peer = NULL;
  if (loop->policy.proxies.count) peer = &x->peer;
  FC_TRY(fc_access_check(&loop->policy, request, peer, err));
  fc_status_t status =
      fc_route_find(request, &loop->modules.generations, loop->modules.started,
                    &x->place, err);
  hold_place(c);
  return status;
}

// A head is complete.
static void begin_exchange(fc_connection_t *c, fc_str_t bytes) {
  fc_exchange_t *x = &c->exchange;
  fc_loop_t *loop = c->loop;
  fc_head_t head;
  const fc_request_t *request = &head.request;
  fc_error_t error;
  x->keep_alive = false;
  fc_status_t status =
      fc_parser_read_head(&loop->parser, &c->parser, bytes, &head, &error);
  take_request_id(c, request->fields[FC_FIELD_REQUEST_ID]);
  x->marked_ns = x->began_ns;
  mark(x, FC_STAGE_READ);
  x->method = request->method;
  x->method_name = request->method_name;
  x->http_10 = head.minor == 0;
  if (status != FC_OK && breaks_framing(error.code)) {
    refuse(c, &error, FC_STAGE_READ);
    return;
  }
  x->keep_alive = head.keep_alive;
  x->chunked = head.chunked;
  fc_stage_t stage = FC_STAGE_ROUTE;
  if (status == FC_OK) status = route(c, request, &error);
  mark(x, FC_STAGE_ROUTE);
  bool is_call =
      x->place.route == FC_ROUTE_FUNCTION && request->method == FC_METHOD_POST;
  if (status == FC_OK && is_call) {
    stage = FC_STAGE_ADMIT;
    status = admit_call(c, request, &error);
    mark(x, FC_STAGE_ADMIT);
  }
  if (status != FC_OK && breaks_framing(error.code)) {
    refuse(c, &error, stage);
    return;
  }
  if (status != FC_OK || !is_call) {
    answer_early(c, &head, status != FC_OK ? &error : NULL, stage);
    return;
  }
  x->left = request->length;
  begin_body(c, FC_CONNECTION_BODY);
  if (head.expects_continue && (x->left || x->chunked) && !say_continue(c)) {
    return;
  }
  if (!x->chunked && x->left == 0) complete_body(c);
}

// Returns bytes used; 0 when the head goes on past `bytes`.
static size_t receive_head(fc_connection_t *c, fc_str_t bytes) {
  fc_exchange_t *x = &c->exchange;
  if (!x->began_ns) x->began_ns = fc_clock_ns();
  size_t scanned = (size_t)c->framing.offset, used;
  bool done;
  fc_error_t error;
  fc_str_t rest = fc_str_make(bytes.data + scanned, bytes.size - scanned);
  if (fc_framing_head(&c->framing, rest, &used, &done, &error) != FC_OK) {
    x->keep_alive = false;
    take_request_id(c, FC_STR(""));
    refuse(c, &error, FC_STAGE_READ);
    return bytes.size;
  }
  if (!done) return 0;
  begin_exchange(c, fc_str_make(bytes.data, scanned + used));
  return scanned + used;
}

// ---------------------------------------------------------------------------
// READ: the stash and the stream

// Keeps bytes for later. False when there is no memory: a client that is to be
// answered next hears so, from others the connection is gone.
static bool stash(fc_connection_t *c, fc_str_t bytes) {
  const fc_owner_t owner = owner_of(&c->peer);
  fc_blocks_t *blocks = c->loop->blocks;
  if (fc_stash_put(&c->stash, blocks, &owner, bytes, NULL) == FC_OK) {
    return true;
  }
  if (c->state != FC_CONNECTION_HEAD) {
    close_now(c);
    return false;
  }
  fc_error_t error;
  if (fc_stash_put(&c->stash, blocks, &owner, bytes, &error) == FC_OK) {
    return true;
  }
  take_request_id(c, FC_STR(""));
  c->exchange.keep_alive = false;
  refuse(c, &error, FC_STAGE_READ);
  return false;
}

// Does the state use bytes, or are they kept for later?
static bool uses_bytes(const fc_connection_t *c) {
  return c->state == FC_CONNECTION_HEAD || c->state == FC_CONNECTION_BODY ||
         c->state == FC_CONNECTION_DISCARD;
}

// Uses as many bytes as the state allows; returns how many.
static size_t consume(fc_connection_t *c, fc_str_t bytes) {
  size_t used = 0;
  while (used < bytes.size) {
    fc_str_t rest = fc_str_make(bytes.data + used, bytes.size - used);
    size_t step = 0;
    if (c->state == FC_CONNECTION_HEAD) step = receive_head(c, rest);
    else if (uses_bytes(c)) {
      step = c->exchange.chunked ? receive_chunked(c, rest)
                                 : receive_sized(c, rest);
    }
    if (step == 0) break;
    used += step;
  }
  return used;
}

static void wait_for_more(fc_connection_t *c) {
  if (c->writing) return;
  if (c->state == FC_CONNECTION_HEAD) {
    bool begun = fc_stash_size(&c->stash) > 0;
    if (!begun || c->wait != FC_WAIT_HEAD) {
      fc_loop_wait(c, begun ? FC_WAIT_HEAD : FC_WAIT_IDLE);
    }
  } else if (uses_bytes(c) && c->wait != FC_WAIT_BODY) {
    fc_loop_wait(c, FC_WAIT_BODY);
  }
}

// Goes on after an answer: with what is in the stash, or waiting for more.
static void pump(fc_connection_t *c) {
  if (uses_bytes(c) && fc_stash_size(&c->stash)) {
    size_t used = consume(c, fc_stash_bytes(&c->stash, c->loop->blocks));
    // Closing and lingering have cleared it.
    if (fc_stash_size(&c->stash)) {
      fc_stash_drop(&c->stash, c->loop->blocks, used);
    }
  }
  if (c->state == FC_CONNECTION_CLOSED || c->state == FC_CONNECTION_LINGER) {
    return;
  }
  if (c->input == FC_INPUT_ENDED && uses_bytes(c)) {
    close_now(c);
    return;
  }
  follow_reading(c);
  wait_for_more(c);
}

static fc_connection_t *of_job(fc_job_t *job) {
  size_t offset = offsetof(fc_connection_t, exchange.job);
  return (fc_connection_t *)(void *)((char *)job - offset);
}

void fc_connection_on_done(void *loop, fc_job_t *job) {
  (void)loop;
  fc_connection_t *c = of_job(job);
  answer_call(c);
  pump(c);
}

void fc_connection_on_expired(void *loop, fc_job_t *job) {
  (void)loop;
  fc_connection_t *c = of_job(job);
  fc_error_t error;
  mark(&c->exchange, FC_STAGE_QUEUE);
  (void)fc_fail(&error, FC_CODE_DEADLINE_EXCEEDED,
                "the deadline passed in the queue");
  c->state = FC_CONNECTION_WRITE;
  answer_error(c, &error, FC_STAGE_QUEUE);
  pump(c);
}

static void on_written(uv_write_t *request, int status) {
  fc_connection_t *c = request->data;
  c->writing = false;
  if (c->state == FC_CONNECTION_CLOSED) return;
  if (status < 0) {
    close_now(c);
    return;
  }
  after_answer(c);
  pump(c);
}

static void feed(fc_connection_t *c, fc_str_t bytes) {
  if (fc_stash_size(&c->stash)) {
    if (stash(c, bytes)) pump(c);
    return;
  }
  size_t used = consume(c, bytes);
  if (c->state == FC_CONNECTION_CLOSED || c->state == FC_CONNECTION_LINGER) {
    return;
  }
  if (used < bytes.size) {
    if (!stash(c, fc_str_make(bytes.data + used, bytes.size - used))) return;
    follow_reading(c);
  }
  wait_for_more(c);
}

static void on_end(fc_connection_t *c, bool orderly) {
  c->input = FC_INPUT_ENDED;
  // A running call goes on: the client may have closed its half only. One that
  // waits is dropped, and so is an answer nobody can take.
  bool running = c->state == FC_CONNECTION_CALL &&
                 c->exchange.job.state == FC_JOB_RUNNING &&
                 c->loop->options->cancel == FC_CANCEL_DISCARD;
  if (orderly && (running || c->writing)) return;
  if (c->state == FC_CONNECTION_CALL) {
    fc_metrics_answer(&c->loop->metrics, 499);
    log_access(c, 499, FC_CODE_NONE, 0, false);
  }
  close_now(c);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer) {
  fc_connection_t *c = stream->data;
  if (size < 0) {
    on_end(c, size == UV_EOF);
    return;
  }
  if (size == 0) return;
  fc_loop_t *loop = c->loop;
  fc_str_t bytes = fc_str_make(buffer->base, (size_t)size);
  switch (c->state) {
    case FC_CONNECTION_HEAD:
    case FC_CONNECTION_BODY:
    case FC_CONNECTION_DISCARD:
      feed(c, bytes);
      break;
    case FC_CONNECTION_CALL:
    case FC_CONNECTION_WRITE:
      if (stash(c, bytes)) follow_reading(c);
      break;
    default:
      break;
  }
  atomic_fetch_add_explicit(&loop->bytes_in, (uint64_t)size,
                            memory_order_release);
}

// A sized body is read straight into its block, and no further, so that what is
// pipelined behind it stays out. Of what is only kept no more than that is read.
static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
  fc_connection_t *c = handle->data;
  (void)suggested;
  const fc_exchange_t *x = &c->exchange;
  if (c->state == FC_CONNECTION_BODY && !x->chunked &&
      !fc_stash_size(&c->stash)) {
    fc_span_t room = fc_body_room(&x->job.call.body, c->loop->blocks, x->left);
    if (room.size > 1u << 30) room.size = 1u << 30;
    *buffer = uv_buf_init((char *)room.data, (unsigned)room.size);
    return;
  }
  unsigned size = FC_LIMIT_READ;
  if (c->state == FC_CONNECTION_CALL || c->state == FC_CONNECTION_WRITE) {
    size = FC_LIMIT_PIPELINED - fc_stash_size(&c->stash);
  }
  *buffer = uv_buf_init(c->loop->read_buffer, size);
}

static void start_reading(fc_connection_t *c) {
  c->input = FC_INPUT_READ;
  if (uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read)) close_now(c);
}

// Reads are held back while enough is kept for later. A state that uses bytes
// needs more to go on, however many are kept: a head may be larger than that.
static void follow_reading(fc_connection_t *c) {
  bool wanted = uses_bytes(c) || c->state == FC_CONNECTION_LINGER ||
                fc_stash_size(&c->stash) < FC_LIMIT_PIPELINED;
  if (wanted && c->input == FC_INPUT_HELD) {
    start_reading(c);
  } else if (!wanted && c->input == FC_INPUT_READ) {
    uv_read_stop((uv_stream_t *)&c->tcp);
    c->input = FC_INPUT_HELD;
  }
}

// ---------------------------------------------------------------------------

void fc_connection_refuse(fc_loop_t *loop, int socket,
                          const fc_error_t *error) {
  char text[FC_LIMIT_HEAD + REFUSAL_MAX], id[16];
  fc_loop_request_id(loop, id);
  fc_str_t answer =
      print_refusal(loop, error, fc_str_make(id, sizeof id), text);
  (void)send(socket, answer.data, answer.size, MSG_NOSIGNAL | MSG_DONTWAIT);
  // What is not read when the socket closes would take the answer with it.
  (void)recv(socket, loop->read_buffer, FC_LIMIT_READ, MSG_DONTWAIT);
  close(socket);
  fc_metrics_answer(&loop->metrics, fc_http_status(error));
}

void fc_connection_accept(fc_loop_t *loop, int socket,
                          const struct sockaddr *address) {
  fc_connection_t *c = fc_alloc(loop->allocator, sizeof *c);
  if (!c) {
    fc_error_t error;
    (void)fc_fail_memory(&error);
    fc_connection_refuse(loop, socket, &error);
    return;
  }
  c->loop = loop;
  c->peer = fc_peer_of_socket_address(address);
  c->stash = FC_STASH_EMPTY;
  c->exchange.job.call.body.block = FC_BLOCK_NONE;
  reset_exchange(c);
  c->tcp.data = c;
  uv_tcp_init(&loop->uv, &c->tcp);
  c->next = loop->connections;
  if (c->next) c->next->previous = c;
  loop->connections = c;
  loop->connection_count++;
  if (uv_tcp_open(&c->tcp, socket)) {
    close(socket);
    close_now(c);
    return;
  }
  uv_tcp_nodelay(&c->tcp, 1);
  if (loop->connection_count - loop->turned_away > loop->connection_max) {
    c->turned_away = true;
    if (++loop->turned_away > FC_LIMIT_TURNED_AWAY) {
      close_now(c);
      return;
    }
    fc_error_t error;
    (void)fc_fail(&error, FC_CODE_OVERLOADED,
                  "%u connections are open, the "
                  "limit",
                  loop->connection_max);
    c->exchange.began_ns = fc_clock_ns();
    take_request_id(c, FC_STR(""));
    start_reading(c);
    if (c->state != FC_CONNECTION_CLOSED) refuse(c, &error, FC_STAGE_COUNT);
    return;
  }
  start_reading(c);
  if (c->state != FC_CONNECTION_CLOSED) fc_loop_wait(c, FC_WAIT_IDLE);
}

static bool body_is_slow(fc_connection_t *c) {
  fc_exchange_t *x = &c->exchange;
  uint64_t now_ms = uv_now(&c->loop->uv);
  fc_pace_note(&x->body_pace, x->body_seen, now_ms);
  return fc_pace_is_slow(&x->body_pace, now_ms, c->loop->options->body_timeout);
}

// Bytes of the answer that the client's side has confirmed. What is in buffers of
// this side may be megabytes, and says nothing of whether the client still reads.
static uint64_t bytes_taken(fc_connection_t *c) {
  int fd, unsent = 0;
  if (uv_fileno((uv_handle_t *)&c->tcp, &fd) == 0) ioctl(fd, SIOCOUTQ, &unsent);
  uint64_t left = uv_stream_get_write_queue_size((uv_stream_t *)&c->tcp);
  left += unsent > 0 ? (uint64_t)unsent : 0;
  return left < c->write_size ? c->write_size - left : 0;
}

static bool takes_answer(fc_connection_t *c) {
  uint64_t now_ms = uv_now(&c->loop->uv);
  uint64_t patience_ms = c->loop->options->write_timeout;
  fc_pace_note(&c->write_pace, bytes_taken(c), now_ms);
  return !fc_pace_has_stopped(&c->write_pace, now_ms, patience_ms) &&
         !fc_pace_is_slow(&c->write_pace, now_ms, patience_ms);
}

void fc_connection_on_timeout(fc_connection_t *c) {
  fc_error_t error;
  switch ((fc_wait_t)c->wait) {
    case FC_WAIT_HEAD:
      (void)fc_fail(&error, FC_CODE_REQUEST_TIMEOUT,
                    "the request head did not come within %llu ms",
                    (unsigned long long)c->loop->options->head_timeout);
      take_request_id(c, FC_STR(""));
      c->exchange.keep_alive = false;
      break;
    case FC_WAIT_BODY:
      if (!body_is_slow(c)) {
        fc_loop_wait(c, FC_WAIT_BODY);
        return;
      }
      (void)fc_fail(&error, FC_CODE_REQUEST_TIMEOUT,
                    "the body came slower than %d bytes a second",
                    FC_LIMIT_RATE);
      if (c->state == FC_CONNECTION_DISCARD) {  // it has its answer
        begin_linger(c);
        return;
      }
      break;
    case FC_WAIT_WRITE:
      // No use in leaving queued what nobody takes.
      if (takes_answer(c)) fc_loop_wait(c, FC_WAIT_WRITE);
      else close_with(c, true);
      return;
    default:
      close_now(c);
      return;
  }
  refuse(c, &error, FC_STAGE_READ);
}

void fc_connection_drain(fc_connection_t *c) {
  if (c->state == FC_CONNECTION_HEAD && !fc_stash_size(&c->stash)) {
    begin_linger(c);
  }
}

void fc_connection_abandon(fc_connection_t *c) {
  if (c->state == FC_CONNECTION_CALL) {
    fc_pool_drop(&c->loop->pool, &c->exchange.job);
    fc_error_t error;
    (void)fc_fail(&error, FC_CODE_SHUTTING_DOWN, "the server is shutting down");
    refuse(c, &error, FC_STAGE_QUEUE);
  }
  close_now(c);
}
