// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files tls*.c: the struct of a stream, and which thread may use which of
// its members. While a thread works on the stream (`working`), only that thread may use
// `ssl`, `from`, `to`, `flight` and the handshake's results (`outcome`, `failure`,
// `why`).
#ifndef FARCALL_SERVER_STREAM_TLS_STREAM_H_
#define FARCALL_SERVER_STREAM_TLS_STREAM_H_

#include "config/limits.h"
#include "pool/block.h"
#include "stream/tls.h"
#include "tls/openssl.h"

// How many bytes are encrypted at once, in records of 16 KiB, and room for the result.
// Each record grows by at most 256 bytes, and alerts, tickets and new keys are small.
#define FC_TLS_PIECE (64u << 10)
#define FC_TLS_SEALED_MAX (FC_TLS_PIECE + (16u << 10))
// The most encrypted bytes that wait behind those being sent. They are messages of the
// protocol itself.
#define FC_TLS_BEHIND_MAX (64u << 10)
// The most pieces of an answer that are encrypted in a turn, and the most reads that
// decrypt the client's records. Reads are few, because a record may ask for a new key,
// which costs some 10 us.
#define FC_TLS_PIECES 4
#define FC_TLS_READS 64

struct fc_tls_keys_t {
  fc_allocator_t allocator;
  SSL_CTX *context;
  // The most bytes of one answer in a handshake: certificates, and the names of
  // authorities.
  size_t flight_max;
  bool has_tickets;
  uint64_t renewed_ms;  // 0: not yet
  // The time in which the certificates are valid, in seconds since 1970.
  int64_t begin_s;
  int64_t end_s;
};

typedef enum fc_tls_state_t {
  FC_TLS_HANDSHAKE,
  FC_TLS_OPEN,
  FC_TLS_BROKEN,
  FC_TLS_CLOSED,
} fc_tls_state_t;

typedef struct fc_tls_bytes_t {
  uint8_t *data;
  size_t size;
  size_t capacity;
} fc_tls_bytes_t;

typedef enum fc_tls_outcome_t {
  FC_TLS_MORE,  // needs more bytes from the client
  FC_TLS_DONE,
  FC_TLS_FAILED,
} fc_tls_outcome_t;

struct fc_tls_stream_t {
  fc_stream_t base;  // the first member
  fc_tls_t *tls;
  SSL_CTX *context;  // held
  SSL *ssl;          // NULL until the client's first record has come
  size_t flight_max;
  fc_peer_t address;
  uint8_t state;  // fc_tls_state_t
  bool reading;   // the user wants to read
  bool below_reads;
  bool ended;    // the user was told that no more bytes come
  bool working;  // a thread makes the handshake
  bool below_closed;
  bool has_object;  // `ssl` exists, or a thread is about to make it
  bool listed;      // in tls->ready
  bool said_end;    // close_notify was written
  bool must_shut;   // the stream below must be shut down when `out` is sent
  // Handshake
  fc_tls_stream_t *newer;
  fc_tls_stream_t *older;
  uint64_t due_ms;
  uv_work_t work;
  fc_tls_outcome_t outcome;
  fc_tls_failure_t failure;
  char why[96];
  // Bytes. OpenSSL reads from `from` and writes to `to`.
  fc_str_t from;  // received bytes that were not used yet
  uint8_t *held;  // owned memory of `from`; NULL: `from` lies in the reader's
  fc_tls_bytes_t *to;
  // Written by the thread; the loop sends and frees it at once.
  fc_tls_bytes_t flight;
  fc_tls_bytes_t out;     // the bytes that the stream below is sending
  fc_tls_bytes_t behind;  // the bytes to be sent after these
  // The user's write
  bool writing;
  size_t owed;  // bytes of the next write that are encrypted already
  uint32_t span_count;
  uint32_t span;  // the span that is being encrypted
  uint64_t left;  // bytes that are not encrypted yet
  fc_span_t spans[FC_PIECES_MAX];
  fc_tls_stream_t *next_ready;
  fc_socket_stream_t below;
};

static inline fc_tls_stream_t *fc_tls_stream(fc_stream_t *stream) {
  return (fc_tls_stream_t *)(void *)stream;
}

// tls_bio.c. Makes `ssl`, which reads from `from` and writes to `to`. False: no memory.
bool fc_tls_make_ssl(fc_tls_stream_t *self);
void *fc_tls_make_method(void);
void fc_tls_free_method(void *method);

// tls_try.c. Tests the keys by a handshake. False: it fails, and OpenSSL's error queue
// says why.
bool fc_tls_try(const fc_tls_keys_t *keys);

// tls_memory.c. fc_tls_note_object: the stream is about to get an OpenSSL object.
// fc_tls_note_end: it has freed its object.
void fc_tls_note_object(fc_tls_stream_t *self);
void fc_tls_note_end(fc_tls_stream_t *self);

// tls_handshake.c
void fc_tls_handshake_begin(fc_tls_stream_t *self);
// Handles bytes from the client. They are copied if they are needed later.
void fc_tls_handshake_read(fc_tls_stream_t *self, fc_str_t bytes);
// Removes the stream's handshake from the unfinished ones, if it is one of them.
void fc_tls_handshake_leave(fc_tls_stream_t *self);
void fc_tls_handshake_fail(fc_tls_stream_t *self, fc_tls_failure_t failure,
                           const char *why);
void fc_tls_on_timer(uv_timer_t *timer);

// tls.c
// Called when the handshake is finished.
void fc_tls_opened(fc_tls_stream_t *self);
// Ends a stream that cannot be used any more, and tells the user.
void fc_tls_break(fc_tls_stream_t *self);
// Sends the bytes that OpenSSL has written to `sealed`, and empties it. False: the stream
// is broken.
bool fc_tls_send(fc_tls_stream_t *self, fc_tls_bytes_t *sealed);
// Copies the rest of self->from before the reader reuses that memory. False: no memory.
bool fc_tls_hold(fc_tls_stream_t *self);
// Frees self->held if all of self->from was used.
void fc_tls_let_go(fc_tls_stream_t *self);
// Starts or stops reading from the stream below, as the state requires.
int fc_tls_follow(fc_tls_stream_t *self);
// Frees everything and tells the user, once the stream below is closed and no thread
// works on the stream.
void fc_tls_finish(fc_tls_stream_t *self);
void fc_tls_on_turn(uv_idle_t *turn);

#endif  // FARCALL_SERVER_STREAM_TLS_STREAM_H_
