// SPDX-License-Identifier: Apache-2.0
//
// Handles requests whose body is a stream of messages. Each message is a call, in an
// exchange of its own with the head of the stream. Messages are cut out of the body as
// it comes, and the calls run at the same time. An answer is sent as soon as it is
// made, as one message of the stream's answer; an error is also sent as an answer.
// Bytes that cannot be used yet are kept, and confirmed only when they are used. So the
// client's window stops a client that has CALLS calls, or whose message waits for its
// module.
#include <stddef.h>

#include "http2/connection.h"
#include "marshal/message.h"

#define CALLS 32u  // the most calls of a stream at a time
#define PACKED \
  4096u  // bytes of a compressed message that are inflated to find its id

typedef enum call_state_t {
  CALL_HEAD,  // needs the beginning of the message, to admit the call
  CALL_WAIT,  // waits for its module, or is slowed
  CALL_BODY,
  CALL_RUN,
  CALL_ANSWERED,
} call_state_t;

typedef struct call_t {
  fc_waiting_t waiting;  // the first member
  fc_http2_stream_t *stream;
  struct call_t *next;  // the next call of the stream
  struct call_t *next_answer;
  uint64_t size;   // of the message with its head, bytes
  uint64_t taken;  // bytes of the message that were given to the exchange
  uint32_t looked;
  uint8_t state;    // call_state_t
  uint8_t id_size;  // size of the client's name for the request
  char id[FC_OUTCOME_NAME];
  bool counted;
  fc_owner_count_t count;
  fc_exchange_t exchange;
} call_t;

struct fc_http2_messages_t {
  call_t *calls;
  // The answered calls; while `sending`, the first one is being sent.
  call_t *first;
  call_t *last;
  call_t *
      receiving;  // the call whose message comes; NULL: its bytes are not needed
  uint64_t left;       // bytes of the message that are still to be used
  uint32_t count;      // of calls
  uint32_t confirmed;  // bytes in s->body that are already confirmed
  bool sending;
  bool over;  // the end of the stream was submitted
  // The stream ends with this error after its calls; 0: it goes on.
  fc_code_t code;
  const char *why;  // static
};

static call_t *of_exchange(fc_exchange_t *x) {
  return (call_t *)(void *)((char *)x - offsetof(call_t, exchange));
}

static void wait_for(call_t *call, fc_wait_t kind) {
  if (call->waiting.wait == kind) return;
  fc_http1_wait(fc_http2_http1(call->stream->connection), &call->waiting, kind);
}

static fc_blocks_t *blocks_of(const fc_http2_stream_t *s) {
  return s->exchange.server->blocks;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void fail(fc_http2_messages_t *m, fc_code_t code, const char *why) {
  if (m->code) return;
  m->code = code;
  m->why = why;
}

// ---------------------------------------------------------------------------
// Calls

static void close_call(call_t *call) {
  fc_http2_stream_t *s = call->stream;
  fc_http2_messages_t *m = s->messages;
  call_t **at = &m->calls;
  while (*at != call) at = &(*at)->next;
  *at = call->next;
  if (m->receiving == call) m->receiving = NULL;
  if (call->state == CALL_WAIT || call->state == CALL_RUN) {
    fc_exchange_abandoned(&call->exchange);
    fc_exchange_drop(&call->exchange);
  }
  wait_for(call, FC_WAIT_NONE);
  fc_exchange_deinit(&call->exchange);
  if (call->counted) fc_http2_uncount(s->connection, &call->count);
  m->count--;
  fc_free(fc_http2_http1(s->connection)->allocator, call);
}

// Only streams are paused (begin_message), never their calls.
static void go_on(fc_waiting_t *waiting) { (void)waiting; }

static void on_timeout(fc_waiting_t *waiting) {
  call_t *call = (call_t *)(void *)waiting;
  fc_http2_stream_t *s = call->stream;
  const bool slowed = waiting->wait == FC_WAIT_SLOWED;
  const uint64_t now_ms = fc_http2_now_ms(s->connection);
  wait_for(call, FC_WAIT_NONE);
  if (slowed) {
    call->state = CALL_HEAD;
    call->looked = 0;
  }
  fc_pace_note(&s->body_pace, call->taken + fc_stash_size(&s->body), now_ms);
  if (!slowed && fc_pace_is_slow(&s->body_pace, now_ms,
                                 s->exchange.server->options->body_timeout)) {
    s->connection->http2->counts.refused[FC_HTTP2_REFUSAL_SLOW]++;
    fail(s->messages, FC_CODE_REQUEST_TIMEOUT,
         "a message comes slower than its least rate");
  }
  fc_http2_messages_go_on(s);
}

static const fc_waiting_class_t kWaiting = {.on_timeout = on_timeout,
                                            .go_on = go_on};

// ---------------------------------------------------------------------------
// Answers

// Only adds the call to the answered ones. The code that called the exchange sends the
// answer afterwards (send_next).
static void answer(fc_exchange_t *x, const fc_answer_t *what) {
  call_t *call = of_exchange(x);
  fc_http2_messages_t *m = call->stream->messages;
  (void)what;
  wait_for(call, FC_WAIT_NONE);
  if (m->receiving == call) m->receiving = NULL;
  call->state = CALL_ANSWERED;
  if (m->first) m->last->next_answer = call;
  else m->first = call;
  m->last = call;
}

// This answer is not in pieces, so it cannot be sent: the stream fails.
static void answer_at_once(fc_exchange_t *x, const fc_answer_t *what,
                           char *body) {
  (void)body;
  fail(of_exchange(x)->stream->messages, FC_CODE_OUT_OF_MEMORY,
       "there is no memory for an answer");
  answer(x, what);
}

static void again(fc_exchange_t *x) {
  call_t *call = of_exchange(x);
  call->state = CALL_HEAD;
  call->looked = 0;
  fc_http2_messages_go_on(call->stream);
}

static void resume(fc_exchange_t *x) {
  fc_http2_messages_go_on(of_exchange(x)->stream);
}

static fc_str_t name(fc_exchange_t *x) {
  const call_t *call = of_exchange(x);
  return fc_str_make(call->id, call->id_size);
}

static const fc_carrier_t kCarrier = {.answer = answer,
                                      .answer_at_once = answer_at_once,
                                      .again = again,
                                      .resume = resume,
                                      .name = name};

static void drop_first(fc_http2_messages_t *m) {
  call_t *call = m->first;
  m->first = call->next_answer;
  close_call(call);
}

static void send_next(fc_http2_stream_t *s) {
  fc_http2_messages_t *m = s->messages;
  if (m->sending) return;
  while (m->first && !m->first->exchange.out.count) drop_first(m);
  if (!m->first) return;
  m->sending = true;
  fc_http2_stream_send(s, &m->first->exchange);
}

void fc_http2_messages_sent(fc_http2_stream_t *s) {
  fc_http2_messages_t *m = s->messages;
  s->source = &s->exchange;
  if (m->sending) drop_first(m);
  // Clients confirm each message, and may measure their connection by pings.
  if (m->sending) fc_calm_earn(&s->connection->calm, FC_CALM_ANSWER);
  m->sending = false;
  fc_http2_messages_go_on(s);
}

// ---------------------------------------------------------------------------
// Messages

// The stream itself was counted as one call. Each call beside it is counted here.
static call_t *open_call(fc_http2_stream_t *s) {
  fc_http2_connection_t *h = s->connection;
  fc_http2_messages_t *m = s->messages;
  const fc_http1_t *http1 = fc_http2_http1(h);
  call_t *call = fc_alloc(http1->allocator, sizeof *call);
  if (!call) return NULL;
  call->counted = m->count && fc_http2_count(h, &call->count);
  if (m->count && !call->counted) {
    fc_free(http1->allocator, call);
    return NULL;
  }
  call->waiting.class = &kWaiting;
  call->stream = s;
  fc_exchange_init(&call->exchange, http1->server, &kCarrier,
                   s->exchange.policy, &s->exchange.asker.address);
  call->exchange.asker.user = s->exchange.asker.user;
  call->exchange.asker.bound = s->exchange.asker.bound;
  fc_exchange_start(&call->exchange);
  call->next = m->calls;
  m->calls = call;
  m->count++;
  return call;
}

// Does the server drain? Then no further message is begun.
static bool leaves(const fc_http2_stream_t *s) {
  return s->connection->leaving == 2 && s->exchange.server->draining;
}

// False: the message cannot begin now. This is tried again when another call of the
// stream has ended.
static bool begin_message(fc_http2_stream_t *s, fc_str_t bytes) {
  fc_http2_connection_t *h = s->connection;
  fc_http2_messages_t *m = s->messages;
  if (bytes.size < FC_MESSAGE_HEAD || m->count == CALLS || leaves(s) ||
      s->waiting.is_paused ||
      (h->begun++ && fc_http1_pause(fc_http2_http1(h), &s->waiting))) {
    return false;
  }
  call_t *call = open_call(s);
  if (!call) {
    if (!m->count) fail(m, FC_CODE_OUT_OF_MEMORY, "there is no memory for it");
    return false;
  }
  m->receiving = call;
  m->left = call->size = FC_MESSAGE_HEAD + (uint64_t)fc_message_size(bytes);
  fc_pace_begin(&s->body_pace, fc_http2_now_ms(h));
  return true;
}

static fc_status_t read_head(const call_t *call, fc_str_t begin,
                             fc_head_t *out_head, fc_error_t *err) {
  const fc_http2_stream_t *s = call->stream;
  FC_TRY(fc_http2_read_head(fc_stash_bytes(&s->head, blocks_of(s)), out_head,
                            err));
  fc_request_t *request = &out_head->request;
  request->is_message = request->has_body = true;
  request->begin = begin;
  request->begin_is_all = begin.size == call->size;
  request->length = call->size;
  return FC_OK;
}

// Finds the client's id for a message. Inflates only the beginning of a compressed
// message.
static void take_id(call_t *call, const fc_request_t *request) {
  fc_text_t text;
  fc_str_t begin = request->begin;
  const bool packed = begin.data[0];
  const fc_coding_t coding =
      fc_request_coding(request->fields[FC_FIELD_GRPC_ENCODING]);
  if (packed && !coding) return;
  fc_text_init(&text, fc_allocator_system(), 2 * PACKED);
  begin.data += FC_MESSAGE_HEAD;
  begin.size -= FC_MESSAGE_HEAD;
  // The message may be cut off or too long; the bytes inflated before that stay in
  // `text`.
  if (packed) (void)fc_inflate(coding, begin, PACKED, &text, NULL, NULL);
  if (packed) begin = fc_text_str(&text);
  const fc_str_t id = fc_message_id(begin);
  call->id_size = id.size <= sizeof call->id ? (uint8_t)id.size : 0;
  if (call->id_size) memcpy(call->id, id.data, call->id_size);
  fc_text_deinit(&text);
}

// Admits a call from the first FC_LIMIT_PEEK bytes of its message.
static void admit(call_t *call, fc_str_t begin) {
  fc_exchange_t *x = &call->exchange;
  fc_head_t head;
  fc_error_t *error = &fc_http2_http1(call->stream->connection)->error;
  begin.size = (size_t)least(begin.size, FC_LIMIT_PEEK);
  call->looked = (uint32_t)begin.size;
  fc_status_t status = read_head(call, begin, &head, error);
  if (status == FC_OK) take_id(call, &head.request);
  fc_exchange_take(x, &head.request);
  if (status == FC_OK) status = fc_exchange_admit(x, &head.request, error);
  if (status != FC_OK) {
    fc_exchange_fail(x, error, (fc_stage_t)x->times.stage);
  } else if (x->asked.is_call) {
    call->state = CALL_BODY;
    // Waiting for the module may have held the client up, so its pace is measured from
    // now on.
    fc_pace_begin(&call->stream->body_pace,
                  fc_http2_now_ms(call->stream->connection));
    fc_http2_stream_open_window(call->stream, call->size);
  } else if (!x->wait.peeks) {
    call->state = CALL_WAIT;
    wait_for(call, x->wait.slowed ? FC_WAIT_SLOWED : FC_WAIT_NONE);
  }
}

// Has the beginning doubled since it was last looked at, or is it complete?
static bool has_more(const call_t *call, fc_str_t begin) {
  return begin.size >= 2 * (uint64_t)call->looked || begin.size == call->size ||
         begin.size >= FC_LIMIT_PEEK;
}

static void append(call_t *call, fc_str_t bytes) {
  fc_error_t *error = &fc_http2_http1(call->stream->connection)->error;
  call->taken += bytes.size;
  if (fc_exchange_append(&call->exchange, bytes, call->size - call->taken,
                         error) != FC_OK) {
    fc_exchange_fail(&call->exchange, error, FC_STAGE_READ);
  } else if (call->taken == call->size) {
    call->state = CALL_RUN;
    call->stream->messages->receiving = NULL;
    wait_for(call, FC_WAIT_NONE);
    fc_exchange_submit(&call->exchange);
  }
}

// Uses bytes of one message and returns their number; 0: none can be used now. The
// bytes of a refused message are dropped.
static size_t use_some(fc_http2_stream_t *s, fc_str_t bytes) {
  fc_http2_messages_t *m = s->messages;
  if (m->code) return bytes.size;
  if (!m->left && !begin_message(s, bytes)) return 0;
  call_t *call = m->receiving;
  bytes.size = (size_t)least(bytes.size, m->left);
  if (call && call->state == CALL_HEAD && has_more(call, bytes)) {
    admit(call, bytes);
  }
  call = m->receiving;
  if (call && call->state != CALL_BODY) return 0;
  m->left -= bytes.size;
  if (call) append(call, bytes);
  return bytes.size;
}

static void confirm(fc_http2_stream_t *s, size_t size) {
  fc_http2_messages_t *m = s->messages;
  const uint32_t before = (uint32_t)least(size, m->confirmed);
  m->confirmed -= before;
  fc_http2_stream_consume(s, size - before);
}

// Returns how many bytes were used.
static size_t use(fc_http2_stream_t *s, fc_str_t bytes) {
  size_t used = 0, now = 1;
  while (now && used < bytes.size) {
    now = use_some(s, fc_str_make(bytes.data + used, bytes.size - used));
    used += now;
  }
  confirm(s, used);
  return used;
}

static void keep(fc_http2_stream_t *s, fc_str_t bytes) {
  const fc_owner_t owner = fc_exchange_owner(&s->exchange.asker.address);
  fc_error_t *error = &fc_http2_http1(s->connection)->error;
  if (fc_stash_put(&s->body, blocks_of(s), &owner, bytes, error) == FC_OK) {
    return;
  }
  fail(s->messages, error->code, "there is no memory to keep messages");
}

static void use_kept(fc_http2_stream_t *s) {
  const fc_str_t kept = fc_stash_bytes(&s->body, blocks_of(s));
  if (kept.size) fc_stash_drop(&s->body, blocks_of(s), use(s, kept));
}

void fc_http2_messages_body(fc_http2_stream_t *s, fc_str_t bytes) {
  if (s->messages->over) return;
  if (!fc_stash_size(&s->body)) {
    const size_t used = use(s, bytes);
    bytes = fc_str_make(bytes.data + used, bytes.size - used);
  }
  if (bytes.size) keep(s, bytes);
  fc_http2_messages_go_on(s);
}

// ---------------------------------------------------------------------------
// The beginning and the end of a stream of messages

// The call needs more of its message before it is admitted, so the window is opened.
static void wait_for_more(fc_http2_stream_t *s) {
  fc_http2_messages_t *m = s->messages;
  const call_t *call = m->receiving;
  if (!call || (call->state != CALL_HEAD && call->state != CALL_BODY)) return;
  wait_for(m->receiving, FC_WAIT_BODY);
  const uint32_t kept = (uint32_t)least(fc_stash_size(&s->body), m->left);
  if (kept > m->confirmed) fc_http2_stream_consume(s, kept - m->confirmed);
  if (kept > m->confirmed) m->confirmed = kept;
}

// Has the client ended its body within a message? A message that waits for its turn may
// be complete.
static bool is_cut_off(const fc_http2_stream_t *s) {
  const fc_http2_messages_t *m = s->messages;
  const uint32_t kept = fc_stash_size(&s->body);
  if (!s->ended || m->code) return false;
  return m->left ? kept < m->left : kept && kept < FC_MESSAGE_HEAD;
}

// Is there no call, and no byte to use?
static bool is_idle(const fc_http2_stream_t *s) {
  return !s->messages->count && !fc_stash_size(&s->body) && !s->messages->left;
}

static void end(fc_http2_stream_t *s) {
  fc_http2_messages_t *m = s->messages;
  fc_error_t error;
  m->over = true;
  fc_http1_resume(fc_http2_http1(s->connection), &s->waiting);
  if (!m->code) {
    fc_exchange_end_stream(&s->exchange);
    return;
  }
  (void)fc_fail(&error, m->code, "%s", m->why);
  fc_exchange_fail(&s->exchange, &error, FC_STAGE_COUNT);
}

void fc_http2_messages_go_on(fc_http2_stream_t *s) {
  fc_http2_messages_t *m = s->messages;
  if (m->over) return;
  use_kept(s);
  if (is_cut_off(s)) {
    fail(m, FC_CODE_BINARY_FRAMING, "the stream ends within a message");
  }
  if (leaves(s) && !m->count && !(s->ended && is_idle(s))) {
    fail(m, FC_CODE_SHUTTING_DOWN, "the server is shutting down");
  }
  if (m->code) {
    if (m->receiving) close_call(m->receiving);
    fc_stash_clear(&s->body, blocks_of(s));
    m->left = m->confirmed = 0;
  }
  send_next(s);
  if (is_idle(s) && (s->ended || m->code)) end(s);
  else wait_for_more(s);
  fc_http2_send_later(s->connection);
}

void fc_http2_messages_begin(fc_http2_stream_t *s) {
  fc_http1_t *http1 = fc_http2_http1(s->connection);
  s->messages = fc_alloc(http1->allocator, sizeof *s->messages);
  if (!s->messages) {
    (void)fc_fail_memory(&http1->error);
    s->state = FC_HTTP2_WRITE;
    fc_exchange_fail(&s->exchange, &http1->error, FC_STAGE_ADMIT);
    return;
  }
  fc_exchange_begin_stream(&s->exchange);
  fc_http2_messages_go_on(s);
}

void fc_http2_messages_abandon(fc_http2_stream_t *s, const fc_error_t *error) {
  fc_http2_messages_t *m = s->messages;
  if (m->over) return;
  m->over = true;
  for (call_t *next, *call = m->calls; call; call = next) {
    next = call->next;
    if (!m->sending || call != m->first) close_call(call);
  }
  m->first = m->last = m->sending ? m->first : NULL;
  if (m->first) m->first->next_answer = NULL;
  if (m->sending) fc_exchange_note_cut(&s->exchange, error);
  else fc_exchange_fail(&s->exchange, error, FC_STAGE_COUNT);
}

void fc_http2_messages_close(fc_http2_stream_t *s) {
  if (!s->messages) return;
  while (s->messages->calls) close_call(s->messages->calls);
  fc_free(fc_http2_http1(s->connection)->allocator, s->messages);
  s->messages = NULL;
}
