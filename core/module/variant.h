// SPDX-License-Identifier: Apache-2.0
//
// Variants: files that do the same as a module's own file, compiled for processors with
// more features. The module's sidecar lists them, the best first:
//
//   "variants": [ { "file": "model-v4.so", "cpu": ["x86-64-v4"] }, … ]
//
// The first variant whose required processor features are all present is loaded instead
// of the module's own file; if no variant fits, the own file is loaded. Any thread;
// docs/abi.md.
#ifndef FARCALL_CORE_MODULE_VARIANT_H_
#define FARCALL_CORE_MODULE_VARIANT_H_

#include "kernels/cpu.h"

#define FC_VARIANTS_MAX 16
#define FC_VARIANT_NAME_MAX 255  // bytes of a file's name

typedef struct fc_variants_t {
  uint32_t count;
  // Names of files beside the module's file.
  char files[FC_VARIANTS_MAX][FC_VARIANT_NAME_MAX + 1];
  uint32_t chosen;  // index in `files`; FC_VARIANTS_MAX: the module's own file
} fc_variants_t;

// Reads the variants of the module at `path` from the text of its sidecar, and chooses
// one for `cpu`. A variant with the name of the module's own file is that file.
// FC_CODE_ABI_METADATA names the place of an error as a JSON pointer.
fc_status_t fc_variants_parse(fc_str_t json, fc_str_t path, const fc_cpu_t *cpu,
                              fc_allocator_t allocator, fc_variants_t *out,
                              fc_error_t *err) FC_MUST_CHECK;
// Reads `sidecar`, a descriptor, from its beginning, and chooses for this processor.
// *cpu is all zero before the first call. The first call that needs the features reads
// them into *cpu; under a hypervisor that traps CPUID this takes a millisecond.
fc_status_t fc_variants_read(int sidecar, fc_str_t path, fc_cpu_t *cpu,
                             fc_allocator_t allocator, fc_variants_t *out,
                             fc_error_t *err) FC_MUST_CHECK;
// Writes the path of a variant, in the folder of `path`. False when the path is too long.
bool fc_variant_path(fc_str_t path, const char *file, char *out,
                     size_t capacity) FC_MUST_CHECK;

#endif  // FARCALL_CORE_MODULE_VARIANT_H_
