// SPDX-License-Identifier: Apache-2.0
//
// A stream: bytes to and from one client, whatever carries them. Each kind
// (TCP, Unix socket, TLS over TCP) is a class of functions, and
// reports events to its user. The user lends the memory, class->size bytes,
// from open to the closed event, and sees no socket and no libuv. Loop thread.
#ifndef FARCALL_SERVER_STREAM_STREAM_H_
#define FARCALL_SERVER_STREAM_STREAM_H_

#include "farcall/base.h"

typedef struct fc_stream_events_t {
  // Where bytes that arrive may be put; not empty.
  fc_span_t (*room)(void *context);
  // Bytes have arrived and lie where room() said.
  void (*read)(void *context, fc_str_t bytes);
  // No more will arrive. `orderly`: the client has said so; otherwise the
  // stream is broken.
  void (*ended)(void *context, bool orderly);
  // What write() was given has been sent, or never will be.
  void (*written)(void *context, bool sent);
  // Comes after close(): the memory may be freed.
  void (*closed)(void *context);
} fc_stream_events_t;

typedef struct fc_stream_t fc_stream_t;

// Functions that return int return 0, or a negative number when the stream is
// broken and must be closed.
typedef struct fc_stream_class_t {
  size_t size;  // of a stream; it begins with an fc_stream_t
  // Makes a stream of `source`, whose meaning is the class's own (a socket, for
  // those that have one); the stream owns it from now on. Must be closed also
  // after a failure.
  int (*open)(fc_stream_t *stream, const void *source);
  // Has the client said, before its first byte, that it speaks HTTP/2? NULL: it cannot.
  bool (*speaks_http2)(fc_stream_t *stream);
  int (*read_start)(fc_stream_t *stream);
  void (*read_stop)(fc_stream_t *stream);
  // The next `size` bytes are known to come; 0: nothing is known. Until they have come,
  // some may be reported late, to be read in large parts.
  void (*expect)(fc_stream_t *stream, uint64_t size);
  // Bytes that have come and wait to be reported, as far as the class knows.
  uint64_t (*unread)(fc_stream_t *stream);
  // Sends what can be sent at once. Returns how many bytes, possibly 0, or a
  // negative number. The next write must begin with those that are left.
  int64_t (*try_write)(fc_stream_t *stream, const fc_span_t *spans,
                       uint32_t count);
  // Sends all of it. The bytes must stay until the written event. One write at
  // a time.
  int (*write)(fc_stream_t *stream, const fc_span_t *spans, uint32_t count);
  // Tells the client that no more will be sent, after everything that was
  // written. If that fails later on, `ended` comes.
  int (*shutdown)(fc_stream_t *stream);
  // Bytes given to try_write and write that are in buffers of this machine, or that
  // the client's machine has not confirmed. Confirmed bytes may still be unread.
  uint64_t (*unsent)(fc_stream_t *stream);
  // With `reset`, what is not sent yet is thrown away and the client sees a reset. A Unix
  // socket, which has no reset, and a stream that is being shut down are just closed.
  void (*close)(fc_stream_t *stream, bool reset);
} fc_stream_class_t;

struct fc_stream_t {
  const fc_stream_class_t *class;
  const fc_stream_events_t *events;
  void *context;
};

// `stream` is zeroed memory of class->size bytes.
static inline int fc_stream_open(fc_stream_t *stream,
                                 const fc_stream_class_t *class,
                                 const void *source,
                                 const fc_stream_events_t *events,
                                 void *context) {
  *stream = (fc_stream_t){.class = class, .events = events, .context = context};
  return class->open(stream, source);
}

#endif  // FARCALL_SERVER_STREAM_STREAM_H_
