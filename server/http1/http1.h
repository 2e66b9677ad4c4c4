// SPDX-License-Identifier: Apache-2.0
//
// HTTP/1 on one loop: data that its connections share, the lists in which they wait,
// accepting and refusing clients. The server makes one fc_http1_t with a clock, gives it
// clients, and asks it when its next time-out is. Loop thread.
#ifndef FARCALL_SERVER_HTTP1_HTTP1_H_
#define FARCALL_SERVER_HTTP1_HTTP1_H_

#include "exchange/exchange.h"
#include "http1/parser.h"
#include "http1/response.h"
#include "stream/stream.h"

typedef struct fc_connection_t fc_connection_t;  // http1/connection.h
typedef struct fc_waiting_t fc_waiting_t;

// The events that a connection may wait for.
typedef enum fc_wait_t {
  FC_WAIT_NONE,  // no time-out: as while a call runs, or after the close
  FC_WAIT_IDLE,
  FC_WAIT_HEAD,
  FC_WAIT_BODY,
  FC_WAIT_WRITE,
  FC_WAIT_LINGER,
  FC_WAIT_SLOWED,  // the answer to a wrong token (fc_exchange_t.is_slowed)
  FC_WAIT_AGE,     // how long an HTTP/2 connection may live
  FC_WAIT_COUNT
} fc_wait_t;

// A connection or an HTTP/2 stream, as something that waits for an event or for its
// turn. If it is zeroed, except its class, it waits for nothing.
typedef struct fc_waiting_class_t {
  void (*on_timeout)(fc_waiting_t *waiting);  // its time has run out
  void (*go_on)(fc_waiting_t *waiting);  // it was paused, and this is its turn
} fc_waiting_class_t;

struct fc_waiting_t {
  const fc_waiting_class_t *class;
  fc_waiting_t *next;  // the next one that waits for the same kind of event
  fc_waiting_t *previous;
  fc_waiting_t *next_paused;  // the next paused one
  fc_waiting_t *previous_paused;
  uint64_t due_ms;
  uint8_t wait;    // fc_wait_t
  bool is_paused;  // its request waits for the next turn
};

// All waits for one kind of event, in the order of their time-outs: all are equally
// long, so a new one is put at the end.
typedef struct fc_waits_t {
  fc_waiting_t *first;
  fc_waiting_t *last;
  uint64_t wait_ms;
} fc_waits_t;

#define FC_HTTP2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// The functions of HTTP/2 that connections call (http2/).
typedef struct fc_http2_class_t {
  // Takes the connection over; `bytes` begin with the preface. HTTP/2 then handles the
  // stream's events and the time-outs, and sets fc_connection_t.http2. False: no memory.
  bool (*begin)(fc_connection_t *connection, fc_str_t bytes);
  // A connection began with bytes of neither protocol.
  void (*count_wrong_preface)(void *http2_context);
  void (*drain)(fc_connection_t *connection);    // as fc_connection_drain
  void (*abandon)(fc_connection_t *connection);  // as fc_connection_abandon
} fc_http2_class_t;

typedef struct fc_http1_t {
  fc_allocator_t allocator;
  fc_server_t *server;
  // The loop's time in milliseconds. It never goes back.
  uint64_t (*now_ms)(void *context);
  void *context;
  fc_parser_t parser;
  fc_error_t error;  // for rare errors: clearing one on the stack costs time
  // The spans of a write. They are here because clearing them on the stack costs time.
  fc_span_t spans[FC_PIECES_MAX + 1];
  fc_waits_t waits[FC_WAIT_COUNT];
  fc_connection_t *connections;  // all of them
  uint32_t turned_away;  // connections that are not served, until closed
  const fc_http2_class_t *http2;  // NULL: the server does not speak HTTP/2
  void *http2_context;
  // The paused connections and streams (fc_http1_pause), the oldest first.
  fc_waiting_t *paused_first;
  fc_waiting_t *paused_last;
  // When the first pipelined request of this turn was begun; 0: none was.
  uint64_t ahead_ns;
  // FC_LIMIT_READ bytes, for bytes that are not read into a block.
  char *read_buffer;
  char date[FC_RESPONSE_DATE_SIZE];
  int64_t date_s;
  // Bytes that were read from clients and handled. Added with release order; tests load
  // it in another thread.
  _Atomic uint64_t bytes_in;
} fc_http1_t;

// Borrows `server` and its options.
fc_status_t fc_http1_init(fc_http1_t *http1, fc_allocator_t allocator,
                          fc_server_t *server,
                          uint64_t (*now_ms)(void *context), void *context,
                          fc_error_t *err) FC_MUST_CHECK;
// All connections must be closed. Accepts a zeroed struct.
void fc_http1_deinit(fc_http1_t *http1);

// A client that has connected.
typedef struct fc_client_t {
  const fc_stream_class_t *streams;
  const void *source;         // for streams->open
  const fc_policy_t *policy;  // of the listener; outlives the connection
  fc_peer_t address;          // zero if unknown
  fc_known_user_t user;       // of a Unix socket
} fc_client_t;

// Serves a client. If server->connection_max is exceeded, or there is no memory to count
// the connection, the client is answered 503; if policy->client_connections is exceeded,
// 429. If FC_LIMIT_TURNED_AWAY clients are being answered so already, the connection is
// only closed. False: there is no memory for a connection, and the caller keeps the
// source.
bool fc_http1_accept(fc_http1_t *http1, const fc_client_t *client);

// Writes a whole answer for a client that gets no connection, and returns the answer's
// bytes in `text`. Needs no other memory.
#define FC_HTTP1_REFUSAL_MAX (FC_LIMIT_HEAD + FC_EXCHANGE_REFUSAL_MAX)
fc_str_t fc_http1_refusal(fc_http1_t *http1, const fc_error_t *error,
                          char text[FC_HTTP1_REFUSAL_MAX]);

// Returns the time (now_ms) of the next time-out, when to call fc_http1_expire;
// UINT64_MAX: there is none.
uint64_t fc_http1_due_ms(const fc_http1_t *http1);
// Calls on_timeout of every wait whose time has passed.
void fc_http1_expire(fc_http1_t *http1);
// Goes on with paused requests (fc_http1_pause), as far as one turn allows. Called in
// each turn of the loop. True: some still wait, so the loop must not wait for events.
bool fc_http1_go_on(fc_http1_t *http1);
// Called when the server drains: calls fc_connection_drain for each connection.
void fc_http1_drain(fc_http1_t *http1);
// Answers waiting clients with FC_CODE_SHUTTING_DOWN and closes every connection.
void fc_http1_abandon(fc_http1_t *http1);

// ---------------------------------------------------------------------------
// For connections and streams

void fc_http1_wait(fc_http1_t *http1, fc_waiting_t *waiting, fc_wait_t kind);
// Call it when a connection has served a request and already has bytes of another. True:
// this turn has spent its time on such requests, and the new one is paused.
bool fc_http1_pause(fc_http1_t *http1, fc_waiting_t *waiting);
// Ends the pause.
void fc_http1_resume(fc_http1_t *http1, fc_waiting_t *waiting);
fc_str_t fc_http1_date(fc_http1_t *http1);

#endif  // FARCALL_SERVER_HTTP1_HTTP1_H_
