// SPDX-License-Identifier: Apache-2.0
//
// The calling conventions other than the C interface.
#include "memref.h"

#include <string.h>

// packed: each entry points to the argument in memory (for a memref, to the pointer to
// its descriptor); the last entry points to the result.
EXPORT void _farcall_scale(void **a) {
  const r1_t *m = *(r1_t **)a[0];
  const float factor = *(float *)a[1];
  double *out = a[2];
  *out = 0;
  for (int64_t i = 0; i < m->size; i++)
    *out += (double)(m->aligned[i] * factor);
}
EXPORT void _farcall_conj(void **a) {
  float *out = *(float **)a[0];
  const float *c = a[1];
  out[0] = c[0];
  out[1] = -c[1];
}
EXPORT void _farcall_swap(void **a) {
  r1_t *out = *(r1_t **)a[0];
  out[0] = **(r1_t **)a[2];
  out[1] = **(r1_t **)a[1];
}

// Loads the values like LLVM, which assumes that no bits above their width are set.
EXPORT void _farcall_stored(void **a) {
  int64_t *out = *(int64_t **)a[0];
  out[0] = *(uint8_t *)a[1];
  out[1] = *(uint32_t *)a[2];
  memcpy(&out[2], a[3], sizeof out[2]);
  out[3] = *(uint8_t *)a[4];
}

// expanded: a memref is passed as the fields of its descriptor, one after another.
EXPORT float sum2(float *allocated, float *aligned, int64_t offset, int64_t m,
                  int64_t n, int64_t row, int64_t column) {
  (void)allocated;
  float sum = 0;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      sum += aligned[offset + i * row + j * column];
    }
  }
  return sum;
}
EXPORT int64_t rank_of(int64_t rank, void *descriptor) {
  return descriptor ? rank : -1;
}

// bareptr: a memref is passed as the address of its data.
EXPORT void bp_add(const float *a, const float *b, float *out) {
  for (int i = 0; i < 4; i++) out[i] = a[i] + b[i];
}
