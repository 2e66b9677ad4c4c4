// SPDX-License-Identifier: Apache-2.0
//
// A module whose writable data begins exactly where the part ends that the loader makes
// read-only (PT_GNU_RELRO). The data are the address of an imported function, and a
// count.
#include "memref.h"

#include <stdlib.h>

static void *(*volatile allocate)(size_t size) = malloc;
static volatile int32_t count = 5;

EXPORT void _mlir_ciface_counted(r1_t *out) {
  float *data = allocate(sizeof *data);
  data[0] = (float)count++;
  *out = (r1_t){data, data, 0, 1, 1};
}
