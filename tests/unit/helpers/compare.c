// SPDX-License-Identifier: Apache-2.0
#include "helpers/compare.h"

#include <stddef.h>

int __real_memcmp(const void *a, const void *b, size_t size);
int __wrap_memcmp(const void *a, const void *b, size_t size);

static uint64_t comparisons;

int __wrap_memcmp(const void *a, const void *b, size_t size) {
  comparisons++;
  return __real_memcmp(a, b, size);
}

uint64_t fc_test_comparisons(void) { return comparisons; }
