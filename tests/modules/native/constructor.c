// SPDX-License-Identifier: Apache-2.0
//
// Leaves traces when it is loaded, in the environment and as the file that
// FARCALL_TEST_TRACE names, and another one when it is unloaded.
#include <fcntl.h>
#include <stdlib.h>

#include "memref.h"

__attribute__((constructor)) static void leave_trace(void) {
  setenv("FARCALL_TEST_CONSTRUCTOR", "ran", 1);
  const char *trace = getenv("FARCALL_TEST_TRACE");
  if (trace) creat(trace, 0600);
}
__attribute__((destructor)) static void leave_another(void) {
  setenv("FARCALL_TEST_DESTRUCTOR", "ran", 1);
}

EXPORT int32_t _mlir_ciface_answer(void) { return 42; }

EXPORT const char __farcall_abi[] =
    "{\"farcall\": 1, \"abi\": \"mlir-memref\", \"pure\": true, \"functions\": ["
    "{\"name\": \"answer\", \"symbol\": \"_mlir_ciface_answer\", \"cc\": "
    "\"ciface\", \"args\": [], \"results\": [{\"type\": \"i32\"}]}]}";
