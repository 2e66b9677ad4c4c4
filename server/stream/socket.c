// SPDX-License-Identifier: Apache-2.0
#include "stream/socket.h"

#include <linux/sockios.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/limits.h"

// Has the client had its share of this turn?
static bool has_had_its_turn(const fc_socket_stream_t *self) {
  return self->in_a_row >= FC_LIMIT_READ_TURN ||
         (self->in_a_row &&
          fc_clock_ns() - self->began_ns > FC_LIMIT_READ_TURN_NS);
}

// libuv reads again while the room is filled, up to 32 times. Giving no room ends that:
// the loop handles other events and comes back, because the socket is still readable.
static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
  fc_stream_t *stream = handle->data;
  fc_socket_stream_t *self = fc_socket_stream(stream);
  (void)suggested;
  *buffer = uv_buf_init(NULL, 0);
  if (has_had_its_turn(self)) return;
  fc_span_t room = stream->events->room(stream->context);
  if (room.size > FC_LIMIT_READ_TURN) room.size = FC_LIMIT_READ_TURN;
  *buffer = uv_buf_init((char *)room.data, (unsigned)room.size);
}

static void on_read(uv_stream_t *handle, ssize_t size, const uv_buf_t *buffer) {
  fc_stream_t *stream = handle->data;
  fc_socket_stream_t *self = fc_socket_stream(stream);
  const bool filled = size > 0 && (size_t)size == buffer->len;
  if (filled && !self->in_a_row) self->began_ns = fc_clock_ns();
  self->in_a_row = filled ? self->in_a_row + (size_t)size : 0;
  if (size > 0) {
    stream->events->read(stream->context,
                         fc_str_make(buffer->base, (size_t)size));
  } else if (size < 0 && size != UV_ENOBUFS) {
    stream->events->ended(stream->context, size == UV_EOF);
  }
}

int fc_socket_read_start(fc_stream_t *stream) {
  return uv_read_start(&fc_socket_stream(stream)->uv.stream, on_room, on_read);
}

void fc_socket_read_stop(fc_stream_t *stream) {
  uv_read_stop(&fc_socket_stream(stream)->uv.stream);
}

// Returns how many bytes must wait before the loop reads a stream that has `size` more
// bytes; the result is never larger than `size`. A short rest is read as it comes.
static int low_water_of(const fc_socket_stream_t *self, uint64_t size) {
  const uint64_t least = self->low_water ? 1 : 2;
  return size >= least * FC_LIMIT_READ_BODY ? (int)FC_LIMIT_READ_BODY : 0;
}

// Waking the loop for bytes, and each read, costs more than copying some 10 KB. A client
// on this machine sends more between two reads if the socket has room.
void fc_socket_expect(fc_stream_t *stream, uint64_t size) {
  fc_socket_stream_t *self = fc_socket_stream(stream);
  const int wanted = low_water_of(self, size);
  const int bytes = wanted ? wanted : 1;
  int fd;
  if (wanted == self->low_water) return;
  if (uv_fileno(&self->uv.handle, &fd) == 0 &&
      setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes) == 0) {
    self->low_water = wanted;
  }
}

uint64_t fc_socket_unread(fc_stream_t *stream) {
  int fd, unread = 0;
  if (uv_fileno(&fc_socket_stream(stream)->uv.handle, &fd) == 0) {
    ioctl(fd, SIOCINQ, &unread);
  }
  return unread > 0 ? (uint64_t)unread : 0;
}

// fc_span_t has the layout of libuv's buffers, so spans are sent without a copy.
static const uv_buf_t *buffers_of(const fc_span_t *spans) {
  _Static_assert(sizeof(fc_span_t) == sizeof(uv_buf_t) &&
                     offsetof(fc_span_t, data) == offsetof(uv_buf_t, base) &&
                     offsetof(fc_span_t, size) == offsetof(uv_buf_t, len),
                 "they have one layout");
  return (const uv_buf_t *)(const void *)spans;
}

int64_t fc_socket_try_write(fc_stream_t *stream, const fc_span_t *spans,
                            uint32_t count) {
  int sent = uv_try_write(&fc_socket_stream(stream)->uv.stream,
                          buffers_of(spans), count);
  return sent == UV_EAGAIN ? 0 : sent;
}

static void on_written(uv_write_t *request, int status) {
  fc_stream_t *stream = request->data;
  stream->events->written(stream->context, status == 0);
}

int fc_socket_write(fc_stream_t *stream, const fc_span_t *spans,
                    uint32_t count) {
  fc_socket_stream_t *self = fc_socket_stream(stream);
  self->write.data = stream;
  return uv_write(&self->write, &self->uv.stream, buffers_of(spans), count,
                  on_written);
}

static void on_shutdown(uv_shutdown_t *request, int status) {
  fc_stream_t *stream = request->data;
  if (status < 0) stream->events->ended(stream->context, false);
}

int fc_socket_shutdown(fc_stream_t *stream) {
  fc_socket_stream_t *self = fc_socket_stream(stream);
  self->shutdown.data = stream;
  return uv_shutdown(&self->shutdown, &self->uv.stream, on_shutdown);
}

uint64_t fc_socket_unsent(fc_stream_t *stream) {
  fc_socket_stream_t *self = fc_socket_stream(stream);
  int fd, unsent = 0;
  if (uv_fileno(&self->uv.handle, &fd) == 0) ioctl(fd, SIOCOUTQ, &unsent);
  return uv_stream_get_write_queue_size(&self->uv.stream) +
         (unsent > 0 ? (uint64_t)unsent : 0);
}

void fc_socket_on_closed(uv_handle_t *handle) {
  fc_stream_t *stream = handle->data;
  stream->events->closed(stream->context);
}

void fc_socket_close(fc_stream_t *stream, bool reset) {
  (void)reset;
  uv_close(&fc_socket_stream(stream)->uv.handle, fc_socket_on_closed);
}

void fc_socket_tell(int socket, fc_str_t bytes) {
  char unread[FC_LIMIT_READ];
  (void)send(socket, bytes.data, bytes.size, MSG_NOSIGNAL | MSG_DONTWAIT);
  // Closing a socket with unread bytes resets it, and the answer could be lost.
  (void)recv(socket, unread, sizeof unread, MSG_DONTWAIT);
  close(socket);
}
