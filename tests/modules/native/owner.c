// SPDX-License-Identifier: Apache-2.0
//
// All ways in which a returned memref may be owned. Imports only malloc and free.
#include "memref.h"

#include <stdlib.h>

#define CI(ret, name) EXPORT ret _mlir_ciface_##name

static const float constants[4] = {1, 2, 3, 4};

static r1_t filled(int64_t n, float value) {
  float *data = malloc((size_t)n * sizeof *data);
  for (int64_t i = 0; i < n; i++) data[i] = value;
  return (r1_t){data, data, 0, n, 1};
}

CI(void, alias_arg)(r1_t *out, const r1_t *a) { *out = *a; }
CI(void, alias_both)(r1_t out[2], const r1_t *a, const r1_t *b) {
  out[0] = *a;
  out[1] = *b;
}
CI(void, alias_ro)(r1_t *out) {
  // GCC for AArch64 would put the whole structure into writable data.
  out->allocated = GLOBAL;
  out->aligned = (float *)(uintptr_t)constants;
  out->offset = 0;
  out->size = 4;
  out->stride = 1;
}
CI(void, fresh)(r1_t *out, int64_t n) { *out = filled(n, 5); }
CI(void, fresh_aligned)(r1_t *out, int64_t n) {
  char *data = malloc((size_t)n * sizeof(float) + 4096);
  float *aligned = (float *)(((uintptr_t)data + 4095) & ~(uintptr_t)4095);
  for (int64_t i = 0; i < n; i++) aligned[i] = 6;
  *out = (r1_t){(float *)data, aligned, 0, n, 1};
}
CI(void, two_same)(r1_t out[2], int64_t n) { out[0] = out[1] = filled(n, 7); }
CI(void, two_halves)(r1_t out[2]) {
  float *data = malloc(8 * sizeof *data);
  for (int i = 0; i < 8; i++) data[i] = (float)i;
  out[0] = (r1_t){data, data, 0, 4, 1};
  out[1] = (r1_t){data, data, 4, 4, 1};
}
CI(void, view_arg)(r2_t *out, const r2_t *a) {
  *out = (r2_t){a->allocated, a->aligned, 25, {2, 4}, {16, 2}};
}
CI(void, transposed)(r2_t *out, const r2_t *a) {
  const int64_t m = a->sizes[0], n = a->sizes[1];
  float *data = malloc((size_t)(m * n) * sizeof *data);
  for (int64_t i = 0; i < m * n; i++) data[i] = a->aligned[i];
  *out = (r2_t){data, data, 0, {n, m}, {1, n}};
}
CI(void, empty)(r2_t *out) {
  float *data = malloc(0);
  *out = (r2_t){data, data, 0, {0, 3}, {3, 1}};
}
CI(void, empty_null)(r2_t *out) {
  *out = (r2_t){NULL, NULL, 0, {0, 3}, {3, 1}};
}
CI(void, unranked_fresh)(any_t *out, int64_t n) {
  r1_t *descriptor = malloc(sizeof *descriptor);
  *descriptor = filled(n, 8);
  *out = (any_t){1, descriptor};
}
CI(void, unranked_alias)(any_t *out, const any_t *u) {
  const size_t size = 24 + 16 * (size_t)u->rank;
  char *descriptor = malloc(size);
  for (size_t i = 0; i < size; i++) {
    descriptor[i] = ((const char *)u->descriptor)[i];
  }
  *out = (any_t){u->rank, descriptor};
}
CI(void, unranked_same)(any_t *out, const any_t *u) { *out = *u; }
CI(void, unranked_twice)(any_t out[2], const any_t *u) {
  _mlir_ciface_unranked_alias(&out[0], u);
  _mlir_ciface_unranked_alias(&out[1], u);
}
CI(void, maybe_alias)(r1_t *out, const r1_t *a, bool alias) {
  *out = alias ? *a : filled(a->size, 9);
}
CI(void, reversed)(r1_t *out, const r1_t *a) {
  *out = (r1_t){a->allocated, a->aligned, a->size - 1, a->size, -1};
}
CI(void, broadcast)(r1_t *out, int64_t n) {
  *out = filled(1, 3.5f);
  out->size = n;
  out->stride = 0;
}
CI(void, scale_inplace)(r1_t *out, const r1_t *a, float s) {
  for (int64_t i = 0; i < a->size; i++) a->aligned[i] *= s;
  *out = *a;
}
CI(int64_t, temporaries)(int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t *block = malloc((size_t)(i + 1) * sizeof *block);
    block[i] = i;
    sum += block[i];
    free(block);
  }
  return sum;
}
CI(int64_t, leak)(int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    char *volatile block = malloc(100);
    *block = 1;
  }
  return n;
}
CI(void, grown)(r1_t *out, int64_t n) {
  float *data = NULL;
  for (int64_t i = 0; i < n; i++) {
    data = realloc(data, (size_t)(i + 1) * sizeof *data);
    data[i] = (float)i;
  }
  *out = (r1_t){data, data, 0, n, 1};
}
CI(void, other_heaps)(r1_t out[3]) {
  float *zeroed = calloc(4, sizeof *zeroed);
  float *aligned = aligned_alloc(64, 64);
  void *third = NULL;
  if (posix_memalign(&third, 128, 4 * sizeof(float)) || !third) return;
  float *memaligned = third;
  for (int i = 0; i < 4; i++) aligned[i] = memaligned[i] = (float)i;
  out[0] = (r1_t){zeroed, zeroed, 0, 4, 1};
  out[1] = (r1_t){aligned, aligned, 0, 4, 1};
  out[2] = (r1_t){memaligned, memaligned, 0, 4, 1};
}
// Functions of a memref of rank 0, a strided one and a column-major one.
CI(void, rank0)(r0_t *out, const r0_t *a) { *out = *a; }
CI(float, trace)(const r2_t *a) {
  float sum = 0;
  for (int64_t i = 0; i < a->sizes[0] && i < a->sizes[1]; i++) {
    sum += a->aligned[a->offset + i * (a->strides[0] + a->strides[1])];
  }
  return sum;
}
CI(float, column_major)(const r2_t *a) {  // memref<2x3xf32, strided<[1, 2]>>
  return a->strides[0] == 1 && a->strides[1] == 2 ? a->aligned[1 + 2 * 2] : -1;
}
CI(float, backwards)
(const r1_t *a) {  // memref<?xf32, strided<[-2], offset: 9>>
  return a->aligned[9 - 2 * (a->size - 1)];
}
CI(int64_t, i4_bytes)(const r1_t *a) {  // elements of i4
  int64_t sum = 0;
  const uint8_t *bytes = (const uint8_t *)a->aligned;
  for (int64_t i = 0; i < a->size; i++) sum += bytes[i];
  return sum;
}
// Functions that write into the caller's memory.
CI(void, axpy)(float a, const r1_t *x, r1_t *y) {
  for (int64_t i = 0; i < x->size; i++) y->aligned[i] += a * x->aligned[i];
}
CI(int64_t, fill)(float value, r2_t *out) {
  for (int i = 0; i < 4; i++) out->aligned[i] = value;
  return 4;
}

// Allocates a block of `n` bytes in way number `way`, and counts its bytes that are not
// zero. Blocks of that size were written and freed before.
static void *block_of(int64_t way, size_t n) {
  void *block = NULL;
  if (way == 0) return malloc(n);
  if (way == 1) return aligned_alloc(64, n);
  if (way == 2) return posix_memalign(&block, 256, n) ? NULL : block;
  if (way == 3) return calloc(1, n);
  block = malloc(n / 2);
  for (size_t i = 0; i < n / 2; i++) ((volatile char *)block)[i] = 0;
  return realloc(block, n);
}
CI(int64_t, unwritten)(int64_t n, int64_t way) {
  volatile unsigned char *blocks[4];
  int64_t count = 0;
  for (int i = 0; i < 4; i++) {
    blocks[i] = block_of(way, (size_t)n);
    for (int64_t k = 0; k < n; k++) blocks[i][k] = 0x55;
  }
  for (int i = 0; i < 4; i++) free((void *)(uintptr_t)blocks[i]);
  volatile unsigned char *block = block_of(way, (size_t)n);
  for (int64_t k = 0; k < n; k++) count += block[k] != 0;
  free((void *)(uintptr_t)block);
  return count;
}
