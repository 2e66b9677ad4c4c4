// SPDX-License-Identifier: Apache-2.0
//
// Reads facts about a shared object without loading it, so without running its
// constructors: is it for this machine; what does it export, import and need;
// which ABI text is embedded in it; does it have writable data of its own. The
// bytes may come from anyone; every offset is checked. dylib.h loads it.
#ifndef FARCALL_MODULE_NATIVE_SO_FILE_H_
#define FARCALL_MODULE_NATIVE_SO_FILE_H_

#include <elf.h>

#include "farcall/base.h"

// A view of the file's bytes, which must outlive it.
typedef struct fc_so_t {
  fc_str_t bytes;
  const Elf64_Ehdr *header;
  const Elf64_Phdr *segments;
  const Elf64_Shdr *sections;
  const Elf64_Sym *symbols;  // .dynsym
  size_t symbol_count;
  fc_str_t names;                // .dynstr
  const Elf64_Sym *all_symbols;  // .symtab; NULL: the file is stripped
  size_t all_count;
  fc_str_t all_names;  // .strtab
  const Elf64_Dyn *dynamic;
  size_t dynamic_count;
} fc_so_t;

// True when a file that begins with these bytes is an ELF file.
bool fc_so_is(fc_str_t head);

// Finds the tables of the file. FC_CODE_MODULE_LOAD when the file is not a 64-bit
// little-endian shared object for this machine with section headers, a dynamic symbol
// table and at most 128 program headers, or when its code has relocations.
fc_status_t fc_so_parse(fc_str_t bytes, fc_so_t *out_elf, fc_error_t *err);

typedef struct fc_so_symbol_t {
  // The data is NULL when the name does not lie in the table of names, is not
  // terminated there, or is over 64 KiB.
  fc_str_t name;
  bool defined;
  bool function;
  bool weak;
} fc_so_symbol_t;

// Reads the symbol at `index` < symbol_count as other objects see it. False for local
// and hidden symbols.
bool fc_so_symbol(const fc_so_t *elf, size_t index, fc_so_symbol_t *out);

bool fc_so_exports(const fc_so_t *elf, fc_str_t name);

// Finds the contents of an exported C string, without its terminator. False when no
// such symbol is exported or its text is not terminated.
bool fc_so_text(const fc_so_t *elf, fc_str_t name, fc_str_t *out_text);

// True when the object's list of library folders contains `$ORIGIN`.
bool fc_so_uses_origin(const fc_so_t *elf);
// True when loading the object may also load files outside the system's folders, which
// are those below /usr and those whose path begins with /lib. Also true if the object
// has an auditor or a filter, or a name that cannot be read.
bool fc_so_loads_others(const fc_so_t *elf);

// Calls `visit` with each name in the object's dynamic entries with `tag`. DT_NEEDED:
// names of libraries. DT_RPATH and DT_RUNPATH: lists of folders with these libraries.
void fc_so_each_named(const fc_so_t *elf, int64_t tag,
                      void (*visit)(void *context, fc_str_t name),
                      void *context);

// Calls `visit` for each place in which the loader stores the address of a named symbol,
// without an addend: in the global offset table and in pointers in data. `address` is
// relative to the load address of the object, 8-byte aligned and inside its image.
void fc_so_each_reference(const fc_so_t *elf,
                          void (*visit)(void *context, fc_str_t symbol,
                                        uint64_t address),
                          void *context);
// True when the file requests that this address be read-only after relocation.
bool fc_so_is_relro(const fc_so_t *elf, uint64_t address);
// True when the loader really makes this address read-only after relocation. The loader
// protects whole pages: a page that begins before the range is protected, too; a last
// page that is only partly in the range is not.
bool fc_so_is_protected(const fc_so_t *elf, uint64_t address,
                        uint64_t page_size);

// Counts the bytes of writable data beyond what every linked object has. A module that
// has such data may keep state from call to call. In a stripped file, up to seven bytes
// of `char` variables in .bss look like bytes that the linker adds, and do not count.
size_t fc_so_state_size(const fc_so_t *elf);

#endif  // FARCALL_MODULE_NATIVE_SO_FILE_H_
