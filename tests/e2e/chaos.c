// SPDX-License-Identifier: Apache-2.0
//
// chaos PORT PID COUNT SECONDS KILL_MS [SEED]
//
// Calls add/add, add_late and reverse of the farcalld with process id PID over 64
// connections, every call with numbers of its own, until COUNT answers came or
// SECONDS are over, and compares every answer with what it must be. Beside that
// it ends one of the server's child processes, any, every KILL_MS (0: none) by
// one of the usual signals.
// Prints one line of JSON; fails when an answer was wrong, of another kind than
// 200 and the 502 of a killed worker, came twice or never, or when more calls
// failed than workers were killed.
#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "farcall/base.h"

#define PIDS 256

#define CONNECTIONS 64
#define TEXT_MAX (64u << 10)
#define VECTOR_MAX 1500
#define KINDS 64  // one sends long vectors, one is slow, the rest are `add`
#define SILENCE_NS (20ull * 1000000000u)
#define WRONG_SHOWN 5

typedef struct fc_client_t {
  int fd;
  bool awaits;
  size_t out_size;
  size_t out_sent;
  size_t want_size;
  size_t got_size;
  uint64_t sent_ns;
  char out[TEXT_MAX];
  char want[TEXT_MAX];  // the body of the right answer
  char got[TEXT_MAX];
} fc_client_t;

static fc_client_t clients[CONNECTIONS];
static uint64_t state;
static uint64_t sent, right, crashed, wrong, others, slowest_ns;
static int server_pid, kill_ms;
static _Atomic uint64_t kills;
static _Atomic bool over;

_Noreturn static void die(const char *what) {
  fprintf(stderr, "chaos: %s: %s\n", what, strerror(errno));
  exit(2);
}

// splitmix64
static uint64_t next_number(uint64_t *seed) {
  uint64_t z = *seed += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
static int64_t draw(void) { return (int64_t)next_number(&state) >> 8; }

// ---------------------------------------------------------------------------
// What is asked, and what must be answered

__attribute__((format(printf, 3, 4))) static void add_text(char *text,
                                                           size_t *size,
                                                           const char *format,
                                                           ...) {
  va_list list;
  va_start(list, format);
  int more = vsnprintf(text + *size, TEXT_MAX - *size, format, list);
  va_end(list);
  *size += (size_t)more;
  if (*size >= TEXT_MAX) die("a text is too long");
}

static void ask_reverse(fc_client_t *c, char *body, size_t *body_size) {
  static int64_t values[VECTOR_MAX];
  size_t count = next_number(&state) % VECTOR_MAX;
  add_text(body, body_size, "[[");
  for (size_t i = 0; i < count; i++) {
    values[i] = draw();
    add_text(body, body_size, "%s%" PRId64, i ? "," : "", values[i]);
  }
  add_text(body, body_size, "]]");
  add_text(c->want, &c->want_size, "{\"results\":[[");
  for (size_t i = count; i-- > 0;) {
    add_text(c->want, &c->want_size, "%" PRId64 "%s", values[i], i ? "," : "");
  }
  add_text(c->want, &c->want_size, "]]}");
}

static void ask_add(fc_client_t *c, char *body, size_t *body_size) {
  int64_t a = draw(), b = draw();
  add_text(body, body_size, "[%" PRId64 ",%" PRId64 "]", a, b);
  add_text(c->want, &c->want_size, "{\"results\":[%" PRId64 "]}", a + b);
}

static void ask(fc_client_t *c) {
  static char body[TEXT_MAX];
  size_t size = 0;
  uint64_t kind = next_number(&state) % KINDS;
  c->out_size = c->out_sent = c->want_size = c->got_size = 0;
  if (kind == 0) ask_reverse(c, body, &size);
  else ask_add(c, body, &size);
  add_text(c->out, &c->out_size,
           "POST /api/v1/functions/add/%s HTTP/1.1\r\nHost: localhost\r\n"
           "Content-Length: %zu\r\n\r\n%.*s",
           kind == 0   ? "reverse"
           : kind == 1 ? "add_late"
                       : "add",
           size, (int)size, body);
  c->awaits = true;
  c->sent_ns = fc_clock_ns();
  sent++;
}

static void show(const fc_client_t *c, const char *what) {
  if (wrong++ >= WRONG_SHOWN) return;
  fprintf(stderr, "chaos: %s: asked %.300s\n  got %.600s\n", what, c->out,
          c->got);
}

// ---------------------------------------------------------------------------
// One connection

static void open_client(fc_client_t *c, int poll, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  c->fd = socket(AF_INET, SOCK_STREAM, 0);
  int on = 1;
  if (c->fd < 0 ||
      connect(c->fd, (struct sockaddr *)&address, sizeof address) ||
      setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)) {
    die("connect");
  }
  struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = c}};
  if (epoll_ctl(poll, EPOLL_CTL_ADD, c->fd, &event)) die("epoll_ctl");
}

// Waits until all is sent. That takes no time, as a request fits the socket's
// buffer and the server reads while it computes.
static void send_all(fc_client_t *c) {
  while (c->out_sent < c->out_size) {
    ssize_t n = send(c->fd, c->out + c->out_sent, c->out_size - c->out_sent,
                     MSG_NOSIGNAL);
    if (n < 0) die("send");
    c->out_sent += (size_t)n;
  }
}

// The body and its size once the whole answer is there, else NULL.
static const char *find_body(fc_client_t *c, size_t *out_size, int *status) {
  c->got[c->got_size] = '\0';
  const char *end = strstr(c->got, "\r\n\r\n");
  if (!end) return NULL;
  const char *length = strstr(c->got, "Content-Length: ");
  if (!length || length > end) length = strstr(c->got, "content-length: ");
  if (!length || length > end) die("an answer without Content-Length");
  *out_size = strtoul(length + 16, NULL, 10);
  *status = (int)strtol(c->got + 9, NULL, 10);
  end += 4;
  return (size_t)(c->got + c->got_size - end) >= *out_size ? end : NULL;
}

static void judge(fc_client_t *c, const char *body, size_t size, int status) {
  if (body + size != c->got + c->got_size) {
    show(c, "more than one answer");
  } else if (status == 200) {
    if (size == c->want_size && memcmp(body, c->want, size) == 0) right++;
    else show(c, "wrong");
  } else if (status == 502 && strstr(body, "SIG")) {
    crashed++;
  } else {
    if (others++ < WRONG_SHOWN) fprintf(stderr, "chaos: %s\n", c->got);
  }
  uint64_t took_ns = fc_clock_ns() - c->sent_ns;
  if (took_ns > slowest_ns) slowest_ns = took_ns;
  c->awaits = false;
}

static void receive(fc_client_t *c) {
  ssize_t n = recv(c->fd, c->got + c->got_size, TEXT_MAX - 1 - c->got_size, 0);
  if (n <= 0) die("the server closed a connection");
  c->got_size += (size_t)n;
  if (!c->awaits) {
    show(c, "an answer nobody asked for");
    return;
  }
  size_t size;
  int status;
  const char *body = find_body(c, &size, &status);
  if (body) judge(c, body, size, status);
}

// ---------------------------------------------------------------------------
// The killer

// Adds the numbers in a file of /proc to `pids`.
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

// A child of any thread of the server.
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
  return count ? pids[next_number(seed) % (uint64_t)count] : 0;
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

// ---------------------------------------------------------------------------

static size_t count_awaiting(void) {
  size_t count = 0;
  for (size_t i = 0; i < CONNECTIONS; i++) count += clients[i].awaits;
  return count;
}

// Sends calls until `count` were sent or it is `until_ns`, then waits until the last
// is answered. False when nothing has come for too long.
static bool run(int poll, uint64_t count, uint64_t until_ns) {
  struct epoll_event events[CONNECTIONS];
  for (size_t i = 0; i < CONNECTIONS; i++) {
    ask(&clients[i]);
    send_all(&clients[i]);
  }
  while (count_awaiting()) {
    int ready = epoll_wait(poll, events, CONNECTIONS, SILENCE_NS / 1000000u);
    if (ready == 0) return false;
    bool more = sent < count && fc_clock_ns() < until_ns;
    for (int i = 0; i < ready; i++) {
      fc_client_t *c = events[i].data.ptr;
      receive(c);
      if (c->awaits || !more) continue;
      ask(c);
      send_all(c);
    }
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fputs("usage: chaos PORT PID COUNT SECONDS KILL_MS [SEED]\n", stderr);
    return 64;
  }
  server_pid = (int)strtol(argv[2], NULL, 10);
  kill_ms = (int)strtol(argv[5], NULL, 10);
  state = argc > 6 ? strtoull(argv[6], NULL, 10) : 1;
  int poll = epoll_create1(0);
  for (size_t i = 0; i < CONNECTIONS; i++) {
    open_client(&clients[i], poll, (int)strtol(argv[1], NULL, 10));
  }
  pthread_t killer;
  if (kill_ms && pthread_create(&killer, NULL, kill_on, NULL)) die("thread");
  uint64_t begin_ns = fc_clock_ns();
  bool ended = run(poll, strtoull(argv[3], NULL, 10),
                   begin_ns + strtoull(argv[4], NULL, 10) * 1000000000u);
  double seconds = (double)(fc_clock_ns() - begin_ns) / 1e9;
  over = true;
  if (kill_ms) pthread_join(killer, NULL);
  size_t lost = count_awaiting();
  printf("{\"sent\":%" PRIu64 ",\"right\":%" PRIu64 ",\"crashed\":%" PRIu64
         ",\"wrong\":%" PRIu64 ",\"other\":%" PRIu64
         ",\"lost\":%zu,\"kills\":%" PRIu64
         ",\"seconds\":%.1f,\"per_second\":%.0f,\"slowest_ms\":%.1f}\n",
         sent, right, crashed, wrong, others, lost, (uint64_t)kills, seconds,
         (double)sent / seconds, (double)slowest_ns / 1e6);
  bool fine = ended && !lost && !wrong && !others && crashed <= kills &&
              right + crashed == sent;
  return fine ? 0 : 1;
}
