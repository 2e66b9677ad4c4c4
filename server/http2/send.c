// SPDX-License-Identifier: Apache-2.0
//
// Sends frames to the stream below. Frames are gathered in memory of the loop, and one
// system call sends the answers of many streams. Bytes that the stream does not take at
// once are copied to memory of the connection (`rest`), and no more frames are gathered
// until these are sent. So a slow client takes FC_HTTP2_OUT bytes here, and its answers
// wait in their blocks.
#include "http2/connection.h"

// ---------------------------------------------------------------------------
// Pieces of answers

// nghttp2's callback: returns how many bytes come next. fc_http2_copy_pieces copies
// them.
ssize_t fc_http2_read_pieces(nghttp2_session *session, int32_t id, uint8_t *out,
                             size_t size, uint32_t *flags,
                             nghttp2_data_source *source, void *context) {
  fc_http2_stream_t *s = source->ptr;
  const bool is_last = !s->in_parts || s->part == FC_PART_LAST;
  (void)session, (void)id, (void)out, (void)context;
  if (!s->left && s->part == FC_PART_MORE && !is_last) {
    return NGHTTP2_ERR_DEFERRED;
  }
  // A reset tells the client that the answer is not complete.
  if (!s->left && !is_last) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (s->left <= size) size = (size_t)s->left;
  if (s->left == size && is_last) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (s->tail.size) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    // nghttp2 wants the fields to be submitted here:
    // https://github.com/nghttp2/nghttp2/issues/269
    if (s->tail.size) fc_http2_stream_tail(s);
  }
  return (ssize_t)size;
}

static void put(fc_http2_connection_t *h, const void *data, size_t size) {
  FC_ASSERT(size <= FC_HTTP2_OUT - h->size);
  if (size) memcpy(h->to + h->size, data, size);
  h->size += size;
}

static void copy_some(fc_http2_stream_t *s, size_t size) {
  const fc_exchange_t *x = s->source;
  s->left -= size;
  s->sent += size;
  while (size) {
    const fc_piece_t *piece = &x->out.pieces[s->piece];
    const uint64_t rest = piece->size - s->offset;
    const size_t now = size < rest ? size : (size_t)rest;
    put(s->connection,
        fc_block_data(x->server->blocks, piece->block) + piece->offset +
            s->offset,
        now);
    size -= now;
    s->offset += now;
    if (s->offset < piece->size) continue;
    s->piece++;
    s->offset = 0;
  }
}

int fc_http2_copy_pieces(nghttp2_session *session, nghttp2_frame *frame,
                         const uint8_t *head, size_t size,
                         nghttp2_data_source *source, void *context) {
  fc_http2_connection_t *h = context;
  fc_http2_stream_t *s = source->ptr;
  (void)session, (void)frame;
  // nghttp2 offers this frame again when it is called next.
  if (h->size + 9 + size > FC_HTTP2_OUT) return NGHTTP2_ERR_WOULDBLOCK;
  put(h, head, 9);
  copy_some(s, size);
  fc_calm_earn_bytes(&h->calm, size);
  if (!s->left) fc_http2_note_ready(s);
  return 0;
}

void fc_http2_note_ready(fc_http2_stream_t *s) {
  fc_http2_connection_t *h = s->connection;
  if (s->is_ready ||
      (s->state != FC_HTTP2_WRITE && s->state != FC_HTTP2_PARTS)) {
    return;
  }
  s->is_ready = true;
  s->next_ready = h->ready;
  h->ready = s;
}

// ---------------------------------------------------------------------------
// Frames

// Gathers frames from nghttp2 until the buffer is full or there is no further one.
// False: nghttp2 has no memory.
static bool fill(fc_http2_connection_t *h) {
  ssize_t size = 1;
  h->busy = true;
  while (size > 0 && h->size + FC_HTTP2_FRAME <= FC_HTTP2_OUT) {
    const uint8_t *data;
    const size_t before = h->size;
    size = nghttp2_session_mem_send(h->session, &data);
    if (size > 0) put(h, data, (size_t)size);
    else if (h->size > before) size = 1;
  }
  h->busy = false;
  return size >= 0;
}

// Continues streams whose pieces were sent. False: there were none.
static bool settle(fc_http2_connection_t *h) {
  fc_http2_stream_t *s;
  const bool any = h->ready != NULL;
  while ((s = h->ready)) {
    h->ready = s->next_ready;
    s->is_ready = false;
    fc_http2_stream_sent(s);
  }
  return any;
}

// ---------------------------------------------------------------------------
// The stream below

// Gives `size` bytes of `rest` to the stream. False: the connection is closed.
static bool write_rest(fc_http2_connection_t *h, size_t size) {
  fc_stream_t *stream = h->base->stream;
  const fc_span_t span = {h->rest, size};
  h->written += size;
  if (stream->class->write(stream, &span, 1)) {
    fc_http2_close(h, false);
    return false;
  }
  h->writing = true;
  return true;
}

// Copies the unsent bytes to `rest`. Until all is sent, the client must keep a minimum
// rate. Its measurement begins with bytes that the stream took before.
static bool keep_rest(fc_http2_connection_t *h, size_t sent) {
  fc_stream_t *stream = h->base->stream;
  h->rest = fc_alloc(fc_http2_http1(h)->allocator, FC_HTTP2_OUT);
  if (!h->rest) {
    fc_http2_close(h, true);
    return false;
  }
  memcpy(h->rest, h->to + sent, h->size - sent);
  h->written = stream->class->unsent(stream);
  fc_pace_begin(&h->write_pace, fc_http2_now_ms(h));
  return write_rest(h, h->size - sent);
}

// If the buffer is full, there are likely to be more frames. Then `write` is used,
// which reports the end in another turn of the loop: so other connections are served
// before the buffer is filled again.
static bool write_out(fc_http2_connection_t *h) {
  fc_stream_t *stream = h->base->stream;
  if (h->rest) return write_rest(h, h->size);
  if (h->size + FC_HTTP2_FRAME > FC_HTTP2_OUT) return keep_rest(h, 0);
  const fc_span_t span = {h->to, h->size};
  const int64_t sent = stream->class->try_write(stream, &span, 1);
  if (sent < 0) {
    fc_http2_close(h, false);
    return false;
  }
  return (size_t)sent == h->size || keep_rest(h, (size_t)sent);
}

static void free_rest(fc_http2_connection_t *h) {
  fc_free(fc_http2_http1(h)->allocator, h->rest);
  h->rest = NULL;
}

// Is the connection over? Between the two GOAWAYs of a drain it is not: requests may
// still come, although nghttp2 expects none.
static bool is_done(const fc_http2_connection_t *h) {
  return !h->writing && (h->over || h->leaving != 1) &&
         !nghttp2_session_want_read(h->session) &&
         !nghttp2_session_want_write(h->session);
}

void fc_http2_send(fc_http2_connection_t *h) {
  if (h->busy || h->writing || h->base->state == FC_CONNECTION_CLOSED) return;
  bool good = true, more = true;
  h->to = h->rest ? h->rest : h->http2->room->out;
  h->size = 0;
  while (good && more && h->size + FC_HTTP2_FRAME <= FC_HTTP2_OUT) {
    good = fill(h);
    more = settle(h);
  }
  if (h->size && !write_out(h)) return;
  if (!good) {
    h->http2->counts.refused[FC_HTTP2_REFUSAL_MEMORY]++;
    fc_http2_close(h, true);
    return;
  }
  if (!h->writing && h->rest) free_rest(h);
  if (is_done(h)) fc_http2_linger(h);
  else fc_http2_follow(h);
}

void fc_http2_on_written(fc_http2_connection_t *h, bool sent) {
  h->writing = false;
  if (h->base->state == FC_CONNECTION_CLOSED) return;
  if (!sent) fc_http2_close(h, false);
  else fc_http2_send(h);
}

void fc_http2_send_later(fc_http2_connection_t *h) {
  fc_http2_t *http2 = h->http2;
  if (h->is_unsent) return;
  h->is_unsent = true;
  h->next_unsent = http2->unsent;
  http2->unsent = h;
}

void fc_http2_send_all(fc_http2_t *http2) {
  fc_http2_connection_t *h = http2->unsent;
  http2->unsent = NULL;
  // Connections that have more to send afterwards come into the list again, and have
  // their turn later.
  while (h) {
    fc_http2_connection_t *next = h->next_unsent;
    h->is_unsent = false;
    fc_http2_send(h);
    h = next;
  }
}
