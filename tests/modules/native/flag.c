// SPDX-License-Identifier: Apache-2.0
//
// A mutable global that is as small as those that the linker adds to every object.
#include "memref.h"

static char flag;

EXPORT int32_t _mlir_ciface_flip(void) {
  flag = !flag;
  return flag;
}
