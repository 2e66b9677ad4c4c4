// SPDX-License-Identifier: Apache-2.0
//
// A variable that each thread has for itself: a call sees the effects of earlier calls
// in its thread.
#include "memref.h"

static _Thread_local int32_t calls;

EXPORT int32_t _mlir_ciface_count(void) { return ++calls; }
