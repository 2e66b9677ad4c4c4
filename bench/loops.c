// SPDX-License-Identifier: Apache-2.0
//
//   bench_loops ROUNDS FUNCTION BODY REPEAT FARCALLD [ARGUMENT ...]
//
// Compares a step of a loop on the server (?iterate) with a call over HTTP. Each round
// posts CALLS calls over one connection, one after the other, then reads a loop of STEPS
// steps to its end, then FIRSTS short loops. BODY has the members of the document, REPEAT
// those of "repeat" except "times".
#include "farcalld.h"

enum { CALLS = 2000, STEPS = 100000, FIRSTS = 50, ROUNDS_MAX = 100 };

// Posts a loop and reads its answer to the end. Returns the time at which the first byte
// came.
static uint64_t loop(int fd, const char *function, const char *body,
                     const char *repeat, unsigned times) {
  static char reply[1 << 16];
  char request[1024], document[512];
  const int length =
      snprintf(document, sizeof document, "{%s,\"repeat\":{\"times\":%u,%s}}",
               body, times, repeat);
  const int size = snprintf(request, sizeof request,
                            "POST /api/v1/functions/%s?iterate HTTP/1.1\r\n"
                            "Host: localhost\r\nContent-Length: %d\r\n\r\n%s",
                            function, length, document);
  if (write(fd, request, (size_t)size) != size) die("write fails");
  static const char kChunked[] = "0\r\n\r\n";
  char end[sizeof kChunked] = "";
  uint64_t first_ns = 0;
  while (strcmp(end, kChunked) != 0) {
    const ssize_t got = read(fd, reply, sizeof reply - 1);
    if (got <= 0) die("read fails");
    if (!first_ns) {
      first_ns = now_ns();
      reply[got] = '\0';
      if (strncmp(reply, "HTTP/1.1 200", 12) != 0) die(reply);
      if (!strstr(reply, "chunked")) die("it came in one part");
    }
    const size_t kept = sizeof kChunked - 1;
    const size_t last = (size_t)got < kept ? (size_t)got : kept;
    memmove(end, end + last, kept - last);
    memcpy(end + kept - last, reply + got - last, last);
  }
  return first_ns;
}

static double us(uint64_t ns) { return (double)ns / 1000; }

int main(int argc, char **argv) {
  if (argc < 6) die("ROUNDS FUNCTION BODY REPEAT FARCALLD [ARGUMENT ...]");
  static uint64_t calls[ROUNDS_MAX], steps[ROUNDS_MAX], shares[ROUNDS_MAX];
  static uint64_t firsts[ROUNDS_MAX * FIRSTS];
  static char reply[1 << 16];
  const size_t rounds = strtoul(argv[1], NULL, 10);
  if (rounds < 1 || rounds > ROUNDS_MAX) die("1 to 100 rounds");
  char document[512];
  snprintf(document, sizeof document, "{%s}", argv[3]);
  const server_t server = start((const char *const *)&argv[5]);
  const int fd = connect_to(server.port);
  for (size_t round = 0; round < rounds; round++) {
    uint64_t began_ns = now_ns();
    for (int i = 0; i < CALLS; i++) {
      if (post(fd, argv[2], document, 60000, reply, sizeof reply) != 200) {
        die(reply);
      }
    }
    calls[round] = (now_ns() - began_ns) / CALLS;
    began_ns = now_ns();
    (void)loop(fd, argv[2], argv[3], argv[4], STEPS);
    steps[round] = (now_ns() - began_ns) / STEPS;
    shares[round] = steps[round] * 10000 / calls[round];
    for (int i = 0; i < FIRSTS; i++) {
      began_ns = now_ns();
      firsts[round * FIRSTS + (size_t)i] =
          loop(fd, argv[2], argv[3], argv[4], 2000) - began_ns;
    }
  }
  stop(&server);
  const size_t middle = rounds / 2;
  qsort(calls, rounds, sizeof *calls, by_value);
  qsort(steps, rounds, sizeof *steps, by_value);
  qsort(shares, rounds, sizeof *shares, by_value);
  qsort(firsts, rounds * FIRSTS, sizeof *firsts, by_value);
  printf("%8.2f %8.2f %7.1f%% %7.1f%% %10.0f %8.0f\n", us(calls[middle]),
         us(steps[middle]), (double)shares[middle] / 100,
         (double)shares[rounds - 1] / 100, us(firsts[rounds * FIRSTS / 2]),
         us(firsts[rounds * FIRSTS * 99 / 100]));
  return 0;
}
