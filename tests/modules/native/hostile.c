// SPDX-License-Identifier: Apache-2.0
//
// Returns invalid results, frees memory that it must not free, and aborts as compiled
// checks do.
#include "memref.h"

#include <stdio.h>
#include <stdlib.h>

#define CI(ret, name) EXPORT ret _mlir_ciface_##name

static r1_t block(int64_t n) {
  float *data = calloc((size_t)n, sizeof *data);
  return (r1_t){data, data, 0, n, 1};
}

CI(void, negative_size)(r1_t *out) {
  *out = block(4);
  out->size = -4;
}
CI(void, computed_size)(r1_t *out, int64_t n) {
  *out = block(4);
  out->size = n - 10;
}
CI(void, null_aligned)(r1_t *out) {
  *out = block(4);
  out->aligned = NULL;
}
CI(void, unwritten)(r1_t *out) { (void)out; }  // good: there are no elements
CI(void, unwritten_static)(r1_t *out) { (void)out; }
CI(void, wrong_dim)(r1_t *out) { *out = block(5); }
CI(void, wrong_stride)(r1_t *out) {
  *out = block(8);
  out->size = 4;
}
CI(void, wrong_offset)(r1_t *out) {
  *out = block(8);
  out->size = 4;
  out->offset = 1;
}
CI(void, beyond_end)(r1_t *out) {
  *out = block(4);
  out->size = 5;
}
CI(void, before_start)(r1_t *out) {
  *out = block(4);
  out->offset = -1;
}
CI(void, strides_beyond)(r2_t *out) {
  r1_t base = block(6);
  *out = (r2_t){base.allocated, base.aligned, 0, {2, 3}, {4, 1}};
}
CI(void, huge_size)(r2_t *out) {
  r1_t base = block(4);
  *out = (r2_t){base.allocated, base.aligned, 0, {INT64_MAX, 3}, {3, 1}};
}
CI(void, huge_stride)(r2_t *out) {
  r1_t base = block(4);
  *out = (r2_t){base.allocated, base.aligned, 0, {2, 2}, {INT64_MAX, 1}};
}
CI(void, huge_offset)(r1_t *out) {
  *out = block(4);
  out->offset = INT64_MAX;
}
CI(void, low_address)(r1_t *out) {
  *out = block(4);
  out->allocated = out->aligned = (float *)(uintptr_t)16;
}
CI(void, kernel_address)(r1_t *out) {
  *out = block(4);
  out->aligned = (float *)~(uintptr_t)15;
}
CI(void, beyond_argument)(r1_t *out, const r1_t *a) {
  *out = *a;
  out->size += 1;
}
CI(void, change_descriptor)(r1_t *a) {
  a->aligned = (float *)(uintptr_t)16;
  a->offset = a->size = a->stride = 1 << 20;
}
CI(void, dangling)(r1_t *out) {
  float local[4];
  float *volatile address = local;
  *out = (r1_t){address, address, 0, 4, 1};
}
CI(void, unranked_33)(any_t *out) { *out = (any_t){33, block(32).aligned}; }
CI(void, unranked_negative)(any_t *out) {
  *out = (any_t){-1, block(32).aligned};
}
CI(void, unranked_null)(any_t *out) { *out = (any_t){1, NULL}; }
CI(void, unranked_small)(any_t *out) { *out = (any_t){4, block(10).aligned}; }
CI(void, unranked_odd)(any_t *out) {
  *out = (any_t){1, (char *)block(64).aligned + 1};
}
CI(int32_t, free_argument)(const r1_t *a) {
  free(a->allocated);
  return 1;
}
CI(int32_t, free_twice)(void) {
  float *data = malloc(16);
  float *volatile again = data;
  free(data);
  free(again);
  return 1;
}
CI(int32_t, realloc_argument)(const r1_t *a) {
  return realloc(a->allocated, 1 << 20) != NULL;
}

CI(int32_t, assert_fail)(bool ok) {
  float *volatile kept = malloc(100);
  if (!ok) {
    puts("bad input: \"x\" is 7");
    abort();
  }
  free(kept);
  return 1;
}
CI(int32_t, verify_fail)(int32_t which) {
  if (which == 0) {
    puts("ERROR: Runtime op verification failed\n"
         "%0 = memref.load %arg0[%arg1] : memref<?xf32>\n"
         "^ out-of-bounds access\n"
         "Location: loc(\"/tmp/tmp.uKEixcARsh/model.mlir\":3:95)");
    abort();
  }
  if (which == 1) {
    puts("ERROR: Runtime op verification failed\n"
         "linalg.matmul ins(%arg0, %arg1 : memref<?x?xf32>, memref<?x?xf32>) "
         "outs(%alloc : memref<?x?xf32>)\n"
         "^ dimension #0 of input/output operand #1 is incompatible with "
         "inferred dimension size\n"
         "Location: loc(\"/tmp/tmp.wCIfmvo2MY/0.mlir\":20:5)");
    abort();
  }
  if (which == 2) abort();
  if (which == 3) {
    puts("caf\xc3\xa9 \xff in /home/someone/models/x.mlir");
    abort();
  }
  return 1;
}
CI(int32_t, chatter)(int64_t lines) {
  for (int64_t i = 0; i < lines; i++) puts("a line of some length, again");
  return 1;
}
CI(int64_t, greedy_array)(int64_t count, int64_t size) {
  char *volatile data = calloc((size_t)count, (size_t)size);
  data[0] = 1;
  int64_t value = data[0];
  free(data);
  return value;
}
CI(int64_t, greedy)(int64_t size) {
  char *volatile data = malloc((size_t)size);
  data[0] = 1;
  int64_t value = data[0];
  free(data);
  return value;
}
