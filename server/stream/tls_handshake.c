// SPDX-License-Identifier: Apache-2.0
//
// Handshakes. Streams with an unfinished handshake are in one list, the oldest first: its
// time runs out next, and it is ended if there are too many. An honest client needs only
// a few round trips, so clients that only begin handshakes cannot easily keep it out. A
// client whose first record is incomplete costs only its place in the list, its
// connection and the bytes that it sent. OpenSSL's object for a handshake takes 50 KB,
// and is made later.
//
// Received bytes are given to OpenSSL in a thread, and the loop sends the answer, until
// the handshake is finished. Nothing is read while the thread works.
#include <stdio.h>

#include "stream/tls_stream.h"

#define RECORD_HANDSHAKE 0x16  // the first byte of a client that speaks TLS
#define RECORD_HEAD 5u         // bytes; the last two are the length of the rest
// The most bytes after the head of a client's first record.
#define RECORD_MAX (16u << 10)

// ---------------------------------------------------------------------------
// The list of unfinished handshakes

static void arm(fc_tls_t *tls) {
  if (!tls->oldest) {
    uv_timer_stop(&tls->timer);
    return;
  }
  const uint64_t now = uv_now(tls->uv), due = tls->oldest->due_ms;
  uv_timer_start(&tls->timer, fc_tls_on_timer, due > now ? due - now : 0, 0);
}

void fc_tls_on_timer(uv_timer_t *timer) {
  fc_tls_t *tls = timer->data;
  fc_tls_stream_t *self;
  while ((self = tls->oldest) && self->due_ms <= uv_now(tls->uv)) {
    fc_tls_handshake_fail(self, FC_TLS_FAILURE_TIMEOUT,
                          "it was not over in the time of --head-timeout");
  }
  arm(tls);
}

void fc_tls_handshake_leave(fc_tls_stream_t *self) {
  fc_tls_t *tls = self->tls;
  if (!self->due_ms) return;
  if (self->older) self->older->newer = self->newer;
  else tls->oldest = self->newer;
  if (self->newer) self->newer->older = self->older;
  else tls->newest = self->older;
  self->older = self->newer = NULL;
  self->due_ms = 0;
  tls->handshakes--;
  if (!tls->oldest) uv_timer_stop(&tls->timer);
}

// Ends the oldest handshake that waits for its client; others may be about to finish in a
// thread. If threads work on all of them, ends the oldest.
static void make_room(fc_tls_t *tls) {
  fc_tls_stream_t *each = tls->oldest;
  while (each && each->working) each = each->newer;
  if (!each) each = tls->oldest;
  fc_tls_handshake_fail(each, FC_TLS_FAILURE_CROWDED,
                        "too many others have begun one since");
}

void fc_tls_handshake_begin(fc_tls_stream_t *self) {
  fc_tls_t *tls = self->tls;
  if (tls->handshakes >= tls->handshake_max && tls->oldest) make_room(tls);
  self->due_ms = uv_now(tls->uv) + tls->handshake_ms + 1;
  self->older = tls->newest;
  if (tls->newest) tls->newest->newer = self;
  else tls->oldest = self;
  tls->newest = self;
  if (++tls->handshakes == 1) arm(tls);
}

void fc_tls_handshake_fail(fc_tls_stream_t *self, fc_tls_failure_t failure,
                           const char *why) {
  fc_tls_t *tls = self->tls;
  tls->counts.failures[failure]++;
  tls->on_failed(tls->context, &self->address, failure, why);
  fc_tls_break(self);
}

// ---------------------------------------------------------------------------
// The part in a thread

// Returns the counted failure for an error code of OpenSSL.
static fc_tls_failure_t failure_of(unsigned long code) {
  static const struct {
    int reason;
    fc_tls_failure_t failure;
  } kReasons[] = {
      {SSL_R_UNSUPPORTED_PROTOCOL, FC_TLS_FAILURE_VERSION},
      {SSL_R_UNKNOWN_PROTOCOL, FC_TLS_FAILURE_VERSION},
      {SSL_R_WRONG_VERSION_NUMBER, FC_TLS_FAILURE_VERSION},
      {SSL_R_VERSION_TOO_LOW, FC_TLS_FAILURE_VERSION},
      {SSL_R_NO_SHARED_CIPHER, FC_TLS_FAILURE_CIPHER},
      {SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, FC_TLS_FAILURE_CIPHER},
      {SSL_R_NO_SUITABLE_KEY_SHARE, FC_TLS_FAILURE_CIPHER},
      {SSL_R_NO_APPLICATION_PROTOCOL, FC_TLS_FAILURE_ALPN},
      {SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, FC_TLS_FAILURE_CERTIFICATE},
      {SSL_R_CERTIFICATE_VERIFY_FAILED, FC_TLS_FAILURE_CERTIFICATE},
      {SSL_R_EXCESSIVE_MESSAGE_SIZE, FC_TLS_FAILURE_CERTIFICATE},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kReasons); i++) {
    if (ERR_GET_LIB(code) == ERR_LIB_SSL &&
        ERR_GET_REASON(code) == kReasons[i].reason) {
      return kReasons[i].failure;
    }
  }
  return FC_TLS_FAILURE_PROTOCOL;
}

static void note_failure(fc_tls_stream_t *self) {
  const unsigned long code = ERR_peek_error();
  const long verified =
      self->ssl ? SSL_get_verify_result(self->ssl) : X509_V_OK;
  const char *reason = ERR_reason_error_string(code);
  self->outcome = FC_TLS_FAILED;
  self->failure = failure_of(code);
  snprintf(
      self->why, sizeof self->why, "%s%s%s", reason ? reason : "no memory",
      verified == X509_V_OK ? "" : ": ",
      verified == X509_V_OK ? "" : X509_verify_cert_error_string(verified));
}

static void shake(uv_work_t *work) {
  fc_tls_stream_t *self = work->data;
  ERR_clear_error();
  if (!self->ssl && !fc_tls_make_ssl(self)) {
    note_failure(self);
    return;
  }
  const int done = SSL_do_handshake(self->ssl);
  if (done == 1) self->outcome = FC_TLS_DONE;
  else if (SSL_get_error(self->ssl, done) == SSL_ERROR_WANT_READ)
    self->outcome = FC_TLS_MORE;
  else note_failure(self);
  ERR_clear_error();
}

// ---------------------------------------------------------------------------
// The part on the loop

static void count(fc_tls_stream_t *self) {
  fc_tls_counts_t *counts = &self->tls->counts;
  if (SSL_session_reused(self->ssl)) counts->resumed++;
  else counts->full++;
}

static void free_flight(fc_tls_stream_t *self) {
  fc_free(self->tls->allocator, self->flight.data);
  self->flight = (fc_tls_bytes_t){0};
}

static void go_on(fc_tls_stream_t *self) {
  // If the handshake failed, this sends an alert. If bytes cannot be sent, the client has
  // disconnected.
  if (!fc_tls_send(self, &self->flight)) {
    fc_tls_handshake_fail(self, FC_TLS_FAILURE_CLOSED, "the client has gone");
    return;
  }
  fc_tls_let_go(self);
  free_flight(self);
  switch (self->outcome) {
    case FC_TLS_DONE:
      count(self);
      fc_tls_handshake_leave(self);
      fc_tls_opened(self);
      break;
    case FC_TLS_FAILED:
      fc_tls_handshake_fail(self, self->failure, self->why);
      break;
    case FC_TLS_MORE:
      if (fc_tls_follow(self)) fc_tls_break(self);
      break;
  }
}

static void on_shaken(uv_work_t *work, int status) {
  fc_tls_stream_t *self = work->data;
  self->working = false;
  if (self->state == FC_TLS_CLOSED) {
    if (self->below_closed) fc_tls_finish(self);
  } else if (self->state == FC_TLS_HANDSHAKE && status == 0) {
    go_on(self);
  }
}

// The client speaks plain HTTP: sends an HTTP answer, as much as its socket takes at
// once.
static void answer_plainly(fc_tls_stream_t *self) {
  static const char kAnswer[] =
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
      "Content-Length: 40\r\nConnection: close\r\n\r\n"
      "This port speaks TLS: ask by https://...";
  const fc_span_t span = {(uint8_t *)(uintptr_t)kAnswer, sizeof kAnswer - 1};
  (void)self->below.base.class->try_write(&self->below.base, &span, 1);
  fc_tls_handshake_fail(self, FC_TLS_FAILURE_PLAIN,
                        "the client speaks HTTP without TLS");
}

static void fail_memory(fc_tls_stream_t *self) {
  fc_tls_handshake_fail(self, FC_TLS_FAILURE_CROWDED, "no memory is left");
}

// Appends bytes of the first record. False: no memory.
static bool gather(fc_tls_stream_t *self, fc_str_t bytes) {
  const size_t size = self->from.size;
  uint8_t *grown =
      fc_realloc(self->tls->allocator, self->held, size, size + bytes.size);
  if (!grown) return false;
  memcpy(grown + size, bytes.data, bytes.size);
  self->held = grown;
  self->from = fc_str_make((const char *)grown, size + bytes.size);
  return true;
}

// Is the first record complete? OpenSSL refuses one that claims to be too long.
static bool is_whole(fc_str_t bytes) {
  const uint8_t *head = (const uint8_t *)bytes.data;
  if (bytes.size < RECORD_HEAD) return false;
  const size_t rest = (size_t)head[3] << 8 | head[4];
  return rest > RECORD_MAX || bytes.size - RECORD_HEAD >= rest;
}

void fc_tls_handshake_read(fc_tls_stream_t *self, fc_str_t bytes) {
  const char first = self->held ? self->from.data[0] : bytes.data[0];
  if (!self->ssl && first >= 'A' && first <= 'Z') {
    answer_plainly(self);
    return;
  }
  if (!self->ssl && first != RECORD_HANDSHAKE) {
    fc_tls_handshake_fail(self, FC_TLS_FAILURE_PROTOCOL, "that is no TLS");
    return;
  }
  if (!self->ssl && !gather(self, bytes)) {
    fail_memory(self);
    return;
  }
  if (!self->ssl && !is_whole(self->from)) return;  // more must be read first
  if (self->ssl) self->from = bytes;
  else fc_tls_note_object(self);
  self->flight.data = fc_alloc(self->tls->allocator, self->flight_max);
  self->flight.capacity = self->flight_max;
  if (!self->flight.data || !fc_tls_hold(self)) {
    fail_memory(self);
    return;
  }
  self->to = &self->flight;
  self->work.data = self;
  self->working = true;
  (void)fc_tls_follow(self);
  // uv_queue_work fails only if it is given no function.
  (void)uv_queue_work(self->tls->uv, &self->work, shake, on_shaken);
}
