// SPDX-License-Identifier: Apache-2.0
//
// Finds the features of the processor, and switches the handling of denormals. The
// features come from CPUID (and from XGETBV, for the state that the system saves) or,
// on AArch64, from the system (HWCAP). On other architectures every feature is unknown,
// so fc_cpu_check refuses nothing and executables see a processor without features.
#include "kernels/cpu.h"

#include <stdio.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

enum { REGISTER_A, REGISTER_B, REGISTER_C, REGISTER_D };

// Masks of XCR0, which tells which registers the system saves.
enum {
  STATE_SSE = 0,
  STATE_AVX = 0x6,
  STATE_AVX512 = 0xE6,
  STATE_AMX = 0x60000,
};

typedef struct feature_t {
  const char *name;
  int bit;
  uint32_t leaf;  // the leaf of CPUID; on AArch64, the word of getauxval
  uint32_t subleaf;
  int reg;
  int reg_bit;
  uint64_t state;
} feature_t;

static const feature_t kFeatures[] = {
#if defined(__x86_64__)
#define FC_CPU(name, bit, leaf, subleaf, reg, reg_bit, state) \
  {name, bit, leaf, subleaf, REGISTER_##reg, reg_bit, STATE_##state},
#include "kernels/cpu_x86_64.def"
#undef FC_CPU
#elif defined(__aarch64__)
#define FC_CPU(name, bit, word, word_bit) \
  {name, bit, AT_##word, 0, 0, word_bit, 0},
#include "kernels/cpu_aarch64.def"
#undef FC_CPU
#endif
    {.name = NULL},  // marks the end
};

typedef struct level_t {
  const char *name;
  const char *features;
} level_t;

static const level_t kLevels[] = {
#if defined(__x86_64__)
#define FC_CPU_LEVEL(name, features) {name, features},
#include "kernels/cpu_level.def"
#undef FC_CPU_LEVEL
#endif
    {.name = NULL},
};

// Names that are features of another architecture. Some are features of this one, too.
static const char *const kForeign[] = {
#define FC_CPU(name, ...) name,
#if !defined(__x86_64__)
#include "kernels/cpu_x86_64.def"
#define FC_CPU_LEVEL(name, features) name,
#include "kernels/cpu_level.def"
#undef FC_CPU_LEVEL
#endif
#if !defined(__aarch64__)
#include "kernels/cpu_aarch64.def"
#endif
#undef FC_CPU
};

// Word 7, which executables do not read. In it every row of the table has a bit of
// its own, because some rows have no bit in word 0.
#define EXTRA_WORD (FC_CPU_WORDS - 1)
#define FEATURE_COUNT (FC_ARRAY_COUNT(kFeatures) - 1)
_Static_assert(FEATURE_COUNT <= 64, "one word of rows");

// Features that this build treats as missing, separated by commas
// (FARCALL_HIDE_CPU_FEATURES of CMake). So tests can run as on a machine whose
// processor does not have them.
#ifndef FC_CPU_HIDDEN
#define FC_CPU_HIDDEN ""
#endif

// ---------------------------------------------------------------------------
// Reading the features

#if defined(__x86_64__)

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

#define FLUSH_AND_DENORMALS_ARE_ZERO 0x8040u

uint64_t fc_cpu_denormals_flush(void) {
  const unsigned state = _mm_getcsr();
  _mm_setcsr(state | FLUSH_AND_DENORMALS_ARE_ZERO);
  return state;
}

void fc_cpu_denormals_restore(uint64_t state) { _mm_setcsr((unsigned)state); }

#elif defined(__aarch64__)

static uint64_t saved_state(void) { return 0; }

// True when the feature is there: the system lists a feature only if it also saves the
// registers that the feature needs.
static bool is_there(const feature_t *feature, uint64_t state) {
  (void)state;
  return getauxval(feature->leaf) >> feature->reg_bit & 1;
}

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

static uint64_t saved_state(void) { return 0; }

static bool is_there(const feature_t *feature, uint64_t state) {
  (void)feature;
  (void)state;
  return false;
}

uint64_t fc_cpu_denormals_flush(void) { return 0; }
void fc_cpu_denormals_restore(uint64_t state) { (void)state; }

#endif

// ---------------------------------------------------------------------------
// Features by name

// Finds the row of the feature; FEATURE_COUNT when no feature has this name.
static size_t find_feature(fc_str_t name) {
  size_t i = 0;
  while (i < FEATURE_COUNT && !fc_str_equal(fc_str(kFeatures[i].name), name)) {
    i++;
  }
  return i;
}

static uint64_t hidden_features(void) {
  uint64_t hidden = 0;
  for (fc_str_t rest = FC_STR(FC_CPU_HIDDEN); rest.size;) {
    const size_t i = find_feature(fc_str_take(&rest, ','));
    if (i < FEATURE_COUNT) hidden |= UINT64_C(1) << i;
  }
  return hidden;
}

void fc_cpu_read(fc_cpu_t *out_cpu) {
  *out_cpu = (fc_cpu_t){0};
  const uint64_t state = saved_state();
  const uint64_t hidden = hidden_features();
  for (size_t i = 0; i < FEATURE_COUNT; i++) {
    if ((hidden >> i & 1) || !is_there(&kFeatures[i], state)) continue;
    if (kFeatures[i].bit >= 0) {
      out_cpu->words[0] |= UINT64_C(1) << kFeatures[i].bit;
    }
    out_cpu->words[EXTRA_WORD] |= UINT64_C(1) << i;
  }
}

fc_cpu_answer_t fc_cpu_has(const fc_cpu_t *cpu, fc_str_t name) {
  const size_t i = find_feature(name);
  if (i == FEATURE_COUNT) return FC_CPU_UNKNOWN;
  return cpu->words[EXTRA_WORD] >> i & 1 ? FC_CPU_YES : FC_CPU_NO;
}

const bool fc_cpu_has_names = FEATURE_COUNT > 0;

static bool is_foreign(fc_str_t name) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kForeign); i++) {
    if (fc_str_equal(fc_str(kForeign[i]), name)) return true;
  }
  return false;
}

fc_cpu_answer_t fc_cpu_runs(const fc_cpu_t *cpu, fc_str_t name) {
  bool runs = true;
  for (const level_t *level = kLevels; level->name; level++) {
    for (fc_str_t rest = fc_str(level->features); rest.size;) {
      runs &= fc_cpu_has(cpu, fc_str_take(&rest, ',')) == FC_CPU_YES;
    }
    if (fc_str_equal(fc_str(level->name), name)) {
      return runs ? FC_CPU_YES : FC_CPU_NO;
    }
  }
  const fc_cpu_answer_t answer = fc_cpu_has(cpu, name);
  return answer == FC_CPU_UNKNOWN && is_foreign(name) ? FC_CPU_NO : answer;
}

// Returns the features that a list requires. If a name is repeated, its last mention
// counts, as for LLVM: iree-compile lists the features of the processor's model
// and then, with '-', those that its own machine does not have.
static uint64_t wanted_features(fc_str_t features) {
  uint64_t wanted = 0;
  while (features.size) {
    const fc_str_t word = fc_str_take(&features, ',');
    if (!word.size || (word.data[0] != '+' && word.data[0] != '-')) continue;
    const size_t i = find_feature(fc_str_make(word.data + 1, word.size - 1));
    if (i == FEATURE_COUNT) continue;
    const uint64_t bit = UINT64_C(1) << i;
    wanted = word.data[0] == '+' ? wanted | bit : wanted & ~bit;
  }
  return wanted;
}

// Writes the names of `features` into `text`; names for which there is no room
// are left out.
static void list_features(char *text, size_t capacity, uint64_t features) {
  size_t size = 0;
  for (size_t i = 0; i < FEATURE_COUNT; i++) {
    if (!(features >> i & 1)) continue;
    const size_t need = strlen(kFeatures[i].name) + 2;
    if (size + need >= capacity) return;
    size += (size_t)snprintf(text + size, capacity - size, "%s%s",
                             size ? ", " : "", kFeatures[i].name);
  }
}

fc_status_t fc_cpu_check(const fc_cpu_t *cpu, fc_str_t features,
                         fc_error_t *err) {
  const uint64_t missing = wanted_features(features) & ~cpu->words[EXTRA_WORD];
  if (!missing) return FC_OK;
  char names[180] = "";
  list_features(names, sizeof names, missing);
  return fc_fail(err, FC_CODE_CPU_FEATURES,
                 "the module was compiled for a processor with features this "
                 "one lacks: %s; compile it with "
                 "--iree-llvmcpu-target-cpu=host on this machine, or =generic "
                 "for any",
                 names);
}
