// SPDX-License-Identifier: Apache-2.0
//
// Cannot be loaded: it has the function of a library that farcall is not.
#include "memref.h"

int32_t delSparseTensorReader(void);

EXPORT int32_t _mlir_ciface_f(void) { return delSparseTensorReader(); }
