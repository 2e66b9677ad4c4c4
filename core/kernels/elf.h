// SPDX-License-Identifier: Apache-2.0
//
// Loads the small self-contained ELF files that contain an IREE module's kernels
// ("embedded-elf-*"). This is not a general dynamic loader: it refuses a file
// with dependencies, undefined symbols, constructors, or more than a few kinds of
// relocations. Every header, segment, symbol and relocation is checked against
// the file and the mapping before it is used; the code itself is trusted once it
// runs. An image is immutable after loading and may be used from any thread.
#ifndef FARCALL_CORE_KERNELS_ELF_H_
#define FARCALL_CORE_KERNELS_ELF_H_

#include "farcall/base.h"

typedef struct fc_elf_t fc_elf_t;

// Copies the file into a mapping of its own, so that nothing points into `file`
// afterwards, and applies relocations; runs no code of the file.
// FC_CODE_MODULE_LOAD names the rule that is broken and the place: an offset in
// the file for a header, an offset in the mapping for anything else.
fc_status_t fc_elf_load(fc_str_t file, fc_allocator_t allocator,
                        fc_elf_t **out_elf, fc_error_t *err) FC_MUST_CHECK;
void fc_elf_unload(fc_elf_t *elf);

// Finds an exported function; NULL when the image has no function of that name.
void *fc_elf_find(const fc_elf_t *elf, fc_str_t name);

// Gets the addresses [*out_begin, *out_end) at which the image is mapped. Only tests use
// this.
void fc_elf_range(const fc_elf_t *elf, uintptr_t *out_begin,
                  uintptr_t *out_end);

#endif  // FARCALL_CORE_KERNELS_ELF_H_
