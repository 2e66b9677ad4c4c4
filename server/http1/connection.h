// SPDX-License-Identifier: Apache-2.0
//
// One client connection reads bytes from a stream, finds requests in them, has an
// exchange answer each, in order, and closes without losing the last answer. It has one
// exchange at a time, and is the carrier of that exchange.
#ifndef FARCALL_SERVER_HTTP1_CONNECTION_H_
#define FARCALL_SERVER_HTTP1_CONNECTION_H_

#include "http1/framing.h"
#include "http1/http1.h"
#include "http1/pace.h"
#include "http1/stash.h"

//        head read, body wanted      body complete        answered
//   HEAD ------------------> BODY -----------------> CALL --------> WRITE
//    | \  answered early, its body comes     body complete          |  |
//    |  `--> DISCARD ------------------------> HEAD (or WRITE)      |  |
//    |  `--> WRITE: answered early, no body to come                 |  |
//    '<------------------------------------- written --------------'  |
//                         LINGER <----- written, and it was the last --'
// If a request must wait for its module, or for the answer to a wrong token, it goes from
// HEAD to WAIT and back: its head is kept and read again. A request for a long document
// goes from HEAD to CALL. An error leads from HEAD, WAIT and BODY to WRITE, a slow body
// from DISCARD to LINGER, and a drain from an idle HEAD to LINGER. Any state may become
// CLOSED. An answer in parts goes from CALL to PARTS; after its last part the next state
// is the one that follows WRITE.
typedef enum fc_connection_state_t {
  FC_CONNECTION_HEAD,  // waits for a request, or reads its head
  FC_CONNECTION_WAIT,  // the head is kept, to be read again later
  FC_CONNECTION_BODY,  // reads a body that is wanted (fc_exchange_t.is_call)
  // The answer is being sent, or was sent; the rest of the body is dropped.
  FC_CONNECTION_DISCARD,
  // A call is queued or runs, an act is in progress, or a document is being written.
  FC_CONNECTION_CALL,
  FC_CONNECTION_PARTS,  // parts of an answer are being made, and written
  FC_CONNECTION_WRITE,  // the answer is being made, or does not fit the stream yet
  FC_CONNECTION_LINGER,  // nothing more is sent; waits for the client to close
  FC_CONNECTION_HTTP2,   // HTTP/2 handles the connection (http2/)
  FC_CONNECTION_CLOSED,
} fc_connection_state_t;

typedef enum fc_input_t {
  // The stream is not read: it has not begun, or the stash is full.
  FC_INPUT_HELD,
  FC_INPUT_READ,   // bytes are read as they come
  FC_INPUT_ENDED,  // the client will send no more, or the stream is broken
} fc_input_t;

struct fc_connection_t {
  // The first member. While it is paused, the stash waits for its turn.
  fc_waiting_t waiting;
  fc_http1_t *http1;
  fc_connection_t *next;  // of all connections
  fc_connection_t *previous;
  struct fc_http2_connection_t *http2;  // NULL: the connection speaks HTTP/1
  uint8_t state;                        // fc_connection_state_t
  uint8_t input;                        // fc_input_t
  bool is_last;      // the answer is the last one: no request after it is read
  bool turned_away;  // not served: counted in http1->turned_away
  bool is_new;       // no request on it was answered yet
  fc_stash_t stash;
  // Members for the request
  bool is_http10;
  bool is_chunked;  // its body ends by itself, not after `left` bytes
  uint64_t left;    // bytes of a sized body still to come
  fc_pace_t body_pace;
  fc_framing_t framing;
  llhttp_t parser;
  // Members for its answer
  // Bytes of the answer or part, until it is written; then 0.
  uint64_t write_size;
  // The part of write_size that the stream was given, bytes.
  uint64_t write_done;
  uint64_t write_before;  // bytes of earlier parts that `write_pace` counts
  uint32_t head_size;     // bytes of write_size that are before the first piece
  uint8_t tail;  // the bytes after the last piece: a row of kTails (write.c)
  uint8_t part;  // fc_part_end_t: what follows the part that is written
  bool in_parts;
  bool is_paced;  // `write_pace` has begun for this answer
  fc_pace_t write_pace;
  fc_owner_count_t count;  // in fc_server_t.client_connections
  // The first of the sessions that end with the connection.
  fc_session_t *bound;
  fc_exchange_t exchange;
  fc_stream_t *stream;  // lies after the connection, in the same memory
};

// Called when the server drains: ends a connection on which no request has begun. A new
// connection, on which no request was answered yet, gets FC_LIMIT_LINGER_MS to send one.
// A connection with a request in progress ends after that request.
void fc_connection_drain(fc_connection_t *connection);
// If the client waits (fc_connection_is_waiting), answers with FC_CODE_SHUTTING_DOWN.
// Closes the connection in any case.
void fc_connection_abandon(fc_connection_t *connection);

// ---------------------------------------------------------------------------
// Functions that the files of a connection call among themselves

// connection.c. Goes on after an answer, or after the wait for a module: uses the bytes
// in the stash, then waits for more.
void fc_connection_pump(fc_connection_t *connection);
// Counts a connection, or an HTTP/2 stream, for its client. Connections of a trusted
// proxy are not counted, because they belong to many clients. Fails if the client has its
// maximum, or without memory.
fc_status_t fc_connection_count(const fc_connection_t *connection,
                                fc_owner_count_t *out_count,
                                fc_error_t *err) FC_MUST_CHECK;
// HTTP/2 has ended: HTTP/1 handles the events of the stream and the time-outs again.
void fc_connection_hand_back(fc_connection_t *connection);
// Starts or stops reading, as the state and the stash require.
void fc_connection_follow_reading(fc_connection_t *connection);

static inline void fc_connection_wait(fc_connection_t *connection,
                                      fc_wait_t kind) {
  fc_http1_wait(connection->http1, &connection->waiting, kind);
}

// receive.c. Uses as many bytes as the state allows; returns how many.
size_t fc_connection_receive(fc_connection_t *connection, fc_str_t bytes);
// Answers with an error that occurred in `stage`. This is the connection's last answer:
// bytes that follow are not read as requests.
void fc_connection_refuse(fc_connection_t *connection, const fc_error_t *error,
                          fc_stage_t stage);

// write.c
extern const fc_carrier_t fc_connection_carrier;
// Called when the answer is written and the request was read completely: starts the next
// request, or ends the connection.
void fc_connection_end_exchange(fc_connection_t *connection);
void fc_connection_on_written(fc_connection_t *connection, bool sent);
// Sends 100 Continue. False: the stream has no room for it, so the connection is closed.
bool fc_connection_say_continue(fc_connection_t *connection);
// Notes how much of the answer the client has taken. True: the client is fast enough
// (pace.h).
bool fc_connection_is_taken(fc_connection_t *connection);
// Shuts down sending. Then reads and drops bytes until the client closes, for at most
// FC_LIMIT_LINGER_MS. Closes at once if the client has closed already.
void fc_connection_linger(fc_connection_t *connection);
void fc_connection_close(fc_connection_t *connection, bool reset);

// Does the client wait: in WAIT, or for a call, an act, a long document or more parts of
// an answer?
static inline bool fc_connection_is_waiting(const fc_connection_t *connection) {
  return connection->state == FC_CONNECTION_WAIT ||
         connection->state == FC_CONNECTION_CALL ||
         connection->state == FC_CONNECTION_PARTS;
}

static inline bool fc_connection_is_writing(const fc_connection_t *connection) {
  return connection->write_size != 0;
}

#endif  // FARCALL_SERVER_HTTP1_CONNECTION_H_
