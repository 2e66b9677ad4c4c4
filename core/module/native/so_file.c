// SPDX-License-Identifier: Apache-2.0
//
// Reads shared objects for so_file.h. The alignment of every table is checked before
// the table is read through a typed pointer. So the bytes, which are a mapping,
// must start at a multiple of 8.
#include "module/native/so_file.h"

#include "base/elf_host.h"

// These limit the work for a hostile file. In such a file every symbol may name the
// same long text, and every section the same table, whose entries are looked up in all
// segments.
#define NAME_MAX_SIZE (64u << 10)
#define SEGMENTS_MAX 128

// True for a relocation that stores the address of a named symbol, without an addend.
static bool is_slot(uint64_t type) {
  return type == FC_ELF_RELOC_JUMP_SLOT || type == FC_ELF_RELOC_GLOB_DAT ||
         type == FC_ELF_RELOC_ABSOLUTE;
}

static const char *machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "i386";
    case EM_ARM:
      return "arm";
    case EM_RISCV:
      return "riscv";
    default:
      return "another machine";
  }
}

// Finds a table of `count` entries of `size` bytes at `offset`; NULL when it is not
// inside the file, or not 8-byte aligned.
static const void *table_at(const fc_so_t *elf, uint64_t offset, uint64_t count,
                            size_t size) {
  size_t total, end;
  if (!fc_size_mul(count, size, &total) || !fc_size_add(offset, total, &end) ||
      end > elf->bytes.size || offset % 8 != 0) {
    return NULL;
  }
  return elf->bytes.data + offset;
}

bool fc_so_is(fc_str_t head) {
  return fc_str_starts(head, fc_str_make(ELFMAG, SELFMAG));
}

static fc_status_t check_header(const fc_so_t *elf, fc_error_t *err) {
  const Elf64_Ehdr *header = elf->header;
  if (!header || !fc_so_is(elf->bytes)) {
    return fc_fail(err, FC_CODE_MODULE_LOAD, "not an ELF file");
  }
  if (header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_machine != FC_ELF_MACHINE) {
    return fc_fail(
        err, FC_CODE_MODULE_LOAD,
        "compiled for %s (%s-bit), this machine is " FC_ELF_MACHINE_NAME,
        machine_name(header->e_machine),
        header->e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32");
  }
  if (header->e_type != ET_DYN) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "ELF type %u is not a shared object: link with -shared",
                   header->e_type);
  }
  return FC_OK;
}

static const Elf64_Shdr *find_section(const fc_so_t *elf, uint32_t type) {
  for (size_t i = 0; i < elf->header->e_shnum; i++) {
    if (elf->sections[i].sh_type == type) return &elf->sections[i];
  }
  return NULL;
}

static bool names_of(const fc_so_t *elf, const Elf64_Shdr *symbols,
                     fc_str_t *out_names) {
  if (symbols->sh_link >= elf->header->e_shnum) return false;
  const Elf64_Shdr *names = &elf->sections[symbols->sh_link];
  size_t end;
  if (!fc_size_add(names->sh_offset, names->sh_size, &end) ||
      end > elf->bytes.size) {
    return false;
  }
  *out_names = fc_str_make(elf->bytes.data + names->sh_offset, names->sh_size);
  return true;
}

// Finds the table of all symbols, which includes those that are not exported.
// Programs run without it, so a damaged table is treated as missing.
static void find_all_symbols(fc_so_t *elf) {
  const Elf64_Shdr *symbols = find_section(elf, SHT_SYMTAB);
  if (!symbols || !names_of(elf, symbols, &elf->all_names)) return;
  elf->all_count = symbols->sh_size / sizeof(Elf64_Sym);
  elf->all_symbols =
      table_at(elf, symbols->sh_offset, elf->all_count, sizeof(Elf64_Sym));
}

static fc_status_t find_tables(fc_so_t *elf, fc_error_t *err) {
  const Elf64_Ehdr *header = elf->header;
  if (header->e_phnum > SEGMENTS_MAX) {
    return fc_fail(err, FC_CODE_MODULE_LOAD, "%u program headers, at most %d",
                   header->e_phnum, SEGMENTS_MAX);
  }
  if (header->e_phentsize == sizeof(Elf64_Phdr)) {
    elf->segments =
        table_at(elf, header->e_phoff, header->e_phnum, sizeof(Elf64_Phdr));
  }
  if (header->e_shentsize == sizeof(Elf64_Shdr) && header->e_shnum > 0) {
    elf->sections =
        table_at(elf, header->e_shoff, header->e_shnum, sizeof(Elf64_Shdr));
  }
  if (!elf->segments || !elf->sections) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "truncated or damaged: no %s headers",
                   elf->segments ? "section" : "program");
  }
  const Elf64_Shdr *symbols = find_section(elf, SHT_DYNSYM);
  const Elf64_Shdr *dynamic = find_section(elf, SHT_DYNAMIC);
  if (!symbols || !dynamic) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "no dynamic symbol table: nothing to call");
  }
  elf->symbol_count = symbols->sh_size / sizeof(Elf64_Sym);
  elf->symbols =
      table_at(elf, symbols->sh_offset, elf->symbol_count, sizeof(Elf64_Sym));
  elf->dynamic_count = dynamic->sh_size / sizeof(Elf64_Dyn);
  elf->dynamic =
      table_at(elf, dynamic->sh_offset, elf->dynamic_count, sizeof(Elf64_Dyn));
  if (!elf->symbols || !elf->dynamic || !names_of(elf, symbols, &elf->names)) {
    return fc_fail(err, FC_CODE_MODULE_LOAD,
                   "truncated or damaged: its tables lie outside the file");
  }
  find_all_symbols(elf);
  return FC_OK;
}

// Refuses code with relocations. Calls of malloc could be anywhere in it, and
// the loader makes the code read-only before these calls could be redirected.
static fc_status_t check_text(const fc_so_t *elf, fc_error_t *err) {
  for (size_t i = 0; i < elf->dynamic_count; i++) {
    const Elf64_Dyn *entry = &elf->dynamic[i];
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_TEXTREL ||
        (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL))) {
      return fc_fail(err, FC_CODE_MODULE_LOAD,
                     "its code has relocations: compile it with -fPIC");
    }
  }
  return FC_OK;
}

fc_status_t fc_so_parse(fc_str_t bytes, fc_so_t *out_elf, fc_error_t *err) {
  fc_so_t elf = {.bytes = bytes};
  elf.header = table_at(&elf, 0, 1, sizeof(Elf64_Ehdr));
  FC_TRY(check_header(&elf, err));
  FC_TRY(find_tables(&elf, err));
  FC_TRY(check_text(&elf, err));
  *out_elf = elf;
  return FC_OK;
}

static fc_str_t name_at(const fc_so_t *elf, uint64_t offset) {
  if (offset >= elf->names.size) return (fc_str_t){NULL, 0};
  const char *start = elf->names.data + offset;
  const size_t room = elf->names.size - offset;
  const char *end =
      memchr(start, '\0', room < NAME_MAX_SIZE ? room : NAME_MAX_SIZE);
  if (!end) return (fc_str_t){NULL, 0};
  return fc_str_make(start, (size_t)(end - start));
}

// Compares a symbol's name with `name`. Reads no more bytes than `name` and a terminator
// have.
static bool is_named(const fc_so_t *elf, const Elf64_Sym *symbol,
                     fc_str_t name) {
  if (symbol->st_name >= elf->names.size) return false;
  const char *start = elf->names.data + symbol->st_name;
  return name.size < elf->names.size - symbol->st_name &&
         !memcmp(start, name.data, name.size) && start[name.size] == '\0';
}

static bool is_visible(const Elf64_Sym *symbol) {
  const unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);
  return ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
         visibility != STV_HIDDEN && visibility != STV_INTERNAL;
}

bool fc_so_symbol(const fc_so_t *elf, size_t index, fc_so_symbol_t *out) {
  const Elf64_Sym *symbol = &elf->symbols[index];
  if (!is_visible(symbol)) return false;
  const unsigned binding = ELF64_ST_BIND(symbol->st_info);
  const unsigned type = ELF64_ST_TYPE(symbol->st_info);
  out->name = name_at(elf, symbol->st_name);
  out->defined = symbol->st_shndx != SHN_UNDEF;
  out->function = type == STT_FUNC || type == STT_GNU_IFUNC;
  out->weak = binding == STB_WEAK;
  return true;
}

// Returns the bytes of the file that are mapped at `address`, up to the end of its
// segment's part in the file.
static fc_str_t bytes_at(const fc_so_t *elf, uint64_t address) {
  for (size_t i = 0; i < elf->header->e_phnum; i++) {
    const Elf64_Phdr *segment = &elf->segments[i];
    if (segment->p_type != PT_LOAD || address < segment->p_vaddr) continue;
    uint64_t within = address - segment->p_vaddr;
    if (within >= segment->p_filesz) continue;
    size_t end;
    if (!fc_size_add(segment->p_offset, segment->p_filesz, &end) ||
        end > elf->bytes.size) {
      continue;
    }
    return fc_str_make(elf->bytes.data + segment->p_offset + within,
                       segment->p_filesz - within);
  }
  return (fc_str_t){NULL, 0};
}

static const Elf64_Sym *find_export(const fc_so_t *elf, fc_str_t name) {
  for (size_t i = 0; i < elf->symbol_count; i++) {
    const Elf64_Sym *symbol = &elf->symbols[i];
    if (symbol->st_shndx != SHN_UNDEF && is_visible(symbol) &&
        is_named(elf, symbol, name)) {
      return symbol;
    }
  }
  return NULL;
}

bool fc_so_exports(const fc_so_t *elf, fc_str_t name) {
  return find_export(elf, name) != NULL;
}

bool fc_so_text(const fc_so_t *elf, fc_str_t name, fc_str_t *out_text) {
  const Elf64_Sym *symbol = find_export(elf, name);
  if (!symbol) return false;
  fc_str_t text = bytes_at(elf, symbol->st_value);
  uint64_t size = symbol->st_size;
  if (size > 0 && size < text.size) text.size = size;
  const char *end = text.data ? memchr(text.data, '\0', text.size) : NULL;
  if (!end) return false;
  *out_text = fc_str_make(text.data, (size_t)(end - text.data));
  return true;
}

bool fc_so_uses_origin(const fc_so_t *elf) {
  for (size_t i = 0; i < elf->dynamic_count; i++) {
    const Elf64_Dyn *entry = &elf->dynamic[i];
    if (entry->d_tag != DT_RUNPATH && entry->d_tag != DT_RPATH) continue;
    fc_str_t path = name_at(elf, entry->d_un.d_val);
    if (path.data && memmem(path.data, path.size, "ORIGIN", 6)) return true;
  }
  return false;
}

// True for a path where only the administrator can put files.
static bool is_of_system(fc_str_t path) {
  return (fc_str_starts(path, FC_STR("/usr/")) ||
          fc_str_starts(path, FC_STR("/lib"))) &&
         !memmem(path.data, path.size, "..", 2) &&
         !memchr(path.data, '$', path.size);
}

static bool are_of_system(fc_str_t folders) {
  do {
    if (!is_of_system(fc_str_take(&folders, ':'))) return false;
  } while (folders.size);
  return true;
}

bool fc_so_loads_others(const fc_so_t *elf) {
  for (size_t i = 0; i < elf->dynamic_count; i++) {
    const Elf64_Dyn *entry = &elf->dynamic[i];
    const fc_str_t text = name_at(elf, entry->d_un.d_val);
    switch (entry->d_tag) {
      case DT_RPATH:
      case DT_RUNPATH:
        if (!text.data || !are_of_system(text)) return true;
        break;
      case DT_NEEDED:
        if (!text.data) return true;
        if (memchr(text.data, '/', text.size) && !is_of_system(text)) {
          return true;
        }
        break;
      case DT_AUDIT:
      case DT_DEPAUDIT:
      case DT_FILTER:
      case DT_AUXILIARY:
        return true;
      default:
        break;
    }
  }
  return false;
}

void fc_so_each_named(const fc_so_t *elf, int64_t tag,
                      void (*visit)(void *context, fc_str_t name),
                      void *context) {
  for (size_t i = 0; i < elf->dynamic_count; i++) {
    if (elf->dynamic[i].d_tag != tag) continue;
    fc_str_t name = name_at(elf, elf->dynamic[i].d_un.d_val);
    if (name.data) visit(context, name);
  }
}

static bool is_mapped(const fc_so_t *elf, uint64_t address, uint64_t size) {
  for (size_t i = 0; i < elf->header->e_phnum; i++) {
    const Elf64_Phdr *segment = &elf->segments[i];
    if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
        size <= segment->p_memsz &&
        address - segment->p_vaddr <= segment->p_memsz - size) {
      return true;
    }
  }
  return false;
}

void fc_so_each_reference(const fc_so_t *elf,
                          void (*visit)(void *context, fc_str_t symbol,
                                        uint64_t address),
                          void *context) {
  for (size_t i = 0; i < elf->header->e_shnum; i++) {
    const Elf64_Shdr *section = &elf->sections[i];
    if (section->sh_type != SHT_RELA || !(section->sh_flags & SHF_ALLOC)) {
      continue;
    }
    const size_t count = section->sh_size / sizeof(Elf64_Rela);
    const Elf64_Rela *entries =
        table_at(elf, section->sh_offset, count, sizeof(Elf64_Rela));
    for (size_t k = 0; entries && k < count; k++) {
      const size_t index = ELF64_R_SYM(entries[k].r_info);
      const uint64_t address = entries[k].r_offset;
      if (!is_slot(ELF64_R_TYPE(entries[k].r_info)) ||
          index >= elf->symbol_count || entries[k].r_addend != 0 ||
          address % 8 != 0 || !is_mapped(elf, address, 8)) {
        continue;
      }
      fc_str_t name = name_at(elf, elf->symbols[index].st_name);
      if (name.data) visit(context, name, address);
    }
  }
}

bool fc_so_is_relro(const fc_so_t *elf, uint64_t address) {
  return fc_so_is_protected(elf, address, 1);
}

// The protected range is rounded down to pages at both ends, as glibc does
// (_dl_protect_relro).
bool fc_so_is_protected(const fc_so_t *elf, uint64_t address,
                        uint64_t page_size) {
  for (size_t i = 0; i < elf->header->e_phnum; i++) {
    const Elf64_Phdr *segment = &elf->segments[i];
    size_t end;
    if (segment->p_type != PT_GNU_RELRO ||
        !fc_size_add(segment->p_vaddr, segment->p_memsz, &end)) {
      continue;
    }
    const uint64_t mask = ~(page_size - 1);
    if (address >= (segment->p_vaddr & mask) && address < (end & mask)) {
      return true;
    }
  }
  return false;
}

// True for a section that may contain only what crtbeginS.o adds to every object:
// __dso_handle (8 bytes) in .data, and in .bss one byte, which the linker pads to 8.
static bool may_be_of_crt(const Elf64_Shdr *section) {
  const bool bss = section->sh_type == SHT_NOBITS;
  return section->sh_size <= 8 && !(bss && section->sh_addralign > 1);
}

// True for a section of writable data that may keep state from call to call. Data that
// is read-only after relocation cannot.
static bool may_have_state(const fc_so_t *elf, const Elf64_Shdr *section,
                           uint64_t got_plt) {
  const uint64_t writable = SHF_WRITE | SHF_ALLOC;
  if ((section->sh_flags & writable) != writable) return false;
  if (section->sh_flags & SHF_TLS) return true;
  if (section->sh_type == SHT_INIT_ARRAY ||
      section->sh_type == SHT_FINI_ARRAY || section->sh_type == SHT_DYNAMIC) {
    return false;
  }
  return !fc_so_is_relro(elf, section->sh_addr) && section->sh_addr != got_plt;
}

static bool is_symbol_of_crt(const fc_so_t *elf, const Elf64_Sym *symbol) {
  if (symbol->st_name >= elf->all_names.size) return false;
  const fc_str_t rest = fc_str_make(elf->all_names.data + symbol->st_name,
                                    elf->all_names.size - symbol->st_name);
  return fc_str_starts(rest, FC_STR("completed.")) ||
         fc_str_starts(rest, fc_str_make("__dso_handle", 13));
}

// Counts the bytes of the module's own named variables in sections for which
// may_be_of_crt is true.
static size_t named_state(const fc_so_t *elf, uint64_t got_plt) {
  size_t total = 0;
  for (size_t i = 0; elf->all_symbols && i < elf->all_count; i++) {
    const Elf64_Sym *symbol = &elf->all_symbols[i];
    if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT ||
        symbol->st_shndx >= elf->header->e_shnum ||
        is_symbol_of_crt(elf, symbol)) {
      continue;
    }
    const Elf64_Shdr *section = &elf->sections[symbol->st_shndx];
    if (!may_be_of_crt(section) || !may_have_state(elf, section, got_plt)) {
      continue;
    }
    if (!fc_size_add(total, symbol->st_size, &total)) return SIZE_MAX;
  }
  return total;
}

size_t fc_so_state_size(const fc_so_t *elf) {
  uint64_t got_plt = UINT64_MAX;
  for (size_t i = 0; i < elf->dynamic_count; i++) {
    if (elf->dynamic[i].d_tag == DT_PLTGOT) {
      got_plt = elf->dynamic[i].d_un.d_ptr;
    }
  }
  size_t total = named_state(elf, got_plt);
  for (size_t i = 0; i < elf->header->e_shnum; i++) {
    const Elf64_Shdr *section = &elf->sections[i];
    if (!may_have_state(elf, section, got_plt)) continue;
    if (may_be_of_crt(section) && !(section->sh_flags & SHF_TLS)) continue;
    if (!fc_size_add(total, section->sh_size, &total)) return SIZE_MAX;
  }
  return total;
}
