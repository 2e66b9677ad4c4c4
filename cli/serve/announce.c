// SPDX-License-Identifier: Apache-2.0
//
// Prints the page's address when farcalld is ready. farcalld reports that to its service
// manager (sd_notify). If there is none, this file starts a process that acts as one.
// That process is detached, and ends after the report or together with farcalld. It
// accepts reports only from the process that started it, because any program of this
// machine may send to its socket.
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "serve/serve.h"
#include "tool.h"

#define STATUS "STATUS=serving at "

// Opens a socket with an abstract name, which the kernel chooses, and sets NOTIFY_SOCKET.
static int open_socket(fc_arena_t *arena) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  socklen_t size = sizeof address;
  const int on = 1;
  const int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (file < 0) return -1;
  const char *name = NULL;
  if (!bind(file, (struct sockaddr *)&address, sizeof address.sun_family) &&
      !getsockname(file, (struct sockaddr *)&address, &size) &&
      !setsockopt(file, SOL_SOCKET, SO_PASSCRED, &on, sizeof on)) {
    const size_t lead = offsetof(struct sockaddr_un, sun_path) + 1;
    name = fc_print(arena, "@%.*s", (int)(size - lead), address.sun_path + 1);
  }
  if (name && !setenv("NOTIFY_SOCKET", name, 1)) return file;
  close(file);
  return -1;
}

// Reads one datagram. False: it is not from `sender`.
static bool receive(int file, pid_t sender, char *out, size_t capacity) {
  char room[CMSG_SPACE(sizeof(struct ucred))];
  struct iovec part = {out, capacity - 1};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = room,
                           .msg_controllen = sizeof room};
  const ssize_t size = recvmsg(file, &message, 0);
  const struct cmsghdr *head = size > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  struct ucred who;
  if (!head || head->cmsg_type != SCM_CREDENTIALS) return false;
  memcpy(&who, CMSG_DATA(head), sizeof who);
  out[size] = '\0';
  return who.pid == sender;
}

// Returns the address in a message with READY=1, as a part of `text`. NULL: it is another
// message.
static char *address_of(char *text) {
  char *address = strstr(text, STATUS);
  if (!strstr(text, "READY=1") || !address) return NULL;
  address += strlen(STATUS);
  address[strcspn(address, "\n")] = '\0';
  return address;
}

static void open_page(fc_arena_t *arena, const char *address) {
  static const char *const kBrowsers[] = {"xdg-open", "sensible-browser"};
  const char *program = NULL;
  pid_t child;
  for (size_t i = 0; !program && i < FC_ARRAY_COUNT(kBrowsers); i++) {
    program = fc_tool_find(arena, kBrowsers[i], NULL);
  }
  // The output is not shown: xdg-open names each browser that it did not find.
  const char *const argv[] = {
      "/bin/sh", "-c", "\"$0\" \"$1\" >/dev/null 2>&1", program, address, NULL};
  int status = 0;
  if (program && !posix_spawn(&child, argv[0], NULL, NULL,
                              (char *const *)(uintptr_t)argv, environ)) {
    waitpid(child, &status, 0);
  }
  if (!program) {
    (void)fc_complain(0, "note: no xdg-open on PATH opens %s", address);
  } else if (WIFEXITED(status) && WEXITSTATUS(status)) {
    (void)fc_complain(0, "note: no browser was found that opens %s", address);
  }
}

static void wait_and_tell(fc_arena_t *arena, int file, int server, pid_t pid,
                          bool open) {
  char text[1024], *address = NULL;
  struct pollfd watched[] = {{file, POLLIN, 0}, {server, POLLIN, 0}};
  while (!address && poll(watched, 2, -1) >= 0 && !watched[1].revents) {
    if (watched[0].revents && receive(file, pid, text, sizeof text)) {
      address = address_of(text);
    }
  }
  if (!address) return;
  fc_show_text(address);
  putchar('\n');
  fflush(stdout);
  if (open) open_page(arena, address);
}

bool fc_serve_announce(fc_arena_t *arena, bool open) {
  const pid_t pid = getpid();
  int waited;
  if (getenv("NOTIFY_SOCKET")) return false;
  const int server = (int)syscall(SYS_pidfd_open, pid, 0);
  const int file = server < 0 ? -1 : open_socket(arena);
  fflush(stdout);
  const pid_t child = file < 0 ? -1 : fork();
  if (child == 0) {
    // The grandchild has no parent here, so farcalld need not wait for it. In its own
    // session it does not get farcalld's Ctrl-C.
    if (fork() == 0) {
      (void)setsid();
      wait_and_tell(arena, file, server, pid, open);
    }
    _exit(0);
  }
  if (child > 0) waitpid(child, &waited, 0);
  if (child < 0) unsetenv("NOTIFY_SOCKET");
  if (file >= 0) close(file);
  if (server >= 0) close(server);
  return child > 0;
}
