// SPDX-License-Identifier: Apache-2.0
//
// The floating-point control state of the calling thread. Compiled code runs in the state
// in which it is called, and loading a library that was linked with -ffast-math switches
// the loading thread to flush-to-zero permanently. So the state
// is saved around dlopen and set before each call. The direction flag is
// cleared after each call: hand-written code can leave it set, and then string
// instructions of other code would run backwards.
#ifndef FARCALL_MODULE_NATIVE_FPENV_H_
#define FARCALL_MODULE_NATIVE_FPENV_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct fc_fpenv_t {
  uint32_t control;  // x86-64: MXCSR without its sticky flags; aarch64: FPCR
  uint16_t x87;      // the x87 control word; 0 on aarch64
} fc_fpenv_t;

#if defined(__x86_64__)
#define FC_FPENV_DEFAULT ((fc_fpenv_t){0x1f80, 0x037f})
#define FC_FPENV_FLUSH ((fc_fpenv_t){0x9fc0, 0x037f})  // denormals become 0
#define FC_MXCSR_FLAGS 0x3fu

static inline fc_fpenv_t fc_fpenv_get(void) {
  fc_fpenv_t env;
  env.control = __builtin_ia32_stmxcsr() & ~FC_MXCSR_FLAGS;
  __asm__ volatile("fnstcw %0" : "=m"(env.x87));
  return env;
}
static inline void fc_fpenv_set(fc_fpenv_t env) {
  __builtin_ia32_ldmxcsr(env.control);
  __asm__ volatile("fldcw %0" : : "m"(env.x87));
}
static inline void fc_direction_reset(void) { __asm__ volatile("cld"); }
#elif defined(__aarch64__)
#define FC_FPENV_DEFAULT ((fc_fpenv_t){0, 0})
#define FC_FPENV_FLUSH ((fc_fpenv_t){1u << 24, 0})

static inline fc_fpenv_t fc_fpenv_get(void) {
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return (fc_fpenv_t){(uint32_t)fpcr, 0};
}
static inline void fc_fpenv_set(fc_fpenv_t env) {
  uint64_t fpcr = env.control;
  __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
}
static inline void fc_direction_reset(void) {}
#endif

static inline bool fc_fpenv_equal(fc_fpenv_t a, fc_fpenv_t b) {
  return a.control == b.control && a.x87 == b.x87;
}

#endif  // FARCALL_MODULE_NATIVE_FPENV_H_
