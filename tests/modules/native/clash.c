// SPDX-License-Identifier: Apache-2.0
//
// Defines a function that compilers treat as the C library's.
#include "memref.h"

EXPORT int32_t abs(int32_t a);
EXPORT int32_t abs(int32_t a) { return a + 500; }
EXPORT int32_t _mlir_ciface_abs(int32_t a) { return abs(a); }
