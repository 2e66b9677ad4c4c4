// SPDX-License-Identifier: Apache-2.0
//
// nghttp2's callbacks for received and sent frames. nghttp2 itself refuses what HTTP/2
// forbids. The functions here count the work that a client causes.
#include "http2/connection.h"

// Ends the connection, and makes nghttp2 stop reading.
static int give_up(fc_http2_connection_t *h, fc_http2_refusal_t refusal) {
  fc_http2_terminate(h, NGHTTP2_ENHANCE_YOUR_CALM, refusal);
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int pay(fc_http2_connection_t *h) {
  if (fc_calm_pay(&h->calm, fc_http2_now_ms(h))) return 0;
  return give_up(h, FC_HTTP2_REFUSAL_FRAMES);
}

static fc_http2_stream_t *find(nghttp2_session *session, int32_t id) {
  return nghttp2_session_get_stream_user_data(session, id);
}

// ---------------------------------------------------------------------------
// Received frames

// Does the frame begin a request on a stream whose id is below the newest one's?
// nghttp2 would ignore the request.
static bool is_passed(nghttp2_session *session, const fc_http2_connection_t *h,
                      const nghttp2_frame_hd *hd) {
  return hd->type == NGHTTP2_HEADERS && hd->stream_id < h->last_id &&
         !nghttp2_session_find_stream(session, hd->stream_id);
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd,
                          void *context) {
  fc_http2_connection_t *h = context;
  if (is_passed(session, h, hd)) {
    fc_http2_terminate(h, NGHTTP2_PROTOCOL_ERROR, FC_HTTP2_REFUSAL_PROTOCOL);
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  const bool asks = hd->type == NGHTTP2_HEADERS || hd->type == NGHTTP2_DATA;
  return asks ? 0 : pay(h);
}

static int on_begin_headers(nghttp2_session *session,
                            const nghttp2_frame *frame, void *context) {
  fc_http2_connection_t *h = context;
  const int32_t id = frame->hd.stream_id;
  fc_http2_refusal_t refusal;
  // A client may send its requests without a pause, and each read may end within a head:
  // every head has the whole time.
  if (h->base->waiting.wait == FC_WAIT_HEAD) {
    fc_connection_wait(h->base, FC_WAIT_NONE);
  }
  h->head_id = id;
  h->head_size = 0;
  if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  h->last_id = id;
  if (fc_http2_stream_open(h, id, &refusal)) return 0;
  h->http2->counts.refused[refusal]++;
  // The request was not looked at, so the client may send it again.
  return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id,
                                   NGHTTP2_REFUSED_STREAM)
             ? NGHTTP2_ERR_CALLBACK_FAILURE
             : 0;
}

// Fields count with their decoded size, because a few bytes can stand for many. A head
// far above the limit is not read to its end, nor are trailers above it.
static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
                     const uint8_t *name, size_t name_size,
                     const uint8_t *value, size_t value_size, uint8_t flags,
                     void *context) {
  fc_http2_connection_t *h = context;
  fc_http2_stream_t *s = find(session, frame->hd.stream_id);
  const bool is_request = frame->headers.cat == NGHTTP2_HCAT_REQUEST;
  (void)flags;
  h->head_size += (uint32_t)(name_size + value_size + 4);
  if (h->head_size > (is_request ? 4 : 1) * FC_LIMIT_HEADERS) {
    return give_up(h, FC_HTTP2_REFUSAL_HEAD);
  }
  if (s && is_request) {
    fc_http2_stream_field(s, fc_str_make((const char *)name, name_size),
                          fc_str_make((const char *)value, value_size));
  }
  return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
                   const uint8_t *data, size_t size, void *context) {
  fc_http2_connection_t *h = context;
  fc_http2_stream_t *s = find(session, id);
  (void)flags;
  h->bodies += size;
  fc_calm_earn_bytes(&h->calm, size);
  if (!s) return nghttp2_session_consume_connection(session, size);
  fc_http2_stream_body(s, fc_str_make((const char *)data, size));
  return 0;
}

// Forgets the priority that a client wants: all streams take turns.
static void forget_priority(nghttp2_session *session, int32_t id) {
  nghttp2_priority_spec same;
  nghttp2_priority_spec_default_init(&same);
  (void)nghttp2_session_change_stream_priority(session, id, &same);
}

static int on_control(fc_http2_connection_t *h, const nghttp2_frame *frame) {
  const bool is_ack = frame->hd.flags & NGHTTP2_FLAG_ACK;
  if (frame->hd.type == NGHTTP2_SETTINGS && !is_ack) h->greeted = true;
  if (frame->hd.type == NGHTTP2_PING && is_ack && h->leaving == 1) {
    fc_http2_say_last(h);
  }
  return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame,
                    void *context) {
  fc_http2_connection_t *h = context;
  fc_http2_stream_t *s = find(session, frame->hd.stream_id);
  const bool ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
  const bool is_head = frame->hd.type == NGHTTP2_HEADERS;
  const bool is_priority = frame->hd.type == NGHTTP2_PRIORITY;
  const bool has_priority =
      is_head && (frame->hd.flags & NGHTTP2_FLAG_PRIORITY);
  if (s && (is_priority || has_priority)) forget_priority(session, s->id);
  if (!is_head && frame->hd.type != NGHTTP2_DATA) return on_control(h, frame);
  if (is_head) h->head_id = 0;
  const bool is_empty =
      !is_head && !ends && frame->hd.length <= frame->data.padlen;
  if (is_empty) return pay(h);
  if (s && is_head && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
    s->ended = ends;
    s->has_body = !ends;
    fc_http2_stream_begin(s);
  } else if (s && ends) {
    fc_http2_stream_end(s);
  }
  return 0;
}

static int on_invalid(nghttp2_session *session, const nghttp2_frame *frame,
                      int code, void *context) {
  fc_http2_connection_t *h = context;
  (void)session;
  if (frame->hd.type == NGHTTP2_HEADERS) h->head_id = 0;
  if (code == NGHTTP2_ERR_REFUSED_STREAM) {
    h->http2->counts.refused[FC_HTTP2_REFUSAL_STREAMS]++;
  }
  return pay(h);
}

// ---------------------------------------------------------------------------
// Sent frames

// Frames that break a rule make the server reset streams. The client pays for each
// reset, so that this is not cheaper for it than its own resets.
static void note_reset(fc_http2_connection_t *h, uint32_t code) {
  if (code == NGHTTP2_PROTOCOL_ERROR || code == NGHTTP2_FLOW_CONTROL_ERROR) {
    h->http2->counts.refused[FC_HTTP2_REFUSAL_PROTOCOL]++;
  }
  if (code != NGHTTP2_NO_ERROR) (void)pay(h);
}

// Was only the head of an answer in parts sent, and is no part made yet?
static bool has_no_part(const fc_http2_stream_t *s) {
  return s->in_parts && !s->left && s->part == FC_PART_MORE;
}

static int on_sent(nghttp2_session *session, const nghttp2_frame *frame,
                   void *context) {
  fc_http2_connection_t *h = context;
  fc_http2_stream_t *s = find(session, frame->hd.stream_id);
  const bool ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
  switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
      if (s && s->continues) s->continues = false;
      else if (s && (ends || has_no_part(s))) fc_http2_note_ready(s);
      break;
    case NGHTTP2_RST_STREAM:
      note_reset(h, frame->rst_stream.error_code);
      break;
    case NGHTTP2_GOAWAY:
      // The ping must follow the GOAWAY, so it is submitted only now: nghttp2 would
      // send it first. A client that confirms the ping has seen the GOAWAY, too.
      if (h->leaving == 1 && !h->over) {
        (void)nghttp2_submit_ping(session, NGHTTP2_FLAG_NONE, NULL);
      }
      if (frame->goaway.error_code != NGHTTP2_NO_ERROR && !h->over) {
        h->over = true;
        h->http2->counts.refused[FC_HTTP2_REFUSAL_PROTOCOL]++;
      }
      break;
    default:
      break;
  }
  return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code,
                    void *context) {
  fc_http2_connection_t *h = context;
  fc_http2_stream_t *s = find(session, id);
  (void)code;
  if (id == h->head_id) h->head_id = 0;
  if (s) fc_http2_stream_close(s);
  return 0;
}

nghttp2_session_callbacks *fc_http2_make_callbacks(void) {
  nghttp2_session_callbacks *out;
  if (nghttp2_session_callbacks_new(&out)) return NULL;
  nghttp2_session_callbacks_set_on_begin_frame_callback(out, on_begin_frame);
  nghttp2_session_callbacks_set_on_begin_headers_callback(out,
                                                          on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(out, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(out, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(out, on_frame);
  nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(out, on_invalid);
  nghttp2_session_callbacks_set_on_frame_send_callback(out, on_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(out, on_close);
  nghttp2_session_callbacks_set_send_data_callback(out, fc_http2_copy_pieces);
  return out;
}
