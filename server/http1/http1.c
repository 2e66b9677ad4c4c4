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
  // A check is due four times within the time-out: the time-out counts from the
  // last byte that the client took, and only a check can notice that.
  http1->waits[FC_WAIT_WRITE].wait_ms = options->write_timeout / 4;
  http1->waits[FC_WAIT_LINGER].wait_ms = FC_LIMIT_LINGER_MS;
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

static void remove_wait(fc_connection_t *c) {
  if (c->wait == FC_WAIT_NONE) return;
  fc_waits_t *waits = &c->http1->waits[c->wait];
  if (c->previous_wait) c->previous_wait->next_wait = c->next_wait;
  else waits->first = c->next_wait;
  if (c->next_wait) c->next_wait->previous_wait = c->previous_wait;
  else waits->last = c->previous_wait;
  c->next_wait = c->previous_wait = NULL;
  c->wait = FC_WAIT_NONE;
}

void fc_http1_wait(fc_connection_t *c, fc_wait_t kind) {
  remove_wait(c);
  if (kind == FC_WAIT_NONE) return;
  fc_http1_t *http1 = c->http1;
  fc_waits_t *waits = &http1->waits[kind];
  c->wait = (uint8_t)kind;
  // At least a millisecond: fc_http1_expire takes connections from a list until
  // one is not due. It would never end if a connection that waits again were
  // due at once.
  c->due_ms =
      http1->now_ms(http1->context) + (waits->wait_ms ? waits->wait_ms : 1);
  c->previous_wait = waits->last;
  if (waits->last) waits->last->next_wait = c;
  else waits->first = c;
  waits->last = c;
}

void fc_http1_expire(fc_http1_t *http1) {
  const uint64_t now = http1->now_ms(http1->context);
  for (int i = FC_WAIT_IDLE; i < FC_WAIT_COUNT; i++) {
    fc_connection_t *c;
    // Each time-out moves the connection to another list or to the end of this
    // one, or out of all when it closes.
    while ((c = http1->waits[i].first) && c->due_ms <= now) {
      fc_connection_on_timeout(c);
    }
  }
}

uint64_t fc_http1_due_ms(const fc_http1_t *http1) {
  uint64_t due = UINT64_MAX;
  for (int i = FC_WAIT_IDLE; i < FC_WAIT_COUNT; i++) {
    const fc_connection_t *c = http1->waits[i].first;
    if (c && c->due_ms < due) due = c->due_ms;
  }
  return due;
}

// ---------------------------------------------------------------------------
// Requests that are sent ahead. Each costs a system call for its answer, and a client can
// send ten thousand at once: others would wait until all are answered.

static bool has_had_its_time(fc_http1_t *http1) {
  const uint64_t now_ns = fc_clock_ns();
  if (!http1->ahead_ns) http1->ahead_ns = now_ns;
  return now_ns - http1->ahead_ns > FC_LIMIT_AHEAD_TURN_NS;
}

bool fc_http1_pause(fc_connection_t *c) {
  fc_http1_t *http1 = c->http1;
  if (!has_had_its_time(http1)) return false;
  c->is_paused = true;
  c->next_paused = NULL;
  c->previous_paused = http1->paused_last;
  if (http1->paused_last) http1->paused_last->next_paused = c;
  else http1->paused_first = c;
  http1->paused_last = c;
  return true;
}

void fc_http1_resume(fc_connection_t *c) {
  fc_http1_t *http1 = c->http1;
  if (!c->is_paused) return;
  c->is_paused = false;
  if (c->previous_paused) c->previous_paused->next_paused = c->next_paused;
  else http1->paused_first = c->next_paused;
  if (c->next_paused) c->next_paused->previous_paused = c->previous_paused;
  else http1->paused_last = c->previous_paused;
}

bool fc_http1_go_on(fc_http1_t *http1) {
  const fc_connection_t *last = http1->paused_last;
  http1->ahead_ns = 0;
  while (http1->paused_first && !has_had_its_time(http1)) {
    fc_connection_t *c = http1->paused_first;
    fc_http1_resume(c);
    fc_connection_pump(c);
    if (c == last) break;  // those behind it were paused in this turn
  }
  if (!http1->paused_first) http1->ahead_ns = 0;
  return http1->paused_first;
}

// ---------------------------------------------------------------------------
// The end

// Draining and abandoning may close the connection, which stays in the list until its
// stream tells that it is closed (on_closed): that comes later.
void fc_http1_drain(fc_http1_t *http1) {
  for (fc_connection_t *c = http1->connections; c; c = c->next) {
    fc_connection_drain(c);
  }
}

void fc_http1_abandon(fc_http1_t *http1) {
  for (fc_connection_t *c = http1->connections; c; c = c->next) {
    fc_connection_abandon(c);
  }
}

// ---------------------------------------------------------------------------

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
