// SPDX-License-Identifier: Apache-2.0
//
// Functions whose results depend on more than their arguments: the module
// imports getenv, keeps a block from call to call and frees it later.
#include "memref.h"

#include <stdlib.h>

static float *kept;

EXPORT void _mlir_ciface_keep(r1_t *out, float value) {
  if (!kept) kept = malloc(2 * sizeof *kept);
  kept[0] = value;
  kept[1] = getenv("FARCALL_SURELY_UNSET") ? 1 : 0;
  *out = (r1_t){GLOBAL, kept, 0, 2, 1};
}
EXPORT int32_t _mlir_ciface_drop(void) {
  free(kept);
  kept = NULL;
  return 1;
}
// Returns a block that the first call allocates and the module keeps: its
// sidecar says "borrowed".
static float *cache;
EXPORT void _mlir_ciface_cached(r1_t *out, float value) {
  if (!cache) cache = calloc(2, sizeof *cache);
  cache[0] += value;
  *out = (r1_t){cache, cache, 0, 2, 1};
}
__attribute__((destructor)) static void unload(void) { free(cache); }
// The C library frees the first block, unseen, and gives its address again.
EXPORT int32_t _mlir_ciface_freed_unseen(void) {
  void *moved = reallocarray(malloc(24), 1, 100000);
  free(malloc(24));
  free(moved);
  return 1;
}
EXPORT void _mlir_ciface_free_argument(r1_t *argument) {
  free(argument->aligned);
}
EXPORT void _mlir_ciface_on_stack(r1_t *out) {
  float local[4];
  float *volatile address = local;
  *out = (r1_t){GLOBAL, address, 0, 4, 1};
}
EXPORT void _mlir_ciface_fresh(r1_t *out, int64_t n) {
  float *data = malloc((size_t)n * sizeof *data);
  for (int64_t i = 0; i < n; i++) data[i] = 5;
  *out = (r1_t){data, data, 0, n, 1};
}
