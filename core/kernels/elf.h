// SPDX-License-Identifier: Apache-2.0
//
// Loads the small self-contained ELF files that carry an IREE module's kernels
// ("embedded-elf-*"). Not a general dynamic loader: a file with dependencies,
// undefined symbols, constructors or other than a few kinds of relocations is
// refused. Every header, segment, symbol and relocation is checked against the file
// and the mapping before it is used; the code itself is trusted once it runs. An
// image is immutable after loading and may be used from any thread.
#ifndef FARCALL_CORE_KERNELS_ELF_H_
#define FARCALL_CORE_KERNELS_ELF_H_

#include "farcall/base.h"

typedef struct fc_elf_t fc_elf_t;

// Copies the file into a mapping of its own, so that nothing points into `file`
// afterwards, and applies relocations; runs nothing. FC_CODE_MODULE_LOAD names the
// rule that is broken and where: the offset of a header in the file, or of anything
// else in the mapping.
fc_status_t fc_elf_load(fc_str_t file, fc_allocator_t allocator,
                        fc_elf_t **out_elf, fc_error_t *err) FC_MUST_CHECK;
void fc_elf_unload(fc_elf_t *elf);

// The address of an exported function; NULL when there is none of that name.
void *fc_elf_find(const fc_elf_t *elf, fc_str_t name);

// The addresses [*out_begin, *out_end) that the image is mapped at. Only tests ask.
void fc_elf_range(const fc_elf_t *elf, uintptr_t *out_begin,
                  uintptr_t *out_end);

#endif  // FARCALL_CORE_KERNELS_ELF_H_
