// SPDX-License-Identifier: Apache-2.0
//
// Counts calls of memcmp, so that a test can measure the work of a search without a
// clock. Tests that use it are linked with --wrap=memcmp (tests/CMakeLists.txt).
#ifndef FARCALL_TESTS_HELPERS_COMPARE_H_
#define FARCALL_TESTS_HELPERS_COMPARE_H_

#include <stdint.h>

// Calls since the program began.
uint64_t fc_test_comparisons(void);

#endif  // FARCALL_TESTS_HELPERS_COMPARE_H_
