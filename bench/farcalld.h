// SPDX-License-Identifier: Apache-2.0
//
// Shared by the programs that measure a farcalld: starts and ends it, and sends one
// request after the other. Any failure ends the program.
#ifndef FARCALL_BENCH_FARCALLD_H_
#define FARCALL_BENCH_FARCALLD_H_

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct server_t {
  pid_t pid;
  int log;  // its stderr
  int port;
  uint64_t started_ns;
} server_t;

static inline void die(const char *what) {
  fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
  exit(1);
}

static inline uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Starts argv[0] and waits until it prints its address.
static inline server_t start(const char *const *argv) {
  static const char kSays[] = "listening on http://127.0.0.1:";
  int ends[2];
  if (pipe(ends)) die("pipe fails");
  server_t server = {.started_ns = now_ns(), .log = ends[0]};
  server.pid = fork();
  if (server.pid < 0) die("fork fails");
  if (server.pid == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    execv(argv[0], (char **)(uintptr_t)argv);
    _exit(127);
  }
  close(ends[1]);
  char log[4096] = "";
  size_t size = 0;
  const char *at;
  while (!(at = strstr(log, kSays)) || !strchr(at, '\n')) {
    ssize_t got = read(server.log, log + size, sizeof log - 1 - size);
    if (got <= 0) {
      fprintf(stderr, "%s", log);
      die("farcalld does not listen");
    }
    size += (size_t)got;
    log[size] = '\0';
  }
  server.port = (int)strtol(at + strlen(kSays), NULL, 10);
  // The server's later output is not read; the server does not wait for a reader.
  return server;
}

static inline void stop(const server_t *server) {
  int status;
  kill(server->pid, SIGTERM);
  if (waitpid(server->pid, &status, 0) != server->pid || status) {
    die("farcalld does not end cleanly");
  }
  close(server->log);
}

static inline int connect_to(int port) {
  struct sockaddr_in to = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port),
                           .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
  if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to)) {
    die("cannot connect");
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

// Posts `body` to a function, "module/name", and reads the whole answer into
// `reply`. Returns its status.
static inline int post(int fd, const char *function, const char *body, int ms,
                       char *reply, size_t capacity) {
  char request[512];
  int size = snprintf(request, sizeof request,
                      "POST /api/v1/functions/%s HTTP/1.1\r\n"
                      "Host: localhost\r\nContent-Type: application/json\r\n"
                      "Farcall-Timeout-Ms: %d\r\nContent-Length: %zu\r\n\r\n%s",
                      function, ms, strlen(body), body);
  if (write(fd, request, (size_t)size) != size) die("write fails");
  for (size_t got = 0;;) {
    ssize_t more = read(fd, reply + got, capacity - 1 - got);
    if (more <= 0) die("read fails");
    got += (size_t)more;
    reply[got] = '\0';
    const char *end = strstr(reply, "\r\n\r\n");
    const char *length = strcasestr(reply, "content-length:");
    if (!end || !length) continue;
    size_t need = strtoul(length + strlen("content-length:"), NULL, 10);
    if ((size_t)(reply + got - end) - 4 >= need) break;
  }
  return atoi(reply + strlen("HTTP/1.1 "));
}

static inline int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

#endif  // FARCALL_BENCH_FARCALLD_H_
