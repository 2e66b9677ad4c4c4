// SPDX-License-Identifier: Apache-2.0
//
// Runtime functions for compiled modules (shim.c). The names are MLIR's and
// the compiler's. cmake/exports.list exports them from executables.
#ifndef FARCALL_MODULE_NATIVE_SHIM_H_
#define FARCALL_MODULE_NATIVE_SHIM_H_

#include "memref/descriptor.h"

// True for the names below. The code that loads modules calls it, so that a
// linker which takes libfarcall from an archive takes these functions too.
bool fc_shim_provides(fc_str_t name);

void memrefCopy(int64_t element_size, fc_memref_unranked_t *source,
                fc_memref_unranked_t *dest);
float __truncsfbf2(float value);
float __truncdfbf2(double value);
void *_mlir_memref_to_llvm_alloc(size_t size);
void *_mlir_memref_to_llvm_aligned_alloc(size_t alignment, size_t size);
void _mlir_memref_to_llvm_free(void *memory);
void printI64(int64_t value);
void printU64(uint64_t value);
void printF32(float value);
void printF64(double value);
void printF16(uint16_t bits);
void printBF16(uint16_t bits);
void printString(const char *text);
void printOpen(void);
void printClose(void);
void printComma(void);
void printNewline(void);

// When libfarcall is a shared library that was opened with local names, as
// Python does, makes its names global, so that modules loaded from now on find
// these functions. Called by the thread that loads.
void fc_shim_offer(void);

#endif  // FARCALL_MODULE_NATIVE_SHIM_H_
