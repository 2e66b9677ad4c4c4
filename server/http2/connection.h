// SPDX-License-Identifier: Apache-2.0
//
// A connection of HTTP/2 and its streams. Each stream has a request and its answer, in an
// exchange of its own, and is the exchange's carrier. nghttp2 must not be entered again
// while it is on the stack (`busy`), and a connection ends only when it is not: its
// callbacks submit frames and note what is to be done (`ready`, `over`), and
// fc_http2_send does it.
#ifndef FARCALL_SERVER_HTTP2_CONNECTION_H_
#define FARCALL_SERVER_HTTP2_CONNECTION_H_

#include <nghttp2/nghttp2.h>

#include "http1/connection.h"
#include "http2/calm.h"
#include "http2/http2.h"

#define FC_HTTP2_OUT (64u << 10)  // bytes sent at once
// Of these, what one more frame may take: its head, and what nghttp2 puts into one.
#define FC_HTTP2_FRAME (17u << 10)

//        head read, body wanted     complete         answered
//   HEAD ---------------------> BODY -------> CALL ---------> WRITE --> sent
//    '---------- answered early ----------------------------->'  '--> DISCARD
// A request that waits goes from HEAD to WAIT and back, as in HTTP/1. Between CALL and
// WRITE an answer in parts is in PARTS. DISCARD: the answer is sent, but the client's
// body still comes.
typedef enum fc_http2_state_t {
  FC_HTTP2_HEAD,  // its head comes, or is there and waits for its turn
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
  fc_http2_stream_t *next_ready;  // of those whose pieces were sent
  int32_t id;
  uint8_t state;  // fc_http2_state_t
  bool is_ready;
  bool ended;          // the client sends no more of the request
  bool has_body;       // its head did not end the request
  uint8_t refusal;     // fc_code_t for which its head is refused; 0: none
  uint32_t head_size;  // bytes of the head, decoded, without the path
  uint32_t fields;
  bool continues;  // 100 was submitted, and not sent yet
  fc_stash_t
      head;  // field lines as of HTTP/1; those of pseudo fields come first
  fc_stash_t body;  // what came of the body before it was admitted
  uint64_t length;  // of the body, 0 if it was not said
  uint32_t looked;  // of the body kept, bytes that did not name the model yet
  fc_pace_t body_pace;
  // Of the answer, or of the part of it that is sent
  bool in_parts;
  uint8_t part;     // fc_part_end_t: what follows it
  uint32_t piece;   // where the next byte is, among the exchange's pieces
  uint64_t offset;  // in this piece
  uint64_t left;    // bytes that nghttp2 was not given yet
  uint64_t sent;    // bytes that it was given, of all parts
  fc_str_t tail;    // field lines behind the last of them, "" if none
  fc_pace_t write_pace;
  fc_owner_count_t count;  // unless it is the only stream of its connection
  bool counted;            // in fc_server_t.streams
  fc_http2_messages_t *messages;  // NULL: its body is no stream of them
  const fc_exchange_t *source;    // whose pieces are sent
  fc_exchange_t exchange;
};

// nghttp2's memory, of which a connection has a share: whatever a client has it queue.
typedef struct fc_http2_memory_t {
  fc_allocator_t allocator;
  size_t taken;
} fc_http2_memory_t;

struct fc_http2_connection_t {
  fc_waiting_t age;  // the first member; its age, then the end of a drain
  fc_connection_t *base;
  fc_http2_t *http2;
  nghttp2_session *session;
  fc_http2_connection_t *next_unsent;
  fc_http2_stream_t *streams;
  fc_http2_stream_t *ready;  // streams whose pieces were sent
  uint32_t count;            // of streams
  int32_t last_id;           // of the newest stream
  int32_t head_id;     // of the stream whose head has begun, and not ended
  uint32_t head_size;  // bytes of the head that came last, decoded
  uint32_t begun;      // requests of the bytes that are read now
  bool is_unsent;
  bool busy;        // nghttp2 is on the stack
  bool writing;     // the stream below has `rest`
  bool greeted;     // the client's SETTINGS are there
  uint8_t leaving;  // GOAWAYs that were sent to drain
  bool over;        // no request is read any more
  uint8_t *rest;    // FC_HTTP2_OUT bytes, while the stream below is slow
  uint8_t *to;      // where frames go to
  size_t size;      // how many bytes have
  uint64_t
      written;  // with `rest`: bytes given to the stream that `write_pace` counts
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
// Ends the connection with a GOAWAY: no stream goes on, no request is read any more.
// `refusal` is counted; FC_HTTP2_REFUSALS: none.
void fc_http2_terminate(fc_http2_connection_t *h, uint32_t code,
                        fc_http2_refusal_t refusal);
// Counts, and ends the stream with a RST_STREAM.
void fc_http2_reset(fc_http2_stream_t *s, uint32_t code,
                    fc_http2_refusal_t refusal);
// A client has ended a wait: what the connection waits for is set anew.
void fc_http2_follow(fc_http2_connection_t *h);
// Ends the connection at once; its streams are dropped.
void fc_http2_close(fc_http2_connection_t *h, bool reset);
// Has said all: waits for the client to close, as HTTP/1.
void fc_http2_linger(fc_http2_connection_t *h);
// The last GOAWAY of a drain: it says which requests are served.
void fc_http2_say_last(fc_http2_connection_t *h);

// frames.c
nghttp2_session_callbacks *fc_http2_make_callbacks(void);

// memory.c
// `memory` must stay; nghttp2 copies *out.
void fc_http2_memory_hooks(fc_http2_memory_t *memory, nghttp2_mem *out);

// head.c
// Reads a head of lines, pseudo fields first. Texts point into it.
fc_status_t fc_http2_read_head(fc_str_t text, fc_head_t *out_head,
                               fc_error_t *err) FC_MUST_CHECK;

// send.c
// Sends frames, as many as a turn and the stream below allow, and does what follows.
// Does nothing while nghttp2 is on the stack. `h` may be gone afterwards.
void fc_http2_send(fc_http2_connection_t *h);
// Has the loop do so in this turn.
void fc_http2_send_later(fc_http2_connection_t *h);
void fc_http2_on_written(fc_http2_connection_t *h, bool sent);
// All pieces of the stream were sent: fc_http2_send goes on with it.
void fc_http2_note_ready(fc_http2_stream_t *s);
// Submits the fields behind the body.
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
// NULL: no memory, or the client has too many; *out_refusal says which.
fc_http2_stream_t *fc_http2_stream_open(fc_http2_connection_t *h, int32_t id,
                                        fc_http2_refusal_t *out_refusal);
// The stream is over, answered or not.
void fc_http2_stream_close(fc_http2_stream_t *s);
// A field of the head. The head is refused later if it is too large.
void fc_http2_stream_field(fc_http2_stream_t *s, fc_str_t name, fc_str_t value);
// The head is there.
void fc_http2_stream_begin(fc_http2_stream_t *s);
void fc_http2_stream_body(fc_http2_stream_t *s, fc_str_t bytes);
// The client sends no more.
void fc_http2_stream_end(fc_http2_stream_t *s);
// Its pieces were sent.
void fc_http2_stream_sent(fc_http2_stream_t *s);
// The server ends: a request that waits is refused, an answer in parts is cut.
void fc_http2_stream_abandon(fc_http2_stream_t *s);
// Sends the pieces of the exchange as the next part of the stream's answer.
void fc_http2_stream_send(fc_http2_stream_t *s, const fc_exchange_t *x);
// Confirms bytes of the body: the client may send as many more.
void fc_http2_stream_consume(fc_http2_stream_t *s, size_t size);
// Opens the stream's window for a body of so many bytes, 0: nobody knows.
void fc_http2_stream_open_window(const fc_http2_stream_t *s, uint64_t length);
// Counts a request beyond the first one of its connection; false, if there are too many.
bool fc_http2_count(const fc_http2_connection_t *h,
                    fc_owner_count_t *out_count);
void fc_http2_uncount(const fc_http2_connection_t *h, fc_owner_count_t *count);

// messages.c. A stream whose body is a stream of messages (FC_ROUTE_STREAM).
// Its head was admitted.
void fc_http2_messages_begin(fc_http2_stream_t *s);
void fc_http2_messages_body(fc_http2_stream_t *s, fc_str_t bytes);
// Goes on as far as possible: when the client sends no more, the stream has its turn, or
// its connection leaves.
void fc_http2_messages_go_on(fc_http2_stream_t *s);
// The pieces of an answer were sent.
void fc_http2_messages_sent(fc_http2_stream_t *s);
// Answers no more calls: the stream ends with this error.
void fc_http2_messages_abandon(fc_http2_stream_t *s, const fc_error_t *error);
// The stream is over. Does nothing if it has none.
void fc_http2_messages_close(fc_http2_stream_t *s);

#endif  // FARCALL_SERVER_HTTP2_CONNECTION_H_
