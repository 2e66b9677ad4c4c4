// SPDX-License-Identifier: Apache-2.0
//
// Cannot be loaded: it defines a function of a library that farcall does not replace.
#include "memref.h"

int32_t delSparseTensorReader(void);

EXPORT int32_t _mlir_ciface_f(void) { return delSparseTensorReader(); }
