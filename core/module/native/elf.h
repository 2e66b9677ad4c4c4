// SPDX-License-Identifier: Apache-2.0
//
// What can be learnt from a shared object without loading it, that is without
// running its constructors: is it for this machine, what it exports, imports
// and needs, the ABI text it embeds, whether it has data of its own to write.
// Reads bytes that anyone may have made; every offset is checked. Not for
// loading (dylib.h).
#ifndef FARCALL_MODULE_NATIVE_ELF_H_
#define FARCALL_MODULE_NATIVE_ELF_H_

#include <elf.h>

#include "farcall/base.h"

// A view of the file's bytes, which must outlive it.
typedef struct fc_elf_t {
  fc_str_t bytes;
  const Elf64_Ehdr *header;
  const Elf64_Phdr *segments;
  const Elf64_Shdr *sections;
  const Elf64_Sym *symbols;  // .dynsym
  size_t symbol_count;
  fc_str_t names;  // .dynstr
  const Elf64_Dyn *dynamic;
  size_t dynamic_count;
} fc_elf_t;

// FC_CODE_MODULE_LOAD when it is not a 64-bit little-endian shared object for
// this machine with section headers and a dynamic symbol table, or when its
// code is not position-independent.
fc_status_t fc_elf_parse(fc_str_t bytes, fc_elf_t *out_elf, fc_error_t *err);

typedef struct fc_elf_symbol_t {
  // Data is NULL when the name lies outside the file or is over 64 KiB.
  fc_str_t name;
  bool defined;
  bool function;
  bool weak;
} fc_elf_symbol_t;

// The symbol at `index` < symbol_count as other objects see it. False for
// local and hidden ones.
bool fc_elf_symbol(const fc_elf_t *elf, size_t index, fc_elf_symbol_t *out);

bool fc_elf_exports(const fc_elf_t *elf, fc_str_t name);

// The contents of an exported C string, without its terminator. False when
// there is no such symbol or it has no terminated text.
bool fc_elf_text(const fc_elf_t *elf, fc_str_t name, fc_str_t *out_text);

// True when the object needs `$ORIGIN` to find its own libraries.
bool fc_elf_uses_origin(const fc_elf_t *elf);

// Tells of each place that the loader fills with the address of a named
// symbol: the global offset table and pointers in data. `address` is relative
// to where the object is loaded, 8-byte aligned and inside its image.
void fc_elf_each_slot(const fc_elf_t *elf,
                      void (*visit)(void *context, fc_str_t symbol,
                                    uint64_t address),
                      void *context);
// True when the loader makes this address read-only after relocation.
bool fc_elf_is_relro(const fc_elf_t *elf, uint64_t address);

// Bytes of writable data beyond what every linked object has: a module with
// any may keep state from call to call.
size_t fc_elf_state_size(const fc_elf_t *elf);

#endif  // FARCALL_MODULE_NATIVE_ELF_H_
