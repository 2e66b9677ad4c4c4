// SPDX-License-Identifier: Apache-2.0
//
// A mutable global as small as what the linker adds to every object by itself.
#include "memref.h"

static char flag;

EXPORT int32_t _mlir_ciface_flip(void) {
  flag = !flag;
  return flag;
}
