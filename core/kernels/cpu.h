// SPDX-License-Identifier: Apache-2.0
//
// The features of this processor, by the names that compiled modules use. The
// caller reads them once and passes them on; any thread.
#ifndef FARCALL_CORE_KERNELS_CPU_H_
#define FARCALL_CORE_KERNELS_CPU_H_

#include "farcall/base.h"

#define FC_CPU_WORDS 8

typedef struct fc_cpu_t {
  // Word 0 has a bit for each feature, by the numbers of IREE's
  // schemas/cpu_feature_bits.inl; executables are given it. Only the functions below use
  // the last word; the others are 0.
  uint64_t words[FC_CPU_WORDS];
} fc_cpu_t;

// Reads the features of this processor. A feature counts only if the system
// also saves the vector registers that the feature needs.
void fc_cpu_read(fc_cpu_t *out_cpu);

typedef enum fc_cpu_answer_t {
  FC_CPU_NO,
  FC_CPU_YES,
  FC_CPU_UNKNOWN,  // no feature of that name is known here
} fc_cpu_answer_t;

// Tells whether the processor has the feature of LLVM's name `name`: "avx512f", "fma".
fc_cpu_answer_t fc_cpu_has(const fc_cpu_t *cpu, fc_str_t name);

// True when features have names on this architecture: on x86-64 and AArch64.
extern const bool fc_cpu_has_names;
// Does the same as fc_cpu_has, but `name` may also be a level of processors
// ("x86-64-v3", cpu_level.def). NO for a name that only another architecture has.
fc_cpu_answer_t fc_cpu_runs(const fc_cpu_t *cpu, fc_str_t name);

// Checks a target feature list ("+avx2,-sse4a,+fma"). A feature is required if its last
// mention has a '+'. Unknown names pass. The message of FC_CODE_CPU_FEATURES lists the
// required features that are missing, as far as it has room, and says how to compile
// instead.
fc_status_t fc_cpu_check(const fc_cpu_t *cpu, fc_str_t features,
                         fc_error_t *err);

// Makes this thread treat denormals as zero, as IREE's runtime does around dispatches.
// Returns the previous state, which fc_cpu_denormals_restore sets again. On processors
// other than x86-64 and AArch64 both functions do nothing.
uint64_t fc_cpu_denormals_flush(void);
void fc_cpu_denormals_restore(uint64_t state);

#endif  // FARCALL_CORE_KERNELS_CPU_H_
