// SPDX-License-Identifier: Apache-2.0
//
// A status of 2xx means that the collector has accepted the document. The document is
// sent again after 429, 502, 503 or 504, as the protocol requires, and if there is no
// connection or no HTTP answer. The first wait is a second, and each further wait is
// twice as long. The document is dropped after five attempts, and at once after any other
// status. on_gone has an exception.
#include "otlp/otlp.h"

#include <stdio.h>

#define REQUESTS_MAX 64  // of a document
// How often smaller documents are sent, and time-outs are checked.
#define TICK_MS 1000
// How long an address has to accept, and then to answer.
#define ANSWER_MS 10000
// The wait after a document's first failure; doubled each time.
#define RETRY_MS 1000
#define ATTEMPTS 5
#define END_MS 1000  // how long the server's end may wait for spans
#define DOCUMENT_MAX (1u << 20)

static void work(fc_otlp_t *otlp);

static uint64_t now_ms(const fc_otlp_t *otlp) { return uv_now(otlp->uv); }

// ---------------------------------------------------------------------------
// The end of a document

static void forget_document(fc_otlp_t *otlp) {
  fc_text_reset(&otlp->document);
  otlp->span_count = 0;
  otlp->attempts = 0;
}

static void on_closed(uv_handle_t *handle) {
  fc_otlp_t *otlp = handle->data;
  otlp->state = FC_OTLP_CLOSED;
  if (!uv_is_closing((uv_handle_t *)&otlp->timer)) work(otlp);
}

static void disconnect(fc_otlp_t *otlp) {
  if (uv_is_closing((uv_handle_t *)&otlp->tcp)) return;
  otlp->state = FC_OTLP_CLOSING;
  uv_close((uv_handle_t *)&otlp->tcp, on_closed);
}

static void drop_document(fc_otlp_t *otlp) {
  otlp->spans.dropped += otlp->span_count;
  forget_document(otlp);
}

static void note_failure(fc_otlp_t *otlp, const char *why) {
  otlp->spans.failures++;
  if (!otlp->failing) {
    const fc_log_field_t fields[] = {
        FC_LOG_TEXT("collector", fc_str(otlp->collector.host)),
        FC_LOG_TEXT("port", fc_str(otlp->collector.port)),
        FC_LOG_TEXT("reason", fc_str(why)),
    };
    fc_log_fields(otlp->log, FC_LOG_WARN, FC_STR("spans are not taken"), fields,
                  FC_ARRAY_COUNT(fields));
  }
  otlp->failing = true;
}

// Called when the document was not accepted and may be sent again.
static void retry(fc_otlp_t *otlp, const char *why) {
  note_failure(otlp, why);
  otlp->retry_ms = now_ms(otlp) + ((uint64_t)RETRY_MS << otlp->attempts);
  if (++otlp->attempts == ATTEMPTS) drop_document(otlp);
}

// An answer can come while libuv still writes the document. Then the connection is closed
// first: libuv no longer reads the document, which can be freed. libuv owns `write` until
// on_closed, and nothing is sent before.
static void take_answer(fc_otlp_t *otlp) {
  const int status = otlp->parser.status_code;
  const bool stays = llhttp_should_keep_alive(&otlp->parser) &&
                     !otlp->writing && !otlp->ending;
  char why[32];
  if (!stays) disconnect(otlp);
  snprintf(why, sizeof why, "status %d", status);
  if (status >= 200 && status < 300) {
    otlp->spans.exported += otlp->span_count;
    if (otlp->failing) {
      fc_log(otlp->log, FC_LOG_INFO, "spans are taken again");
    }
    otlp->failing = false;
    forget_document(otlp);
  } else if (status == 429 || (status >= 502 && status <= 504)) {
    retry(otlp, why);
  } else {
    note_failure(otlp, why);
    drop_document(otlp);
  }
  if (!stays) return;
  otlp->state = FC_OTLP_OPEN;
  otlp->reused = true;
  work(otlp);
}

// ---------------------------------------------------------------------------
// Reading the answer

static int on_message(llhttp_t *parser) {
  fc_otlp_t *otlp = parser->data;
  if (parser->status_code < 200) return 0;  // the answer is still to come
  otlp->answered = true;
  return HPE_PAUSED;
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *out) {
  fc_otlp_t *otlp = handle->data;
  (void)suggested;
  *out = uv_buf_init(otlp->answer, sizeof otlp->answer);
}

// Called when the connection has closed. A collector may close an idle connection just
// when the next document is sent. On a reused connection this is not a failure, and the
// document is sent again at once.
static void on_gone(fc_otlp_t *otlp, const char *why) {
  const bool was_sending = otlp->state == FC_OTLP_SENDING;
  if (was_sending && otlp->reused) otlp->retry_ms = 0;
  else if (was_sending) retry(otlp, why);
  disconnect(otlp);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer) {
  fc_otlp_t *otlp = stream->data;
  if (size == 0) return;
  // An answer without a length ends with the connection.
  if (size == UV_EOF && otlp->state == FC_OTLP_SENDING) {
    (void)llhttp_finish(&otlp->parser);
    if (otlp->answered) {
      take_answer(otlp);
      return;
    }
  }
  if (size < 0) {
    on_gone(otlp, size == UV_EOF ? "it closed the connection"
                                 : uv_strerror((int)size));
    return;
  }
  // The collector sent bytes that no document asked for.
  if (otlp->state != FC_OTLP_SENDING) {
    disconnect(otlp);
    return;
  }
  const enum llhttp_errno code =
      llhttp_execute(&otlp->parser, buffer->base, (size_t)size);
  if (otlp->answered) {
    take_answer(otlp);
  } else if (code != HPE_OK) {
    retry(otlp, "its answer is not HTTP");
    disconnect(otlp);
  }
}

// ---------------------------------------------------------------------------
// Sending the document

static void on_sent(uv_write_t *request, int status) {
  fc_otlp_t *otlp = request->data;
  otlp->writing = false;
  if (status && otlp->state == FC_OTLP_SENDING) {
    on_gone(otlp, uv_strerror(status));
  }
}

static void send_document(fc_otlp_t *otlp) {
  const fc_collector_t *to = &otlp->collector;
  const fc_str_t body = fc_text_str(&otlp->document);
  const int size = snprintf(
      otlp->head, sizeof otlp->head,
      "POST %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nContent-Type: application/json\r\n"
      "Content-Length: %zu\r\nUser-Agent: farcalld\r\n\r\n",
      to->path, to->literal ? "[" : "", to->host, to->literal ? "]" : "",
      to->port, body.size);
  FC_ASSERT(size > 0 && (size_t)size < sizeof otlp->head);
  const uv_buf_t parts[] = {
      uv_buf_init(otlp->head, (unsigned)size),
      uv_buf_init((char *)(uintptr_t)body.data, (unsigned)body.size)};
  llhttp_init(&otlp->parser, HTTP_RESPONSE, &otlp->settings);
  otlp->parser.data = otlp;
  otlp->answered = false;
  otlp->state = FC_OTLP_SENDING;
  otlp->due_ms = now_ms(otlp) + ANSWER_MS;
  const int failed =
      uv_write(&otlp->write, (uv_stream_t *)&otlp->tcp, parts, 2, on_sent);
  if (failed) on_gone(otlp, uv_strerror(failed));
  else otlp->writing = true;
}

// Tries the next address. After the last one the attempt has failed, and the next attempt
// looks the name up again.
static void give_up_address(fc_otlp_t *otlp, const char *why) {
  if (!otlp->address) retry(otlp, why);
  disconnect(otlp);
}

static void on_connected(uv_connect_t *request, int status) {
  fc_otlp_t *otlp = request->data;
  if (status == UV_ECANCELED) return;  // the connection is being closed
  int failed = status;
  if (!failed) {
    failed = uv_read_start((uv_stream_t *)&otlp->tcp, give_room, on_read);
  }
  if (failed) {
    give_up_address(otlp, uv_strerror(failed));
    return;
  }
  otlp->address = NULL;
  otlp->state = FC_OTLP_OPEN;
  otlp->reused = false;
  work(otlp);
}

static void connect_next(fc_otlp_t *otlp) {
  const struct sockaddr *address = otlp->address->ai_addr;
  otlp->address = otlp->address->ai_next;
  int failed = uv_tcp_init(otlp->uv, &otlp->tcp);
  otlp->tcp.data = otlp;
  if (failed) {
    otlp->state = FC_OTLP_CLOSED;
    retry(otlp, uv_strerror(failed));
    return;
  }
  (void)uv_tcp_nodelay(&otlp->tcp, 1);
  otlp->state = FC_OTLP_CONNECTING;
  otlp->due_ms = now_ms(otlp) + ANSWER_MS;
  failed = uv_tcp_connect(&otlp->connect, &otlp->tcp, address, on_connected);
  if (failed) give_up_address(otlp, uv_strerror(failed));
}

static void on_found(uv_async_t *bell) {
  fc_otlp_t *otlp = bell->data;
  if (otlp->found) freeaddrinfo(otlp->found);
  const int failed = fc_lookup_end(otlp->lookup, &otlp->found);
  otlp->lookup = NULL;
  otlp->address = otlp->found;
  otlp->state = FC_OTLP_CLOSED;
  if (failed) retry(otlp, gai_strerror(failed));
  else connect_next(otlp);
}

static void find_collector(fc_otlp_t *otlp) {
  otlp->lookup = fc_lookup_begin(&otlp->collector, &otlp->bell);
  if (otlp->lookup) otlp->state = FC_OTLP_RESOLVING;
  else retry(otlp, "its name cannot be looked up");
}

// ---------------------------------------------------------------------------
// Documents, and what each turn does

static bool has_document(const fc_otlp_t *otlp) {
  return fc_text_str(&otlp->document).size > 0;
}

// Writes the next document, unless there is one already or nothing to export. If it
// cannot be written, its spans are dropped.
static void make_document(fc_otlp_t *otlp) {
  if (has_document(otlp) || !otlp->spans.count) return;
  uint64_t count;
  if (fc_spans_write(&otlp->spans, REQUESTS_MAX, &count, &otlp->document.sink,
                     NULL) == FC_OK) {
    otlp->span_count = count;
    return;
  }
  // There was no memory, or the document was too long.
  otlp->span_count = count;
  drop_document(otlp);
}

// Sends the document; if necessary, first looks up the name and connects. Does nothing
// while one of these is in progress, before retry_ms, and if there are neither a document
// nor enough requests for one (while the server drains, one request is enough).
static void work(fc_otlp_t *otlp) {
  const bool full = otlp->spans.count >= REQUESTS_MAX || otlp->ending;
  if (now_ms(otlp) < otlp->retry_ms) return;
  if (otlp->state != FC_OTLP_OPEN && otlp->state != FC_OTLP_CLOSED) return;
  if (!has_document(otlp) && !full) return;
  make_document(otlp);
  if (!has_document(otlp)) return;
  if (otlp->state == FC_OTLP_OPEN) send_document(otlp);
  else if (otlp->address) connect_next(otlp);
  else find_collector(otlp);
}

static void on_tick(uv_timer_t *timer) {
  fc_otlp_t *otlp = timer->data;
  if (otlp->state == FC_OTLP_CONNECTING && now_ms(otlp) >= otlp->due_ms) {
    give_up_address(otlp, "it does not answer");
    return;
  }
  if (otlp->state == FC_OTLP_SENDING && now_ms(otlp) >= otlp->due_ms) {
    retry(otlp, "it does not answer");
    disconnect(otlp);
    return;
  }
  if (now_ms(otlp) < otlp->retry_ms) return;
  if (otlp->state == FC_OTLP_OPEN || otlp->state == FC_OTLP_CLOSED) {
    make_document(otlp);
    work(otlp);
  }
}

fc_status_t fc_otlp_init(fc_otlp_t *otlp, uv_loop_t *uv,
                         fc_allocator_t allocator,
                         const fc_collector_t *collector,
                         const char *const *stages, fc_log_t *log,
                         fc_error_t *err) {
  *otlp = (fc_otlp_t){.uv = uv, .log = log, .collector = *collector};
  if (!collector->host[0]) return FC_OK;
  uint64_t seed;
  if (uv_random(NULL, NULL, &seed, sizeof seed, 0, NULL)) seed = fc_clock_ns();
  FC_TRY(fc_spans_init(&otlp->spans, allocator, seed, stages, err));
  fc_text_init(&otlp->document, allocator, DOCUMENT_MAX);
  llhttp_settings_init(&otlp->settings);
  otlp->settings.on_message_complete = on_message;
  otlp->timer.data = otlp->bell.data = otlp;
  otlp->connect.data = otlp->write.data = otlp;
  const int failed = uv_async_init(uv, &otlp->bell, on_found);
  if (failed) {
    return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "cannot export spans: %s",
                   uv_strerror(failed));
  }
  uv_timer_init(uv, &otlp->timer);
  uv_timer_start(&otlp->timer, on_tick, TICK_MS, TICK_MS);
  return FC_OK;
}

void fc_otlp_turn(fc_otlp_t *otlp) {
  if (otlp->spans.count >= REQUESTS_MAX || otlp->ending) work(otlp);
}

void fc_otlp_end(fc_otlp_t *otlp) {
  if (!otlp->spans.ring) return;
  otlp->ending = true;
  otlp->end_ms = now_ms(otlp) + END_MS;
  otlp->retry_ms = 0;
  otlp->failing = false;
  work(otlp);
}

bool fc_otlp_is_busy(const fc_otlp_t *otlp) {
  if (!otlp->ending || otlp->failing) return false;
  if (now_ms(otlp) >= otlp->end_ms) return false;
  return has_document(otlp) || otlp->spans.count;
}

void fc_otlp_leave(fc_otlp_t *otlp) {
  fc_lookup_leave(otlp->lookup);
  otlp->lookup = NULL;
}

void fc_otlp_deinit(fc_otlp_t *otlp) {
  if (!otlp->spans.ring) return;
  if (otlp->found) freeaddrinfo(otlp->found);
  fc_spans_deinit(&otlp->spans);
  fc_text_deinit(&otlp->document);
}
