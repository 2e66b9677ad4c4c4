// SPDX-License-Identifier: Apache-2.0
//
// Functions with which bench/turns attacks a farcalld. With the macro SLOW_S, loading the
// module takes that many seconds.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  float *allocated, *aligned;
  int64_t offset, size, stride;
} row_t;

typedef struct {
  float *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];
} rows_t;

void _mlir_ciface_zeros(row_t *out, int64_t n) {
  float *data = calloc((size_t)n + 1, sizeof *data);
  *out = (row_t){data, data, 0, n, 1};
}

// Returns the first number of each row.
void _mlir_ciface_firsts(row_t *out, rows_t *rows) {
  _mlir_ciface_zeros(out, rows->sizes[0]);
  for (int64_t i = 0; i < rows->sizes[0]; i++) {
    out->aligned[i] = rows->aligned[rows->offset + i * rows->strides[0]];
  }
}

int32_t _mlir_ciface_crash(int32_t a) {
  (void)a;
  abort();
}

static int32_t print(int64_t ms) {
  static char text[1 << 16];
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int64_t end_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms;
  memset(text, '\n', sizeof text);
  for (size_t i = 0; i < sizeof text; i += 8) memcpy(text + i, "printed", 7);
  do {
    if (write(STDOUT_FILENO, text, sizeof text) < 0) return -1;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < end_ms);
  return 0;
}

static void *print_later(void *ms) {
  print((int64_t)(intptr_t)ms);
  return NULL;
}

int32_t _mlir_ciface_prints(int32_t ms) { return print(ms); }

int32_t _mlir_ciface_prints_later(int32_t ms) {
  pthread_t thread;
  return pthread_create(&thread, NULL, print_later, (void *)(intptr_t)ms);
}

// Writes to the memory that it shares with the server: up to a gigabyte of each mapping,
// at about 4 GB/s.
int32_t _mlir_ciface_fills(int32_t a) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512], mode[8];
  unsigned long begin, end;
  while (maps && fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, mode) != 3) continue;
    if (strcmp(mode, "rw-s") != 0) continue;
    for (unsigned long at = 0; at < end - begin && at < 1ul << 30; at += 4096) {
      *(volatile char *)(begin + at) += 0;
      if (at % (8 << 20) == 0) usleep(2000);
    }
  }
  if (maps) fclose(maps);
  return a;
}

#ifdef SLOW_S
__attribute__((constructor)) static void load(void) { sleep(SLOW_S); }
#endif
