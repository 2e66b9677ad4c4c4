// SPDX-License-Identifier: Apache-2.0
//
// Loads the files that elf.h describes. The compiler emits (in 113 files that were
// examined) three PT_LOAD segments (R, RX, RW) on pages of their own, only RELATIVE
// relocations, DT_HASH, and no constructors. The loader accepts a little more,
// but nothing that would run code or need another library while loading.
#include "kernels/elf.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/elf_host.h"

#define SEGMENTS_MAX 16
#define SPAN_MAX ((size_t)1 << 30)

typedef struct segment_t {
  size_t address;  // p_vaddr of the file: an offset in the mapping
  size_t size;     // in memory
  size_t file_offset;
  size_t file_size;
  int protection;
} segment_t;

// A table that the dynamic section names, with its address and its size in bytes.
typedef struct table_t {
  size_t address;
  size_t size;
} table_t;

struct fc_elf_t {
  fc_allocator_t allocator;
  uint8_t *base;
  size_t span;  // bytes mapped
  segment_t segments[SEGMENTS_MAX];
  size_t segment_count;
  table_t relro;
  table_t symbols;  // Elf64_Sym
  table_t strings;
  table_t relocations[2];  // Elf64_Rela: DT_RELA, DT_JMPREL
  size_t symbol_count;
};

static fc_status_t refuse(fc_error_t *err, size_t offset, const char *what) {
  fc_status_t status = fc_fail(err, FC_CODE_MODULE_LOAD,
                               "kernel ELF: %s at byte %zu", what, offset);
  if (err) err->byte_offset = offset;
  return status;
}

// ---------------------------------------------------------------------------
// Headers

static fc_status_t check_header(fc_str_t file, Elf64_Ehdr *out_header,
                                fc_error_t *err) {
  if (file.size < sizeof *out_header) {
    return refuse(err, file.size, "file ends in its header");
  }
  Elf64_Ehdr header;
  memcpy(&header, file.data, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return refuse(err, 0, "no ELF magic");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return refuse(err, EI_CLASS, "not a 64-bit little-endian file");
  }
  if (header.e_type != ET_DYN) {
    return refuse(err, offsetof(Elf64_Ehdr, e_type), "not a shared object");
  }
  if (header.e_machine != FC_ELF_MACHINE) {
    return refuse(err, offsetof(Elf64_Ehdr, e_machine),
                  "built for another architecture");
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr)) {
    return refuse(err, offsetof(Elf64_Ehdr, e_phentsize),
                  "program headers of an unknown size");
  }
  const size_t table = (size_t)header.e_phnum * sizeof(Elf64_Phdr);
  if (header.e_phoff > file.size || table > file.size - header.e_phoff) {
    return refuse(err, offsetof(Elf64_Ehdr, e_phoff),
                  "program headers outside the file");
  }
  *out_header = header;
  return FC_OK;
}

static int protection_of(uint32_t flags) {
  return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) |
         (flags & PF_X ? PROT_EXEC : 0);
}

static size_t page_floor(size_t address, size_t page) {
  return address & ~(page - 1);
}

static fc_status_t add_segment(fc_elf_t *elf, fc_str_t file,
                               const Elf64_Phdr *row, size_t at,
                               fc_error_t *err) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (elf->segment_count == SEGMENTS_MAX) {
    return refuse(err, at, "more than 16 segments");
  }
  if (row->p_filesz > row->p_memsz) {
    return refuse(err, at, "segment with more bytes than room");
  }
  if (row->p_offset > file.size || row->p_filesz > file.size - row->p_offset) {
    return refuse(err, at, "segment outside the file");
  }
  if ((row->p_flags & PF_W) && (row->p_flags & PF_X)) {
    return refuse(err, at, "segment both writable and executable");
  }
  if (row->p_vaddr > SPAN_MAX || row->p_memsz > SPAN_MAX - row->p_vaddr) {
    return refuse(err, at, "segment beyond 1 GiB");
  }
  const segment_t *last =
      elf->segment_count ? &elf->segments[elf->segment_count - 1] : NULL;
  if (last && page_floor(row->p_vaddr, page) < last->address + last->size) {
    return refuse(err, at, "segment overlaps or shares a page with another");
  }
  elf->segments[elf->segment_count++] =
      (segment_t){.address = row->p_vaddr,
                  .size = row->p_memsz,
                  .file_offset = row->p_offset,
                  .file_size = row->p_filesz,
                  .protection = protection_of(row->p_flags)};
  return FC_OK;
}

static fc_status_t read_segments(fc_elf_t *elf, fc_str_t file,
                                 table_t *out_dynamic, fc_error_t *err) {
  Elf64_Ehdr header = {0};
  FC_TRY(check_header(file, &header, err));
  for (size_t i = 0; i < header.e_phnum; i++) {
    const size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr row;
    memcpy(&row, file.data + at, sizeof row);
    const table_t range = {row.p_vaddr, row.p_memsz};
    if (row.p_type == PT_LOAD) FC_TRY(add_segment(elf, file, &row, at, err));
    if (row.p_type == PT_DYNAMIC) *out_dynamic = range;
    if (row.p_type == PT_GNU_RELRO) elf->relro = range;
    if (row.p_type == PT_INTERP || row.p_type == PT_TLS) {
      return refuse(err, at, "needs an interpreter or thread-local storage");
    }
  }
  if (!elf->segment_count) return refuse(err, 0, "nothing to load");
  if (!out_dynamic->size) return refuse(err, 0, "no dynamic section");
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The mapping

static fc_status_t map_segments(fc_elf_t *elf, fc_str_t file, fc_error_t *err) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const segment_t *last = &elf->segments[elf->segment_count - 1];
  if (!fc_size_align(last->address + last->size, page, &elf->span)) {
    return refuse(err, 0, "segments too large");
  }
  void *base = mmap(NULL, elf->span, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return fc_fail_memory(err);
  elf->base = base;
  for (size_t i = 0; i < elf->segment_count; i++) {
    const segment_t *segment = &elf->segments[i];
    const size_t begin = page_floor(segment->address, page);
    const size_t size = segment->address - begin + segment->size;
    if (!size) continue;
    if (mprotect(elf->base + begin, size, PROT_READ | PROT_WRITE) != 0) {
      return fc_fail_memory(err);
    }
    memcpy(elf->base + segment->address, file.data + segment->file_offset,
           segment->file_size);
  }
  return FC_OK;
}

static fc_status_t protect_range(fc_elf_t *elf, size_t begin, size_t end,
                                 int protection, fc_error_t *err) {
  if (begin >= end) return FC_OK;
  if (mprotect(elf->base + begin, end - begin, protection) == 0) return FC_OK;
  return fc_fail(err, FC_CODE_MODULE_LOAD,
                 "kernel ELF: the system refuses to protect its memory "
                 "(executable memory may be forbidden here)");
}

static fc_status_t protect_segments(fc_elf_t *elf, fc_error_t *err) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t i = 0; i < elf->segment_count; i++) {
    const segment_t *segment = &elf->segments[i];
    FC_TRY(protect_range(elf, page_floor(segment->address, page),
                         segment->address + segment->size, segment->protection,
                         err));
  }
  // The range that is only written by relocations becomes read-only, up to the end of its
  // last whole page.
  const size_t begin = page_floor(elf->relro.address, page);
  const size_t end = page_floor(elf->relro.address + elf->relro.size, page);
  return protect_range(elf, begin, end, PROT_READ, err);
}

// Finds the segment that holds all of [address, address + size) and has at
// least these protections.
static const segment_t *segment_at(const fc_elf_t *elf, size_t address,
                                   size_t size, int protection) {
  for (size_t i = 0; i < elf->segment_count; i++) {
    const segment_t *segment = &elf->segments[i];
    if (address < segment->address) continue;
    const size_t inside = address - segment->address;
    if (inside > segment->size || size > segment->size - inside) continue;
    if ((segment->protection & protection) == protection) return segment;
  }
  return NULL;
}

// ---------------------------------------------------------------------------
// The dynamic section

static fc_status_t check_table(const fc_elf_t *elf, const table_t *table,
                               size_t entry, const char *what,
                               fc_error_t *err) {
  if (!table->size) return FC_OK;
  if (table->size % entry == 0 &&
      segment_at(elf, table->address, table->size, PROT_READ)) {
    return FC_OK;
  }
  return refuse(err, table->address, what);
}

// Checks that relocations cannot write to a table that is read while they are applied, or
// afterwards. Otherwise a relocation could change the table after it was checked.
static fc_status_t check_constant(const fc_elf_t *elf, const table_t *table,
                                  const char *what, fc_error_t *err) {
  if (!table->size ||
      !segment_at(elf, table->address, table->size, PROT_WRITE)) {
    return FC_OK;
  }
  return refuse(err, table->address, what);
}

typedef struct dynamic_t {
  size_t hash;
  bool foreign;  // an entry needs something that this loader does not do
} dynamic_t;

static void read_entry(fc_elf_t *elf, const Elf64_Dyn *entry,
                       dynamic_t *dynamic) {
  const size_t value = entry->d_un.d_val;
  switch (entry->d_tag) {
    case DT_HASH:
      dynamic->hash = value;
      break;
    case DT_SYMTAB:
      elf->symbols.address = value;
      break;
    case DT_STRTAB:
      elf->strings.address = value;
      break;
    case DT_STRSZ:
      elf->strings.size = value;
      break;
    case DT_RELA:
      elf->relocations[0].address = value;
      break;
    case DT_RELASZ:
      elf->relocations[0].size = value;
      break;
    case DT_JMPREL:
      elf->relocations[1].address = value;
      break;
    case DT_PLTRELSZ:
      elf->relocations[1].size = value;
      break;
    case DT_SYMENT:
      dynamic->foreign |= value != sizeof(Elf64_Sym);
      break;
    case DT_RELAENT:
      dynamic->foreign |= value != sizeof(Elf64_Rela);
      break;
    case DT_PLTREL:
      dynamic->foreign |= value != DT_RELA;
      break;
    case DT_INIT:
    case DT_INIT_ARRAY:
    case DT_REL:
    case DT_RELR:
    case DT_TEXTREL:
    case DT_NEEDED:
      dynamic->foreign = true;
      break;
    default:
      break;
  }
}

// Reads the number of symbols, which is nchain of DT_HASH: {nbucket, nchain, …}.
static fc_status_t count_symbols(fc_elf_t *elf, size_t hash, fc_error_t *err) {
  uint32_t counts[2];
  if (!hash || !segment_at(elf, hash, sizeof counts, PROT_READ)) {
    return refuse(err, hash, "no symbol hash table");
  }
  memcpy(counts, elf->base + hash, sizeof counts);
  elf->symbol_count = counts[1];
  elf->symbols.size = elf->symbol_count * sizeof(Elf64_Sym);
  return FC_OK;
}

static fc_status_t read_dynamic(fc_elf_t *elf, table_t range, fc_error_t *err) {
  dynamic_t dynamic = {0};
  FC_TRY(check_table(elf, &range, sizeof(Elf64_Dyn),
                     "dynamic section outside its segment", err));
  for (size_t at = 0; at < range.size; at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    memcpy(&entry, elf->base + range.address + at, sizeof entry);
    if (entry.d_tag == DT_NULL) break;
    read_entry(elf, &entry, &dynamic);
    if (dynamic.foreign) {
      return refuse(err, range.address + at,
                    "needs a library, a constructor, text relocations or a "
                    "table of an unknown kind");
    }
  }
  FC_TRY(count_symbols(elf, dynamic.hash, err));
  FC_TRY(check_table(elf, &elf->symbols, sizeof(Elf64_Sym),
                     "symbol table outside its segment", err));
  FC_TRY(check_table(elf, &elf->strings, 1, "string table outside its segment",
                     err));
  FC_TRY(check_constant(elf, &elf->symbols, "symbol table in writable memory",
                        err));
  FC_TRY(check_constant(elf, &elf->strings, "string table in writable memory",
                        err));
  for (int i = 0; i < 2; i++) {
    FC_TRY(check_table(elf, &elf->relocations[i], sizeof(Elf64_Rela),
                       "relocations outside their segment", err));
    FC_TRY(check_constant(elf, &elf->relocations[i],
                          "relocations in writable memory", err));
  }
  if (elf->relro.size &&
      !segment_at(elf, elf->relro.address, elf->relro.size, PROT_READ)) {
    // The linker rounded the end of the range up to a page, so it is cut to the segment.
    const segment_t *segment =
        segment_at(elf, elf->relro.address, 0, PROT_READ);
    if (!segment) return refuse(err, elf->relro.address, "stray relro range");
    elf->relro.size = segment->address + segment->size - elf->relro.address;
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Symbols and relocations

static Elf64_Sym symbol_at(const fc_elf_t *elf, size_t index) {
  Elf64_Sym symbol;
  memcpy(&symbol, elf->base + elf->symbols.address + index * sizeof symbol,
         sizeof symbol);
  return symbol;
}

static fc_status_t check_symbols(const fc_elf_t *elf, fc_error_t *err) {
  for (size_t i = 1; i < elf->symbol_count; i++) {
    const Elf64_Sym symbol = symbol_at(elf, i);
    const size_t at = elf->symbols.address + i * sizeof symbol;
    if (symbol.st_shndx == SHN_UNDEF) {
      return refuse(err, at, "undefined symbol");
    }
    if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) {
      return refuse(err, at, "indirect function");
    }
    if (symbol.st_name >= elf->strings.size) {
      return refuse(err, at, "symbol name outside the string table");
    }
    if (symbol.st_value > elf->span) {
      return refuse(err, at, "symbol outside the image");
    }
  }
  return FC_OK;
}

static fc_status_t relocated_value(const fc_elf_t *elf, const Elf64_Rela *row,
                                   size_t at, uint64_t *out_value,
                                   fc_error_t *err) {
  const uint32_t type = (uint32_t)ELF64_R_TYPE(row->r_info);
  const size_t index = ELF64_R_SYM(row->r_info);
  uint64_t offset = (uint64_t)row->r_addend;
  if (type != FC_ELF_RELOC_RELATIVE) {
    if (type != FC_ELF_RELOC_ABSOLUTE && type != FC_ELF_RELOC_GLOB_DAT &&
        type != FC_ELF_RELOC_JUMP_SLOT) {
      return refuse(err, at, "unknown kind of relocation");
    }
    if (index == 0 || index >= elf->symbol_count) {
      return refuse(err, at, "relocation against no symbol");
    }
    offset = symbol_at(elf, index).st_value;
    if (type == FC_ELF_RELOC_ABSOLUTE) offset += (uint64_t)row->r_addend;
  }
  // One past the end is a valid address, for example the address of an empty table.
  if (offset > elf->span) return refuse(err, at, "relocation leaves the image");
  *out_value = (uint64_t)(uintptr_t)elf->base + offset;
  return FC_OK;
}

static fc_status_t relocate(fc_elf_t *elf, const table_t *table,
                            fc_error_t *err) {
  for (size_t i = 0; i < table->size; i += sizeof(Elf64_Rela)) {
    const size_t at = table->address + i;
    Elf64_Rela row;
    memcpy(&row, elf->base + at, sizeof row);
    if (ELF64_R_TYPE(row.r_info) == FC_ELF_RELOC_NONE) continue;
    if (!segment_at(elf, row.r_offset, sizeof(uint64_t), PROT_WRITE)) {
      return refuse(err, at, "relocation of a place that is not writable");
    }
    uint64_t value = 0;
    FC_TRY(relocated_value(elf, &row, at, &value, err));
    memcpy(elf->base + row.r_offset, &value, sizeof value);
  }
  return FC_OK;
}

// Makes AArch64 see the new instructions: it fetches them through a cache that does not
// see written memory. Flushing reads the memory, so it is done while all segments are
// readable, and skips the gaps between them, which are not.
static void flush_instructions(const fc_elf_t *elf) {
  for (size_t i = 0; i < elf->segment_count; i++) {
    const segment_t *segment = &elf->segments[i];
    char *begin = (char *)elf->base + segment->address;
    if (!(segment->protection & PROT_EXEC)) continue;
    __builtin___clear_cache(begin, begin + segment->size);
  }
}

static fc_status_t load(fc_elf_t *elf, fc_str_t file, fc_error_t *err) {
  table_t dynamic = {0};
  FC_TRY(read_segments(elf, file, &dynamic, err));
  FC_TRY(map_segments(elf, file, err));
  FC_TRY(read_dynamic(elf, dynamic, err));
  FC_TRY(check_symbols(elf, err));
  FC_TRY(relocate(elf, &elf->relocations[0], err));
  FC_TRY(relocate(elf, &elf->relocations[1], err));
  flush_instructions(elf);
  return protect_segments(elf, err);
}

fc_status_t fc_elf_load(fc_str_t file, fc_allocator_t allocator,
                        fc_elf_t **out_elf, fc_error_t *err) {
  fc_elf_t *elf = fc_alloc(allocator, sizeof *elf);
  if (!elf) return fc_fail_memory(err);
  elf->allocator = allocator;
  fc_status_t status = load(elf, file, err);
  if (status != FC_OK) {
    fc_elf_unload(elf);
    return status;
  }
  *out_elf = elf;
  return FC_OK;
}

void fc_elf_unload(fc_elf_t *elf) {
  if (!elf) return;
  if (elf->base) munmap(elf->base, elf->span);
  fc_free(elf->allocator, elf);
}

static bool name_is(const fc_elf_t *elf, size_t offset, fc_str_t name) {
  const char *text = (const char *)elf->base + elf->strings.address + offset;
  const size_t room = elf->strings.size - offset;
  return name.size < room && memcmp(text, name.data, name.size) == 0 &&
         text[name.size] == '\0';
}

void *fc_elf_find(const fc_elf_t *elf, fc_str_t name) {
  for (size_t i = 1; i < elf->symbol_count; i++) {
    const Elf64_Sym symbol = symbol_at(elf, i);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    if (!name_is(elf, symbol.st_name, name)) continue;
    if (!segment_at(elf, symbol.st_value, 1, PROT_EXEC)) return NULL;
    return elf->base + symbol.st_value;
  }
  return NULL;
}

void fc_elf_range(const fc_elf_t *elf, uintptr_t *out_begin,
                  uintptr_t *out_end) {
  *out_begin = (uintptr_t)elf->base;
  *out_end = (uintptr_t)elf->base + elf->span;
}
