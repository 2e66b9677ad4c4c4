// SPDX-License-Identifier: Apache-2.0
//
// Sends answers and 100 Continue, and ends connections.
#include <stddef.h>

#include "http1/connection.h"

static fc_connection_t *of_exchange(fc_exchange_t *x) {
  size_t offset = offsetof(fc_connection_t, exchange);
  return (fc_connection_t *)(void *)((char *)x - offset);
}

// ---------------------------------------------------------------------------
// Closing

void fc_connection_close(fc_connection_t *c, bool reset) {
  if (c->state == FC_CONNECTION_CLOSED) return;
  if (fc_connection_is_waiting(c)) fc_exchange_drop(&c->exchange);
  fc_connection_wait(c, FC_WAIT_NONE);
  fc_http1_resume(c->http1, &c->waiting);
  c->state = FC_CONNECTION_CLOSED;
  fc_sessions_end_bound(&c->bound);
  c->stream->class->close(c->stream, reset);
}

// Does not close at once: closing a socket with unread bytes would reset the connection,
// and the client could lose the answer.
void fc_connection_linger(fc_connection_t *c) {
  fc_stash_clear(&c->stash, c->http1->server->blocks);
  if (c->input == FC_INPUT_ENDED) {
    fc_connection_close(c, false);
    return;
  }
  c->state = FC_CONNECTION_LINGER;
  if (c->stream->class->shutdown(c->stream)) {
    fc_connection_close(c, false);
    return;
  }
  fc_connection_wait(c, FC_WAIT_LINGER);
  fc_connection_follow_reading(c);
}

// ---------------------------------------------------------------------------
// The bytes of an answer

// The bytes that may follow the pieces of a part (RFC 9112, 7.1). They are sent
// together with the pieces, so that no client waits for the end of a chunk.
enum { TAIL_NONE, TAIL_CHUNK, TAIL_LAST, TAIL_END };
static const fc_str_t kTails[] = {[TAIL_NONE] = FC_STR(""),
                                  [TAIL_CHUNK] = FC_STR("\r\n"),
                                  [TAIL_LAST] = FC_STR("\r\n0\r\n\r\n"),
                                  [TAIL_END] = FC_STR("0\r\n\r\n")};

// Sets `spans` to the next bytes, at most FC_LIMIT_WRITE, so that a large answer does not
// block the loop. Returns the number of spans.
static uint32_t next_spans(const fc_connection_t *c,
                           fc_span_t spans[FC_PIECES_MAX + 1]) {
  const fc_exchange_t *x = &c->exchange;
  uint64_t skip = c->write_done, left = c->write_size - c->write_done;
  uint32_t count = 0;
  if (left > FC_LIMIT_WRITE) left = FC_LIMIT_WRITE;
  for (uint32_t i = 0; i < x->out.count && left; i++) {
    const fc_piece_t *piece = &x->out.pieces[i];
    const uint64_t before = i == 0 ? c->head_size : 0;
    uint64_t size = piece->size + before;
    if (skip >= size) {
      skip -= size;
      continue;
    }
    uint8_t *data = fc_block_data(c->http1->server->blocks, piece->block) +
                    piece->offset - before + skip;
    size -= skip;
    skip = 0;
    if (size > left) size = left;
    left -= size;
    spans[count++] = (fc_span_t){data, (size_t)size};
  }
  if (FC_UNLIKELY(left)) {
    spans[count++] = (fc_span_t){
        (uint8_t *)(uintptr_t)kTails[c->tail].data + skip, (size_t)left};
  }
  return count;
}

// Gives the stream the next bytes of the answer. False: the connection is closed.
static bool write_more(fc_connection_t *c) {
  fc_span_t *spans = c->http1->spans;
  const uint32_t count = next_spans(c, spans);
  if (c->stream->class->write(c->stream, spans, count)) {
    c->write_size = 0;
    fc_connection_close(c, false);
    return false;
  }
  for (uint32_t i = 0; i < count; i++) c->write_done += spans[i].size;
  return true;
}

// ---------------------------------------------------------------------------
// After an answer

static void reset_request(fc_connection_t *c) {
  fc_exchange_reset(&c->exchange);
  c->is_new = false;
  c->is_chunked = false;
  c->left = 0;
  c->framing = (fc_framing_t){0};
}

// Callers outside fc_connection_receive must call fc_connection_pump afterwards.
void fc_connection_end_exchange(fc_connection_t *c) {
  reset_request(c);
  // The time limit for the next head starts with its first byte.
  fc_connection_wait(c, FC_WAIT_NONE);
  if (c->is_last || c->http1->server->draining) {
    fc_connection_linger(c);
    return;
  }
  c->state = FC_CONNECTION_HEAD;
}

static void after_answer(fc_connection_t *c) {
  fc_exchange_sent(&c->exchange);
  if (c->is_last) {
    reset_request(c);
    fc_connection_linger(c);
    return;
  }
  if (c->state == FC_CONNECTION_DISCARD) {
    if (c->input == FC_INPUT_ENDED) fc_connection_close(c, false);
    return;
  }
  fc_connection_end_exchange(c);
}

// Called when a part is written: waits for the next part, or ends the answer.
static void after_part(fc_connection_t *c) {
  c->write_before += c->write_done;
  if (c->part == FC_PART_MORE) {
    fc_connection_wait(c, FC_WAIT_NONE);
    fc_exchange_part_sent(&c->exchange);
    return;
  }
  c->in_parts = false;
  if (c->part == FC_PART_CUT && c->is_http10) {
    fc_connection_close(c,
                        true);  // an orderly end would mean a complete answer
    return;
  }
  if (c->part == FC_PART_CUT) c->is_last = true;
  after_answer(c);
}

static void after_write(fc_connection_t *c) {
  c->write_size = 0;
  if (FC_UNLIKELY(c->in_parts)) after_part(c);
  else after_answer(c);
}

void fc_connection_on_written(fc_connection_t *c, bool sent) {
  if (sent && c->state != FC_CONNECTION_CLOSED &&
      c->write_done < c->write_size) {
    (void)write_more(c);
    return;
  }
  if (c->state == FC_CONNECTION_CLOSED || !sent) {
    c->write_size = 0;
    fc_connection_close(c, false);
    return;
  }
  after_write(c);
  fc_connection_pump(c);
}

bool fc_connection_is_taken(fc_connection_t *c) {
  const fc_http1_t *http1 = c->http1;
  const uint64_t now_ms = http1->now_ms(http1->context);
  const uint64_t patience_ms = http1->server->options->write_timeout;
  const uint64_t left = c->stream->class->unsent(c->stream);
  const uint64_t given = c->write_before + c->write_done;
  const uint64_t taken = left < given ? given - left : 0;
  fc_pace_note(&c->write_pace, taken, now_ms);
  return !fc_pace_has_stopped(&c->write_pace, now_ms, patience_ms) &&
         !fc_pace_is_slow(&c->write_pace, now_ms, patience_ms);
}

// ---------------------------------------------------------------------------
// Answers

// The stream did not take everything at once, so from now on the client must keep the
// minimum rate. If the client still has bytes of earlier parts to take, their measurement
// goes on.
static void watch_pace(fc_connection_t *c) {
  const fc_http1_t *http1 = c->http1;
  const uint64_t unsent =
      c->write_before ? c->stream->class->unsent(c->stream) : 0;
  if (!c->is_paced || unsent <= c->write_done) {
    c->is_paced = true;
    c->write_before = unsent > c->write_done ? unsent - c->write_done : 0;
    fc_pace_begin(&c->write_pace, http1->now_ms(http1->context));
  }
  fc_connection_wait(c, FC_WAIT_WRITE);
}

// Sends the pieces with the head, `head_size` bytes before the first piece. Without
// `with_body`, sends only the head.
static void send_pieces(fc_connection_t *c, size_t head_size, bool with_body) {
  const fc_exchange_t *x = &c->exchange;
  fc_span_t *spans = c->http1->spans;
  c->head_size = (uint32_t)head_size;
  c->write_size = head_size;
  c->write_done = 0;
  for (uint32_t i = 0; i < x->out.count && with_body; i++) {
    c->write_size += x->out.pieces[i].size;
  }
  if (FC_UNLIKELY(c->in_parts)) c->write_size += kTails[c->tail].size;
  const uint32_t count = next_spans(c, spans);
  int64_t sent =
      count ? c->stream->class->try_write(c->stream, spans, count) : 0;
  if (sent < 0) {
    c->write_size = 0;
    fc_connection_close(c, false);
    return;
  }
  c->write_done = (uint64_t)sent;
  if (c->write_done == c->write_size) {
    after_write(c);
    return;
  }
  watch_pace(c);
  (void)write_more(c);
}

static fc_response_head_t head_of(fc_connection_t *c,
                                  const fc_answer_t *answer) {
  return (fc_response_head_t){
      .answer = answer,
      // No chunk follows the head of an answer to HEAD.
      .length = answer->in_parts && !c->in_parts ? 0 : answer->length,
      .no_length =
          answer->status == 204 || answer->status == 304 || answer->in_parts,
      .in_chunks = answer->in_parts && !c->is_http10,
      .close = c->is_last,
      .keep_alive = c->is_http10 && !c->is_last,
      .request_id = fc_exchange_id(&c->exchange),
      .date = fc_http1_date(c->http1)};
}

// Sends the head, and the body unless the method is HEAD.
static void send_head(fc_connection_t *c, const fc_answer_t *what) {
  const fc_exchange_t *x = &c->exchange;
  const fc_response_head_t head = head_of(c, what);
  char *end =
      (char *)fc_block_data(c->http1->server->blocks, x->out.pieces[0].block) +
      x->out.pieces[0].offset;
  char *begin = fc_response_head(&head, end);
  c->is_paced = false;
  c->write_before = 0;
  send_pieces(c, (size_t)(end - begin), x->asked.method != FC_METHOD_HEAD);
}

static void answer(fc_exchange_t *x, const fc_answer_t *what) {
  fc_connection_t *c = of_exchange(x);
  if (what->is_last || c->http1->server->draining) c->is_last = true;
  if (c->state != FC_CONNECTION_DISCARD) c->state = FC_CONNECTION_WRITE;
  send_head(c, what);
}

// An HTTP/1.0 client does not know chunks: the end of the connection ends the answer.
static void begin(fc_exchange_t *x, const fc_answer_t *what) {
  fc_connection_t *c = of_exchange(x);
  if (c->is_http10 || what->is_cut || c->http1->server->draining) {
    c->is_last = true;
  }
  c->in_parts = x->asked.method != FC_METHOD_HEAD;
  c->state = c->in_parts ? FC_CONNECTION_PARTS : FC_CONNECTION_WRITE;
  c->part = what->is_cut ? FC_PART_CUT : FC_PART_MORE;
  c->tail = c->is_http10 || !what->length ? TAIL_NONE : TAIL_CHUNK;
  send_head(c, what);
}

static void part(fc_exchange_t *x, fc_part_end_t part) {
  static const uint8_t kAfter[] = {[FC_PART_MORE] = TAIL_CHUNK,
                                   [FC_PART_LAST] = TAIL_LAST,
                                   [FC_PART_CUT] = TAIL_CHUNK};
  fc_connection_t *c = of_exchange(x);
  uint64_t size = 0;
  size_t head_size = 0;
  for (uint32_t i = 0; i < x->out.count; i++) size += x->out.pieces[i].size;
  c->part = (uint8_t)part;
  c->tail = TAIL_NONE;
  if (!c->is_http10 && size) {
    char *end = (char *)fc_block_data(c->http1->server->blocks,
                                      x->out.pieces[0].block) +
                x->out.pieces[0].offset;
    head_size = (size_t)(end - fc_response_chunk(size, end));
    c->tail = kAfter[part];
  } else if (!c->is_http10 && part == FC_PART_LAST) {
    c->tail = TAIL_END;
  }
  send_pieces(c, head_size, true);
}

static void answer_at_once(fc_exchange_t *x, const fc_answer_t *what,
                           char *body) {
  fc_connection_t *c = of_exchange(x);
  c->is_last = true;
  c->state = FC_CONNECTION_WRITE;
  const fc_response_head_t head = head_of(c, what);
  char *begin = fc_response_head(&head, body);
  const fc_span_t span = {(uint8_t *)begin,
                          (size_t)(body - begin) + (size_t)what->length};
  (void)c->stream->class->try_write(c->stream, &span, 1);
  after_answer(c);
}

static void again(fc_exchange_t *x) {
  fc_connection_t *c = of_exchange(x);
  c->state = FC_CONNECTION_HEAD;
  c->framing = (fc_framing_t){0};
  fc_connection_pump(c);
}

static void resume(fc_exchange_t *x) { fc_connection_pump(of_exchange(x)); }

const fc_carrier_t fc_connection_carrier = {.answer = answer,
                                            .begin = begin,
                                            .part = part,
                                            .answer_at_once = answer_at_once,
                                            .again = again,
                                            .resume = resume};

bool fc_connection_say_continue(fc_connection_t *c) {
  static const char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";
  const fc_span_t span = {(uint8_t *)(uintptr_t)kContinue,
                          sizeof kContinue - 1};
  if (c->stream->class->try_write(c->stream, &span, 1) == (int64_t)span.size) {
    return true;
  }
  fc_connection_close(c, false);
  return false;
}
