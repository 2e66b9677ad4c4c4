// SPDX-License-Identifier: Apache-2.0
//
// A listening socket. When descriptors or memory are short, connections wait in the
// kernel's queue, and after 100 ms accepting is tried again. Loop thread.
#ifndef FARCALL_SERVER_STREAM_LISTENER_H_
#define FARCALL_SERVER_STREAM_LISTENER_H_

#include <sys/socket.h>
#include <sys/un.h>
#include <uv.h>

#include "config/socket_file.h"
#include "stream/socket.h"

typedef struct fc_listener_events_t {
  // A client has connected from `address`. The socket does not block, and from then
  // on it is on_socket's to close.
  void (*on_socket)(void *context, int socket, const struct sockaddr *address);
  // Connections wait because accepting failed with this errno.
  void (*on_wait)(void *context, int error);
  void *context;
} fc_listener_events_t;

typedef struct fc_listener_t {
  fc_listener_events_t events;
  const fc_stream_class_t *streams;  // the class of its sockets
  uv_poll_t poll;
  uv_timer_t retry;
  int socket;
  // The file of a Unix socket that fc_listener_open made, with its device and inode; "":
  // there is none to remove.
  char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
  uint64_t device;
  uint64_t inode;
  bool open;
} fc_listener_t;

// Binds, listens and accepts; returns 0 or an error of libuv. A zeroed listener
// counts as closed. The file of a Unix socket that nobody listens on any more is
// replaced; UV_EEXIST: the file is no socket. Nobody can connect before the
// file's mode and owner are those of `file`.
int fc_listener_open(fc_listener_t *listener, uv_loop_t *loop,
                     const struct sockaddr *address,
                     const fc_socket_file_t *file,
                     const fc_listener_events_t *events) FC_MUST_CHECK;
// Takes over a socket of this address that listens already. A service manager, who gave
// it, has it too, so fc_listener_close leaves its file. Clients wait in the kernel's
// queue until fc_listener_start. The socket is the listener's when 0 is returned.
int fc_listener_adopt(fc_listener_t *listener, uv_loop_t *loop, int socket,
                      const struct sockaddr *address,
                      const fc_listener_events_t *events) FC_MUST_CHECK;
// Accepts from now on, until fc_listener_close. More than once is allowed.
void fc_listener_start(fc_listener_t *listener);
// Also removes the file of a Unix socket that fc_listener_open made, unless
// another one is there by now. The listener's memory must stay until the loop
// has run once more. A closed listener is allowed.
void fc_listener_close(fc_listener_t *listener);

#endif  // FARCALL_SERVER_STREAM_LISTENER_H_
