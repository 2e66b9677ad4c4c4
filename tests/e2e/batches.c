// SPDX-License-Identifier: Apache-2.0
//
// batches PORT CASES COUNT CONNECTIONS [SEED]
//
// Sends COUNT requests over CONNECTIONS connections. Each connection sends a random
// case of the file CASES as soon as its previous request is answered. Every answer is
// compared with the file, byte by byte. A case is four numbers (uint32_t: what is
// compared, the status, the sizes of request and body), the request, and the body of
// its answer.
// Prints one line of JSON. Fails if an answer was wrong, came twice or never came.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

#define CONNECTIONS_MAX 256
#define GOT_MAX (256u << 10)
#define CASES_MAX (32u << 10)
#define WRONG_SHOWN 5

enum {
  CASE_BODY,  // status and body are compared
  CASE_BEGIN,  // of the body the beginning: an error has the number of its request
  CASE_LEAVE,  // the client leaves before it is answered
  CASE_LATE,   // as BODY, or it cannot be made in its time
};

typedef struct fc_case_t {
  uint32_t what, status, size, body_size;
  const char *request, *body;
} fc_case_t;

typedef struct fc_client_t {
  int fd;
  const fc_case_t *asked;  // NULL: nothing
  size_t got_size;
  uint64_t sent_ns;
  char got[GOT_MAX];
} fc_client_t;

static fc_case_t cases[CASES_MAX];
static size_t case_count;
static fc_client_t clients[CONNECTIONS_MAX];
static size_t client_count;
static int poll_fd, port;
static uint64_t state, sent, right, failed, left, late, wrong, slowest_ns;

static void read_cases(const char *path) {
  FILE *file = fopen(path, "rb");
  uint32_t head[4];
  if (!file) load_die(path);
  while (fread(head, sizeof head, 1, file) == 1) {
    if (case_count == CASES_MAX) load_die("too many cases");
    char *text = malloc((size_t)head[2] + head[3] + 1);
    if (!text || fread(text, 1, (size_t)head[2] + head[3], file) !=
                     (size_t)head[2] + head[3]) {
      load_die("a case is cut");
    }
    cases[case_count++] =
        (fc_case_t){head[0], head[1], head[2], head[3], text, text + head[2]};
  }
  fclose(file);
  if (!case_count) load_die("no cases");
}

static void ask(fc_client_t *c) {
  for (;;) {
    c->asked = &cases[load_number(&state) % case_count];
    c->got_size = 0;
    c->sent_ns = fc_clock_ns();
    load_send(c->fd, c->asked->request, c->asked->size);
    sent++;
    if (c->asked->what != CASE_LEAVE) return;
    left++;
    close(c->fd);
    c->fd = load_connect(poll_fd, port, c);
  }
}

static void judge(fc_client_t *c, const char *body, size_t size, int status) {
  const fc_case_t *asked = c->asked;
  const bool whole = body + size == c->got + c->got_size;
  const bool long_enough = asked->what == CASE_BEGIN ? size >= asked->body_size
                                                     : size == asked->body_size;
  const bool good = whole && status == (int)asked->status && long_enough &&
                    memcmp(body, asked->body, asked->body_size) == 0;
  const bool in_time =
      asked->what != CASE_LATE || (status != 504 && status != 503);
  late += !in_time;
  failed += good && asked->what == CASE_BEGIN;
  if (good || !in_time) right++;
  else if (wrong++ < WRONG_SHOWN) {
    fprintf(stderr, "batches: case %zu, %u wanted: got %.600s\n",
            (size_t)(asked - cases), asked->status, c->got);
  }
  const uint64_t took_ns = fc_clock_ns() - c->sent_ns;
  if (took_ns > slowest_ns) slowest_ns = took_ns;
  c->asked = NULL;
}

static void receive(fc_client_t *c) {
  size_t size;
  int status;
  const char *body =
      load_receive(c->fd, c->got, &c->got_size, GOT_MAX, &size, &status);
  if (!c->asked) {
    if (wrong++ < WRONG_SHOWN) fputs("batches: nobody asked for it\n", stderr);
  } else if (body) {
    judge(c, body, size, status);
  }
}

static size_t count_awaiting(void) {
  size_t count = 0;
  for (size_t i = 0; i < client_count; i++) count += clients[i].asked != NULL;
  return count;
}

static bool run(uint64_t count) {
  struct epoll_event events[CONNECTIONS_MAX];
  for (size_t i = 0; i < client_count; i++) ask(&clients[i]);
  while (count_awaiting()) {
    const int ready =
        epoll_wait(poll_fd, events, CONNECTIONS_MAX, LOAD_SILENCE_MS);
    if (ready == 0) return false;
    for (int i = 0; i < ready; i++) {
      fc_client_t *c = events[i].data.ptr;
      receive(c);
      if (!c->asked && sent < count) ask(c);
    }
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc < 5) {
    fputs("usage: batches PORT CASES COUNT CONNECTIONS [SEED]\n", stderr);
    return 64;
  }
  port = (int)strtol(argv[1], NULL, 10);
  read_cases(argv[2]);
  client_count = strtoul(argv[4], NULL, 10);
  if (client_count > CONNECTIONS_MAX) load_die("too many connections");
  state = argc > 5 ? strtoull(argv[5], NULL, 10) : 1;
  poll_fd = epoll_create1(0);
  for (size_t i = 0; i < client_count; i++) {
    clients[i].fd = load_connect(poll_fd, port, &clients[i]);
  }
  const uint64_t began_ns = fc_clock_ns();
  const bool ended = run(strtoull(argv[3], NULL, 10));
  const double seconds = (double)(fc_clock_ns() - began_ns) / 1e9;
  const size_t lost = count_awaiting();
  printf("{\"sent\":%" PRIu64 ",\"right\":%" PRIu64 ",\"failed\":%" PRIu64
         ",\"left\":%" PRIu64 ",\"late\":%" PRIu64 ",\"wrong\":%" PRIu64
         ",\"lost\":%zu,\"seconds\":%.1f,\"per_second\":%.0f,"
         "\"slowest_ms\":%.1f}\n",
         sent, right, failed, left, late, wrong, lost, seconds,
         (double)sent / seconds, (double)slowest_ns / 1e6);
  return ended && !lost && !wrong && right + left == sent ? 0 : 1;
}
