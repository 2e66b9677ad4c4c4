// SPDX-License-Identifier: Apache-2.0
//
// The class of TLS streams, and their bytes after the handshake.
//
// Reading: received bytes are decrypted at once into the user's room. If the user stops
// before all are used, or they are too many for a turn, the rest is kept, and nothing is
// read from the stream below meanwhile. So a client is slowed down as with TCP.
//
// Writing: a piece of the user's bytes is encrypted and given to the stream below. Bytes
// that the socket does not take are copied, and the piece counts as sent when the copy
// was sent. So the user sees the client's pace as accurately as without TLS.
#include "stream/tls.h"

#include "stream/tls_stream.h"

static const fc_stream_class_t *below_class(const fc_tls_stream_t *self) {
  return self->below.base.class;
}

// ---------------------------------------------------------------------------
// Turns: streams that go on without an event of their socket

static void list(fc_tls_stream_t *self) {
  fc_tls_t *tls = self->tls;
  if (self->listed || self->state == FC_TLS_CLOSED) return;
  self->listed = true;
  self->next_ready = NULL;
  if (tls->ready_last) tls->ready_last->next_ready = self;
  else tls->ready = self;
  tls->ready_last = self;
  tls->ready_count++;
  uv_idle_start(&tls->turn, fc_tls_on_turn);
}

static void unlist(fc_tls_stream_t *self) {
  fc_tls_t *tls = self->tls;
  fc_tls_stream_t **at = &tls->ready, *before = NULL;
  if (!self->listed) return;
  while (*at != self) {
    before = *at;
    at = &before->next_ready;
  }
  *at = self->next_ready;
  if (tls->ready_last == self) tls->ready_last = before;
  tls->ready_count--;
  self->listed = false;
}

// ---------------------------------------------------------------------------
// The end of a stream

static void end(fc_tls_stream_t *self, bool orderly) {
  if (self->ended || self->state == FC_TLS_CLOSED) return;
  self->ended = true;
  (void)fc_tls_follow(self);
  self->base.events->ended(self->base.context, orderly);
}

static void tell_written(fc_tls_stream_t *self, bool sent) {
  self->writing = false;
  self->base.events->written(self->base.context, sent);
}

void fc_tls_break(fc_tls_stream_t *self) {
  fc_tls_handshake_leave(self);
  if (self->state == FC_TLS_BROKEN || self->state == FC_TLS_CLOSED) return;
  self->state = FC_TLS_BROKEN;
  (void)fc_tls_follow(self);
  if (self->writing) tell_written(self, false);
  // A user that knows already that no more bytes come is not told again. It notices at
  // its next write that the stream is broken.
  end(self, false);
}

void fc_tls_finish(fc_tls_stream_t *self) {
  const fc_allocator_t allocator = self->tls->allocator;
  if (self->writing) tell_written(self, false);
  SSL_free(self->ssl);
  fc_tls_note_end(self);
  SSL_CTX_free(self->context);
  fc_free(allocator, self->held);
  fc_free(allocator, self->flight.data);
  fc_free(allocator, self->out.data);
  fc_free(allocator, self->behind.data);
  self->base.events->closed(self->base.context);
}

// ---------------------------------------------------------------------------
// Giving bytes to the socket

static bool copy(fc_tls_stream_t *self, fc_tls_bytes_t *to, const uint8_t *data,
                 size_t size) {
  uint8_t *grown =
      fc_realloc(self->tls->allocator, to->data, to->size, to->size + size);
  if (!grown) return false;
  memcpy(grown + to->size, data, size);
  to->data = grown;
  to->size += size;
  return true;
}

static bool send_out(fc_tls_stream_t *self) {
  const fc_span_t span = {self->out.data, self->out.size};
  return below_class(self)->write(&self->below.base, &span, 1) == 0;
}

static bool send_bytes(fc_tls_stream_t *self, fc_span_t span) {
  if (self->out.size) {
    return self->behind.size + span.size <= FC_TLS_BEHIND_MAX &&
           copy(self, &self->behind, span.data, span.size);
  }
  const int64_t sent =
      below_class(self)->try_write(&self->below.base, &span, 1);
  if (sent < 0) return false;
  if ((size_t)sent == span.size) return true;
  return copy(self, &self->out, span.data + sent, span.size - (size_t)sent) &&
         send_out(self);
}

bool fc_tls_send(fc_tls_stream_t *self, fc_tls_bytes_t *sealed) {
  const fc_span_t span = {sealed->data, sealed->size};
  sealed->size = 0;
  return span.size == 0 || send_bytes(self, span);
}

// ---------------------------------------------------------------------------
// The user's writes

// Encrypts up to FC_TLS_PIECE bytes of the spans from self->span on. Returns their
// number, or a negative number.
static int64_t seal(fc_tls_stream_t *self) {
  size_t done = 0;
  self->to = self->tls->sealed;
  while (self->left && done < FC_TLS_PIECE) {
    fc_span_t *span = &self->spans[self->span];
    const size_t room = FC_TLS_PIECE - done;
    const size_t size = span->size < room ? span->size : room;
    size_t taken = 0;
    if (size && SSL_write_ex(self->ssl, span->data, size, &taken) != 1) {
      ERR_clear_error();
      self->to->size = 0;  // all streams share the memory
      return -1;
    }
    span->data += taken;
    span->size -= taken;
    self->left -= taken;
    done += taken;
    if (span->size == 0) self->span++;
  }
  return (int64_t)done;
}

static void take_spans(fc_tls_stream_t *self, const fc_span_t *spans,
                       uint32_t count) {
  size_t skip = self->owed;
  self->owed = 0;
  self->left = 0;
  self->span = 0;
  self->span_count = 0;
  FC_ASSERT(count <= FC_PIECES_MAX);
  for (uint32_t i = 0; i < count; i++) {
    const size_t less = skip < spans[i].size ? skip : spans[i].size;
    skip -= less;
    if (spans[i].size == less) continue;
    self->spans[self->span_count++] =
        (fc_span_t){spans[i].data + less, spans[i].size - less};
    self->left += spans[i].size - less;
  }
}

// Goes on with the user's write. It does not report the end of the write to the user:
// go_on does, in a later turn. False: the stream is broken.
static bool push(fc_tls_stream_t *self) {
  for (int i = 0; i < FC_TLS_PIECES && self->left; i++) {
    if (seal(self) < 0 || !fc_tls_send(self, self->tls->sealed)) return false;
    if (self->out.size) return true;
  }
  list(self);
  return true;
}

static int64_t try_write(fc_stream_t *stream, const fc_span_t *spans,
                         uint32_t count) {
  fc_tls_stream_t *self = fc_tls_stream(stream);
  if (self->state == FC_TLS_BROKEN) return UV_EPIPE;
  if (self->state != FC_TLS_OPEN || self->out.size) return 0;
  take_spans(self, spans, count);
  const int64_t size = seal(self);
  self->left = 0;
  if (size < 0 || !fc_tls_send(self, self->tls->sealed)) {
    self->state = FC_TLS_BROKEN;
    return UV_EPIPE;
  }
  if (!self->out.size) return size;
  self->owed = (size_t)size;
  return 0;
}

static int write_all(fc_stream_t *stream, const fc_span_t *spans,
                     uint32_t count) {
  fc_tls_stream_t *self = fc_tls_stream(stream);
  if (self->state == FC_TLS_BROKEN) return UV_EPIPE;
  take_spans(self, spans, count);
  if (self->state == FC_TLS_OPEN && !self->out.size && !push(self)) {
    self->state = FC_TLS_BROKEN;
    return UV_EPIPE;
  }
  self->writing = true;
  return 0;
}

// Called when `out` was sent, or never will be.
static void on_below_written(void *context, bool sent) {
  fc_tls_stream_t *self = context;
  fc_free(self->tls->allocator, self->out.data);
  self->out = self->behind;
  self->behind = (fc_tls_bytes_t){0};
  if (self->state == FC_TLS_CLOSED) return;
  if (!sent || (self->out.size && !send_out(self))) {
    fc_tls_break(self);
    return;
  }
  if (self->out.size) return;
  if (self->must_shut) {
    if (below_class(self)->shutdown(&self->below.base)) fc_tls_break(self);
  } else if (self->writing && self->state == FC_TLS_OPEN) {
    list(self);
  }
}

// ---------------------------------------------------------------------------
// Reading

bool fc_tls_hold(fc_tls_stream_t *self) {
  if (self->held || !self->from.size) return true;
  self->held = fc_alloc(self->tls->allocator, self->from.size);
  if (!self->held) return false;
  memcpy(self->held, self->from.data, self->from.size);
  self->from.data = (const char *)self->held;
  return true;
}

void fc_tls_let_go(fc_tls_stream_t *self) {
  if (self->from.size || !self->held) return;
  fc_free(self->tls->allocator, self->held);
  self->held = NULL;
}

// Are there bytes to decrypt, or decrypted already?
static bool has_bytes(const fc_tls_stream_t *self) {
  return self->from.size || SSL_pending(self->ssl) > 0;
}

int fc_tls_follow(fc_tls_stream_t *self) {
  const bool wanted = !self->ended && (self->state == FC_TLS_HANDSHAKE
                                           ? !self->working
                                           : self->state == FC_TLS_OPEN &&
                                                 self->reading && !self->held);
  if (wanted == self->below_reads) return 0;
  self->below_reads = wanted;
  if (wanted) return below_class(self)->read_start(&self->below.base);
  below_class(self)->read_stop(&self->below.base);
  return 0;
}

// Decrypts for one read by the user. False: the available bytes yield nothing more.
static bool open_some(fc_tls_stream_t *self) {
  const fc_span_t room = self->base.events->room(self->base.context);
  size_t size = 0;
  self->to = self->tls->sealed;
  const int read = SSL_read_ex(self->ssl, room.data, room.size, &size);
  const int why = read == 1 ? SSL_ERROR_NONE : SSL_get_error(self->ssl, read);
  if (why != SSL_ERROR_NONE) ERR_clear_error();
  // Sends what OpenSSL wrote while it read: tickets, keys, alerts.
  if (!fc_tls_send(self, self->tls->sealed)) {
    fc_tls_break(self);
  } else if (why == SSL_ERROR_NONE) {
    self->base.events->read(self->base.context,
                            fc_str_make((const char *)room.data, size));
    return true;
  } else if (why == SSL_ERROR_ZERO_RETURN) {
    end(self, true);
  } else if (why == SSL_ERROR_WANT_READ) {
    // A message of the protocol, such as a new key, was read.
    return self->from.size > 0;
  } else {
    fc_tls_break(self);
  }
  return false;
}

// Gives the user the available bytes, in at most FC_TLS_READS reads, and keeps the rest.
static void deliver(fc_tls_stream_t *self) {
  for (int i = 0; i < FC_TLS_READS; i++) {
    if (self->state != FC_TLS_OPEN || !self->reading || self->ended) break;
    if (!has_bytes(self) || !open_some(self)) break;
  }
  if (self->state != FC_TLS_OPEN) return;
  if (!fc_tls_hold(self)) {
    fc_tls_break(self);
    return;
  }
  fc_tls_let_go(self);
  if (self->reading && !self->ended && has_bytes(self)) list(self);
  if (fc_tls_follow(self)) fc_tls_break(self);
}

static fc_span_t below_room(void *context) {
  const fc_tls_stream_t *self = context;
  return (fc_span_t){self->tls->read, FC_LIMIT_READ};
}

static void on_below_read(void *context, fc_str_t bytes) {
  fc_tls_stream_t *self = context;
  if (self->state == FC_TLS_HANDSHAKE) {
    fc_tls_handshake_read(self, bytes);
  } else if (self->state == FC_TLS_OPEN) {
    self->from = bytes;
    deliver(self);
  }
}

// The client has disconnected without close_notify, so its bytes may be incomplete.
static void on_below_ended(void *context, bool orderly) {
  fc_tls_stream_t *self = context;
  (void)orderly;
  if (self->state == FC_TLS_HANDSHAKE) {
    fc_tls_handshake_fail(self, FC_TLS_FAILURE_CLOSED, "the client has gone");
  } else {
    fc_tls_break(self);
  }
}

void fc_tls_opened(fc_tls_stream_t *self) {
  self->state = FC_TLS_OPEN;
  list(self);
  if (fc_tls_follow(self)) fc_tls_break(self);
}

// ---------------------------------------------------------------------------
// Going on with a stream

static void go_on(fc_tls_stream_t *self) {
  if (self->writing && !self->out.size) {
    if (!self->left) tell_written(self, true);
    else if (!push(self)) fc_tls_break(self);
  }
  if (self->state == FC_TLS_OPEN) deliver(self);
}

// Goes on with each stream that was listed before. Streams that are listed meanwhile wait
// for the next turn.
void fc_tls_on_turn(uv_idle_t *turn) {
  fc_tls_t *tls = turn->data;
  for (uint32_t left = tls->ready_count; left && tls->ready; left--) {
    fc_tls_stream_t *self = tls->ready;
    unlist(self);
    if (self->state == FC_TLS_OPEN) go_on(self);
  }
  if (!tls->ready) uv_idle_stop(&tls->turn);
}

// ---------------------------------------------------------------------------
// The functions of the class

static void on_below_closed(void *context) {
  fc_tls_stream_t *self = context;
  self->below_closed = true;
  if (!self->working) fc_tls_finish(self);
}

static const fc_stream_events_t kBelow = {.room = below_room,
                                          .read = on_below_read,
                                          .ended = on_below_ended,
                                          .written = on_below_written,
                                          .closed = on_below_closed};

static int open_tls(fc_stream_t *stream, const void *source) {
  fc_tls_stream_t *self = fc_tls_stream(stream);
  const fc_tls_source_t *from = source;
  self->tls = from->tls;
  self->context = from->keys->context;
  SSL_CTX_up_ref(self->context);
  self->flight_max = from->keys->flight_max;
  self->address = from->address;
  const int failed = fc_stream_open(&self->below.base, from->below,
                                    &from->socket, &kBelow, self);
  if (failed) return failed;
  fc_tls_handshake_begin(self);
  return fc_tls_follow(self);
}

static bool speaks_http2(fc_stream_t *stream) {
  const unsigned char *name = NULL;
  unsigned size = 0;
  SSL_get0_alpn_selected(fc_tls_stream(stream)->ssl, &name, &size);
  return size == 2;
}

static int read_start(fc_stream_t *stream) {
  fc_tls_stream_t *self = fc_tls_stream(stream);
  self->reading = true;
  if (self->state == FC_TLS_OPEN && has_bytes(self)) list(self);
  return self->state == FC_TLS_BROKEN ? UV_EPIPE : fc_tls_follow(self);
}

static void read_stop(fc_stream_t *stream) {
  fc_tls_stream_t *self = fc_tls_stream(stream);
  self->reading = false;
  (void)fc_tls_follow(self);
}

// Tells the client, once, that no more bytes come (close_notify). False: the stream is
// broken.
static bool say_end(fc_tls_stream_t *self) {
  if (self->state != FC_TLS_OPEN || self->said_end) return true;
  self->said_end = true;
  self->to = self->tls->sealed;
  if (SSL_shutdown(self->ssl) < 0) ERR_clear_error();
  return fc_tls_send(self, self->tls->sealed);
}

static int shutdown_tls(fc_stream_t *stream) {
  fc_tls_stream_t *self = fc_tls_stream(stream);
  if (self->state == FC_TLS_BROKEN || !say_end(self)) return UV_EPIPE;
  if (self->out.size) {
    self->must_shut = true;
    return 0;
  }
  return below_class(self)->shutdown(&self->below.base);
}

// Does nothing: bytes are reported as soon as their record is decrypted, so none are held
// back to make larger parts.
static void expect(fc_stream_t *stream, uint64_t size) {
  (void)stream;
  (void)size;
}

static uint64_t unread(fc_stream_t *stream) {
  (void)stream;
  return 0;
}

static uint64_t unsent(fc_stream_t *stream) {
  fc_tls_stream_t *self = fc_tls_stream(stream);
  return self->left + self->behind.size +
         below_class(self)->unsent(&self->below.base);
}

static void close_tls(fc_stream_t *stream, bool reset) {
  fc_tls_stream_t *self = fc_tls_stream(stream);
  fc_tls_handshake_leave(self);
  unlist(self);
  if (!reset && !self->out.size) (void)say_end(self);
  self->state = FC_TLS_CLOSED;
  if (self->working) (void)uv_cancel((uv_req_t *)&self->work);
  below_class(self)->close(&self->below.base, reset);
}

const fc_stream_class_t fc_stream_tls = {.size = sizeof(fc_tls_stream_t),
                                         .open = open_tls,
                                         .speaks_http2 = speaks_http2,
                                         .read_start = read_start,
                                         .read_stop = read_stop,
                                         .expect = expect,
                                         .unread = unread,
                                         .try_write = try_write,
                                         .write = write_all,
                                         .shutdown = shutdown_tls,
                                         .unsent = unsent,
                                         .close = close_tls};

// ---------------------------------------------------------------------------
// Data that the streams of a loop share

static void do_nothing(uv_work_t *work) { (void)work; }

static void on_nothing(uv_work_t *work, int status) {
  (void)work;
  (void)status;
}

fc_status_t fc_tls_init(fc_tls_t *tls, uv_loop_t *uv, fc_allocator_t allocator,
                        fc_error_t *err) {
  tls->uv = uv;
  tls->allocator = allocator;
  tls->method = fc_tls_make_method();
  tls->read = fc_alloc(allocator, FC_LIMIT_READ);
  tls->sealed = fc_alloc(allocator, sizeof *tls->sealed + FC_TLS_SEALED_MAX);
  if (!tls->method || !tls->read || !tls->sealed) {
    fc_tls_deinit(tls);
    return fc_fail_memory(err);
  }
  tls->sealed->data = (uint8_t *)(tls->sealed + 1);
  tls->sealed->capacity = FC_TLS_SEALED_MAX;
  uv_idle_init(uv, &tls->turn);
  uv_timer_init(uv, &tls->timer);
  tls->turn.data = tls->timer.data = tls;
  // Makes libuv start its threads now, and not under load: libuv ends the process if it
  // cannot start them.
  (void)uv_queue_work(uv, &tls->first, do_nothing, on_nothing);
  return FC_OK;
}

void fc_tls_deinit(fc_tls_t *tls) {
  if (!tls->uv) return;
  FC_ASSERT(!tls->oldest && !tls->ready);
  fc_tls_free_method(tls->method);
  fc_free(tls->allocator, tls->read);
  fc_free(tls->allocator, tls->sealed);
  tls->uv = NULL;
}
