// SPDX-License-Identifier: Apache-2.0
//
// Unix sockets. They have no reset, so `reset` is ignored when a stream is closed.
#include <unistd.h>

#include "stream/socket.h"

static int open_unix(fc_stream_t *stream, const void *source) {
  const fc_socket_source_t *from = source;
  uv_pipe_t *pipe = &fc_socket_stream(stream)->uv.pipe;
  uv_pipe_init(from->uv, pipe, 0);
  pipe->data = stream;
  int failed = uv_pipe_open(pipe, from->socket);
  if (failed) close(from->socket);
  return failed;
}

const fc_stream_class_t fc_stream_unix = {
    .size = sizeof(fc_socket_stream_t),
    .open = open_unix,
    .read_start = fc_socket_read_start,
    .read_stop = fc_socket_read_stop,
    .expect = fc_socket_expect,
    .unread = fc_socket_unread,
    .try_write = fc_socket_try_write,
    .write = fc_socket_write,
    .shutdown = fc_socket_shutdown,
    .unsent = fc_socket_unsent,
    .close = fc_socket_close,
};
