// SPDX-License-Identifier: Apache-2.0
//
// TCP. An answer is written at once, or in large parts, so Nagle's algorithm, which waits
// for more bytes to send, would only delay it.
#include <unistd.h>

#include "stream/socket.h"

static int open_tcp(fc_stream_t *stream, const void *source) {
  const fc_socket_source_t *from = source;
  uv_tcp_t *tcp = &fc_socket_stream(stream)->uv.tcp;
  uv_tcp_init(from->uv, tcp);
  tcp->data = stream;
  int failed = uv_tcp_open(tcp, from->socket);
  if (failed) close(from->socket);
  else uv_tcp_nodelay(tcp, 1);
  return failed;
}

static void close_tcp(fc_stream_t *stream, bool reset) {
  uv_tcp_t *tcp = &fc_socket_stream(stream)->uv.tcp;
  if (reset && uv_tcp_close_reset(tcp, fc_socket_on_closed) == 0) return;
  fc_socket_close(stream, reset);
}

const fc_stream_class_t fc_stream_tcp = {
    .size = sizeof(fc_socket_stream_t),
    .open = open_tcp,
    .read_start = fc_socket_read_start,
    .read_stop = fc_socket_read_stop,
    .expect = fc_socket_expect,
    .unread = fc_socket_unread,
    .try_write = fc_socket_try_write,
    .write = fc_socket_write,
    .shutdown = fc_socket_shutdown,
    .unsent = fc_socket_unsent,
    .close = close_tcp,
};
