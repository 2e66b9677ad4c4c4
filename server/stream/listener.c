// SPDX-License-Identifier: Apache-2.0
//
// uv_listen is not used: it stops for good if its callback does not accept, and it polls
// for ever if it has no spare descriptor. Here, connections wait in the kernel's queue in
// such a case, which is rare: the limit of connections is below the limit of descriptors.
#include "stream/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024
#define TURN 64  // accepted in a row, before other events are handled
// The pause before the next try, if descriptors are short.
#define RETRY_MS 100u

// Accepts one connection. Returns a socket or a negative error.
static int accept_one(const fc_listener_t *listener,
                      struct sockaddr_storage *out_address) {
  int fd;
  do {
    socklen_t size = sizeof *out_address;
    fd = accept4(listener->socket, (struct sockaddr *)out_address, &size,
                 SOCK_NONBLOCK | SOCK_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  return fd < 0 ? -errno : fd;
}

static void on_readable(uv_poll_t *poll, int status, int events);

static void on_retry(uv_timer_t *timer) {
  fc_listener_t *listener = timer->data;
  uv_poll_start(&listener->poll, UV_READABLE, on_readable);
}

static void wait(fc_listener_t *listener, int error) {
  uv_poll_stop(&listener->poll);
  uv_timer_start(&listener->retry, on_retry, RETRY_MS, 0);
  listener->events.on_wait(listener->events.context, error);
}

// True for errors that would occur again at once. Other errors (accept(2)) concern only
// the connection that was being accepted, which is then closed.
static bool is_lasting(int error) {
  return error == -EMFILE || error == -ENFILE || error == -ENOBUFS ||
         error == -ENOMEM || error == -EBADF || error == -EINVAL;
}

static void on_readable(uv_poll_t *poll, int status, int events) {
  fc_listener_t *listener = poll->data;
  (void)status;  // an error of the socket shows in accept
  (void)events;
  for (int i = 0; i < TURN && listener->open; i++) {
    struct sockaddr_storage address;
    int result = accept_one(listener, &address);
    if (result >= 0) {
      listener->events.on_socket(listener->events.context, result,
                                 (const struct sockaddr *)&address);
      continue;
    }
    if (result == -EAGAIN) return;
    if (result < 0 && is_lasting(result)) {
      wait(listener, -result);
      return;
    }
  }
}

// Checks the file of a Unix socket. Returns 0 if nobody listens on it any more, so that
// connections are refused, or if it does not exist; -EEXIST if it is no socket;
// -EADDRINUSE or another negative error otherwise.
static int check_stale(const struct sockaddr_un *address) {
  struct stat file;
  if (lstat(address->sun_path, &file)) return errno == ENOENT ? 0 : -errno;
  if (!S_ISSOCK(file.st_mode)) return -EEXIST;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  const bool refused =
      connect(fd, (const struct sockaddr *)address, sizeof *address) &&
      errno == ECONNREFUSED;
  close(fd);
  return refused ? 0 : -EADDRINUSE;
}

static int bind_unix(int fd, const struct sockaddr_un *address) {
  const struct sockaddr *any = (const struct sockaddr *)address;
  if (bind(fd, any, sizeof *address) == 0) return 0;
  if (errno != EADDRINUSE) return -errno;
  const int busy = check_stale(address);
  if (busy) return busy;
  if (unlink(address->sun_path) && errno != ENOENT) return -errno;
  return bind(fd, any, sizeof *address) ? -errno : 0;
}

static int bind_any(int fd, const struct sockaddr *address) {
  if (address->sa_family == AF_UNIX) {
    return bind_unix(fd, (const struct sockaddr_un *)(const void *)address);
  }
  int on = 1;
  socklen_t size = address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                  : sizeof(struct sockaddr_in);
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
      bind(fd, address, size)) {
    return -errno;
  }
  return 0;
}

static void note_file(fc_listener_t *listener, const struct sockaddr *address) {
  const struct sockaddr_un *local = (const void *)address;
  struct stat file;
  if (address->sa_family != AF_UNIX || lstat(local->sun_path, &file)) return;
  memcpy(listener->path, local->sun_path, sizeof listener->path);
  listener->device = file.st_dev;
  listener->inode = file.st_ino;
}

static void remove_file(const fc_listener_t *listener) {
  struct stat file;
  if (!listener->path[0] || lstat(listener->path, &file)) return;
  if (file.st_dev == listener->device && file.st_ino == listener->inode) {
    unlink(listener->path);
  }
}

static int set_file(const struct sockaddr *address,
                    const fc_socket_file_t *file) {
  const struct sockaddr_un *local = (const void *)address;
  if (address->sa_family != AF_UNIX) return 0;
  const bool owned =
      file->user != FC_SOCKET_FILE_KEEP || file->group != FC_SOCKET_FILE_KEEP;
  if (owned && lchown(local->sun_path, file->user, file->group)) return -errno;
  if (file->mode != FC_SOCKET_FILE_KEEP && chmod(local->sun_path, file->mode)) {
    return -errno;
  }
  return 0;
}

static int open_socket(const struct sockaddr *address,
                       const fc_socket_file_t *file, int *out_socket) {
  int fd =
      socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  int error = bind_any(fd, address);
  if (!error) {
    error = set_file(address, file);
    if (!error && listen(fd, BACKLOG)) error = -errno;
    if (error && address->sa_family == AF_UNIX) {
      unlink(((const struct sockaddr_un *)(const void *)address)->sun_path);
    }
  }
  if (error) close(fd);
  else *out_socket = fd;
  return error;
}

// Makes the kernel probe silent clients. An HTTP/2 stream may be silent for any time, and
// a connection whose client has vanished would stay for ever. Accepted sockets inherit
// this.
static void keep_alive(int socket) {
  static const struct {
    int level;
    int name;
    int value;
  } kRows[] = {{SOL_SOCKET, SO_KEEPALIVE, 1},
               {IPPROTO_TCP, TCP_KEEPIDLE, 60},
               {IPPROTO_TCP, TCP_KEEPINTVL, 15},
               {IPPROTO_TCP, TCP_KEEPCNT, 4}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRows); i++) {
    (void)setsockopt(socket, kRows[i].level, kRows[i].name, &kRows[i].value,
                     // Fails for a Unix socket, which needs no probes.
                     sizeof kRows[i].value);
  }
}

int fc_listener_adopt(fc_listener_t *listener, uv_loop_t *loop, int socket,
                      const struct sockaddr *address,
                      const fc_listener_events_t *events) {
  *listener =
      (fc_listener_t){.events = *events,
                      .streams = address->sa_family == AF_UNIX ? &fc_stream_unix
                                                               : &fc_stream_tcp,
                      .socket = socket};
  const int code = uv_poll_init(loop, &listener->poll, socket);
  if (code) return code;
  keep_alive(socket);
  uv_timer_init(loop, &listener->retry);
  listener->open = true;
  listener->poll.data = listener->retry.data = listener;
  return 0;
}

void fc_listener_start(fc_listener_t *listener) {
  if (!listener->open || uv_is_active((uv_handle_t *)&listener->poll)) return;
  uv_poll_start(&listener->poll, UV_READABLE, on_readable);
}

int fc_listener_open(fc_listener_t *listener, uv_loop_t *loop,
                     const struct sockaddr *address,
                     const fc_socket_file_t *file,
                     const fc_listener_events_t *events) {
  int socket = -1;
  *listener = (fc_listener_t){0};
  int code = open_socket(address, file, &socket);
  if (code) return code;
  code = fc_listener_adopt(listener, loop, socket, address, events);
  note_file(listener, address);
  fc_listener_start(listener);
  if (!listener->open) {
    remove_file(listener);
    close(socket);
  }
  return code;
}

void fc_listener_close(fc_listener_t *listener) {
  if (!listener->open) return;
  listener->open = false;
  remove_file(listener);
  uv_close((uv_handle_t *)&listener->poll, NULL);
  uv_close((uv_handle_t *)&listener->retry, NULL);
  close(listener->socket);
}
