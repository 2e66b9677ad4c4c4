// SPDX-License-Identifier: Apache-2.0
//
// A listening socket. If descriptors or memory are short, connections wait in the
// kernel's queue, and accepting is tried again after 100 ms. Loop thread.
#ifndef FARCALL_SERVER_STREAM_LISTENER_H_
#define FARCALL_SERVER_STREAM_LISTENER_H_

#include <sys/socket.h>
#include <sys/un.h>
#include <uv.h>

#include "config/socket_file.h"
#include "stream/socket.h"

typedef struct fc_listener_events_t {
  // A client has connected from `address`. The socket is non-blocking. on_socket owns it,
  // and must close it.
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
  // there is no file to remove.
  char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
  uint64_t device;
  uint64_t inode;
  bool open;
} fc_listener_t;

// Binds, listens and accepts. Returns 0 or an error of libuv. A zeroed listener counts as
// closed. The file of a Unix socket on which nobody listens any more is replaced.
// UV_EEXIST: the file is no socket. Nobody can connect before the file has the mode and
// owner of `file`.
int fc_listener_open(fc_listener_t *listener, uv_loop_t *loop,
                     const struct sockaddr *address,
                     const fc_socket_file_t *file,
                     const fc_listener_events_t *events) FC_MUST_CHECK;
// Takes over a listening socket of this address. The service manager that passed it still
// has it, so fc_listener_close does not remove its file. Clients wait in the kernel's
// queue until fc_listener_start. If 0 is returned, the listener owns the socket.
int fc_listener_adopt(fc_listener_t *listener, uv_loop_t *loop, int socket,
                      const struct sockaddr *address,
                      const fc_listener_events_t *events) FC_MUST_CHECK;
// Accepts from now on, until fc_listener_close. May be called more than once.
void fc_listener_start(fc_listener_t *listener);
// Closes the socket. Also removes the file of a Unix socket that fc_listener_open made,
// unless another file is there by now. The listener's memory must stay until the loop has
// run once more. Accepts a closed listener.
void fc_listener_close(fc_listener_t *listener);

#endif  // FARCALL_SERVER_STREAM_LISTENER_H_
