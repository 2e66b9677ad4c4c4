// SPDX-License-Identifier: Apache-2.0
//
// Workers in threads of this process, for the thread host (threads_host.c). Loop thread.
#ifndef FARCALL_SERVER_POOL_THREADS_H_
#define FARCALL_SERVER_POOL_THREADS_H_

#include "pool/region.h"

typedef struct fc_threads_t {
  fc_region_t *region;
  struct fc_thread_t *threads;
  uint32_t wanted;    // how many threads should take calls
  uint32_t count;     // threads started
  uint32_t capacity;  // `count` never exceeds it
  // Threads that cannot be stopped and that nobody waits for: they are in a native call
  // whose deadline has passed, or have been loading a module for too long.
  uint32_t lost;
} fc_threads_t;

// Starts `count` threads. fc_threads_lose may later start up to `spare` more.
fc_status_t fc_threads_start(fc_threads_t *threads, fc_region_t *region,
                             uint32_t count, uint32_t spare,
                             fc_error_t *err) FC_MUST_CHECK;
// Notes that a thread is lost. Starts a replacement if fewer than `wanted` are left and
// `count` is below `capacity`.
void fc_threads_lose(fc_threads_t *threads);
// Notes that a lost thread has come back.
void fc_threads_find(fc_threads_t *threads);
// Stops the ready queue and waits for every worker to return.
void fc_threads_stop(fc_threads_t *threads);

#endif  // FARCALL_SERVER_POOL_THREADS_H_
