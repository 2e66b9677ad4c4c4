// SPDX-License-Identifier: Apache-2.0
//
// Uses up all file descriptors of the process, so that opening another one fails in
// every thread.
#ifndef FARCALL_TESTS_HELPERS_SHORTAGE_H_
#define FARCALL_TESTS_HELPERS_SHORTAGE_H_

#include <sys/resource.h>

typedef struct fc_test_shortage_t {
  struct rlimit before;
  int taken[1024];
  unsigned count;
} fc_test_shortage_t;

// Takes all free descriptors below `limit`. Descriptors that are open stay open, also
// those at or above `limit`.
void fc_test_shortage_begin(fc_test_shortage_t *shortage, rlim_t limit);
// Gives one of these descriptors back.
void fc_test_shortage_ease(fc_test_shortage_t *shortage);
void fc_test_shortage_end(fc_test_shortage_t *shortage);

#endif  // FARCALL_TESTS_HELPERS_SHORTAGE_H_
