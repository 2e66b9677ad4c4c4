// SPDX-License-Identifier: Apache-2.0
//
// bench_start FARCALLD MODULE COUNTER: what one small module costs. Prints the
// time from fork to the first complete answer (median and worst of RUNS), the
// resident size after it, and farcalld's own heap allocations per request once
// warm, counted by the preloaded COUNTER (preload_count.c). Exits 1 when
// farcalld fails, never because a figure is bad.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS 21
#define WARM 1000      // requests before allocations are counted
#define COUNTED 10000  // requests while they are

static const char body[] = "[[1.5,2.5,3.5,4.5],[0.5,0.25,0.125,1.0]]";
static const char answer[] = "{\"results\":[[2.0,2.75,3.625,5.5]]}";

typedef struct server_t {
  pid_t pid;
  int log;  // its stderr
  int port;
  uint64_t started_ns;
} server_t;

static void die(const char *what) {
  fprintf(stderr, "bench_start: %s: %s\n", what, strerror(errno));
  exit(1);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// Starts farcalld and waits until it says where it listens.
static server_t start(char **argv, const char *counter, const char *counts) {
  int ends[2];
  if (pipe(ends)) die("pipe");
  server_t server = {.started_ns = now_ns(), .log = ends[0]};
  server.pid = fork();
  if (server.pid < 0) die("fork");
  if (server.pid == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    if (counter) {
      setenv("LD_PRELOAD", counter, 1);
      setenv("MALLOC_COUNT", counts, 1);
    }
    execl(argv[1], argv[1], "--listen", "127.0.0.1:0", "--workers", "1",
          "--access-log=off", "--isolation=thread", argv[2], (char *)NULL);
    _exit(127);
  }
  close(ends[1]);

  char log[4096];
  size_t size = 0;
  while (size < sizeof log - 1) {
    ssize_t got = read(server.log, log + size, sizeof log - 1 - size);
    if (got <= 0) break;
    size += (size_t)got;
    log[size] = 0;
    char *at = strstr(log, "listening on http://127.0.0.1:");
    if (at && strchr(at, '\n')) {
      server.port =
          (int)strtol(at + sizeof "listening on http://127.0.0.1", NULL, 10);
      return server;
    }
  }
  log[size] = 0;
  fprintf(stderr, "%s", log);
  errno = 0;
  die("farcalld does not listen");
  return server;
}

static void stop(const server_t *server) {
  int status;
  kill(server->pid, SIGTERM);
  if (waitpid(server->pid, &status, 0) != server->pid) die("waitpid");
  close(server->log);
  if (!WIFEXITED(status) || WEXITSTATUS(status)) {
    errno = 0;
    die("farcalld does not end cleanly");
  }
}

static int connect_to(int port) {
  struct sockaddr_in to = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port),
                           .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to)) die("connect");
  return fd;
}

// One request and its whole answer. False when the module is not ready yet.
static int ask(int fd) {
  char request[512], reply[4096];
  int size = snprintf(request, sizeof request,
                      "POST /api/v1/functions/add/add HTTP/1.1\r\n"
                      "Host: localhost\r\nContent-Type: application/json\r\n"
                      "Content-Length: %zu\r\n\r\n%s",
                      sizeof body - 1, body);
  if (write(fd, request, (size_t)size) != size) die("write");
  size_t got = 0;
  for (;;) {
    ssize_t more = read(fd, reply + got, sizeof reply - 1 - got);
    if (more <= 0) die("read");
    got += (size_t)more;
    reply[got] = 0;
    char *end = strstr(reply, "\r\n\r\n");
    char *length = strcasestr(reply, "content-length:");
    if (!end || !length) continue;
    size_t need = strtoul(length + sizeof "content-length:" - 1, NULL, 10);
    if ((size_t)(reply + got - end) - 4 < need) continue;
    if (!strncmp(reply, "HTTP/1.1 503", 12)) return 0;
    if (strcmp(end + 4, answer)) {
      fprintf(stderr, "bench_start: unexpected answer %s\n", reply);
      exit(1);
    }
    return 1;
  }
}

static long resident_kb(pid_t pid) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
  FILE *file = fopen(path, "r");
  long kb = -1;
  while (file && fgets(line, sizeof line, file)) {
    if (!strncmp(line, "VmRSS:", 6)) kb = strtol(line + 6, NULL, 10);
  }
  if (file) fclose(file);
  return kb;
}

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void measure_start(char **argv) {
  uint64_t ns[RUNS];
  long kb = 0;
  for (int i = 0; i < RUNS; i++) {
    server_t server = start(argv, NULL, NULL);
    int fd = connect_to(server.port);
    while (!ask(fd)) {
    }
    ns[i] = now_ns() - server.started_ns;
    long now_kb = resident_kb(server.pid);
    if (now_kb > kb) kb = now_kb;
    close(fd);
    stop(&server);
  }
  qsort(ns, RUNS, sizeof ns[0], by_value);
  uint64_t median = ns[RUNS / 2];
  printf("start to first answer  median %.2f ms  worst %.2f ms  (%d runs)\n",
         (double)median / 1e6, (double)ns[RUNS - 1] / 1e6, RUNS);
  printf("resident size          %.2f MB\n", (double)kb / 1024);
}

static void measure_allocations(char **argv) {
  char path[] = "/tmp/farcall-count-XXXXXX";
  int file = mkstemp(path);
  if (file < 0 || ftruncate(file, sizeof(uint64_t))) die(path);
  volatile uint64_t *count =
      mmap(NULL, sizeof *count, PROT_READ, MAP_SHARED, file, 0);
  if (count == MAP_FAILED) die("mmap");

  server_t server = start(argv, argv[3], path);
  int fd = connect_to(server.port);
  for (int i = 0; i < WARM; i++) ask(fd);
  uint64_t before = *count;
  if (!before) {
    errno = 0;
    die("nothing was counted: is the counter preloaded?");
  }
  for (int i = 0; i < COUNTED; i++) ask(fd);
  printf("allocations/request    %.4f  (%d requests)\n",
         (double)(*count - before) / COUNTED, COUNTED);
  close(fd);
  stop(&server);
  unlink(path);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: bench_start FARCALLD MODULE COUNTER\n");
    return 64;
  }
  measure_start(argv);
  measure_allocations(argv);
  return 0;
}
