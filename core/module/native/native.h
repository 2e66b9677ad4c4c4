// SPDX-License-Identifier: Apache-2.0
//
// What the native backend has besides fc_backend_t: counts of the memory that
// modules allocate during calls.
#ifndef FARCALL_MODULE_NATIVE_NATIVE_H_
#define FARCALL_MODULE_NATIVE_NATIVE_H_

#include "farcall/backend.h"

typedef struct fc_native_counts_t {
  uint64_t allocated;  // blocks, by calls that have ended
  uint64_t freed;      // of these: freed by the module or after the call
  // Blocks that a successful call did not free and that are in no result. Those of exact
  // functions (function.h) are freed after the call.
  uint64_t leaked;
} fc_native_counts_t;

// Gets the counts. `module` is a handle of fc_backend_native. Any thread.
fc_native_counts_t fc_native_get_counts(const void *module);

#endif  // FARCALL_MODULE_NATIVE_NATIVE_H_
