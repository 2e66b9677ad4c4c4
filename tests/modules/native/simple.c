// SPDX-License-Identifier: Apache-2.0
//
// The model that other servers' client examples call: sum and difference.
#include "memref.h"

EXPORT void add_sub(const int32_t *a, const int32_t *b, int32_t *sum,
                    int32_t *difference) {
  for (int i = 0; i < 16; i++) {
    sum[i] = (int32_t)((uint32_t)a[i] + (uint32_t)b[i]);
    difference[i] = (int32_t)((uint32_t)a[i] - (uint32_t)b[i]);
  }
}
