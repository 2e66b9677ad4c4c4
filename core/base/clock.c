// SPDX-License-Identifier: Apache-2.0
//
// The monotonic clock. Any thread.
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "farcall/base.h"

uint64_t fc_clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
