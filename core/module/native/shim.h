// SPDX-License-Identifier: Apache-2.0
//
// Runtime functions for compiled modules (shim.c, runner.c); runner.def lists them.
#ifndef FARCALL_MODULE_NATIVE_SHIM_H_
#define FARCALL_MODULE_NATIVE_SHIM_H_

#include "memref/descriptor.h"

// True for a name in runner.def. The code that loads modules calls this function, so a
// linker that takes libfarcall from an archive also takes the listed functions.
bool fc_shim_provides(fc_str_t name);

#define FUNCTION(result, name, parameters) result name parameters;
#define ELEMENT(suffix, dtype)                                               \
  void _mlir_ciface_printMemref##suffix(fc_memref_unranked_t *memref);       \
  void printMemref##suffix(int64_t rank, void *descriptor);                  \
  void _mlir_ciface_printMemref1d##suffix(fc_memref_t *memref);              \
  void _mlir_ciface_printMemrefShape##suffix(fc_memref_unranked_t *memref);  \
  int64_t _mlir_ciface_verifyMemRef##suffix(fc_memref_unranked_t *actual,    \
                                            fc_memref_unranked_t *expected); \
  int64_t verifyMemRef##suffix(int64_t rank, void *actual, void *expected);
#include "module/native/runner.def"
#undef FUNCTION
#undef ELEMENT

// Makes libfarcall's names global if it is a shared library that was opened
// with local names, as Python does. Then modules that are loaded later find the listed
// functions. Called by the thread that loads.
void fc_shim_offer(void);

#endif  // FARCALL_MODULE_NATIVE_SHIM_H_
