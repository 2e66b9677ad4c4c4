// SPDX-License-Identifier: Apache-2.0
//
// An HTTP/2 connection from its preface to its end. It lies on a connection of HTTP/1
// (`base`), which keeps the stream below, its place in the list of all connections, and
// the client's count. When HTTP/2 has ended, `base` lingers and closes.
#include "http2/connection.h"

// A connection's window: the most bytes of all its bodies that are not confirmed yet.
#define WINDOW (1 << 20)
#define STREAMS 100u  // the most of one connection

static fc_http2_connection_t *of_base(fc_connection_t *c) { return c->http2; }

static void wait_for(fc_http2_connection_t *h, fc_wait_t kind) {
  if (h->base->waiting.wait != kind) fc_connection_wait(h->base, kind);
}

// ---------------------------------------------------------------------------
// Ending a connection

static void drop_streams(fc_http2_connection_t *h) {
  while (h->streams) fc_http2_stream_close(h->streams);
}

static void unlink_unsent(fc_http2_connection_t *h) {
  fc_http2_connection_t **at = &h->http2->unsent;
  if (!h->is_unsent) return;
  while (*at && *at != h) at = &(*at)->next_unsent;
  if (*at) *at = h->next_unsent;
}

// Frees everything of HTTP/2. The connection belongs to HTTP/1 again.
static void leave(fc_http2_connection_t *h) {
  fc_http1_t *http1 = fc_http2_http1(h);
  drop_streams(h);
  unlink_unsent(h);
  fc_http1_wait(http1, &h->age, FC_WAIT_NONE);
  nghttp2_session_del(h->session);
  fc_free(http1->allocator, h->rest);
  h->base->http2 = NULL;
  fc_free(http1->allocator, h);
}

void fc_http2_linger(fc_http2_connection_t *h) {
  fc_connection_t *c = h->base;
  leave(h);
  fc_connection_hand_back(c);
  fc_connection_linger(c);
}

void fc_http2_close(fc_http2_connection_t *h, bool reset) {
  drop_streams(h);
  fc_http1_wait(fc_http2_http1(h), &h->age, FC_WAIT_NONE);
  fc_connection_close(h->base, reset);
}

void fc_http2_terminate(fc_http2_connection_t *h, uint32_t code,
                        fc_http2_refusal_t refusal) {
  if (h->over) return;
  h->over = true;
  if (refusal != FC_HTTP2_REFUSALS) h->http2->counts.refused[refusal]++;
  (void)nghttp2_session_terminate_session(h->session, code);
  fc_http2_send_later(h);
}

void fc_http2_reset(fc_http2_stream_t *s, uint32_t code,
                    fc_http2_refusal_t refusal) {
  fc_http2_connection_t *h = s->connection;
  if (refusal != FC_HTTP2_REFUSALS) h->http2->counts.refused[refusal]++;
  (void)nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, s->id, code);
  fc_http2_send_later(h);
}

// ---------------------------------------------------------------------------
// The client's count. A connection counts once for each of its streams, or once if it
// has none.

bool fc_http2_count(const fc_http2_connection_t *h,
                    fc_owner_count_t *out_count) {
  fc_server_t *server = h->base->http1->server;
  fc_error_t *error = &h->base->http1->error;
  if (server->connections + server->streams >= server->connection_max ||
      fc_connection_count(h->base, out_count, error) != FC_OK) {
    return false;
  }
  server->streams++;
  return true;
}

void fc_http2_uncount(const fc_http2_connection_t *h, fc_owner_count_t *count) {
  fc_server_t *server = h->base->http1->server;
  server->streams--;
  fc_owners_uncount(&server->client_connections, count);
}

// ---------------------------------------------------------------------------
// Events that the connection waits for

void fc_http2_follow(fc_http2_connection_t *h) {
  if (h->base->state == FC_CONNECTION_CLOSED) return;
  if (h->writing) wait_for(h, FC_WAIT_WRITE);
  else if (h->over) wait_for(h, FC_WAIT_LINGER);
  else if (h->head_id || !h->greeted) wait_for(h, FC_WAIT_HEAD);
  else wait_for(h, h->count ? FC_WAIT_NONE : FC_WAIT_IDLE);
}

static bool is_taken(fc_http2_connection_t *h) {
  fc_stream_t *stream = h->base->stream;
  const uint64_t now_ms = fc_http2_now_ms(h);
  const uint64_t patience_ms =
      fc_http2_http1(h)->server->options->write_timeout;
  const uint64_t left = stream->class->unsent(stream);
  fc_pace_note(&h->write_pace, left < h->written ? h->written - left : 0,
               now_ms);
  return !fc_pace_has_stopped(&h->write_pace, now_ms, patience_ms) &&
         !fc_pace_is_slow(&h->write_pace, now_ms, patience_ms);
}

static void on_timeout(fc_waiting_t *waiting) {
  fc_connection_t *c = (fc_connection_t *)(void *)waiting;
  fc_http2_connection_t *h = of_base(c);
  switch ((fc_wait_t)waiting->wait) {
    case FC_WAIT_WRITE:
      if (is_taken(h)) {
        fc_connection_wait(c, FC_WAIT_WRITE);
        return;
      }
      h->http2->counts.refused[FC_HTTP2_REFUSAL_STALLED]++;
      fc_http2_close(h, true);
      return;
    case FC_WAIT_LINGER:
      fc_http2_close(h, true);
      return;
    case FC_WAIT_HEAD:
      fc_http2_terminate(h, NGHTTP2_ENHANCE_YOUR_CALM, FC_HTTP2_REFUSAL_SLOW);
      break;
    default:
      fc_http2_terminate(h, NGHTTP2_NO_ERROR, FC_HTTP2_REFUSALS);
      break;
  }
  fc_http2_send(h);
}

static void go_on(fc_waiting_t *waiting) { (void)waiting; }

static const fc_waiting_class_t kWaiting = {.on_timeout = on_timeout,
                                            .go_on = go_on};

// ---------------------------------------------------------------------------
// Draining: two GOAWAYs (RFC 9113, 6.8). After the first one the client begins no
// request, but some may be on their way. When the client has confirmed a ping, or after
// FC_LIMIT_LINGER_MS, the second one says which requests are served. The connection
// ends after these.

// Ends streams of messages if the server drains.
static void end_messages(fc_http2_connection_t *h) {
  for (fc_http2_stream_t *next, *s = h->streams; s; s = next) {
    next = s->next;
    if (s->messages) fc_http2_messages_go_on(s);
  }
}

void fc_http2_say_last(fc_http2_connection_t *h) {
  h->leaving = 2;
  fc_http1_wait(fc_http2_http1(h), &h->age, FC_WAIT_NONE);
  (void)nghttp2_submit_goaway(
      h->session, NGHTTP2_FLAG_NONE,
      nghttp2_session_get_last_proc_stream_id(h->session), NGHTTP2_NO_ERROR,
      NULL, 0);
  end_messages(h);
  fc_http2_send_later(h);
}

static void begin_leaving(fc_http2_connection_t *h) {
  if (h->leaving || h->over) return;
  h->leaving = 1;
  (void)nghttp2_submit_shutdown_notice(h->session);
  fc_http1_wait(fc_http2_http1(h), &h->age, FC_WAIT_LINGER);
  fc_http2_send_later(h);
}

static void on_age(fc_waiting_t *waiting) {
  fc_http2_connection_t *h = (fc_http2_connection_t *)(void *)waiting;
  fc_http1_wait(fc_http2_http1(h), waiting, FC_WAIT_NONE);
  if (h->leaving) fc_http2_say_last(h);
  else begin_leaving(h);
}

static const fc_waiting_class_t kAge = {.on_timeout = on_age, .go_on = go_on};

static void drain(fc_connection_t *c) {
  fc_http2_connection_t *h = of_base(c);
  begin_leaving(h);
  // The connection has drained before, because of its age.
  if (h->leaving == 2) end_messages(h);
}

static void abandon(fc_connection_t *c) {
  fc_http2_connection_t *h = of_base(c);
  fc_http2_stream_t *next;
  for (fc_http2_stream_t *s = h->streams; s; s = next) {
    next = s->next;
    fc_http2_stream_abandon(s);
  }
  fc_http2_send(h);  // sends the answers now: after the GOAWAY none are sent
  if (c->http2) {
    fc_http2_terminate(h, NGHTTP2_NO_ERROR, FC_HTTP2_REFUSALS);
    fc_http2_send(h);
  }
  if (c->http2) fc_http2_close(h, false);
  else fc_connection_close(c, false);
}

// ---------------------------------------------------------------------------
// Events of the stream below

static fc_span_t room(void *context) {
  const fc_connection_t *c = context;
  return (fc_span_t){(uint8_t *)c->http1->read_buffer, FC_LIMIT_READ};
}

static void fail_read(fc_http2_connection_t *h, ssize_t why) {
  if (why == NGHTTP2_ERR_NOMEM) {
    fc_http2_terminate(h, NGHTTP2_INTERNAL_ERROR, FC_HTTP2_REFUSAL_MEMORY);
  } else {
    fc_http2_terminate(
        h, NGHTTP2_ENHANCE_YOUR_CALM,
        h->head_id ? FC_HTTP2_REFUSAL_HEAD : FC_HTTP2_REFUSAL_FRAMES);
  }
}

static void receive(fc_http2_connection_t *h, fc_str_t bytes) {
  h->busy = true;
  h->begun = 0;
  h->bodies = 0;
  const ssize_t used =
      h->over ? 0
              : nghttp2_session_mem_recv(
                    h->session, (const uint8_t *)bytes.data, bytes.size);
  h->busy = false;
  if (used < 0) fail_read(h, used);
  else if (!fc_calm_pay_bytes(&h->calm, bytes.size - h->bodies,
                              fc_http2_now_ms(h))) {
    fc_http2_terminate(h, NGHTTP2_ENHANCE_YOUR_CALM, FC_HTTP2_REFUSAL_FRAMES);
  }
}

static void on_read(void *context, fc_str_t bytes) {
  fc_connection_t *c = context;
  fc_http1_t *http1 = c->http1;
  if (c->state == FC_CONNECTION_CLOSED) return;
  receive(of_base(c), bytes);
  fc_http2_send(of_base(c));
  if (c->http2) fc_http2_follow(c->http2);
  atomic_fetch_add_explicit(&http1->bytes_in, bytes.size, memory_order_release);
}

static void on_end(void *context, bool orderly) {
  fc_connection_t *c = context;
  (void)orderly;  // a client that sends no more cannot confirm what it gets
  c->input = FC_INPUT_ENDED;
  fc_http2_close(of_base(c), false);
}

static void on_written(void *context, bool sent) {
  fc_connection_t *c = context;
  fc_http2_on_written(of_base(c), sent);
}

static void on_closed(void *context) {
  fc_connection_t *c = context;
  leave(of_base(c));
  fc_connection_hand_back(c);
  c->stream->events->closed(c);
}

static const fc_stream_events_t kEvents = {.room = room,
                                           .read = on_read,
                                           .ended = on_end,
                                           .written = on_written,
                                           .closed = on_closed};

// ---------------------------------------------------------------------------
// The beginning of a connection

// A client with a smaller share is told that number, so that no stream need be refused.
static uint32_t most_streams(const fc_http2_connection_t *h) {
  const fc_server_t *server = fc_http2_http1(h)->server;
  const uint32_t share =
      fc_exchange_share(server, h->base->exchange.policy->client_connections);
  return share < STREAMS ? share : STREAMS;
}

static bool open_session(fc_http2_connection_t *h) {
  nghttp2_mem memory;
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, most_streams(h)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, FC_LIMIT_HEADERS},
  };
  fc_http2_memory_hooks(&h->memory, &memory);
  return !nghttp2_session_server_new3(&h->session, h->http2->callbacks, h,
                                      h->http2->options, &memory) &&
         !nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings,
                                  FC_ARRAY_COUNT(settings)) &&
         !nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE,
                                                0, WINDOW);
}

// `bytes` lie in the connection's stash. They are the preface, and what came with it.
static bool begin(fc_connection_t *c, fc_str_t bytes) {
  fc_http2_t *http2 = c->http1->http2_context;
  fc_http2_connection_t *h = fc_alloc(c->http1->allocator, sizeof *h);
  if (!h) return false;
  h->age.class = &kAge;
  h->base = c;
  h->http2 = http2;
  h->memory.allocator = c->http1->allocator;
  h->memory.kept = &http2->kept;
  fc_calm_init(&h->calm, fc_http2_now_ms(h));
  c->http2 = h;
  if (!open_session(h)) {
    leave(h);
    return false;
  }
  http2->counts.connections++;
  c->state = FC_CONNECTION_HTTP2;
  c->waiting.class = &kWaiting;
  c->stream->events = &kEvents;
  fc_connection_wait(c, FC_WAIT_HEAD);
  if (c->http1->waits[FC_WAIT_AGE].wait_ms) {
    fc_http1_wait(c->http1, &h->age, FC_WAIT_AGE);
  }
  if (c->http1->server->draining) begin_leaving(h);
  receive(h, bytes);
  fc_stash_clear(&c->stash, c->http1->server->blocks);
  fc_http2_send(h);
  return true;
}

static void count_wrong_preface(void *http2_context) {
  ((fc_http2_t *)http2_context)->counts.refused[FC_HTTP2_REFUSAL_PROTOCOL]++;
}

static const fc_http2_class_t kClass = {
    .begin = begin,
    .count_wrong_preface = count_wrong_preface,
    .drain = drain,
    .abandon = abandon};

static nghttp2_option *make_options(void) {
  nghttp2_option *out;
  if (nghttp2_option_new(&out)) return NULL;
  nghttp2_option_set_no_auto_window_update(out, 1);
  nghttp2_option_set_max_settings(out, 32);
  // Resets are counted here, with other frames (calm.h).
  nghttp2_option_set_stream_reset_rate_limit(out, UINT32_MAX, UINT32_MAX);
  return out;
}

fc_status_t fc_http2_init(fc_http2_t *http2, fc_http1_t *http1,
                          fc_error_t *err) {
  *http2 = (fc_http2_t){.http1 = http1};
  http2->callbacks = fc_http2_make_callbacks();
  http2->options = make_options();
  http2->room = fc_alloc(http1->allocator, sizeof *http2->room);
  if (!http2->callbacks || !http2->options || !http2->room) {
    fc_http2_deinit(http2);
    return fc_fail_memory(err);
  }
  http1->http2 = &kClass;
  http1->http2_context = http2;
  http1->server->http2 = &http2->counts;
  return FC_OK;
}

void fc_http2_deinit(fc_http2_t *http2) {
  if (!http2->http1) return;
  nghttp2_session_callbacks_del(http2->callbacks);
  if (http2->options) nghttp2_option_del(http2->options);
  fc_free(http2->http1->allocator, http2->room);
  fc_http2_kept_deinit(&http2->kept, http2->http1->allocator);
  *http2 = (fc_http2_t){0};
}
