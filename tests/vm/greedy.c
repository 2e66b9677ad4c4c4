// SPDX-License-Identifier: Apache-2.0
//
// Takes memory, threads and processor time, and returns how much it got.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int64_t _mlir_ciface_take(int64_t mib);
int64_t _mlir_ciface_threads(int64_t count);
int64_t _mlir_ciface_share(int64_t ms);
int64_t _mlir_ciface_leave(int64_t zero);

// Returns how many of `mib` MiB could be allocated and written.
int64_t _mlir_ciface_take(int64_t mib) {
  for (int64_t i = 0; i < mib; i++) {
    volatile char *bytes = malloc(1 << 20);
    if (!bytes) return i;
    for (int at = 0; at < 1 << 20; at += 4096) bytes[at] = 1;
  }
  return mib;
}

static void *nap(void *context) {
  sleep(2);
  return context;
}

// Returns how many threads, of at most 100, could be made that run at once.
int64_t _mlir_ciface_threads(int64_t count) {
  pthread_t threads[100];
  int64_t made = 0;
  while (made < count && made < 100 &&
         !pthread_create(&threads[made], NULL, nap, NULL)) {
    made++;
  }
  for (int64_t i = 0; i < made; i++) pthread_join(threads[i], NULL);
  return made;
}

static double read_ms(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

// Returns how many percent of a processor it got while it was busy for `ms`
// milliseconds.
int64_t _mlir_ciface_share(int64_t ms) {
  const double began = read_ms(CLOCK_MONOTONIC);
  const double taken = read_ms(CLOCK_THREAD_CPUTIME_ID);
  while (read_ms(CLOCK_MONOTONIC) - began < (double)ms) continue;
  return (int64_t)((read_ms(CLOCK_THREAD_CPUTIME_ID) - taken) * 100 /
                   (double)ms);
}

// Moves itself into the server's control group. 0, or the error.
int64_t _mlir_ciface_leave(int64_t zero) {
  const int file =
      open("/sys/fs/cgroup/farcalld/server/cgroup.procs", O_WRONLY);
  if (file < 0) return errno;
  const ssize_t written = write(file, "0", 1);
  close(file);
  return written == 1 ? zero : errno;
}
