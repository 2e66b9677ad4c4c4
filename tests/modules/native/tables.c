// SPDX-License-Identifier: Apache-2.0
//
// Data that begins where the read-only part ends: the address of an imported
// function, and a count.
#include "memref.h"

#include <stdlib.h>

static void *(*volatile allocate)(size_t size) = malloc;
static volatile int32_t count = 5;

EXPORT void _mlir_ciface_counted(r1_t *out) {
  float *data = allocate(sizeof *data);
  data[0] = (float)count++;
  *out = (r1_t){data, data, 0, 1, 1};
}
