// SPDX-License-Identifier: Apache-2.0
//
// Says nothing about itself.
#include "memref.h"

EXPORT int32_t _mlir_ciface_twice(int32_t a) { return 2 * a; }
