// SPDX-License-Identifier: Apache-2.0
//
// A mutable global: calls must not overlap, and its memory is never freed.
#include "memref.h"

static float counter[4];

EXPORT void _mlir_ciface_counter(r1_t *out) {
  // Read, give others a chance, write: without a lock increments are lost.
  volatile float *value = counter;
  float before = *value;
  for (volatile int i = 0; i < 200; i++) {
  }
  *value = before + 1;
  *out = (r1_t){GLOBAL, counter, 0, 4, 1};
}
