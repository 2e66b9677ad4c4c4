// SPDX-License-Identifier: Apache-2.0
//
// chaos PORT PID COUNT SECONDS KILL_MS [SEED]
//
// Calls add/add, add_late and reverse of the farcalld with process id PID over 64
// connections, until COUNT answers came or SECONDS have passed. Each call has different
// numbers, and each answer is compared with the expected one. Every KILL_MS
// milliseconds (0: never) it also ends a random child process of the server with one of
// the usual signals.
// Prints one line of JSON. Fails if an answer was wrong, was neither 200 nor the 502 of
// a killed worker, came twice or never came, or if more calls failed than workers were
// killed.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "load.h"

#define CONNECTIONS 64
#define TEXT_MAX (64u << 10)
#define VECTOR_MAX 1500
#define KINDS 64  // one sends long vectors, one is slow, the rest are `add`
#define WRONG_SHOWN 5

typedef struct fc_client_t {
  int fd;
  bool awaits;
  size_t out_size;
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

static int64_t draw(void) { return (int64_t)load_number(&state) >> 8; }

// ---------------------------------------------------------------------------
// Requests and their expected answers

__attribute__((format(printf, 3, 4))) static void add_text(char *text,
                                                           size_t *size,
                                                           const char *format,
                                                           ...) {
  va_list list;
  va_start(list, format);
  int more = vsnprintf(text + *size, TEXT_MAX - *size, format, list);
  va_end(list);
  *size += (size_t)more;
  if (*size >= TEXT_MAX) load_die("a text is too long");
}

static void ask_reverse(fc_client_t *c, char *body, size_t *body_size) {
  static int64_t values[VECTOR_MAX];
  size_t count = load_number(&state) % VECTOR_MAX;
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
  uint64_t kind = load_number(&state) % KINDS;
  c->out_size = c->want_size = c->got_size = 0;
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
  size_t size;
  int status;
  const char *body =
      load_receive(c->fd, c->got, &c->got_size, TEXT_MAX, &size, &status);
  if (!c->awaits) show(c, "an answer nobody asked for");
  else if (body) judge(c, body, size, status);
}

// ---------------------------------------------------------------------------

static size_t count_awaiting(void) {
  return load_count(&clients->awaits, CONNECTIONS, sizeof *clients);
}

// Sends calls until `count` were sent or the time `until_ns` is reached, then waits for
// the last answers. False: nothing came for too long.
static bool run(int poll, uint64_t count, uint64_t until_ns) {
  struct epoll_event events[CONNECTIONS];
  for (size_t i = 0; i < CONNECTIONS; i++) {
    ask(&clients[i]);
    load_send(clients[i].fd, clients[i].out, clients[i].out_size);
  }
  while (count_awaiting()) {
    int ready = epoll_wait(poll, events, CONNECTIONS, LOAD_SILENCE_MS);
    if (ready == 0) return false;
    bool more = sent < count && fc_clock_ns() < until_ns;
    for (int i = 0; i < ready; i++) {
      fc_client_t *c = events[i].data.ptr;
      receive(c);
      if (c->awaits || !more) continue;
      ask(c);
      load_send(c->fd, c->out, c->out_size);
    }
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fputs("usage: chaos PORT PID COUNT SECONDS KILL_MS [SEED]\n", stderr);
    return 64;
  }
  state = argc > 6 ? strtoull(argv[6], NULL, 10) : 1;
  int poll = epoll_create1(0);
  for (size_t i = 0; i < CONNECTIONS; i++) {
    const int port = (int)strtol(argv[1], NULL, 10);
    clients[i].fd = load_connect(poll, port, &clients[i]);
  }
  load_kill((int)strtol(argv[2], NULL, 10), (int)strtol(argv[5], NULL, 10));
  uint64_t begin_ns = fc_clock_ns();
  bool ended = run(poll, strtoull(argv[3], NULL, 10),
                   begin_ns + strtoull(argv[4], NULL, 10) * 1000000000u);
  double seconds = (double)(fc_clock_ns() - begin_ns) / 1e9;
  const uint64_t kills = load_stop_killing();
  size_t lost = count_awaiting();
  printf("{\"sent\":%" PRIu64 ",\"right\":%" PRIu64 ",\"crashed\":%" PRIu64
         ",\"wrong\":%" PRIu64 ",\"other\":%" PRIu64
         ",\"lost\":%zu,\"kills\":%" PRIu64
         ",\"seconds\":%.1f,\"per_second\":%.0f,\"slowest_ms\":%.1f}\n",
         sent, right, crashed, wrong, others, lost, kills, seconds,
         (double)sent / seconds, (double)slowest_ns / 1e6);
  bool fine = ended && !lost && !wrong && !others && crashed <= kills &&
              right + crashed == sent;
  return fine ? 0 : 1;
}
