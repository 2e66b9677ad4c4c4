// SPDX-License-Identifier: Apache-2.0
//
// The common part of tcp.c and unix.c: streams that are libuv sockets.
#ifndef FARCALL_SERVER_STREAM_SOCKET_H_
#define FARCALL_SERVER_STREAM_SOCKET_H_

#include <uv.h>

#include "stream/stream.h"

// The type of fc_stream_open's `source` for these classes. The socket must be
// non-blocking.
typedef struct fc_socket_source_t {
  uv_loop_t *uv;
  int socket;
} fc_socket_source_t;

extern const fc_stream_class_t fc_stream_tcp;
extern const fc_stream_class_t fc_stream_unix;

// Sends a client the bytes that fit at once and closes its socket. Needs no memory.
void fc_socket_tell(int socket, fc_str_t bytes);

// ---------------------------------------------------------------------------
// For the classes of TCP and Unix sockets

typedef struct fc_socket_stream_t {
  fc_stream_t base;  // the first member
  union {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
  } uv;
  uv_write_t write;
  uv_shutdown_t shutdown;
  // The bytes of the last reads, as long as each read filled its room.
  uint64_t in_a_row;
  uint64_t began_ns;  // when the first of these reads was reported
  int low_water;  // bytes that must have come before the loop is woken; 0: any
} fc_socket_stream_t;

static inline fc_socket_stream_t *fc_socket_stream(fc_stream_t *stream) {
  return (fc_socket_stream_t *)(void *)stream;
}

int fc_socket_read_start(fc_stream_t *stream);
void fc_socket_read_stop(fc_stream_t *stream);
void fc_socket_expect(fc_stream_t *stream, uint64_t size);
uint64_t fc_socket_unread(fc_stream_t *stream);
int64_t fc_socket_try_write(fc_stream_t *stream, const fc_span_t *spans,
                            uint32_t count);
int fc_socket_write(fc_stream_t *stream, const fc_span_t *spans,
                    uint32_t count);
int fc_socket_shutdown(fc_stream_t *stream);
uint64_t fc_socket_unsent(fc_stream_t *stream);
void fc_socket_close(fc_stream_t *stream, bool reset);
void fc_socket_on_closed(uv_handle_t *handle);

#endif  // FARCALL_SERVER_STREAM_SOCKET_H_
