// SPDX-License-Identifier: Apache-2.0
//
// The library needy.c is linked to.
#include "memref.h"

EXPORT int32_t elsewhere(void);
EXPORT int32_t elsewhere(void) { return 1; }
