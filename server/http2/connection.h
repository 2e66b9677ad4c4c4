// SPDX-License-Identifier: Apache-2.0
//
// A connection of HTTP/2 and its streams. Each stream has one request and its answer,
// in an exchange of its own, and is that exchange's carrier. While nghttp2 is on the
// stack (`busy`), it must not be called again, and the connection must not end. So
// nghttp2's callbacks only submit frames and note the work that is left (`ready`,
// `over`); fc_http2_send does that work.
#ifndef FARCALL_SERVER_HTTP2_CONNECTION_H_
#define FARCALL_SERVER_HTTP2_CONNECTION_H_

#include <nghttp2/nghttp2.h>

#include "http1/connection.h"
#include "http1/response.h"
#include "http2/calm.h"
#include "http2/http2.h"

#define FC_HTTP2_OUT (64u << 10)  // the size of a buffer of frames, bytes
// The most bytes that nghttp2 adds to the buffer for one frame, with the frame's head.
#define FC_HTTP2_FRAME (17u << 10)

// The most fields of an answer: ":status", the fields of its head, and those of gRPC that
// follow an answer, which may stand in its head.
#define FC_HTTP2_FIELDS (1 + FC_RESPONSE_FIELDS + FC_ANSWER_TAIL_FIELDS)

// Where the loop makes an answer, and what it sends at once. On the stack it would be
// cleared for each answer.
typedef struct fc_http2_room_t {
  uint8_t out[FC_HTTP2_OUT];
  char head[FC_LIMIT_HEAD];
  nghttp2_nv fields[FC_HTTP2_FIELDS];
} fc_http2_room_t;

//        head read, body wanted     complete         answered
//   HEAD ---------------------> BODY -------> CALL ---------> WRITE --> sent
//    '---------- answered early ----------------------------->'  '--> DISCARD
// A request that must wait goes from HEAD to WAIT and back, as in HTTP/1. An answer in
// parts is in PARTS between CALL and WRITE. DISCARD: the answer is sent, but the client
// has not ended its body.
typedef enum fc_http2_state_t {
  FC_HTTP2_HEAD,  // its head is being received, or waits for its turn
  FC_HTTP2_WAIT,
  FC_HTTP2_BODY,
  FC_HTTP2_CALL,
  FC_HTTP2_PARTS,
  FC_HTTP2_WRITE,
  FC_HTTP2_DISCARD,
} fc_http2_state_t;

typedef struct fc_http2_messages_t fc_http2_messages_t;  // messages.c
typedef struct fc_http2_stream_t fc_http2_stream_t;
struct fc_http2_stream_t {
  fc_waiting_t waiting;  // the first member
  fc_http2_connection_t *connection;
  fc_http2_stream_t *next;  // of the connection's streams
  fc_http2_stream_t *previous;
  fc_http2_stream_t *next_ready;  // the next stream whose pieces were sent
  int32_t id;
  uint8_t state;  // fc_http2_state_t
  bool is_ready;
  bool ended;     // the client sends no more of the request
  bool has_body;  // the request goes on after its head
  // The fc_code_t with which the head is refused; 0: the head is not refused.
  uint8_t refusal;
  uint32_t head_size;  // size of the decoded head without the path, bytes
  uint32_t fields;
  bool continues;  // 100 was submitted, but is not sent yet
  // Field lines in the form of HTTP/1; those of pseudo fields come first.
  fc_stash_t head;
  fc_stash_t body;  // bytes of the body that came before the head was admitted
  uint64_t length;  // of the body; 0: the client did not announce it
  uint32_t looked;  // bytes of `body` in which the model's name was not found
  fc_pace_t body_pace;
  // The answer, or the part of it that is being sent
  bool in_parts;
  uint8_t part;     // fc_part_end_t: what follows the part
  uint32_t piece;   // the piece of the exchange that has the next byte
  uint64_t offset;  // of the next byte in this piece
  uint64_t left;    // bytes that nghttp2 has not been given yet
  uint64_t sent;    // bytes that nghttp2 was given, in all parts
  fc_str_t tail;    // field lines after the answer's last byte; "": none
  fc_pace_t write_pace;
  fc_owner_count_t count;  // not used by the only stream of its connection
  bool counted;            // in fc_server_t.streams
  fc_http2_messages_t *messages;  // NULL: the body is not a stream of messages
  const fc_exchange_t *source;    // the exchange whose pieces are sent
  fc_exchange_t exchange;
};

// Bounds the memory that nghttp2 takes for one connection, because a client can make it
// queue frames.
typedef struct fc_http2_memory_t {
  fc_allocator_t allocator;
  fc_http2_kept_t *kept;
  size_t taken;
} fc_http2_memory_t;

struct fc_http2_connection_t {
  // The first member; first the connection's age, then the end of a drain.
  fc_waiting_t age;
  fc_connection_t *base;
  fc_http2_t *http2;
  nghttp2_session *session;
  fc_http2_connection_t *next_unsent;
  fc_http2_stream_t *streams;
  fc_http2_stream_t *ready;  // streams whose pieces were sent
  uint32_t count;            // of streams
  int32_t last_id;           // of the newest stream
  int32_t head_id;  // the stream whose head has begun, but not ended; 0: none
  uint32_t head_size;  // size of the newest head, decoded, bytes
  uint32_t begun;      // requests that were begun by the bytes just read
  size_t bodies;       // how many of the bytes just read are of bodies
  bool is_unsent;
  bool busy;        // nghttp2 is on the stack
  bool writing;     // the stream below is sending `rest`
  bool greeted;     // the client's SETTINGS have come
  uint8_t leaving;  // the number of GOAWAYs that were sent for a drain
  bool over;        // no further request is read
  uint8_t *rest;  // FC_HTTP2_OUT bytes; NULL: the stream below takes everything
  uint8_t *to;  // the buffer to which frames are written: `rest`, or the loop's
  size_t size;  // the bytes of frames in the buffer
  // While there is `rest`: the bytes given to the stream that `write_pace` counts.
  uint64_t written;
  fc_pace_t write_pace;
  fc_calm_t calm;
  fc_http2_memory_t memory;
};

static inline fc_http1_t *fc_http2_http1(const fc_http2_connection_t *h) {
  return h->http2->http1;
}

static inline uint64_t fc_http2_now_ms(const fc_http2_connection_t *h) {
  const fc_http1_t *http1 = fc_http2_http1(h);
  return http1->now_ms(http1->context);
}

// connection.c
// Ends the connection with a GOAWAY: all streams end, and no further request is read.
// Counts `refusal`, unless it is FC_HTTP2_REFUSALS.
void fc_http2_terminate(fc_http2_connection_t *h, uint32_t code,
                        fc_http2_refusal_t refusal);
// Ends the stream with a RST_STREAM. Counts `refusal` in the same way.
void fc_http2_reset(fc_http2_stream_t *s, uint32_t code,
                    fc_http2_refusal_t refusal);
// Sets the event that the connection waits for, after a client has ended a wait.
void fc_http2_follow(fc_http2_connection_t *h);
// Ends the connection at once, and drops its streams.
void fc_http2_close(fc_http2_connection_t *h, bool reset);
// Nothing more is sent: waits for the client to close, as HTTP/1 does.
void fc_http2_linger(fc_http2_connection_t *h);
// Sends the last GOAWAY of a drain. It says which requests are served.
void fc_http2_say_last(fc_http2_connection_t *h);

// frames.c
nghttp2_session_callbacks *fc_http2_make_callbacks(void);

// memory.c
// Sets *out to functions that use `memory`, which must outlive the session.
void fc_http2_memory_hooks(fc_http2_memory_t *memory, nghttp2_mem *out);
// Frees the blocks that are kept.
void fc_http2_kept_deinit(fc_http2_kept_t *kept, fc_allocator_t allocator);

// head.c
// Parses a head of field lines, pseudo fields first. The texts of the head point into
// `text`.
fc_status_t fc_http2_read_head(fc_str_t text, fc_head_t *out_head,
                               fc_error_t *err) FC_MUST_CHECK;

// Reads the head of an answer, written as HTTP/1 has it. nghttp2 makes the names' letters
// small. Returns the number of fields; texts point into the head.
size_t fc_http2_read_fields(fc_str_t text, nghttp2_nv *out);
// Adds field lines to `count` fields. Returns the number of all.
size_t fc_http2_read_lines(fc_str_t text, size_t count, nghttp2_nv *out);

// send.c
// Sends frames, as many as a turn and the stream below allow, and does the work that
// callbacks have noted. Does nothing while nghttp2 is on the stack. `h` may be freed
// afterwards.
void fc_http2_send(fc_http2_connection_t *h);
// Makes the loop call fc_http2_send in this turn.
void fc_http2_send_later(fc_http2_connection_t *h);
void fc_http2_on_written(fc_http2_connection_t *h, bool sent);
// All pieces of the stream were sent: makes fc_http2_send continue the stream.
void fc_http2_note_ready(fc_http2_stream_t *s);
// Submits the field lines after the body (s->tail).
void fc_http2_stream_tail(fc_http2_stream_t *s);
// Callbacks of nghttp2 that read the pieces of an answer.
ssize_t fc_http2_read_pieces(nghttp2_session *session, int32_t id, uint8_t *out,
                             size_t size, uint32_t *flags,
                             nghttp2_data_source *source, void *context);
int fc_http2_copy_pieces(nghttp2_session *session, nghttp2_frame *frame,
                         const uint8_t *head, size_t size,
                         nghttp2_data_source *source, void *context);

// stream.c
extern const fc_carrier_t fc_http2_carrier;
// NULL: there is no memory, or the client has too many streams; *out_refusal says
// which.
fc_http2_stream_t *fc_http2_stream_open(fc_http2_connection_t *h, int32_t id,
                                        fc_http2_refusal_t *out_refusal);
// Frees the stream, whether it was answered or not.
void fc_http2_stream_close(fc_http2_stream_t *s);
// Adds a field to the head. If the head is too large, it is refused when it is
// complete.
void fc_http2_stream_field(fc_http2_stream_t *s, fc_str_t name, fc_str_t value);
// Handles the head, which is complete.
void fc_http2_stream_begin(fc_http2_stream_t *s);
void fc_http2_stream_body(fc_http2_stream_t *s, fc_str_t bytes);
// The client will send no more bytes of the body.
void fc_http2_stream_end(fc_http2_stream_t *s);
// The stream's pieces were sent: makes the next part, or ends the stream.
void fc_http2_stream_sent(fc_http2_stream_t *s);
// The server ends: refuses a request that waits, and cuts off an answer in parts.
void fc_http2_stream_abandon(fc_http2_stream_t *s);
// Sends the pieces of the exchange as the next part of the stream's answer.
void fc_http2_stream_send(fc_http2_stream_t *s, const fc_exchange_t *x);
// Confirms bytes of the body: the client may send as many further bytes.
void fc_http2_stream_consume(fc_http2_stream_t *s, size_t size);
// Opens the stream's window for a body of `length` bytes; 0: the length is not known.
void fc_http2_stream_open_window(const fc_http2_stream_t *s, uint64_t length);
// Counts a request, unless it is the connection's only one. False: there are too many.
bool fc_http2_count(const fc_http2_connection_t *h,
                    fc_owner_count_t *out_count);
void fc_http2_uncount(const fc_http2_connection_t *h, fc_owner_count_t *count);

// messages.c: streams whose body is a stream of messages (FC_ROUTE_STREAM). Called when
// the stream's head was admitted.
void fc_http2_messages_begin(fc_http2_stream_t *s);
void fc_http2_messages_body(fc_http2_stream_t *s, fc_str_t bytes);
// Goes on as far as possible. Called when the client sends no more, when it is the
// stream's turn, or when its connection drains.
void fc_http2_messages_go_on(fc_http2_stream_t *s);
// The pieces of an answer were sent.
void fc_http2_messages_sent(fc_http2_stream_t *s);
// Begins no more calls: the stream ends with this error.
void fc_http2_messages_abandon(fc_http2_stream_t *s, const fc_error_t *error);
// Frees what the stream has for messages. Does nothing if there is nothing.
void fc_http2_messages_close(fc_http2_stream_t *s);

#endif  // FARCALL_SERVER_HTTP2_CONNECTION_H_
