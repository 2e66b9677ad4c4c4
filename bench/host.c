// SPDX-License-Identifier: Apache-2.0
//
// bench_host FARCALLD CRASH_MODULE [RUNS]: what a crash and a deadline cost.
// Prints medians, 99th percentiles and the worst of
//   a crash     from sending the call that crashes to its 502
//   ready again from that 502 to the answer of the next call
//   a deadline  from the deadline of a call that never ends to its 504
// Each is compared with a plain call on the same connection, so the reader can
// take the way there off. Exits 1 when farcalld fails, never for a figure.
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

#define DEADLINE_MS 50

static void die(const char *what) {
  fprintf(stderr, "bench_host: %s: %s\n", what, strerror(errno));
  exit(1);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static pid_t start(const char *program, const char *module, int *out_port) {
  int ends[2];
  if (pipe(ends)) die("pipe");
  pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    execl(program, program, "--listen=127.0.0.1:0", "--workers=1",
          "--access-log=off", "--isolation=process", "--crash-limit=0", module,
          (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  char log[4096] = "";
  size_t size = 0;
  const char *at;
  static const char kSays[] = "listening on http://127.0.0.1:";
  while (!(at = strstr(log, kSays)) || !strchr(at, '\n')) {
    ssize_t got = read(ends[0], log + size, sizeof log - 1 - size);
    if (got <= 0) die("farcalld does not start");
    size += (size_t)got;
    log[size] = '\0';
  }
  *out_port = (int)strtol(at + strlen(kSays), NULL, 10);
  // What it says from now on is not read, and it does not wait for that.
  return pid;
}

static int connect_to(int port) {
  struct sockaddr_in to = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port),
                           .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
  if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to)) die("connect");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

// The status of the answer.
static int call(int fd, const char *function, const char *body, int ms) {
  char request[512], reply[4096];
  int size = snprintf(request, sizeof request,
                      "POST /api/v1/functions/crash/%s HTTP/1.1\r\n"
                      "Host: localhost\r\nFarcall-Timeout-Ms: %d\r\n"
                      "Content-Length: %zu\r\n\r\n%s",
                      function, ms, strlen(body), body);
  if (write(fd, request, (size_t)size) != size) die("write");
  size_t got = 0;
  for (;;) {
    ssize_t more = read(fd, reply + got, sizeof reply - 1 - got);
    if (more <= 0) die("read");
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

static void expect(int got, int wanted, const char *what) {
  if (got == wanted) return;
  fprintf(stderr, "bench_host: %s: status %d, not %d\n", what, got, wanted);
  exit(1);
}

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void print(const char *what, uint64_t *ns, int count) {
  qsort(ns, (size_t)count, sizeof *ns, by_value);
  const int middle = count / 2, late = count * 99 / 100;
  printf("%-12s p50 %7.3f ms   p99 %7.3f ms   worst %7.3f ms\n", what,
         (double)ns[middle] / 1e6, (double)ns[late] / 1e6,
         (double)ns[count - 1] / 1e6);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: bench_host FARCALLD CRASH_MODULE [RUNS]\n");
    return 64;
  }
  int runs = argc > 3 ? atoi(argv[3]) : 300;
  uint64_t *plain = calloc((size_t)runs * 4, sizeof *plain);
  if (!plain || runs < 1) die("runs");
  uint64_t *crash = plain + runs, *ready = crash + runs;
  uint64_t *late = ready + runs;
  int port;
  pid_t pid = start(argv[1], argv[2], &port);
  int fd = connect_to(port);
  expect(call(fd, "add", "[1,2]", 60000), 200, "a plain call");
  for (int i = 0; i < runs; i++) {
    uint64_t began = now_ns();
    expect(call(fd, "add", "[1,2]", 60000), 200, "a plain call");
    uint64_t sent = now_ns();
    plain[i] = sent - began;
    expect(call(fd, "divide", "[1,0]", 60000), 502, "a crash");
    uint64_t told = now_ns();
    crash[i] = told - sent;
    expect(call(fd, "add", "[1,2]", 60000), 200, "the next call");
    ready[i] = now_ns() - told;
  }
  for (int i = 0; i < runs; i++) {
    uint64_t due = now_ns() + DEADLINE_MS * 1000000u;
    expect(call(fd, "spin", "[0]", DEADLINE_MS), 504, "a deadline");
    uint64_t told = now_ns();
    late[i] = told > due ? told - due : 0;
    expect(call(fd, "add", "[1,2]", 60000), 200, "after a deadline");
  }
  print("plain call", plain, runs);
  print("a crash", crash, runs);
  print("ready again", ready, runs);
  print("a deadline", late, runs);
  close(fd);
  free(plain);
  kill(pid, SIGTERM);
  int status;
  if (waitpid(pid, &status, 0) != pid || status) die("farcalld ends badly");
  return 0;
}
