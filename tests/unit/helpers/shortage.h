// SPDX-License-Identifier: Apache-2.0
//
// Takes every file descriptor the process may have, so that opening another one
// fails, in all threads.
#ifndef FARCALL_TESTS_HELPERS_SHORTAGE_H_
#define FARCALL_TESTS_HELPERS_SHORTAGE_H_

#include <sys/resource.h>

typedef struct fc_test_shortage_t {
  struct rlimit before;
  int taken[1024];
  unsigned count;
} fc_test_shortage_t;

// Takes all free descriptors below `limit`. Open ones at or above `limit` stay
// open.
void fc_test_shortage_begin(fc_test_shortage_t *shortage, rlim_t limit);
// Gives one of them back.
void fc_test_shortage_ease(fc_test_shortage_t *shortage);
void fc_test_shortage_end(fc_test_shortage_t *shortage);

#endif  // FARCALL_TESTS_HELPERS_SHORTAGE_H_
