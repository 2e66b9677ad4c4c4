// SPDX-License-Identifier: Apache-2.0
#include "http1/http1.h"

#include <time.h>

#include "http1/connection.h"

fc_status_t fc_http1_init(fc_http1_t *http1, fc_allocator_t allocator,
                          fc_server_t *server,
                          uint64_t (*now_ms)(void *context), void *context,
                          fc_error_t *err) {
  const fc_server_options_t *options = server->options;
  *http1 = (fc_http1_t){.allocator = allocator,
                        .server = server,
                        .now_ms = now_ms,
                        .context = context};
  fc_parser_init(&http1->parser);
  http1->waits[FC_WAIT_IDLE].wait_ms = options->idle_timeout;
  http1->waits[FC_WAIT_HEAD].wait_ms = options->head_timeout;
  http1->waits[FC_WAIT_BODY].wait_ms = options->body_timeout;
  // The progress is checked four times within the time-out. The time-out counts from the
  // last byte that the client took, and only such a check can notice that byte.
  http1->waits[FC_WAIT_WRITE].wait_ms = options->write_timeout / 4;
  http1->waits[FC_WAIT_LINGER].wait_ms = FC_LIMIT_LINGER_MS;
  http1->waits[FC_WAIT_AGE].wait_ms = options->connection_age;
  http1->waits[FC_WAIT_SLOWED].wait_ms = FC_LIMIT_GUESS_WAIT_MS;
  http1->read_buffer = fc_alloc(allocator, FC_LIMIT_READ);
  return http1->read_buffer ? FC_OK : fc_fail_memory(err);
}

void fc_http1_deinit(fc_http1_t *http1) {
  if (!http1->server) return;
  FC_ASSERT(!http1->connections);
  fc_free(http1->allocator, http1->read_buffer);
  *http1 = (fc_http1_t){0};
}

// ---------------------------------------------------------------------------
// Waiting

static void remove_wait(fc_http1_t *http1, fc_waiting_t *w) {
  if (w->wait == FC_WAIT_NONE) return;
  fc_waits_t *waits = &http1->waits[w->wait];
  if (w->previous) w->previous->next = w->next;
  else waits->first = w->next;
  if (w->next) w->next->previous = w->previous;
  else waits->last = w->previous;
  w->next = w->previous = NULL;
  w->wait = FC_WAIT_NONE;
}

void fc_http1_wait(fc_http1_t *http1, fc_waiting_t *w, fc_wait_t kind) {
  remove_wait(http1, w);
  if (kind == FC_WAIT_NONE) return;
  fc_waits_t *waits = &http1->waits[kind];
  w->wait = (uint8_t)kind;
  // The wait is at least a millisecond. fc_http1_expire takes waits from a list until one
  // is not due: it would never end if a renewed wait were due at once.
  w->due_ms =
      http1->now_ms(http1->context) + (waits->wait_ms ? waits->wait_ms : 1);
  w->previous = waits->last;
  if (waits->last) waits->last->next = w;
  else waits->first = w;
  waits->last = w;
}

void fc_http1_expire(fc_http1_t *http1) {
  const uint64_t now = http1->now_ms(http1->context);
  for (int i = FC_WAIT_IDLE; i < FC_WAIT_COUNT; i++) {
    fc_waiting_t *w;
    // Each time-out moves the wait to another list or to the end of this list, or removes
    // it by closing.
    while ((w = http1->waits[i].first) && w->due_ms <= now) {
      w->class->on_timeout(w);
    }
  }
}

uint64_t fc_http1_due_ms(const fc_http1_t *http1) {
  uint64_t due = UINT64_MAX;
  for (int i = FC_WAIT_IDLE; i < FC_WAIT_COUNT; i++) {
    const fc_waiting_t *w = http1->waits[i].first;
    if (w && w->due_ms < due) due = w->due_ms;
  }
  return due;
}

// ---------------------------------------------------------------------------
// Pipelined requests. Each answer costs a system call, and a client can send ten thousand
// requests at once: without a limit, others would wait until all are answered.

static bool has_had_its_time(fc_http1_t *http1) {
  const uint64_t now_ns = fc_clock_ns();
  if (!http1->ahead_ns) http1->ahead_ns = now_ns;
  return now_ns - http1->ahead_ns > FC_LIMIT_AHEAD_TURN_NS;
}

bool fc_http1_pause(fc_http1_t *http1, fc_waiting_t *w) {
  if (!has_had_its_time(http1)) return false;
  w->is_paused = true;
  w->next_paused = NULL;
  w->previous_paused = http1->paused_last;
  if (http1->paused_last) http1->paused_last->next_paused = w;
  else http1->paused_first = w;
  http1->paused_last = w;
  return true;
}

void fc_http1_resume(fc_http1_t *http1, fc_waiting_t *w) {
  if (!w->is_paused) return;
  w->is_paused = false;
  if (w->previous_paused) w->previous_paused->next_paused = w->next_paused;
  else http1->paused_first = w->next_paused;
  if (w->next_paused) w->next_paused->previous_paused = w->previous_paused;
  else http1->paused_last = w->previous_paused;
}

bool fc_http1_go_on(fc_http1_t *http1) {
  const fc_waiting_t *last = http1->paused_last;
  http1->ahead_ns = 0;
  while (http1->paused_first && !has_had_its_time(http1)) {
    fc_waiting_t *w = http1->paused_first;
    fc_http1_resume(http1, w);
    const bool is_last = w == last;
    w->class->go_on(w);
    if (is_last) break;  // requests after it were paused in this turn
  }
  if (!http1->paused_first) http1->ahead_ns = 0;
  return http1->paused_first;
}

// ---------------------------------------------------------------------------
// The end of all connections

// Draining and abandoning may close a connection. It stays in the list until its stream
// reports the close (on_closed), which happens later.
void fc_http1_drain(fc_http1_t *http1) {
  for (fc_connection_t *c = http1->connections; c; c = c->next) {
    if (c->http2) http1->http2->drain(c);
    else fc_connection_drain(c);
  }
}

void fc_http1_abandon(fc_http1_t *http1) {
  for (fc_connection_t *c = http1->connections; c; c = c->next) {
    if (c->http2) http1->http2->abandon(c);
    else fc_connection_abandon(c);
  }
}

// ---------------------------------------------------------------------------
// The date, and answers without a connection

fc_str_t fc_http1_date(fc_http1_t *http1) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (now.tv_sec != http1->date_s) {
    http1->date_s = now.tv_sec;
    fc_response_date(now.tv_sec, http1->date);
  }
  return fc_str_make(http1->date, FC_RESPONSE_DATE_SIZE - 1);
}

fc_str_t fc_http1_refusal(fc_http1_t *http1, const fc_error_t *error,
                          char text[FC_HTTP1_REFUSAL_MAX]) {
  char id[FC_EXCHANGE_ID_SIZE];
  char *body = text + FC_LIMIT_HEAD;
  const fc_answer_t answer =
      fc_exchange_refusal(http1->server, error, body, id);
  const fc_response_head_t head = {.answer = &answer,
                                   .length = answer.length,
                                   .close = true,
                                   .request_id = fc_str_make(id, sizeof id),
                                   .date = fc_http1_date(http1)};
  const char *begin = fc_response_head(&head, body);
  return fc_str_make(begin, (size_t)(body - begin) + (size_t)answer.length);
}
