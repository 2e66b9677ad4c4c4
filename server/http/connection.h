// SPDX-License-Identifier: Apache-2.0
//
// One client connection: reads bytes, finds requests in them, has them answered
// one at a time and in order, and closes without losing the last answer. READ,
// ROUTE, ADMIT and WRITE of every call are made here, on the loop thread.
#ifndef FARCALL_SERVER_HTTP_CONNECTION_H_
#define FARCALL_SERVER_HTTP_CONNECTION_H_

#include <uv.h>

#include "api/route.h"
#include "http/gate.h"
#include "pool/pool.h"

typedef struct fc_loop_t fc_loop_t;

typedef enum fc_connection_state_t {
  FC_CONNECTION_HEAD,    // waits for a request, or reads its head
  FC_CONNECTION_BODY,    // reads a body, to use it or to throw it away
  FC_CONNECTION_CALL,    // a call is queued or runs
  FC_CONNECTION_WRITE,   // the answer does not fit the socket yet
  FC_CONNECTION_LINGER,  // everything is said; waits for the client to close
  FC_CONNECTION_CLOSED,
} fc_connection_state_t;

// The request being answered. Reset for each.
typedef struct fc_exchange_t {
  fc_job_t job;
  fc_place_t place;
  uint8_t method;
  bool has_method;  // a head was understood
  bool http_10;
  bool keep_alive;  // as the client wants it
  bool chunked;
  bool answered;  // the answer is on its way or sent
  uint8_t id_size;
  uint32_t retry_after;
  uint64_t left;       // bytes of a sized body still to come
  uint64_t began_ns;   // first byte of the head
  uint64_t marked_ns;  // end of the last stop
  uint64_t body_ms;    // when the body began, for its rate
  uint64_t body_seen;  // bytes of it
  uint64_t spent_ns[FC_STOP_COUNT];
  char id[128];
} fc_exchange_t;

typedef struct fc_connection_t {
  uv_tcp_t tcp;
  fc_loop_t *loop;
  struct fc_connection_t *next;  // of all
  struct fc_connection_t *previous;
  struct fc_connection_t *next_wait;  // of those that wait for the same
  struct fc_connection_t *previous_wait;
  uint64_t due_ms;
  uint8_t wait;   // fc_wait_t
  uint8_t state;  // fc_connection_state_t
  bool reading;
  bool ended;        // the client will send no more
  bool close_after;  // the answer is the last one
  bool writing;
  bool turned_away;
  fc_gate_t gate;
  llhttp_t parser;
  fc_exchange_t exchange;
  // Bytes received and not yet used: a head that is not complete, or requests
  // that came while one is being answered.
  uint32_t stash_block;
  uint32_t stash_begin;
  uint32_t stash_end;
  uint64_t lingered;
  // The answer, until it is written
  uv_write_t write;
  uv_shutdown_t shutdown;
  uint32_t piece_count;
  fc_piece_t pieces[FC_PIECES_MAX];
} fc_connection_t;

// Accepts one connection of `listener`, or answers it 503 when there are too
// many.
void fc_connection_accept(fc_loop_t *loop, uv_stream_t *listener);
// The call of a job has ended; its slot holds the answer.
void fc_connection_on_done(void *loop, fc_job_t *job);
// The deadline of a waiting job has passed.
void fc_connection_on_expired(void *loop, fc_job_t *job);
// The time of what the connection waited for has run out.
void fc_connection_on_timeout(fc_connection_t *connection);
// The server drains: closes the connection unless it is in the middle of
// something; that will be the last.
void fc_connection_drain(fc_connection_t *connection);
// Answers a waiting call with FC_CODE_SHUTTING_DOWN and closes whatever happens.
void fc_connection_abandon(fc_connection_t *connection);

#endif  // FARCALL_SERVER_HTTP_CONNECTION_H_
