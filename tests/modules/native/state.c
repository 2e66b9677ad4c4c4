// SPDX-License-Identifier: Apache-2.0
//
// A mutable global: calls must not overlap, and its memory is never freed.
#include "memref.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static float counter[4];
static _Atomic int inside;

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Returns how many calls were in this function at once. Waits up to 50 ms for another
// one.
EXPORT int32_t _mlir_ciface_alone(void) {
  int most = ++inside;
  for (int64_t end = now_ms() + 50; now_ms() < end && most < 2;) {
    sched_yield();
    if (inside > most) most = inside;
  }
  inside--;
  return most;
}
// Returns how many calls are in alone(). Its sidecar says "reentrant".
EXPORT int32_t _mlir_ciface_peek(void) { return inside; }

EXPORT void _mlir_ciface_counter(r1_t *out) {
  // Reads, waits a moment, then writes: without a lock, increments are lost.
  volatile float *value = counter;
  float before = *value;
  for (volatile int i = 0; i < 200; i++) {
  }
  *value = before + 1;
  *out = (r1_t){GLOBAL, counter, 0, 4, 1};
}
