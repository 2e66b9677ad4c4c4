// SPDX-License-Identifier: Apache-2.0
//
// The library that needy.c is linked with.
#include "memref.h"

EXPORT int32_t elsewhere(void);
EXPORT int32_t elsewhere(void) { return 1; }
