// SPDX-License-Identifier: Apache-2.0
//
// Sets flush-to-zero when it is loaded, like a library linked with -ffast-math, and
// leaves it set after each call.
#include "memref.h"

#if defined(__x86_64__)
static void flush_to_zero(void) {
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
}
#else
static void flush_to_zero(void) {
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  fpcr |= UINT64_C(1) << 24;
  __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}
#endif

__attribute__((constructor)) static void load(void) { flush_to_zero(); }

EXPORT float _mlir_ciface_mul(float a, float b) {
  volatile float product = a * b;  // before the flags change
  flush_to_zero();
  return product;
}
