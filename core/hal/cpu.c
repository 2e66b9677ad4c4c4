// SPDX-License-Identifier: Apache-2.0
//
// Processor features by CPUID (and XGETBV for the state the system saves), and
// the denormal switch. On other architectures than x86-64 every feature is
// unknown, so nothing is refused and executables see a plain processor.
#include "hal/cpu.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

enum { REGISTER_A, REGISTER_B, REGISTER_C, REGISTER_D };

// Masks of XCR0.
enum {
  STATE_SSE = 0,
  STATE_AVX = 0x6,
  STATE_AVX512 = 0xE6,
  STATE_AMX = 0x60000,
};

typedef struct feature_t {
  const char *name;
  int bit;
  uint32_t leaf;
  uint32_t subleaf;
  int reg;
  int reg_bit;
  uint64_t state;
} feature_t;

static const feature_t kFeatures[] = {
#define FC_CPU(name, bit, leaf, subleaf, reg, reg_bit, state) \
  {name, bit, leaf, subleaf, REGISTER_##reg, reg_bit, STATE_##state},
#include "hal/cpu_x86_64.def"
#undef FC_CPU
};

// The rows without a bit in word 0 are kept in word 7, which executables do not
// look at, by their place in the table.
#define EXTRA_WORD (FC_CPU_WORDS - 1)
_Static_assert(FC_ARRAY_COUNT(kFeatures) <= 64, "one word of rows");

static uint64_t saved_state(void) {
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

static bool is_there(const feature_t *feature, uint64_t state) {
  uint32_t regs[4] = {0};
  if (!__get_cpuid_count(feature->leaf, feature->subleaf, &regs[0], &regs[1],
                         &regs[2], &regs[3])) {
    return false;
  }
  return (regs[feature->reg] >> feature->reg_bit & 1) &&
         (state & feature->state) == feature->state;
}

void fc_cpu_read(fc_cpu_t *out_cpu) {
  *out_cpu = (fc_cpu_t){0};
  const uint64_t state = saved_state();
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFeatures); i++) {
    if (!is_there(&kFeatures[i], state)) continue;
    if (kFeatures[i].bit >= 0) {
      out_cpu->words[0] |= UINT64_C(1) << kFeatures[i].bit;
    }
    out_cpu->words[EXTRA_WORD] |= UINT64_C(1) << i;
  }
}

fc_cpu_answer_t fc_cpu_has(const fc_cpu_t *cpu, fc_str_t name) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFeatures); i++) {
    if (!fc_str_equal(fc_str(kFeatures[i].name), name)) continue;
    return cpu->words[EXTRA_WORD] >> i & 1 ? FC_CPU_YES : FC_CPU_NO;
  }
  return FC_CPU_UNKNOWN;
}

#define FLUSH_AND_DENORMALS_ARE_ZERO 0x8040u

uint64_t fc_cpu_denormals_flush(void) {
  const unsigned state = _mm_getcsr();
  _mm_setcsr(state | FLUSH_AND_DENORMALS_ARE_ZERO);
  return state;
}

void fc_cpu_denormals_restore(uint64_t state) { _mm_setcsr((unsigned)state); }

#else

void fc_cpu_read(fc_cpu_t *out_cpu) { *out_cpu = (fc_cpu_t){0}; }

fc_cpu_answer_t fc_cpu_has(const fc_cpu_t *cpu, fc_str_t name) {
  (void)cpu;
  (void)name;
  return FC_CPU_UNKNOWN;
}

#if defined(__aarch64__)

#define FLUSH_TO_ZERO (UINT64_C(1) << 24)

uint64_t fc_cpu_denormals_flush(void) {
  uint64_t state;
  __asm__ volatile("mrs %0, fpcr" : "=r"(state));
  __asm__ volatile("msr fpcr, %0" ::"r"(state | FLUSH_TO_ZERO));
  return state;
}

void fc_cpu_denormals_restore(uint64_t state) {
  __asm__ volatile("msr fpcr, %0" ::"r"(state));
}

#else

uint64_t fc_cpu_denormals_flush(void) { return 0; }
void fc_cpu_denormals_restore(uint64_t state) { (void)state; }

#endif
#endif

// Appends ", name" while there is room; the message is cut, never the check.
static size_t list_missing(char *text, size_t capacity, size_t size,
                           fc_str_t name) {
  const size_t need = name.size + 2;
  if (size + need >= capacity) return size;
  if (size) {
    memcpy(text + size, ", ", 2);
    size += 2;
  }
  memcpy(text + size, name.data, name.size);
  text[size + name.size] = '\0';
  return size + name.size;
}

fc_status_t fc_cpu_check(const fc_cpu_t *cpu, fc_str_t features,
                         fc_error_t *err) {
  char missing[240] = "";
  size_t size = 0;
  for (size_t at = 0; at < features.size;) {
    const char *comma = memchr(features.data + at, ',', features.size - at);
    const size_t end = comma ? (size_t)(comma - features.data) : features.size;
    const fc_str_t name =
        fc_str_make(features.data + at + 1, end > at ? end - at - 1 : 0);
    if (features.data[at] == '+' && fc_cpu_has(cpu, name) == FC_CPU_NO) {
      size = list_missing(missing, sizeof missing, size, name);
    }
    at = end + 1;
  }
  if (!size) return FC_OK;
  return fc_fail(err, FC_CODE_CPU_FEATURES,
                 "the module was compiled for a processor with features this "
                 "one lacks: %s",
                 missing);
}
