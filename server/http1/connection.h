// SPDX-License-Identifier: Apache-2.0
//
// One client connection: reads bytes, finds requests in them, has them answered
// one at a time and in order, and closes without losing the last answer. READ,
// ROUTE, ADMIT and WRITE of every call are made here, on the loop thread.
#ifndef FARCALL_SERVER_HTTP1_CONNECTION_H_
#define FARCALL_SERVER_HTTP1_CONNECTION_H_

#include <uv.h>

#include "dialect/route.h"
#include "http1/framing.h"
#include "http1/pace.h"
#include "config/peer.h"
#include "http1/parser.h"
#include "http1/stash.h"
#include "pool/pool.h"

typedef struct fc_loop_t fc_loop_t;

typedef enum fc_connection_state_t {
  FC_CONNECTION_HEAD,  // waits for a request, or reads its head
  FC_CONNECTION_BODY,  // reads the body of a call
  // The answer is on its way or sent; what is left of the body is thrown away.
  FC_CONNECTION_DISCARD,
  FC_CONNECTION_CALL,    // a call is queued or runs
  FC_CONNECTION_WRITE,   // the answer does not fit the socket yet
  FC_CONNECTION_LINGER,  // everything is said; waits for the client to close
  FC_CONNECTION_CLOSED,
} fc_connection_state_t;

typedef enum fc_input_t {
  FC_INPUT_HELD,   // not read: enough is kept for later
  FC_INPUT_READ,   // read as it comes
  FC_INPUT_ENDED,  // the client will send no more
} fc_input_t;

// The request being answered. Reset for each.
typedef struct fc_exchange_t {
  fc_job_t job;
  fc_place_t place;
  fc_generation_t *generation;  // of the place, held; NULL: it has none
  fc_method_t method;
  const char *method_name;  // NULL until a head is parsed
  bool http_10;
  bool keep_alive;  // as the client wants it
  bool chunked;
  uint8_t id_size;
  uint32_t retry_after;
  uint64_t left;       // bytes of a sized body still to come
  uint64_t began_ns;   // first byte of the head
  uint64_t marked_ns;  // end of the last stage
  fc_pace_t body_pace;
  uint64_t body_seen;  // bytes of it
  uint64_t spent_ns[FC_STAGE_COUNT];
  // Whose request it is: the other end of the socket, or the client a trusted
  // proxy names. Zero when it can't be known. Valid from ROUTE on.
  fc_peer_t peer;
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
  uint8_t wait;      // fc_wait_t
  uint8_t state;     // fc_connection_state_t
  uint8_t input;     // fc_input_t
  bool close_after;  // the answer is the last one
  bool writing;
  bool turned_away;
  fc_peer_t peer;  // the other end of the socket
  fc_framing_t framing;
  llhttp_t parser;
  fc_exchange_t exchange;
  fc_stash_t stash;
  // The answer, until it is written
  uv_write_t write;
  uint64_t write_size;
  fc_pace_t write_pace;
  uv_shutdown_t shutdown;
  uint32_t piece_count;
  fc_piece_t pieces[FC_PIECES_MAX];
} fc_connection_t;

// A client has connected: serves it, or answers 503 when there are too many
// connections or no memory for one. Owns the socket, which does not block.
// `address` is the client's.
void fc_connection_accept(fc_loop_t *loop, int socket,
                          const struct sockaddr *address);
// Answers a client at once, without a connection and without memory, and closes
// the socket.
void fc_connection_refuse(fc_loop_t *loop, int socket, const fc_error_t *error);
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

#endif  // FARCALL_SERVER_HTTP1_CONNECTION_H_
