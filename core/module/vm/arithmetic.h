// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic that is undefined in C but defined by the instruction set (IREE
// runtime/src/iree/vm/ops.h). Integers wrap. A float that does not fit into a 64-bit
// integer becomes the nearest 64-bit integer, and NaN becomes 0. Conversions to 32 bits
// keep the low half of the 64-bit result.
#ifndef FARCALL_CORE_MODULE_VM_ARITHMETIC_H_
#define FARCALL_CORE_MODULE_VM_ARITHMETIC_H_

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

// Rounds half away from zero. A float can be passed as a double, which does not
// change its value.
static inline int64_t fc_vm_round_i64(double x) {
  x = round(x);
  if (isnan(x)) return 0;
  if (x >= 0x1p63) return INT64_MAX;
  if (x < -0x1p63) return INT64_MIN;
  return (int64_t)x;
}
static inline uint64_t fc_vm_round_u64(double x) {
  x = round(x);
  if (!(x > 0)) return 0;
  if (x >= 0x1p64) return UINT64_MAX;
  return (uint64_t)x;
}

// Multiplies and adds with one rounding only if the compiler's target does this fast, as
// in IREE. So builds of farcall and IREE for the same target have the same results.
static inline float fc_vm_fmaf(float a, float b, float c) {
#if defined(FP_FAST_FMAF)
  return fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
static inline double fc_vm_fma(double a, double b, double c) {
#if defined(FP_FAST_FMA)
  return fma(a, b, c);
#else
  return a * b + c;
#endif
}

// A power by multiplications, in the number and order of IREE's runtime, so that the
// result has the same bits. Only the low half of the exponent is used.
#define FC_VM_POWI(type, name)                        \
  static inline type name(type x, int64_t exponent) { \
    const int32_t signed_count = (int32_t)exponent;   \
    uint32_t count = (uint32_t)signed_count;          \
    if (signed_count < 0) count = 0u - count;         \
    type product = 1;                                 \
    for (;; x *= x) {                                 \
      if (count & 1) product *= x;                    \
      if (!(count >>= 1)) break;                      \
    }                                                 \
    return signed_count < 0 ? 1 / product : product;  \
  }
FC_VM_POWI(float, fc_vm_powif)
FC_VM_POWI(double, fc_vm_powi)

static inline int32_t fc_vm_clz32(uint32_t x) {
  return x ? __builtin_clz(x) : 32;
}
static inline int64_t fc_vm_clz64(uint64_t x) {
  return x ? __builtin_clzll(x) : 64;
}

// False for divisions that are undefined in C: on x86-64 they would end the process.
static inline bool fc_vm_divides_i32(int32_t a, int32_t b) {
  return b != 0 && !(a == INT32_MIN && b == -1);
}
static inline bool fc_vm_divides_i64(int64_t a, int64_t b) {
  return b != 0 && !(a == INT64_MIN && b == -1);
}

#endif  // FARCALL_CORE_MODULE_VM_ARITHMETIC_H_
