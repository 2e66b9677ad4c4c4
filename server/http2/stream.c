// SPDX-License-Identifier: Apache-2.0
//
// Turns the head and body of an HTTP/2 request into an exchange, and the exchange's
// answer into frames. The fields of an answer are those that HTTP/1 writes.
#include <stddef.h>

#include "http2/connection.h"

static fc_http2_stream_t *of_exchange(fc_exchange_t *x) {
  const size_t offset = offsetof(fc_http2_stream_t, exchange);
  return (fc_http2_stream_t *)(void *)((char *)x - offset);
}

static fc_http2_stream_t *of_waiting(fc_waiting_t *waiting) {
  return (fc_http2_stream_t *)(void *)waiting;
}

static fc_blocks_t *blocks_of(const fc_http2_stream_t *s) {
  return s->exchange.server->blocks;
}

static void wait_for(fc_http2_stream_t *s, fc_wait_t kind) {
  fc_http1_wait(fc_http2_http1(s->connection), &s->waiting, kind);
}

static void refuse(fc_http2_stream_t *s, const fc_error_t *error,
                   fc_stage_t stage) {
  s->state = FC_HTTP2_WRITE;
  fc_exchange_fail(&s->exchange, error, stage);
}

void fc_http2_stream_consume(fc_http2_stream_t *s, size_t size) {
  (void)nghttp2_session_consume_stream(s->connection->session, s->id, size);
}

// ---------------------------------------------------------------------------
// Bodies

static fc_status_t append(fc_http2_stream_t *s, fc_str_t bytes,
                          fc_error_t *err) {
  fc_exchange_t *x = &s->exchange;
  const uint64_t most = x->server->options->max_body;
  const uint64_t seen = x->body_seen + bytes.size;
  if (seen > most) {
    return fc_fail(err, FC_CODE_BODY_TOO_LARGE,
                   "the body exceeds the limit of %llu bytes",
                   (unsigned long long)most);
  }
  return fc_exchange_append(x, bytes, s->length > seen ? s->length - seen : 0,
                            err);
}

// Opens the stream's window for a body that is needed, so that the client need not wait
// for a confirmation of each 64 KiB. `length` 0: it is not known.
void fc_http2_stream_open_window(const fc_http2_stream_t *s, uint64_t length) {
  uint64_t size = length ? length : FC_LIMIT_READ_BODY;
  if (size > 4 * FC_LIMIT_READ_BODY) size = 4 * FC_LIMIT_READ_BODY;
  if (size <= NGHTTP2_INITIAL_WINDOW_SIZE) return;
  (void)nghttp2_session_set_local_window_size(
      s->connection->session, NGHTTP2_FLAG_NONE, s->id, (int32_t)size);
}

// The client may send as many further bytes as were appended. If the body's length is not
// known, the window becomes larger once a part of it is used: most bodies end before.
static void take_body(fc_http2_stream_t *s, fc_str_t bytes) {
  static const uint64_t kPart = NGHTTP2_INITIAL_WINDOW_SIZE / 4;
  fc_error_t *error = &fc_http2_http1(s->connection)->error;
  const uint64_t before = s->exchange.body_seen;
  if (append(s, bytes, error) != FC_OK) {
    refuse(s, error, FC_STAGE_READ);
    return;
  }
  fc_http2_stream_consume(s, bytes.size);
  const bool is_long = before < kPart && before + bytes.size >= kPart;
  if (is_long && !s->length) fc_http2_stream_open_window(s, 0);
}

static void complete_body(fc_http2_stream_t *s) {
  s->state = FC_HTTP2_CALL;
  fc_exchange_submit(&s->exchange);
  if (s->state == FC_HTTP2_CALL) wait_for(s, FC_WAIT_NONE);
}

static void say_continue(fc_http2_stream_t *s) {
  static const nghttp2_nv kField = {(uint8_t *)(uintptr_t) ":status",
                                    (uint8_t *)(uintptr_t) "100", 7, 3,
                                    NGHTTP2_NV_FLAG_NONE};
  s->continues = !nghttp2_submit_headers(
      s->connection->session, NGHTTP2_FLAG_NONE, s->id, NULL, &kField, 1, NULL);
}

static void receive_body(fc_http2_stream_t *s, const fc_head_t *head) {
  s->state = FC_HTTP2_BODY;
  fc_pace_begin(&s->body_pace, fc_http2_now_ms(s->connection));
  const fc_str_t kept = fc_stash_bytes(&s->body, blocks_of(s));
  if (kept.size) take_body(s, kept);
  fc_stash_clear(&s->body, blocks_of(s));
  if (s->state != FC_HTTP2_BODY) return;
  if (s->ended) {
    complete_body(s);
    return;
  }
  if (head->expects_continue && !kept.size) say_continue(s);
  if (s->length) fc_http2_stream_open_window(s, s->length);
  wait_for(s, FC_WAIT_BODY);
}

// Keeps bytes of a body that come before the head is admitted: one window at most. The
// connection's window is opened, so that other streams go on.
static void keep_body(fc_http2_stream_t *s, fc_str_t bytes) {
  const fc_owner_t owner = fc_exchange_owner(&s->exchange.asker.address);
  fc_error_t *error = &fc_http2_http1(s->connection)->error;
  if (fc_stash_put(&s->body, blocks_of(s), &owner, bytes, error) == FC_OK)
    return;
  if (s->state == FC_HTTP2_WAIT) fc_exchange_drop(&s->exchange);
  fc_http1_resume(fc_http2_http1(s->connection), &s->waiting);
  refuse(s, error, FC_STAGE_READ);
}

static void again(fc_exchange_t *x);

static bool peeks(const fc_http2_stream_t *s) {
  return s->state == FC_HTTP2_WAIT && s->exchange.wait.peeks;
}

// Are there enough new bytes to look for the model's name again? They must have
// doubled, so that small pieces cost little.
static bool has_more(const fc_http2_stream_t *s) {
  const uint32_t size = fc_stash_size(&s->body);
  return size >= 2 * (uint64_t)s->looked || size >= FC_LIMIT_PEEK;
}

void fc_http2_stream_body(fc_http2_stream_t *s, fc_str_t bytes) {
  (void)nghttp2_session_consume_connection(s->connection->session, bytes.size);
  switch ((fc_http2_state_t)s->state) {
    case FC_HTTP2_PARTS:
      if (s->messages) fc_http2_messages_body(s, bytes);
      break;
    case FC_HTTP2_HEAD:
    case FC_HTTP2_WAIT:
      keep_body(s, bytes);
      if (peeks(s) && has_more(s)) again(&s->exchange);
      break;
    case FC_HTTP2_BODY:
      take_body(s, bytes);
      break;
    default:  // bytes of a body that is not needed are not confirmed
      break;
  }
}

void fc_http2_stream_end(fc_http2_stream_t *s) {
  s->ended = true;
  if (s->state == FC_HTTP2_BODY) complete_body(s);
  else if (s->messages) fc_http2_messages_go_on(s);
  else if (peeks(s)) again(&s->exchange);
}

// ---------------------------------------------------------------------------
// Heads

void fc_http2_stream_field(fc_http2_stream_t *s, fc_str_t name,
                           fc_str_t value) {
  const fc_owner_t owner = fc_exchange_owner(&s->exchange.asker.address);
  const fc_str_t parts[] = {name, FC_STR(": "), value, FC_STR("\r\n")};
  const bool is_target = fc_str_equal(name, FC_STR(":path"));
  if (fc_str_equal(name, FC_STR(":method")) &&
      fc_str_equal(value, FC_STR("HEAD"))) {
    s->exchange.asked.method = FC_METHOD_HEAD;  // also if the head is refused
  }
  if (s->refusal) return;
  if (is_target && value.size > FC_LIMIT_TARGET) {
    s->refusal = FC_CODE_URI_TOO_LONG;
    return;
  }
  s->fields += name.data[0] != ':';
  if (!is_target) s->head_size += (uint32_t)(name.size + value.size + 4);
  if (s->fields > FC_LIMIT_FIELDS || s->head_size > FC_LIMIT_HEADERS) {
    s->refusal = FC_CODE_HEADERS_TOO_LARGE;
    return;
  }
  fc_error_t *error = &fc_http2_http1(s->connection)->error;
  if (fc_stash_put_parts(&s->head, blocks_of(s), &owner, parts,
                         FC_ARRAY_COUNT(parts), error) != FC_OK) {
    s->refusal = (uint8_t)error->code;
  }
}

// Answers a request without its body.
static void answer_early(fc_http2_stream_t *s, const fc_head_t *head,
                         const fc_error_t *error) {
  fc_exchange_t *x = &s->exchange;
  s->state = FC_HTTP2_WRITE;
  if (error) fc_exchange_fail(x, error, (fc_stage_t)x->times.stage);
  else fc_exchange_document(x, &head->request);
  if (!x->draft) return;
  s->state = FC_HTTP2_CALL;
  wait_for(s, FC_WAIT_NONE);
}

static fc_status_t read_head(fc_http2_stream_t *s, fc_head_t *out_head,
                             fc_error_t *err) {
  FC_TRY(fc_http2_read_head(fc_stash_bytes(&s->head, blocks_of(s)), out_head,
                            err));
  fc_request_t *request = &out_head->request;
  const fc_str_t kept = fc_stash_bytes(&s->body, blocks_of(s));
  request->begin = kept;
  request->begin_is_all = s->ended;
  request->has_body = s->has_body || request->length > 0;
  if (!out_head->has_length && kept.size >= FC_MESSAGE_HEAD &&
      fc_request_is_grpc(request)) {
    request->length = FC_MESSAGE_HEAD + (uint64_t)fc_message_size(kept);
  }
  s->length = request->length;
  return FC_OK;
}

// The body names the model, but too little of the body has come.
static void wait_for_more(fc_http2_stream_t *s) {
  s->state = FC_HTTP2_WAIT;
  if (!s->looked) fc_pace_begin(&s->body_pace, fc_http2_now_ms(s->connection));
  s->looked = fc_stash_size(&s->body);
  wait_for(s, FC_WAIT_BODY);
}

static void admit(fc_http2_stream_t *s) {
  fc_exchange_t *x = &s->exchange;
  fc_head_t head;
  fc_error_t *error = &fc_http2_http1(s->connection)->error;
  fc_status_t status = read_head(s, &head, error);
  fc_exchange_take(x, &head.request);
  if (status == FC_OK) status = fc_exchange_admit(x, &head.request, error);
  if (status == FC_OK && x->asked.is_stream) {
    fc_http2_messages_begin(s);  // the head is the head of each message
    return;
  }
  if (status == FC_OK && x->wait.peeks) {
    wait_for_more(s);
    return;
  }
  if (status == FC_OK && x->wait.on) {
    s->state = FC_HTTP2_WAIT;
    wait_for(s, x->wait.slowed ? FC_WAIT_SLOWED : FC_WAIT_NONE);
    return;
  }
  if (status != FC_OK) answer_early(s, &head, error);
  else if (x->asked.is_call) receive_body(s, &head);
  else answer_early(s, &head, NULL);
  fc_stash_clear(&s->head, blocks_of(s));
}

static void refuse_head(fc_http2_stream_t *s) {
  fc_error_t error;
  const fc_code_t code = (fc_code_t)s->refusal;
  if (code == FC_CODE_URI_TOO_LONG) {
    (void)fc_fail(&error, code, "the target has more than %u bytes",
                  FC_LIMIT_TARGET);
  } else if (code == FC_CODE_HEADERS_TOO_LARGE) {
    (void)fc_fail(&error, code, "the head has more than %u bytes or %u fields",
                  FC_LIMIT_HEADERS, FC_LIMIT_FIELDS);
  } else {
    (void)fc_fail(&error, code, "there is no memory for the head%s",
                  code == FC_CODE_TOO_MANY_REQUESTS
                      ? ": requests of one client hold all they may"
                      : "");
  }
  refuse(s, &error, FC_STAGE_READ);
  fc_stash_clear(&s->head, blocks_of(s));
}

void fc_http2_stream_begin(fc_http2_stream_t *s) {
  fc_http1_t *http1 = fc_http2_http1(s->connection);
  if (s->refusal) refuse_head(s);
  else if (!s->connection->begun++ || !fc_http1_pause(http1, &s->waiting))
    admit(s);
}

// ---------------------------------------------------------------------------
// Answers

void fc_http2_stream_tail(fc_http2_stream_t *s) {
  nghttp2_nv *fields = s->connection->http2->room->fields;
  const size_t count = fc_http2_read_lines(s->tail, 0, fields);
  (void)nghttp2_submit_trailer(s->connection->session, s->id, fields, count);
}

// Sends the head and, if `with_body`, the pieces after it. `tail` has further fields of
// the head.
static void send_head(fc_http2_stream_t *s, const fc_answer_t *what,
                      bool with_body, fc_str_t tail) {
  fc_http2_connection_t *h = s->connection;
  fc_http2_room_t *room = h->http2->room;
  const fc_response_head_t head = {
      .answer = what,
      .length = what->length,
      .no_length = what->status == 204 || what->status == 304 ||
                   what->in_parts || what->tail.size || tail.size,
      .request_id = fc_exchange_id(&s->exchange),
      .date = fc_http1_date(fc_http2_http1(h))};
  char *end = room->head + sizeof room->head;
  const char *begin = fc_response_head(&head, end);
  size_t count = fc_http2_read_fields(fc_str_make(begin, (size_t)(end - begin)),
                                      room->fields);
  count = fc_http2_read_lines(tail, count, room->fields);
  const nghttp2_data_provider pieces = {.source = {.ptr = s},
                                        .read_callback = fc_http2_read_pieces};
  if (!s->refusal) fc_calm_earn(&h->calm, FC_CALM_ANSWER);
  fc_pace_begin(&s->write_pace, fc_http2_now_ms(h));
  wait_for(s, FC_WAIT_WRITE);
  if (nghttp2_submit_response(h->session, s->id, room->fields, count,
                              with_body ? &pieces : NULL)) {
    fc_http2_reset(s, NGHTTP2_INTERNAL_ERROR, FC_HTTP2_REFUSAL_MEMORY);
  }
  fc_http2_send_later(h);
}

static void take_pieces(fc_http2_stream_t *s, const fc_exchange_t *x) {
  s->source = x;
  s->piece = 0;
  s->offset = s->left = 0;
  for (uint32_t i = 0; i < x->out.count; i++) s->left += x->out.pieces[i].size;
}

// Returns the first piece, which has all field lines of an error or a tail.
static fc_str_t text_of(const fc_http2_stream_t *s) {
  const fc_piece_t *piece = &s->exchange.out.pieces[0];
  return fc_str_make(
      (const char *)fc_block_data(blocks_of(s), piece->block) + piece->offset,
      (size_t)piece->size);
}

static void answer(fc_exchange_t *x, const fc_answer_t *what) {
  fc_http2_stream_t *s = of_exchange(x);
  s->state = FC_HTTP2_WRITE;
  take_pieces(s, x);
  const fc_str_t tail = what->is_tail ? text_of(s) : FC_STR("");
  if (x->asked.method == FC_METHOD_HEAD || what->is_tail) s->left = 0;
  s->tail = what->tail;
  send_head(s, what, s->left > 0, tail);
}

static void begin(fc_exchange_t *x, const fc_answer_t *what) {
  fc_http2_stream_t *s = of_exchange(x);
  s->in_parts = x->asked.method != FC_METHOD_HEAD;
  s->state = s->in_parts ? FC_HTTP2_PARTS : FC_HTTP2_WRITE;
  s->part = what->is_cut ? FC_PART_CUT : FC_PART_MORE;
  take_pieces(s, x);
  if (!s->in_parts) s->left = 0;
  s->tail = what->tail;
  send_head(s, what, s->in_parts, FC_STR(""));
}

void fc_http2_stream_send(fc_http2_stream_t *s, const fc_exchange_t *x) {
  fc_http2_connection_t *h = s->connection;
  take_pieces(s, x);
  fc_pace_begin(&s->write_pace, fc_http2_now_ms(h));
  fc_pace_note(&s->write_pace, s->sent, fc_http2_now_ms(h));
  wait_for(s, FC_WAIT_WRITE);
  (void)nghttp2_session_resume_data(h->session, s->id);
  fc_http2_send_later(h);
}

static void part(fc_exchange_t *x, fc_part_end_t part) {
  fc_http2_stream_t *s = of_exchange(x);
  s->part = (uint8_t)part;
  fc_http2_stream_send(s, x);
  if (part != FC_PART_TAIL) return;
  s->part = FC_PART_LAST;
  s->left = 0;
  s->tail = text_of(s);
}

// Sends only the head, which says what is wrong. There is no memory for a body.
static void answer_at_once(fc_exchange_t *x, const fc_answer_t *what,
                           char *body) {
  fc_http2_stream_t *s = of_exchange(x);
  fc_answer_t head = *what;
  const fc_str_t tail =
      what->is_tail ? fc_str_make(body, (size_t)what->length) : FC_STR("");
  head.length = 0;
  s->state = FC_HTTP2_WRITE;
  s->left = 0;
  send_head(s, &head, false, tail);
}

static void again(fc_exchange_t *x) {
  fc_http2_stream_t *s = of_exchange(x);
  s->state = FC_HTTP2_HEAD;
  admit(s);
  fc_http2_send_later(s->connection);
}

static void resume(fc_exchange_t *x) {
  fc_http2_send_later(of_exchange(x)->connection);
}

const fc_carrier_t fc_http2_carrier = {.answer = answer,
                                       .begin = begin,
                                       .part = part,
                                       .answer_at_once = answer_at_once,
                                       .again = again,
                                       .resume = resume};

// The answer was sent, but the client's body still comes. The client gets a moment to
// end it, and then a reset.
static void discard(fc_http2_stream_t *s) {
  s->state = FC_HTTP2_DISCARD;
  wait_for(s, s->ended ? FC_WAIT_NONE : FC_WAIT_LINGER);
}

void fc_http2_stream_sent(fc_http2_stream_t *s) {
  if (s->in_parts && s->part == FC_PART_MORE) {
    wait_for(s, FC_WAIT_NONE);
    if (s->messages) fc_http2_messages_sent(s);
    else fc_exchange_part_sent(&s->exchange);
    return;
  }
  if (s->in_parts && s->part == FC_PART_CUT) return;  // a reset follows
  fc_exchange_sent(&s->exchange);
  discard(s);
}

// ---------------------------------------------------------------------------
// Time-outs

// Does the stream wait only because the connection is slow, whose pace is checked
// separately? Not if a window is closed.
static bool is_held_up(const fc_http2_stream_t *s) {
  nghttp2_session *session = s->connection->session;
  return s->connection->writing &&
         nghttp2_session_get_remote_window_size(session) > 0 &&
         nghttp2_session_get_stream_remote_window_size(session, s->id) > 0;
}

static bool is_taken(fc_http2_stream_t *s) {
  const uint64_t now_ms = fc_http2_now_ms(s->connection);
  const uint64_t patience_ms = s->exchange.server->options->write_timeout;
  if (is_held_up(s)) fc_pace_begin(&s->write_pace, now_ms);
  fc_pace_note(&s->write_pace, s->sent, now_ms);
  return !fc_pace_has_stopped(&s->write_pace, now_ms, patience_ms) &&
         !fc_pace_is_slow(&s->write_pace, now_ms, patience_ms);
}

static void on_body_timeout(fc_http2_stream_t *s) {
  const uint64_t now_ms = fc_http2_now_ms(s->connection);
  fc_pace_note(&s->body_pace, s->exchange.body_seen + fc_stash_size(&s->body),
               now_ms);
  if (!fc_pace_is_slow(&s->body_pace, now_ms,
                       s->exchange.server->options->body_timeout)) {
    wait_for(s, FC_WAIT_BODY);
    return;
  }
  fc_error_t error;
  s->connection->http2->counts.refused[FC_HTTP2_REFUSAL_SLOW]++;
  (void)fc_fail(&error, FC_CODE_REQUEST_TIMEOUT,
                "the body came slower than %d bytes a second", FC_LIMIT_RATE);
  refuse(s, &error, FC_STAGE_READ);
}

static void go_on(fc_waiting_t *waiting) {
  fc_http2_stream_t *s = of_waiting(waiting);
  fc_http2_connection_t *h = s->connection;
  if (s->messages) fc_http2_messages_go_on(s);
  else admit(s);
  fc_http2_send_later(h);
}

static void on_timeout(fc_waiting_t *waiting) {
  fc_http2_stream_t *s = of_waiting(waiting);
  fc_http2_connection_t *h = s->connection;
  const fc_wait_t kind = (fc_wait_t)waiting->wait;
  wait_for(s, FC_WAIT_NONE);
  switch (kind) {
    case FC_WAIT_BODY:
      on_body_timeout(s);
      break;
    case FC_WAIT_SLOWED:
      s->state = FC_HTTP2_HEAD;
      if (!fc_http1_pause(fc_http2_http1(h), waiting)) admit(s);
      break;
    case FC_WAIT_WRITE:
      if (is_taken(s)) wait_for(s, FC_WAIT_WRITE);
      else fc_http2_reset(s, NGHTTP2_CANCEL, FC_HTTP2_REFUSAL_STALLED);
      break;
    default:
      fc_http2_reset(s, NGHTTP2_NO_ERROR, FC_HTTP2_REFUSALS);
      break;
  }
  fc_http2_send_later(h);
}

static const fc_waiting_class_t kWaiting = {.on_timeout = on_timeout,
                                            .go_on = go_on};

// ---------------------------------------------------------------------------
// The beginning and the end of a stream

fc_http2_stream_t *fc_http2_stream_open(fc_http2_connection_t *h, int32_t id,
                                        fc_http2_refusal_t *out_refusal) {
  const fc_http1_t *http1 = fc_http2_http1(h);
  fc_http2_stream_t *s = fc_alloc(http1->allocator, sizeof *s);
  *out_refusal = FC_HTTP2_REFUSAL_MEMORY;
  if (!s) return NULL;
  s->waiting.class = &kWaiting;
  s->connection = h;
  s->id = id;
  s->head = s->body = FC_STASH_EMPTY;
  s->counted = h->count && fc_http2_count(h, &s->count);
  if (h->count && !s->counted) {
    *out_refusal = FC_HTTP2_REFUSAL_STREAMS;
    fc_free(http1->allocator, s);
    return NULL;
  }
  fc_exchange_init(&s->exchange, http1->server, &fc_http2_carrier,
                   h->base->exchange.policy, &h->base->exchange.asker.address);
  s->exchange.asker.user = h->base->exchange.asker.user;
  s->exchange.asker.bound = &h->base->bound;
  s->next = h->streams;
  if (s->next) s->next->previous = s;
  h->streams = s;
  h->count++;
  h->http2->counts.streams++;
  h->http2->counts.open++;
  (void)nghttp2_session_set_stream_user_data(h->session, id, s);
  fc_exchange_start(&s->exchange);
  return s;
}

static bool is_waiting(const fc_http2_stream_t *s) {
  return s->state == FC_HTTP2_WAIT || s->state == FC_HTTP2_CALL ||
         s->state == FC_HTTP2_PARTS;
}

static void unlink_ready(fc_http2_stream_t *s) {
  fc_http2_stream_t **at = &s->connection->ready;
  if (!s->is_ready) return;
  while (*at != s) at = &(*at)->next_ready;
  *at = s->next_ready;
}

void fc_http2_stream_close(fc_http2_stream_t *s) {
  fc_http2_connection_t *h = s->connection;
  fc_http1_t *http1 = fc_http2_http1(h);
  fc_http2_messages_close(s);
  if (is_waiting(s)) {
    fc_exchange_abandoned(&s->exchange);
    fc_exchange_drop(&s->exchange);
  }
  unlink_ready(s);
  wait_for(s, FC_WAIT_NONE);
  fc_http1_resume(http1, &s->waiting);
  fc_exchange_deinit(&s->exchange);
  fc_stash_clear(&s->head, blocks_of(s));
  fc_stash_clear(&s->body, blocks_of(s));
  if (s->next) s->next->previous = s->previous;
  if (s->previous) s->previous->next = s->next;
  else h->streams = s->next;
  h->count--;
  h->http2->counts.open--;
  if (s->counted) fc_http2_uncount(h, &s->count);
  (void)nghttp2_session_set_stream_user_data(h->session, s->id, NULL);
  fc_free(http1->allocator, s);
}

void fc_http2_stream_abandon(fc_http2_stream_t *s) {
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_SHUTTING_DOWN, "the server is shutting down");
  if (s->messages) {
    fc_http2_messages_abandon(s, &error);
  } else if (s->state == FC_HTTP2_PARTS) {
    fc_exchange_cut(&s->exchange, &error);
  } else if (is_waiting(s)) {
    fc_exchange_drop(&s->exchange);
    refuse(s, &error, FC_STAGE_QUEUE);
  }
}
