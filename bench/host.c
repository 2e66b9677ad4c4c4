// SPDX-License-Identifier: Apache-2.0
//
// bench_host FARCALLD CRASH_MODULE [RUNS]: measures a crash and a deadline. Prints
// medians, 99th percentiles and maxima of
//
//   a crash      from sending the call that crashes to its 502
//   ready again  from that 502 to the answer of the next call
//   a deadline   from the deadline of a call that never ends to its 504
//
// Also measures a plain call on the same connection for each crash, so that the time for
// sending and receiving can be subtracted. Exits 1 if farcalld fails, but never because
// of a figure.
#include "farcalld.h"

#define DEADLINE_MS 50

// Posts a call and returns the status of its answer.
static int call(int fd, const char *function, const char *body, int ms) {
  char reply[4096];
  return post(fd, function, body, ms, reply, sizeof reply);
}

static void expect(int got, int wanted, const char *what) {
  if (got == wanted) return;
  fprintf(stderr, "bench_host: %s: status %d, not %d\n", what, got, wanted);
  exit(1);
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
  if (!plain || runs < 1) die("no memory for the runs");
  uint64_t *crash = plain + runs, *ready = crash + runs;
  uint64_t *late = ready + runs;
  const char *const command[] = {argv[1],
                                 "--listen=127.0.0.1:0",
                                 "--workers=1",
                                 "--access-log=off",
                                 "--isolation=process",
                                 "--crash-limit=0",
                                 argv[2],
                                 NULL};
  server_t server = start(command);
  int fd = connect_to(server.port);
  expect(call(fd, "crash/add", "[1,2]", 60000), 200, "a plain call");
  for (int i = 0; i < runs; i++) {
    uint64_t began = now_ns();
    expect(call(fd, "crash/add", "[1,2]", 60000), 200, "a plain call");
    uint64_t sent = now_ns();
    plain[i] = sent - began;
    expect(call(fd, "crash/divide", "[1,0]", 60000), 502, "a crash");
    uint64_t told = now_ns();
    crash[i] = told - sent;
    expect(call(fd, "crash/add", "[1,2]", 60000), 200, "the next call");
    ready[i] = now_ns() - told;
  }
  for (int i = 0; i < runs; i++) {
    uint64_t due = now_ns() + DEADLINE_MS * 1000000u;
    expect(call(fd, "crash/spin", "[0]", DEADLINE_MS), 504, "a deadline");
    uint64_t told = now_ns();
    late[i] = told > due ? told - due : 0;
    expect(call(fd, "crash/add", "[1,2]", 60000), 200, "after a deadline");
  }
  print("plain call", plain, runs);
  print("a crash", crash, runs);
  print("ready again", ready, runs);
  print("a deadline", late, runs);
  close(fd);
  free(plain);
  stop(&server);
  return 0;
}
