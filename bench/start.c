// SPDX-License-Identifier: Apache-2.0
//
// bench_start FARCALLD MODULE COUNTER: measures a server with one small module. Prints
// the time from fork to the first complete answer (median and maximum of RUNS), the
// resident size after it, and farcalld's own heap allocations per request once it is
// warm, counted by the preloaded COUNTER (preload_count.c). Exits 1 if farcalld fails,
// but never because of a figure.
#include <fcntl.h>
#include <sys/mman.h>

#include "farcalld.h"

#define RUNS 21
#define WARM 1000      // requests before counting
#define COUNTED 10000  // requests while allocations are counted

static const char body[] = "[[1.5,2.5,3.5,4.5],[0.5,0.25,0.125,1.0]]";
static const char answer[] = "{\"results\":[[2.0,2.75,3.625,5.5]]}";

static server_t start_one(char **argv) {
  const char *const command[] = {argv[1],
                                 "--listen=127.0.0.1:0",
                                 "--workers=1",
                                 "--access-log=off",
                                 "--isolation=thread",
                                 argv[2],
                                 NULL};
  return start(command);
}

// Makes one request and reads the whole answer. 0: the module is not ready yet.
static int ask(int fd) {
  char reply[4096];
  if (post(fd, "add/add", body, 60000, reply, sizeof reply) == 503) return 0;
  const char *end = strstr(reply, "\r\n\r\n") + 4;
  if (!strcmp(end, answer)) return 1;
  fprintf(stderr, "bench_start: unexpected answer %s\n", reply);
  exit(1);
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

static void measure_start(char **argv) {
  uint64_t ns[RUNS];
  long kb = 0;
  for (int i = 0; i < RUNS; i++) {
    server_t server = start_one(argv);
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
  if (file < 0 || ftruncate(file, sizeof(uint64_t)))
    die("cannot make the file of the count");
  volatile uint64_t *count =
      mmap(NULL, sizeof *count, PROT_READ, MAP_SHARED, file, 0);
  if (count == MAP_FAILED) die("cannot map the count");

  setenv("LD_PRELOAD", argv[3], 1);
  setenv("MALLOC_COUNT", path, 1);
  server_t server = start_one(argv);
  int fd = connect_to(server.port);
  for (int i = 0; i < WARM; i++) ask(fd);
  uint64_t before = *count;
  if (!before) die("nothing was counted: is the counter preloaded?");
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
