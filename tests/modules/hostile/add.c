// SPDX-License-Identifier: Apache-2.0
//
// The only module here that works properly.
#include <stdlib.h>

#include "hostile.h"

typedef struct vector_t {
  int64_t *allocated, *aligned;
  int64_t offset, size, stride;
} vector_t;

#define EXPORT __attribute__((visibility("default")))

EXPORT int64_t _mlir_ciface_add(int64_t a, int64_t b) { return a + b; }

// Returns the same about a millisecond later.
EXPORT int64_t _mlir_ciface_add_late(int64_t a, int64_t b) {
  for (volatile int i = 0; i < 500000; i++) continue;
  return a + b;
}

EXPORT void _mlir_ciface_reverse(vector_t *out, const vector_t *x) {
  int64_t *data = malloc((size_t)x->size * sizeof *data + 1);
  for (int64_t i = 0; i < x->size; i++) {
    data[i] = x->aligned[x->offset + (x->size - 1 - i) * x->stride];
  }
  *out = (vector_t){data, data, 0, x->size, 1};
}

// Like compiled code, this assumes that the second vector is as long as the first.
EXPORT void _mlir_ciface_sums(vector_t *out, const vector_t *x,
                              const vector_t *y) {
  int64_t *data = malloc((size_t)x->size * sizeof *data + 1);
  for (int64_t i = 0; i < x->size; i++) {
    data[i] = x->aligned[x->offset + i * x->stride] +
              y->aligned[y->offset + i * y->stride];
  }
  *out = (vector_t){data, data, 0, x->size, 1};
}
