// SPDX-License-Identifier: Apache-2.0
//
// Cannot be loaded: no library has the function that it calls.
#include "memref.h"

int32_t surely_nobody_defines_this(void);

EXPORT int32_t _mlir_ciface_f(void) { return surely_nobody_defines_this(); }
