// SPDX-License-Identifier: Apache-2.0
//
// Handles the bytes of a connection: heads, bodies, and bodies that are not needed. The
// framing validator sees each byte of a head or chunked body first, and llhttp only the
// bytes that passed.
#include "http1/connection.h"

void fc_connection_refuse(fc_connection_t *c, const fc_error_t *error,
                          fc_stage_t stage) {
  c->is_last = true;
  c->state = FC_CONNECTION_WRITE;
  fc_exchange_fail(&c->exchange, error, stage);
}

// ---------------------------------------------------------------------------
// Bodies

// `state` is BODY or DISCARD.
static void begin_body(fc_connection_t *c, fc_connection_state_t state) {
  const fc_http1_t *http1 = c->http1;
  c->state = (uint8_t)state;
  fc_pace_begin(&c->body_pace, http1->now_ms(http1->context));
}

static void complete_body(fc_connection_t *c) {
  if (c->state == FC_CONNECTION_BODY) {
    c->state = FC_CONNECTION_CALL;
    fc_exchange_submit(&c->exchange);
    if (c->state == FC_CONNECTION_CALL) fc_connection_wait(c, FC_WAIT_NONE);
  } else if (fc_connection_is_writing(c)) {
    c->state = FC_CONNECTION_WRITE;
  } else {
    fc_connection_end_exchange(c);
  }
}

// llhttp found bytes of a chunked body.
static bool on_chunk(void *context, fc_str_t piece) {
  fc_connection_t *c = context;
  return fc_exchange_append(&c->exchange, piece, 0, c->http1->parser.err) ==
         FC_OK;
}

static size_t receive_chunked(fc_connection_t *c, fc_str_t bytes) {
  fc_parser_t *parser = &c->http1->parser;
  const uint64_t body_max = c->http1->server->options->max_body;
  fc_error_t framing_error, error;
  size_t used;
  bool done, complete = false;
  fc_error_reset(&error);
  fc_status_t framing_status = fc_framing_chunked(&c->framing, bytes, body_max,
                                                  &used, &done, &framing_error);
  parser->on_body = on_chunk;
  parser->context = c;
  c->parser.data = parser;
  fc_status_t status = fc_parser_read_body(
      parser, &c->parser, fc_str_make(bytes.data, used), &complete, &error);
  if (status != FC_OK || framing_status != FC_OK) {
    fc_connection_refuse(c, status != FC_OK ? &error : &framing_error,
                         FC_STAGE_READ);
    return bytes.size;
  }
  if (complete != done ||
      (done && c->framing.body != c->exchange.job.call.body.size)) {
    (void)fc_fail(&error, FC_CODE_HTTP_SYNTAX, "malformed chunked body");
    fc_connection_refuse(c, &error, FC_STAGE_READ);
    return bytes.size;
  }
  if (done) complete_body(c);
  return used;
}

static size_t receive_sized(fc_connection_t *c, fc_str_t bytes) {
  fc_exchange_t *x = &c->exchange;
  size_t size = bytes.size < c->left ? bytes.size : (size_t)c->left;
  fc_error_t *error = &c->http1->error;
  c->left -= size;
  if (c->state == FC_CONNECTION_DISCARD) {
    x->body_seen += size;
  } else if (fc_exchange_append(x, fc_str_make(bytes.data, size), c->left,
                                error) != FC_OK) {
    fc_connection_refuse(c, error, FC_STAGE_READ);
    return bytes.size;
  }
  if (c->left == 0) complete_body(c);
  return size;
}

// ---------------------------------------------------------------------------
// Heads

// Answers without the body: sends the answer now, or begins to write a long document, and
// drops the body. The connection ends after the answer if the body is chunked, has more
// than FC_LIMIT_DISCARD bytes, is only sent after 100 Continue, or comes with a request
// for a long document.
static void answer_early(fc_connection_t *c, const fc_head_t *head,
                         const fc_error_t *error) {
  fc_exchange_t *x = &c->exchange;
  const uint64_t length = head->request.length;
  const bool has_body = head->chunked || length > 0;
  if (head->chunked || length > FC_LIMIT_DISCARD ||
      (has_body && head->expects_continue)) {
    c->is_last = true;
  }
  c->left = length;
  if (has_body && !c->is_last) begin_body(c, FC_CONNECTION_DISCARD);
  else c->state = FC_CONNECTION_WRITE;
  if (error) fc_exchange_fail(x, error, (fc_stage_t)x->times.stage);
  else fc_exchange_document(x, &head->request);
  if (!x->draft) return;
  // While the document is written in parts, bytes are only stashed. The body is not
  // needed, and is dropped because the connection ends after this answer.
  if (has_body) c->is_last = true;
  c->state = FC_CONNECTION_CALL;
  fc_connection_wait(c, FC_WAIT_NONE);
}

// Begins the body, if there is one.
static void receive_body(fc_connection_t *c, const fc_head_t *head) {
  c->left = head->request.length;
  c->is_chunked = head->chunked;
  begin_body(c, FC_CONNECTION_BODY);
  const bool has_body = c->left || c->is_chunked;
  if (!has_body) complete_body(c);
  else if (head->expects_continue) (void)fc_connection_say_continue(c);
}

// `bytes` are a complete head: admits, answers or refuses its request, or makes it wait.
static void begin_exchange(fc_connection_t *c, fc_str_t bytes) {
  fc_exchange_t *x = &c->exchange;
  fc_head_t head;
  fc_error_t *error = &c->http1->error;
  fc_status_t status =
      fc_parser_read_head(&c->http1->parser, &c->parser, bytes, &head, error);
  fc_exchange_take(x, &head.request);
  c->is_http10 = head.minor == 0;
  // Two readers could understand such a head differently, and see the request's end at
  // different places.
  if (status != FC_OK && error->code == FC_CODE_HTTP_SYNTAX) {
    fc_connection_refuse(c, error, FC_STAGE_READ);
    return;
  }
  c->is_last = !head.keep_alive;
  if (status == FC_OK) status = fc_exchange_admit(x, &head.request, error);
  if (status == FC_OK && x->wait.on) {
    c->state = FC_CONNECTION_WAIT;
    fc_connection_wait(c, x->wait.slowed ? FC_WAIT_SLOWED : FC_WAIT_NONE);
  } else if (status != FC_OK && error->code == FC_CODE_BODY_TOO_LARGE) {
    fc_connection_refuse(c, error, (fc_stage_t)x->times.stage);
  } else if (status != FC_OK) {
    answer_early(c, &head, error);
  } else if (x->asked.is_call) {
    receive_body(c, &head);
  } else {
    answer_early(c, &head, NULL);
  }
}

// Does the connection begin with a wrong preface of HTTP/2? Its client would read an
// answer of HTTP/1 as frames, so it gets none (RFC 9113, 3.4). What looks like HTTP/1 by
// its method or its version is answered with 400 (RFC 9112, 2.2).
static bool is_wrong_preface(const fc_connection_t *c, fc_str_t head) {
  return c->http1->http2 && c->is_new &&
         fc_framing_lacks_version(&c->framing) && !fc_parser_knows_method(head);
}

static void refuse_preface(fc_connection_t *c) {
  c->http1->http2->count_wrong_preface(c->http1->http2_context);
  c->is_last = true;
  fc_connection_end_exchange(c);
}

// Returns the number of used bytes. 0: the head is not complete, or its request waits for
// a module. Then the caller keeps the bytes, and the head is read again.
static size_t receive_head(fc_connection_t *c, fc_str_t bytes) {
  fc_exchange_start(&c->exchange);
  size_t scanned = (size_t)c->framing.offset, used;
  bool done;
  fc_error_t *error = &c->http1->error;
  fc_str_t rest = fc_str_make(bytes.data + scanned, bytes.size - scanned);
  if (fc_framing_head(&c->framing, rest, &used, &done, error) != FC_OK) {
    if (is_wrong_preface(c, bytes)) refuse_preface(c);
    else fc_connection_refuse(c, error, FC_STAGE_READ);
    return bytes.size;
  }
  if (!done) return 0;
  begin_exchange(c, fc_str_make(bytes.data, scanned + used));
  return c->state == FC_CONNECTION_WAIT ? 0 : scanned + used;
}

static size_t receive_some(fc_connection_t *c, fc_str_t bytes) {
  switch (c->state) {
    case FC_CONNECTION_HEAD:
      return receive_head(c, bytes);
    case FC_CONNECTION_BODY:
    case FC_CONNECTION_DISCARD:
      return c->is_chunked ? receive_chunked(c, bytes)
                           : receive_sized(c, bytes);
    default:
      return 0;
  }
}

size_t fc_connection_receive(fc_connection_t *c, fc_str_t bytes) {
  size_t used = 0;
  while (used < bytes.size) {
    if (used && c->state == FC_CONNECTION_HEAD &&
        fc_http1_pause(c->http1, &c->waiting))
      break;
    size_t step =
        receive_some(c, fc_str_make(bytes.data + used, bytes.size - used));
    if (step == 0) break;
    used += step;
  }
  return used;
}
