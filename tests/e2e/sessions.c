// SPDX-License-Identifier: Apache-2.0
//
// sessions PORT PID COUNT SESSIONS KILL_MS [SEED]
//
// Makes COUNT requests in SESSIONS sessions of the module `counts` of the farcalld with
// process id PID, over 64 connections. `bump(x)` adds x to the state c and answers c *
// x. Each session first adds its own number, then others. A model beside it computes
// each answer, which must be equal to the bit. Now and then a session is read, is
// forked, or ends and is replaced by a new one. One in eight has checkpoints. Every
// KILL_MS milliseconds (0: never) one of the server's child processes is ended.
// At the end all sessions are ended. Prints one line of JSON. Fails if an answer
// differs from the model's, if a session is lost without a killed call of its own (a
// session with checkpoints: if it is lost at all), or if more calls failed than
// processes were ended. A call that was not begun, because three processes were ended
// before its turn, counts as never sent.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "load.h"

#define CONNECTIONS 64
#define SESSIONS_MAX 4096
#define TEXT_MAX 4096
#define LANES 4
#define KEEPING 8  // one session of so many has checkpoints
#define WRONG_SHOWN 5
#define ROUTE "/api/v1/modules/counts/sessions"

typedef struct fc_model_t {
  char id[33];
  bool lives;
  bool torn;  // a call of it was killed
  uint64_t step;
  float c[LANES];
} fc_model_t;

typedef struct fc_slot_t {
  fc_model_t own, fork;  // a fork lives for a few calls
  bool keeps;            // checkpoints
} fc_slot_t;

typedef enum fc_what_t { MAKE, CALL, READ, FORK, END } fc_what_t;

typedef struct fc_client_t {
  int fd;
  bool awaits;
  fc_slot_t *slot;
  fc_model_t *model;
  fc_what_t what;
  float x[LANES];
  size_t out_size, got_size;
  char out[TEXT_MAX], got[TEXT_MAX];
} fc_client_t;

static fc_client_t clients[CONNECTIONS];
static fc_slot_t slots[SESSIONS_MAX];
static size_t slot_count;
static uint64_t seed = 1, made, sent, right, crashed, missed, lost, wrong;

static bool one_in(uint64_t n) { return load_number(&seed) % n == 0; }

// ---------------------------------------------------------------------------
// Requests

__attribute__((format(printf, 2, 3))) static void put(fc_client_t *c,
                                                      const char *format, ...) {
  va_list list;
  va_start(list, format);
  int more =
      vsnprintf(c->out + c->out_size, TEXT_MAX - c->out_size, format, list);
  va_end(list);
  c->out_size += (size_t)more;
  if (c->out_size >= TEXT_MAX) load_die("a request is too long");
}

static void ask_call(fc_client_t *c) {
  static const char kHead[] =
      "POST /api/v1/functions/counts/bump HTTP/1.1\r\nHost: localhost\r\n"
      "Farcall-Session: %s\r\nFarcall-Session-Step: %" PRIu64
      "\r\nContent-Length: %zu\r\n\r\n%s";
  char body[128];
  int size = 0;
  for (int i = 0; i < LANES; i++) {
    const uint64_t x = c->model->step ? load_number(&seed) % 1000000 : made;
    size += snprintf(body + size, sizeof body - (size_t)size, "%s%" PRIu64,
                     i ? "," : "[[", x);
    c->x[i] = (float)x;
  }
  size += snprintf(body + size, sizeof body - (size_t)size, "]]");
  put(c, kHead, c->model->id, c->model->step, (size_t)size, body);
}

static void ask(fc_client_t *c, fc_model_t *model, fc_what_t what) {
  const char *id = model->id;
  c->model = model;
  c->what = what;
  c->awaits = true;
  c->out_size = c->got_size = 0;
  sent++;
  switch (what) {
    case MAKE:
      made++;
      put(c, "POST " ROUTE " HTTP/1.1\r\nHost: localhost\r\nContent-Length: %s",
          c->slot->keeps ? "19\r\n\r\n{\"checkpoint\":true}" : "2\r\n\r\n{}");
      break;
    case CALL:
      ask_call(c);
      break;
    case READ:
      put(c, "GET " ROUTE "/%s/values/c HTTP/1.1\r\nHost: localhost\r\n\r\n",
          id);
      break;
    case FORK:
      put(c,
          "POST " ROUTE
          "/%s/fork HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
          id);
      break;
    case END:
      put(c, "DELETE " ROUTE "/%s HTTP/1.1\r\nHost: localhost\r\n\r\n", id);
      break;
  }
  load_send(c->fd, c->out, c->out_size);
}

// Makes the next request of a session of this connection: of any session, or if not
// `more`, of one that still lives, until none does.
static void go_on(fc_client_t *c, bool more) {
  const size_t first = (size_t)(c - clients);
  if (more) {
    c->slot = &slots[first + CONNECTIONS * (load_number(&seed) %
                                            (slot_count / CONNECTIONS))];
    fc_slot_t *slot = c->slot;
    if (slot->fork.lives) ask(c, &slot->fork, one_in(3) ? END : CALL);
    else if (!slot->own.lives) ask(c, &slot->own, MAKE);
    else if (one_in(200)) ask(c, &slot->own, END);
    else if (one_in(100)) ask(c, &slot->own, FORK);
    else ask(c, &slot->own, slot->own.step && one_in(50) ? READ : CALL);
    return;
  }
  for (size_t i = first; i < slot_count; i += CONNECTIONS) {
    c->slot = &slots[i];
    if (slots[i].fork.lives) return ask(c, &slots[i].fork, END);
    if (slots[i].own.lives) return ask(c, &slots[i].own, END);
  }
}

// ---------------------------------------------------------------------------
// Expected answers

static void show(const fc_client_t *c, const char *what) {
  if (wrong++ >= WRONG_SHOWN) return;
  const fc_model_t *model = c->model;
  fprintf(stderr,
          "sessions: %s: step %" PRIu64 ", state %a %a, asked\n%s\n  got %s\n",
          what, model->step, (double)model->c[0], (double)model->c[1], c->out,
          c->got);
}

static bool is_said(const char *body, const char *before, const float *want) {
  const char *at = strstr(body, before);
  if (!at) return false;
  char *end = (char *)(uintptr_t)(at + strlen(before));
  for (int i = 0; i < LANES; i++) {
    if (strtof(end, &end) != want[i] || *end++ != (i + 1 < LANES ? ',' : ']')) {
      return false;
    }
  }
  return true;
}

static void take_id(const char *body, fc_model_t *out) {
  const char *id = strstr(body, "\"session\":\"");
  if (!id) load_die("no id");
  memcpy(out->id, id + 11, 32);
  out->lives = true;
}

static bool succeed(fc_client_t *c, const char *body) {
  fc_model_t *model = c->model;
  float want[LANES];
  switch (c->what) {
    case MAKE:
      *model = (fc_model_t){0};
      take_id(body, model);
      return true;
    case FORK:
      c->slot->fork = *model;
      take_id(body, &c->slot->fork);
      return true;
    case END:
      return model->lives = false, true;
    case READ:
      return is_said(body, "\"data\":[", model->c);
    case CALL:
      break;
  }
  for (int i = 0; i < LANES; i++) {
    model->c[i] += c->x[i];
    want[i] = model->c[i] * c->x[i];
  }
  model->step++;
  return is_said(body, "{\"results\":[[", want);
}

static void judge(fc_client_t *c, const char *body, size_t size, int status) {
  fc_model_t *model = c->model;
  c->awaits = false;
  if (body + size != c->got + c->got_size) {
    show(c, "more than one answer");
  } else if (status == 200 || status == 201) {
    if (model->torn && c->what != END && c->what != MAKE)
      show(c, "a torn session");
    else if (succeed(c, body)) right++;
    else show(c, "wrong");
  } else if (status == 502 && strstr(body, "SIG")) {
    crashed++;
    model->torn = !c->slot->keeps;
  } else if (status == 502 && strstr(body, "\"error\":\"not begun")) {
    missed++;  // kills met its process, and no call of it: the session is as it was
  } else if (status == 410 && strstr(body, "session_lost") && model->torn) {
    lost++;
    ask(c, model, END);
  } else {
    show(c, "refused");
  }
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

// False: nothing came for too long.
static bool run(int poll, uint64_t count) {
  struct epoll_event events[CONNECTIONS];
  for (size_t i = 0; i < CONNECTIONS; i++) go_on(&clients[i], true);
  while (count_awaiting()) {
    const int ready = epoll_wait(poll, events, CONNECTIONS, LOAD_SILENCE_MS);
    if (ready == 0) return false;
    for (int i = 0; i < ready; i++) {
      fc_client_t *c = events[i].data.ptr;
      receive(c);
      if (!c->awaits && wrong < WRONG_SHOWN) go_on(c, sent < count);
    }
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fputs("usage: sessions PORT PID COUNT SESSIONS KILL_MS [SEED]\n", stderr);
    return 64;
  }
  slot_count = strtoul(argv[4], NULL, 10) / CONNECTIONS * CONNECTIONS;
  if (!slot_count || slot_count > SESSIONS_MAX) return 64;
  if (argc > 6) seed = strtoull(argv[6], NULL, 10);
  for (size_t i = 0; i < slot_count; i++)
    slots[i].keeps = i / CONNECTIONS % KEEPING == 0;
  const int poll = epoll_create1(0), port = (int)strtol(argv[1], NULL, 10);
  for (size_t i = 0; i < CONNECTIONS; i++) {
    clients[i].fd = load_connect(poll, port, &clients[i]);
  }
  load_kill((int)strtol(argv[2], NULL, 10), (int)strtol(argv[5], NULL, 10));
  const uint64_t begin_ns = fc_clock_ns();
  const bool ended = run(poll, strtoull(argv[3], NULL, 10));
  const double seconds = (double)(fc_clock_ns() - begin_ns) / 1e9;
  const uint64_t kills = load_stop_killing();
  printf("{\"sent\":%" PRIu64 ",\"right\":%" PRIu64 ",\"sessions\":%" PRIu64
         ",\"crashed\":%" PRIu64 ",\"missed\":%" PRIu64 ",\"lost\":%" PRIu64
         ",\"wrong\":%" PRIu64 ",\"unanswered\":%zu,\"kills\":%" PRIu64
         ",\"seconds\":%.1f}\n",
         sent, right, made, crashed, missed, lost, wrong, count_awaiting(),
         kills, seconds);
  const bool fine = ended && !wrong && crashed <= kills;
  return fine && right + crashed + missed + lost == sent ? 0 : 1;
}
