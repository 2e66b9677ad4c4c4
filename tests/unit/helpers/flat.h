// SPDX-License-Identifier: Apache-2.0
//
// Prints flat values as one line, which tables show as the expected result. Uses
// printf, not the code under test:
//   null  i8:-5  f32:1.5  f16:0x3c00  2x2xf32[1 2 3 4]  xi1[1]  "bytes"  (a, b)
#ifndef FARCALL_TESTS_HELPERS_FLAT_H_
#define FARCALL_TESTS_HELPERS_FLAT_H_

#include "farcall/value.h"

#define FC_TEST_FLAT_MAX 4096

// The values are separated by "; ". A text longer than `capacity` is cut.
void fc_test_flat(const fc_value_t *values, size_t count, char *out,
                  size_t capacity);

#endif  // FARCALL_TESTS_HELPERS_FLAT_H_
