// SPDX-License-Identifier: Apache-2.0
//
// A stream carries bytes to and from one client. Each kind (TCP, Unix socket, TLS over
// TCP) is a class of functions and reports events to its user. The user lends the memory,
// class->size bytes, from open to the closed event, and does not see sockets or libuv.
// Loop thread.
#ifndef FARCALL_SERVER_STREAM_STREAM_H_
#define FARCALL_SERVER_STREAM_STREAM_H_

#include "farcall/base.h"

typedef struct fc_stream_events_t {
  // Returns the place for received bytes; not empty.
  fc_span_t (*room)(void *context);
  // Bytes have been received into the place that room() returned.
  void (*read)(void *context, fc_str_t bytes);
  // No more bytes will come. `orderly`: the client has ended its side; otherwise the
  // stream is broken.
  void (*ended)(void *context, bool orderly);
  // The bytes given to write() were sent (`sent`), or never will be.
  void (*written)(void *context, bool sent);
  // Called after close(): the memory may be freed.
  void (*closed)(void *context);
} fc_stream_events_t;

typedef struct fc_stream_t fc_stream_t;

// Functions that return int return 0, or a negative number if the stream is broken and
// must be closed.
typedef struct fc_stream_class_t {
  size_t size;  // of a stream; it begins with an fc_stream_t
  // Makes a stream from `source`, whose type depends on the class; the stream owns its
  // socket from now on. Must be closed even after a failure.
  int (*open)(fc_stream_t *stream, const void *source);
  // Has the client announced HTTP/2 before its first byte? NULL: the class cannot tell.
  bool (*speaks_http2)(fc_stream_t *stream);
  int (*read_start)(fc_stream_t *stream);
  void (*read_stop)(fc_stream_t *stream);
  // Announces that `size` more bytes are expected; 0: nothing is known. Until they have
  // come, some may be reported late, so that they are read in large parts.
  void (*expect)(fc_stream_t *stream, uint64_t size);
  // Returns how many received bytes are not reported yet, as far as the class knows.
  uint64_t (*unread)(fc_stream_t *stream);
  // Sends what can be sent at once. Returns the number of bytes, possibly 0, or a
  // negative number. The next write must begin with the remaining bytes.
  int64_t (*try_write)(fc_stream_t *stream, const fc_span_t *spans,
                       uint32_t count);
  // Sends all bytes, which must stay valid until the written event. One write at a time.
  int (*write)(fc_stream_t *stream, const fc_span_t *spans, uint32_t count);
  // Ends the sending side after all written bytes. If that fails later, `ended` is
  // called.
  int (*shutdown)(fc_stream_t *stream);
  // Returns how many bytes given to try_write and write are still in buffers of this
  // machine or not confirmed by the client's machine. Confirmed bytes may still be
  // unread.
  uint64_t (*unsent)(fc_stream_t *stream);
  // Closes the stream. With `reset`, unsent bytes are dropped and the client sees a
  // reset. A Unix socket, which has no reset, and a stream that is being shut down are
  // closed without one.
  void (*close)(fc_stream_t *stream, bool reset);
} fc_stream_class_t;

struct fc_stream_t {
  const fc_stream_class_t *class;
  const fc_stream_events_t *events;
  void *context;
};

// `stream` must be zeroed memory of class->size bytes.
static inline int fc_stream_open(fc_stream_t *stream,
                                 const fc_stream_class_t *class,
                                 const void *source,
                                 const fc_stream_events_t *events,
                                 void *context) {
  *stream = (fc_stream_t){.class = class, .events = events, .context = context};
  return class->open(stream, source);
}

#endif  // FARCALL_SERVER_STREAM_STREAM_H_
