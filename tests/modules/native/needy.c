// SPDX-License-Identifier: Apache-2.0
//
// Cannot be loaded where it lies: the library it is linked to is elsewhere.
#include "memref.h"

int32_t elsewhere(void);

EXPORT int32_t _mlir_ciface_f(void) { return elsewhere(); }
