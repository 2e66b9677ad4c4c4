// SPDX-License-Identifier: Apache-2.0
//
// What marks ELF files for this machine, and the relocations in their tables. Used by
// the reader of kernels (kernels/elf.c), which loads them itself, and by the reader of
// shared objects (module/native/so_file.c), which the system loads. The structures are
// those of <elf.h>.
#ifndef FARCALL_CORE_BASE_ELF_HOST_H_
#define FARCALL_CORE_BASE_ELF_HOST_H_

#include <elf.h>

#if defined(__x86_64__)
#define FC_ELF_MACHINE_NAME "x86-64"
enum {
  FC_ELF_MACHINE = EM_X86_64,
  FC_ELF_RELOC_NONE = R_X86_64_NONE,
  FC_ELF_RELOC_RELATIVE = R_X86_64_RELATIVE,
  FC_ELF_RELOC_ABSOLUTE = R_X86_64_64,
  FC_ELF_RELOC_GLOB_DAT = R_X86_64_GLOB_DAT,
  FC_ELF_RELOC_JUMP_SLOT = R_X86_64_JUMP_SLOT,
};
#elif defined(__aarch64__)
#define FC_ELF_MACHINE_NAME "aarch64"
enum {
  FC_ELF_MACHINE = EM_AARCH64,
  FC_ELF_RELOC_NONE = R_AARCH64_NONE,
  FC_ELF_RELOC_RELATIVE = R_AARCH64_RELATIVE,
  FC_ELF_RELOC_ABSOLUTE = R_AARCH64_ABS64,
  FC_ELF_RELOC_GLOB_DAT = R_AARCH64_GLOB_DAT,
  FC_ELF_RELOC_JUMP_SLOT = R_AARCH64_JUMP_SLOT,
};
#else
#error "compiled modules are known for x86-64 and aarch64"
#endif

#endif  // FARCALL_CORE_BASE_ELF_HOST_H_
