// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define PIDS 256

static int server_pid, kill_ms;
static pthread_t killer;
static _Atomic uint64_t kills;
static _Atomic bool over;

_Noreturn void load_die(const char *what) {
  fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
  exit(2);
}

uint64_t load_number(uint64_t *seed) {
  uint64_t z = *seed += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

int load_connect(int poll, int port, void *data) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  int on = 1;
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) ||
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)) {
    load_die("connect");
  }
  struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = data}};
  if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event)) load_die("epoll_ctl");
  return fd;
}

// Waits until everything is sent. That takes no time: a request fits into the socket's
// buffer, and the server reads while it computes.
void load_send(int fd, const char *data, size_t size) {
  while (size) {
    ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
    if (n < 0) load_die("send");
    data += n;
    size -= (size_t)n;
  }
}

static const char *find_body(const char *got, size_t got_size, size_t *out_size,
                             int *out_status) {
  const char *end = strstr(got, "\r\n\r\n");
  if (!end) return NULL;
  const char *length = strstr(got, "Content-Length: ");
  if (!length || length > end) length = strstr(got, "content-length: ");
  if (!length || length > end) load_die("an answer without Content-Length");
  *out_size = strtoul(length + 16, NULL, 10);
  *out_status = (int)strtol(got + 9, NULL, 10);
  end += 4;
  return (size_t)(got + got_size - end) >= *out_size ? end : NULL;
}

const char *load_receive(int fd, char *got, size_t *got_size, size_t capacity,
                         size_t *out_size, int *out_status) {
  const ssize_t n = recv(fd, got + *got_size, capacity - 1 - *got_size, 0);
  if (n <= 0) load_die("the server closed a connection");
  *got_size += (size_t)n;
  got[*got_size] = '\0';
  return find_body(got, *got_size, out_size, out_status);
}

size_t load_count(const bool *first, size_t count, size_t struct_size) {
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    found += *(const bool *)((const char *)first + i * struct_size);
  }
  return found;
}

// ---------------------------------------------------------------------------
// The killer

// Appends the process ids in a file of /proc to `pids`.
static int read_pids(const char *path, int *pids, int count) {
  char text[4096];
  FILE *file = fopen(path, "r");
  if (!file) return count;
  size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = '\0';
  char *rest = text;
  for (char *end; count < PIDS; rest = end) {
    long pid = strtol(rest, &end, 10);
    if (end == rest) break;
    pids[count++] = (int)pid;
  }
  return count;
}

// Picks a child of any thread of the server.
static int pick_child(uint64_t *seed) {
  char pattern[64];
  int pids[PIDS], count = 0;
  glob_t threads = {0};
  snprintf(pattern, sizeof pattern, "/proc/%d/task/*/children", server_pid);
  (void)glob(pattern, 0, NULL, &threads);
  for (size_t i = 0; i < threads.gl_pathc; i++) {
    count = read_pids(threads.gl_pathv[i], pids, count);
  }
  globfree(&threads);
  return count ? pids[load_number(seed) % (uint64_t)count] : 0;
}

static void *kill_on(void *context) {
  static const int kSignals[] = {SIGKILL, SIGKILL, SIGSEGV, SIGABRT, SIGTERM};
  uint64_t seed = 1;
  while (!over) {
    usleep((unsigned)kill_ms * 1000);
    int pid = pick_child(&seed);
    int number = kSignals[kills % FC_ARRAY_COUNT(kSignals)];
    if (pid > 1 && kill(pid, number) == 0) kills++;
  }
  return context;
}

void load_kill(int pid, int ms) {
  server_pid = pid;
  kill_ms = ms;
  if (ms && pthread_create(&killer, NULL, kill_on, NULL)) load_die("thread");
}

uint64_t load_stop_killing(void) {
  over = true;
  if (kill_ms) pthread_join(killer, NULL);
  return kills;
}
