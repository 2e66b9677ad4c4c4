// SPDX-License-Identifier: Apache-2.0
//
// TLS streams over TCP streams. Handshakes are made in threads, because the signature of
// a large key costs milliseconds. Bytes of requests and answers are decrypted and
// encrypted on the loop, in pieces. Loop thread, except handshakes and fc_tls_keys_open.
//
// A build without TLS (-DFARCALL_TLS=OFF) has tls_none.c instead of the other files. Then
// fc_tls_keys_open always fails, so no stream is ever opened.
#ifndef FARCALL_SERVER_STREAM_TLS_H_
#define FARCALL_SERVER_STREAM_TLS_H_

#include <uv.h>

#include "config/peer.h"
#include "obs/tls.h"
#include "stream/socket.h"

// ---------------------------------------------------------------------------
// Keys: a certificate, its key, and the authority for clients, read from files.

typedef struct fc_tls_files_t {
  // PEM; the certificates that lead to its authority follow it.
  const char *certificate;
  const char *key;        // PEM
  const char *client_ca;  // PEM; "": clients need no certificate
} fc_tls_files_t;

typedef struct fc_tls_keys_t fc_tls_keys_t;

// Reads the files, and makes a handshake in memory to test the keys, which takes
// milliseconds if the key is large. FC_CODE_NOT_ACCEPTABLE says which file is wrong and
// why, or why there is no OpenSSL. Any thread; the first call must be on the loop's
// thread.
fc_status_t fc_tls_keys_open(const fc_tls_files_t *files,
                             fc_allocator_t allocator, fc_tls_keys_t **out_keys,
                             fc_error_t *err) FC_MUST_CHECK;
// Closes the keys. Streams that were opened with them can still use them. NULL is
// allowed.
void fc_tls_keys_close(fc_tls_keys_t *keys);
// Tickets, by which clients resume sessions, are encrypted with a key that exists only in
// memory. Call this before each stream is opened: when the key is an hour old, new
// streams get another one. So somebody who reads a key from memory can only use that
// key's tickets.
void fc_tls_keys_renew(fc_tls_keys_t *keys, uint64_t now_ms);
#define FC_TLS_DATES_MAX 48
// Are the certificate, and those that lead to its authority, valid at `now_s`, seconds
// since 1970? Writes "ends on 2027-01-31", "has ended on …" or "begins on …".
bool fc_tls_keys_hold(const fc_tls_keys_t *keys, int64_t now_s,
                      char out_text[FC_TLS_DATES_MAX]);
// Gives the same times in seconds since 1970; INT64_MIN and INT64_MAX where the
// certificates have none.
void fc_tls_keys_dates(const fc_tls_keys_t *keys, int64_t *out_begin_s,
                       int64_t *out_end_s);

// ---------------------------------------------------------------------------
// Data that the streams of a loop share

typedef struct fc_tls_stream_t fc_tls_stream_t;

typedef struct fc_tls_t {
  uv_loop_t *uv;
  fc_allocator_t allocator;
  fc_tls_counts_t counts;
  // A handshake has failed. `text` says why, and may contain bytes from the client.
  void (*on_failed)(void *context, const fc_peer_t *address,
                    fc_tls_failure_t why, const char *text);
  void *context;
  // How long a handshake may take, counted from the connection on.
  uint64_t handshake_ms;
  // The most unfinished handshakes; one more ends an old one.
  uint32_t handshake_max;
  // For the files tls*.c only
  void *method;   // of OpenSSL's BIOs
  uint8_t *read;  // FC_LIMIT_READ bytes, lent to each read
  // What is encrypted on the loop, and sent at once.
  struct fc_tls_bytes_t *sealed;
  fc_tls_stream_t *oldest;  // the stream with the oldest unfinished handshake
  fc_tls_stream_t *newest;
  uint32_t handshakes;
  fc_tls_stream_t *ready;  // streams that go on in the next turn, in order
  fc_tls_stream_t *ready_last;
  uint32_t ready_count;
  uv_idle_t turn;    // active while any are ready
  uv_timer_t timer;  // active while there are unfinished handshakes
  uv_work_t first;   // starts libuv's threads (fc_tls_init)
  // The number of OpenSSL objects, and the largest number since memory was given back.
  uint32_t objects;
  uint32_t objects_most;
  bool giving;  // `give` is running
  uv_work_t give;
} fc_tls_t;

// `tls` must be zeroed, except the four members from on_failed on, which the caller sets
// before or after. The handles are closed together with the loop's others.
fc_status_t fc_tls_init(fc_tls_t *tls, uv_loop_t *uv, fc_allocator_t allocator,
                        fc_error_t *err) FC_MUST_CHECK;
// All streams must be closed. Accepts a zeroed `tls`.
void fc_tls_deinit(fc_tls_t *tls);

// The type of fc_stream_open's `source`.
typedef struct fc_tls_source_t {
  fc_socket_source_t socket;
  const fc_stream_class_t *below;  // the class of a stream of the socket
  fc_tls_t *tls;
  const fc_tls_keys_t *keys;
  fc_peer_t address;
} fc_tls_source_t;

extern const fc_stream_class_t fc_stream_tls;

// Returns the build's OpenSSL, such as "OpenSSL 3.0.19"; "" in a build without TLS.
const char *fc_tls_library(void);

#endif  // FARCALL_SERVER_STREAM_TLS_H_
