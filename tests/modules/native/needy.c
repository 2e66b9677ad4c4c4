// SPDX-License-Identifier: Apache-2.0
//
// Cannot be loaded: the library that it is linked with is in another folder.
#include "memref.h"

int32_t elsewhere(void);

EXPORT int32_t _mlir_ciface_f(void) { return elsewhere(); }
