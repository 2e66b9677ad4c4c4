// SPDX-License-Identifier: Apache-2.0
//
// A module without a description, neither inside nor beside it.
#include "memref.h"

EXPORT int32_t _mlir_ciface_twice(int32_t a) { return 2 * a; }
