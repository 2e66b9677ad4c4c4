// SPDX-License-Identifier: Apache-2.0
//
// Bytes take this path: on_read -> feed -> receive.c -> exchange -> write.c -> pump. The
// connection is also read while a call runs, so that a client that disconnects is noticed
// at once. Requests that the client pipelines meanwhile are stashed. While the stash
// holds FC_LIMIT_PIPELINED bytes or more, nothing is read. One request is in progress at
// a time, so answers stay in order.
#include "http1/connection.h"

// ---------------------------------------------------------------------------
// The stash

// Keeps bytes for later. False: there is no memory. Then a connection in HEAD or WAIT has
// been answered with that error, and any other is closed. The bytes count for the address
// of the socket, even if that is a proxy's: the head that names the proxy's client may
// not be read yet.
static bool stash(fc_connection_t *c, fc_str_t bytes) {
  const fc_owner_t owner = fc_exchange_owner(&c->exchange.asker.address);
  fc_blocks_t *blocks = c->http1->server->blocks;
  if (fc_stash_put(&c->stash, blocks, &owner, bytes, NULL) == FC_OK) {
    return true;
  }
  if (c->state != FC_CONNECTION_HEAD && c->state != FC_CONNECTION_WAIT) {
    fc_connection_close(c, false);
    return false;
  }
  fc_error_t error;
  if (fc_stash_put(&c->stash, blocks, &owner, bytes, &error) == FC_OK) {
    return true;
  }
  if (c->state == FC_CONNECTION_WAIT) fc_exchange_drop(&c->exchange);
  fc_connection_refuse(c, &error, FC_STAGE_READ);
  return false;
}

// True if the state can use bytes now. False: they are kept for later, or dropped because
// the connection ends.
static bool uses_bytes(const fc_connection_t *c) {
  if (c->waiting.is_paused) return false;
  return c->state == FC_CONNECTION_HEAD || c->state == FC_CONNECTION_BODY ||
         c->state == FC_CONNECTION_DISCARD;
}

// Tells the stream how many bytes of a body are still to come.
static void expect(fc_connection_t *c) {
  const bool sized = c->state == FC_CONNECTION_BODY && !c->is_chunked;
  c->stream->class->expect(c->stream, sized ? c->left : 0);
}

static bool is_over(const fc_connection_t *c) {
  return c->state == FC_CONNECTION_CLOSED || c->state == FC_CONNECTION_LINGER;
}

// ---------------------------------------------------------------------------
// Handling bytes

static void wait_for_more(fc_connection_t *c) {
  if (fc_connection_is_writing(c) || c->waiting.is_paused) return;
  if (c->state == FC_CONNECTION_HEAD) {
    bool begun = fc_stash_size(&c->stash) > 0;
    if (!begun || c->waiting.wait != FC_WAIT_HEAD) {
      fc_connection_wait(c, begun ? FC_WAIT_HEAD : FC_WAIT_IDLE);
    }
  } else if (uses_bytes(c) && c->waiting.wait != FC_WAIT_BODY) {
    fc_connection_wait(c, FC_WAIT_BODY);
  }
}

void fc_connection_pump(fc_connection_t *c) {
  fc_blocks_t *blocks = c->http1->server->blocks;
  if (uses_bytes(c) && fc_stash_size(&c->stash)) {
    size_t used = fc_connection_receive(c, fc_stash_bytes(&c->stash, blocks));
    // A connection in LINGER has cleared its stash already.
    if (fc_stash_size(&c->stash)) fc_stash_drop(&c->stash, blocks, used);
  }
  if (is_over(c)) return;
  if (c->input == FC_INPUT_ENDED && uses_bytes(c)) {
    fc_connection_close(c, false);
    return;
  }
  fc_connection_follow_reading(c);
  wait_for_more(c);
  expect(c);
}

static void feed(fc_connection_t *c, fc_str_t bytes) {
  if (fc_stash_size(&c->stash)) {
    if (stash(c, bytes)) fc_connection_pump(c);
    return;
  }
  size_t used = fc_connection_receive(c, bytes);
  if (is_over(c)) return;
  if (used < bytes.size) {
    if (!stash(c, fc_str_make(bytes.data + used, bytes.size - used))) return;
    fc_connection_follow_reading(c);
  }
  wait_for_more(c);
  expect(c);
}

// ---------------------------------------------------------------------------
// Events of the stream

static void on_read(void *context, fc_str_t bytes) {
  fc_connection_t *c = context;
  fc_http1_t *http1 = c->http1;
  switch (c->state) {
    case FC_CONNECTION_HEAD:
    case FC_CONNECTION_BODY:
    case FC_CONNECTION_DISCARD:
      feed(c, bytes);
      break;
    case FC_CONNECTION_WAIT:
    case FC_CONNECTION_CALL:
    case FC_CONNECTION_PARTS:
    case FC_CONNECTION_WRITE:
      if (stash(c, bytes)) fc_connection_follow_reading(c);
      break;
    default:
      break;
  }
  atomic_fetch_add_explicit(&http1->bytes_in, bytes.size, memory_order_release);
}

static void on_end(void *context, bool orderly) {
  fc_connection_t *c = context;
  c->input = FC_INPUT_ENDED;
  const bool calls = fc_connection_is_waiting(c);
  // After an orderly end the client may have closed only its sending side. So a running
  // call goes on, unless --cancel=kill, and an answer is written completely. A request
  // that still waits is dropped. If the stream is broken, everything is dropped.
  const bool running = calls && fc_exchange_is_running(&c->exchange) &&
                       c->http1->server->options->cancel == FC_CANCEL_DISCARD;
  if (orderly && (running || fc_connection_is_writing(c))) return;
  if (calls) fc_exchange_abandoned(&c->exchange);
  fc_connection_close(c, false);
}

static void on_written(void *context, bool sent) {
  fc_connection_on_written(context, sent);
}

static void on_closed(void *context) {
  fc_connection_t *c = context;
  fc_http1_t *http1 = c->http1;
  fc_exchange_deinit(&c->exchange);
  fc_stash_clear(&c->stash, http1->server->blocks);
  if (c->next) c->next->previous = c->previous;
  if (c->previous) c->previous->next = c->next;
  else http1->connections = c->next;
  http1->server->connections--;
  if (c->turned_away) http1->turned_away--;
  fc_owners_uncount(&http1->server->client_connections, &c->count);
  fc_free(http1->allocator, c);
}

// A sized body that is needed is read directly into its block, but not further, so that
// pipelined bytes after it stay out of the block. While the client waits or an answer is
// written, bytes can only be stashed: then at most as many are read as the stash may
// hold.
static fc_span_t room(void *context) {
  fc_connection_t *c = context;
  const uint32_t kept = fc_stash_size(&c->stash);
  if (c->state == FC_CONNECTION_BODY && !c->is_chunked && !kept) {
    return fc_exchange_room(&c->exchange, c->left);
  }
  size_t size = FC_LIMIT_READ;
  if (fc_connection_is_waiting(c) || c->state == FC_CONNECTION_WRITE) {
    // With the head of a waiting request, the stash can hold more than
    // FC_LIMIT_PIPELINED. Then one byte is read, because the room must not be empty.
    size = kept < FC_LIMIT_PIPELINED ? FC_LIMIT_PIPELINED - kept : 1;
  }
  return (fc_span_t){(uint8_t *)c->http1->read_buffer, size};
}

static const fc_stream_events_t kEvents = {.room = room,
                                           .read = on_read,
                                           .ended = on_end,
                                           .written = on_written,
                                           .closed = on_closed};

// TLS may have negotiated HTTP/2. Then the client must send the preface.
static bool has_said_http2(const fc_connection_t *c) {
  bool (*speaks_http2)(fc_stream_t *) = c->stream->class->speaks_http2;
  return c->state == FC_CONNECTION_HEAD && speaks_http2 &&
         speaks_http2(c->stream);
}

// Handles the first bytes of a connection. HTTP/2 begins with a preface, which no HTTP/1
// request begins with. The preface is searched before the framing validator sees a byte,
// and only once, so later reads cost nothing.
static void on_first_read(void *context, fc_str_t bytes) {
  static const fc_str_t kPreface = FC_STR(FC_HTTP2_PREFACE);
  fc_connection_t *c = context;
  fc_blocks_t *blocks = c->http1->server->blocks;
  const size_t kept = fc_stash_size(&c->stash);
  const size_t left = kPreface.size - kept;
  const size_t size = bytes.size < left ? bytes.size : left;
  if (c->state != FC_CONNECTION_HEAD ||
      memcmp(bytes.data, kPreface.data + kept, size) != 0) {
    c->stream->events = &kEvents;
    if (has_said_http2(c)) fc_connection_close(c, false);
    else on_read(c, bytes);
    return;
  }
  if (!stash(c, bytes)) return;
  atomic_fetch_add_explicit(&c->http1->bytes_in, bytes.size,
                            memory_order_release);
  if (size < left) {
    if (!kept) fc_connection_wait(c, FC_WAIT_HEAD);
    return;
  }
  c->stream->events = &kEvents;
  if (!c->http1->http2->begin(c, fc_stash_bytes(&c->stash, blocks))) {
    fc_connection_close(c, false);
  }
}

static const fc_stream_events_t kFirstEvents = {.room = room,
                                                .read = on_first_read,
                                                .ended = on_end,
                                                .written = on_written,
                                                .closed = on_closed};

static void start_reading(fc_connection_t *c) {
  c->input = FC_INPUT_READ;
  if (c->stream->class->read_start(c->stream)) fc_connection_close(c, false);
}

// Reading stops while the stash is full. A state that uses bytes must read on even if the
// stash is full: a head may be larger than FC_LIMIT_PIPELINED.
void fc_connection_follow_reading(fc_connection_t *c) {
  bool wanted =
      uses_bytes(c) || c->state == FC_CONNECTION_LINGER ||
      (fc_stash_size(&c->stash) < FC_LIMIT_PIPELINED && !c->waiting.is_paused);
  if (wanted && c->input == FC_INPUT_HELD) {
    start_reading(c);
  } else if (!wanted && c->input == FC_INPUT_READ) {
    c->stream->class->read_stop(c->stream);
    c->input = FC_INPUT_HELD;
  }
}

// ---------------------------------------------------------------------------
// The beginning of a connection

static void turn_away(fc_connection_t *c, const fc_error_t *error) {
  fc_http1_t *http1 = c->http1;
  c->turned_away = true;
  if (++http1->turned_away > FC_LIMIT_TURNED_AWAY) {
    fc_connection_close(c, false);
    return;
  }
  fc_exchange_start(&c->exchange);
  start_reading(c);
  if (c->state != FC_CONNECTION_CLOSED) {
    fc_connection_refuse(c, error, FC_STAGE_COUNT);
  }
}

fc_status_t fc_connection_count(const fc_connection_t *c,
                                fc_owner_count_t *out_count, fc_error_t *err) {
  fc_owners_t *all = &c->http1->server->client_connections;
  const fc_policy_t *policy = c->exchange.policy;
  const uint32_t most =
      fc_exchange_share(c->http1->server, policy->client_connections);
  if (fc_networks_have(&policy->proxies, &c->exchange.asker.address))
    return FC_OK;
  const fc_owner_t owner =
      fc_exchange_client(&c->exchange.asker.address, &c->exchange.asker.user);
  if (fc_owners_held(all, &owner) >= most) {
    return fc_fail(err, FC_CODE_TOO_MANY_REQUESTS,
                   "%u connections of this client are open, the limit", most);
  }
  if (!fc_owners_count(all, &owner, out_count)) return fc_fail_memory(err);
  return FC_OK;
}

static fc_status_t admit(fc_connection_t *c, fc_error_t *err) {
  const fc_http1_t *http1 = c->http1;
  const uint32_t most = http1->server->connection_max;
  const uint32_t open = http1->server->connections + http1->server->streams;
  if (open - http1->turned_away > most) {
    return fc_fail(err, FC_CODE_OVERLOADED,
                   "%u connections are open, the limit", most);
  }
  return fc_connection_count(c, &c->count, err);
}

static const fc_waiting_class_t kWaiting;

bool fc_http1_accept(fc_http1_t *http1, const fc_client_t *client) {
  fc_server_t *server = http1->server;
  fc_connection_t *c =
      fc_alloc(http1->allocator, sizeof *c + client->streams->size);
  if (!c) return false;
  c->http1 = http1;
  c->waiting.class = &kWaiting;
  c->stash = FC_STASH_EMPTY;
  c->is_new = true;
  fc_exchange_init(&c->exchange, server, &fc_connection_carrier, client->policy,
                   &client->address);
  c->exchange.asker.user = client->user;
  c->exchange.asker.bound = &c->bound;
  c->next = http1->connections;
  if (c->next) c->next->previous = c;
  http1->connections = c;
  server->connections++;
  c->stream = (fc_stream_t *)(void *)(c + 1);
  const fc_stream_events_t *events = http1->http2 ? &kFirstEvents : &kEvents;
  if (fc_stream_open(c->stream, client->streams, client->source, events, c)) {
    fc_connection_close(c, false);
  } else if (admit(c, &http1->error) != FC_OK) {
    turn_away(c, &http1->error);
  } else {
    start_reading(c);
    if (c->state != FC_CONNECTION_CLOSED) fc_connection_wait(c, FC_WAIT_IDLE);
  }
  return true;
}

// ---------------------------------------------------------------------------
// Time-outs, and the end of a connection

static bool body_is_slow(fc_connection_t *c) {
  const fc_http1_t *http1 = c->http1;
  uint64_t now_ms = http1->now_ms(http1->context);
  const uint64_t unread = c->stream->class->unread(c->stream);
  fc_pace_note(&c->body_pace, c->exchange.body_seen + unread, now_ms);
  return fc_pace_is_slow(&c->body_pace, now_ms,
                         http1->server->options->body_timeout);
}

static void on_head_timeout(fc_connection_t *c) {
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_REQUEST_TIMEOUT,
                "the request head did not come within %llu ms",
                (unsigned long long)c->http1->server->options->head_timeout);
  fc_connection_refuse(c, &error, FC_STAGE_READ);
}

static void on_body_timeout(fc_connection_t *c) {
  if (!body_is_slow(c)) {
    fc_connection_wait(c, FC_WAIT_BODY);
    return;
  }
  if (c->state == FC_CONNECTION_DISCARD) {  // the client has its answer
    fc_connection_linger(c);
    return;
  }
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_REQUEST_TIMEOUT,
                "the body came slower than %d bytes a second", FC_LIMIT_RATE);
  fc_connection_refuse(c, &error, FC_STAGE_READ);
}

// The head is read again. If many clients send wrong tokens, that may have to wait for a
// later turn.
static void on_slowed(fc_connection_t *c) {
  fc_connection_wait(c, FC_WAIT_NONE);
  c->state = FC_CONNECTION_HEAD;
  c->framing = (fc_framing_t){0};
  if (!fc_http1_pause(c->http1, &c->waiting)) fc_connection_pump(c);
}

static void on_timeout(fc_waiting_t *waiting) {
  fc_connection_t *c = (fc_connection_t *)(void *)waiting;
  switch ((fc_wait_t)c->waiting.wait) {
    case FC_WAIT_HEAD:
      on_head_timeout(c);
      break;
    case FC_WAIT_BODY:
      on_body_timeout(c);
      break;
    case FC_WAIT_SLOWED:
      on_slowed(c);
      break;
    case FC_WAIT_WRITE:
      // A client that reads nothing, or too slowly, is reset, and its queued data is
      // dropped.
      if (fc_connection_is_taken(c)) fc_connection_wait(c, FC_WAIT_WRITE);
      else fc_connection_close(c, true);
      break;
    default:
      fc_connection_close(c, false);
      break;
  }
}

static void go_on(fc_waiting_t *waiting) {
  fc_connection_pump((fc_connection_t *)(void *)waiting);
}

static const fc_waiting_class_t kWaiting = {.on_timeout = on_timeout,
                                            .go_on = go_on};

void fc_connection_hand_back(fc_connection_t *c) {
  c->waiting.class = &kWaiting;
  c->stream->events = &kEvents;
}

void fc_connection_drain(fc_connection_t *c) {
  if (c->state != FC_CONNECTION_HEAD || fc_stash_size(&c->stash)) return;
  // On a new connection the first request may already be on its way. If the connection
  // closed now, the client could not know that the request was never read, and might not
  // repeat it.
  if (c->is_new) fc_connection_wait(c, FC_WAIT_LINGER);
  else fc_connection_linger(c);
}

void fc_connection_abandon(fc_connection_t *c) {
  fc_error_t error;
  if (c->state == FC_CONNECTION_PARTS) {
    (void)fc_fail(&error, FC_CODE_SHUTTING_DOWN, "the server is shutting down");
    fc_exchange_cut(&c->exchange, &error);
  } else if (fc_connection_is_waiting(c)) {
    fc_exchange_drop(&c->exchange);
    (void)fc_fail(&error, FC_CODE_SHUTTING_DOWN, "the server is shutting down");
    fc_connection_refuse(c, &error, FC_STAGE_QUEUE);
  }
  fc_connection_close(c, false);
}
