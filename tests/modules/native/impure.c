// SPDX-License-Identifier: Apache-2.0
//
// Functions whose results depend on more than their arguments: the module imports
// getenv, and keeps a block from one call to another and frees it later.
#include "memref.h"

#include <pthread.h>
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
// Returns a block that the first call allocates and the module keeps. Its sidecar says
// "borrowed".
static float *cache;
static unsigned char *grown;
EXPORT void _mlir_ciface_cached(r1_t *out, float value) {
  if (!cache) cache = calloc(2, sizeof *cache);
  cache[0] += value;
  *out = (r1_t){cache, cache, 0, 2, 1};
}
__attribute__((destructor)) static void unload(void) {
  free(cache);
  free(grown);
}
// The C library frees the first block without our notice, and returns its address
// again.
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
// Grows the block that earlier calls have kept.
EXPORT int64_t _mlir_ciface_unwritten_later(int64_t n) {
  static int64_t size;
  int64_t count = 0;
  if (n > size) grown = realloc(grown, (size_t)n);
  for (; size < n; size++) {
    count += grown[size] != 0;
    grown[size] = 0x55;
  }
  return count;
}
// Allocates in a thread of the module, which may reuse freed blocks.
static void *allocate(void *context) {
  int64_t *count = context;
  const size_t sizes[] = {100, 5000, 300000};
  for (int i = 0; i < 6; i++) {
    const size_t size = sizes[i % 3];
    volatile unsigned char *block =
        i < 3 ? malloc(size) : aligned_alloc(64, size - size % 64);
    for (size_t k = 0; k < size - size % 64; k++) {
      *count += block[k] != 0;
      block[k] = 0x55;
    }
    free((void *)(uintptr_t)block);
  }
  return NULL;
}
EXPORT int64_t _mlir_ciface_unwritten_in_a_thread(void) {
  int64_t count = 0;
  pthread_t thread;
  if (pthread_create(&thread, NULL, allocate, &count)) return -1;
  pthread_join(thread, NULL);
  return count;
}
