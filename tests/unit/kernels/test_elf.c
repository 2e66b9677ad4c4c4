// SPDX-License-Identifier: Apache-2.0
//
// The loader of kernel ELF files, tested with a file of the real compiler (the newest
// module under tests/corpus/iree). The file is loaded; each rule has a row that breaks
// it; and no changed byte in the tables makes the loader access memory outside the
// image (the address sanitizer watches).
#include "helpers/test.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernels/library.h"

#define MODULE FC_TEST_NATIVE "/releases/versions-3.13.0-llvm-cpu.vmfb"

#if defined(__aarch64__)
#define RELOC_ABSOLUTE R_AARCH64_ABS64
#define RELOC_GLOB_DAT R_AARCH64_GLOB_DAT
#else
#define RELOC_ABSOLUTE R_X86_64_64
#define RELOC_GLOB_DAT R_X86_64_GLOB_DAT
#endif

static char *image;
static size_t image_size;

// Finds the kernel ELF inside the module, at a multiple of 16 bytes.
static int read_image(void **state) {
  (void)state;
  FILE *file = fopen(MODULE, "rb");
  assert_non_null(file);
  static char bytes[1 << 20];
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  for (size_t at = 0; at + sizeof(Elf64_Ehdr) < size; at += 16) {
    if (memcmp(bytes + at, ELFMAG, SELFMAG) != 0) continue;
    image = bytes + at;
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    // The section headers are the end of an ELF file.
    image_size = header.e_shoff + header.e_shnum * header.e_shentsize;
    assert_true(image_size <= size - at);
    return 0;
  }
  return -1;
}

static fc_status_t load(const char *bytes, size_t size, fc_error_t *err) {
  fc_elf_t *elf = NULL;
  fc_status_t status =
      fc_elf_load(fc_str_make(bytes, size), fc_allocator_system(), &elf, err);
  if (status == FC_OK) fc_elf_unload(elf);
  return status;
}

static void a_real_image_loads(void **state) {
  (void)state;
  fc_error_t err;
  fc_elf_t *elf;
  assert_int_equal(fc_elf_load(fc_str_make(image, image_size),
                               fc_allocator_system(), &elf, &err),
                   FC_OK);
  const fc_str_t query = FC_STR("iree_hal_executable_library_query");
  uintptr_t begin, end;
  fc_elf_range(elf, &begin, &end);
  const uintptr_t address = (uintptr_t)fc_elf_find(elf, query);
  assert_true(address >= begin && address < end);
  assert_null(fc_elf_find(elf, fc_str_make(query.data, query.size - 1)));
  assert_null(fc_elf_find(elf, FC_STR("")));
  fc_cpu_t cpu;
  fc_cpu_read(&cpu);
  fc_library_t *library;
  assert_int_equal(fc_library_open(elf, &cpu, NULL, 0, fc_allocator_system(),
                                   &library, &err),
                   FC_OK);
  assert_true(fc_library_count(library) >= 1);
  for (size_t i = 0; i < fc_library_count(library); i++) {
    assert_true(fc_library_at(library, i)->name.size > 0);
    assert_true(fc_library_at(library, i)->binding_count > 0);
  }
  fc_library_close(library);
}

// ---------------------------------------------------------------------------
// Rows that break one rule each

typedef struct patch_row_t {
  const char *name;
  void (*patch)(char *bytes);
  const char *reason;
} patch_row_t;

// A table is aligned: the file was read into aligned memory.
static void *table_at(char *bytes, uint64_t offset) { return bytes + offset; }

static Elf64_Ehdr *header_of(char *bytes) { return table_at(bytes, 0); }

static Elf64_Phdr *segment_of(char *bytes, uint32_t type, unsigned number) {
  Elf64_Phdr *rows = table_at(bytes, header_of(bytes)->e_phoff);
  for (size_t i = 0; i < header_of(bytes)->e_phnum; i++) {
    if (rows[i].p_type == type && number-- == 0) return &rows[i];
  }
  fail();
  return NULL;
}

static Elf64_Dyn *entry_of(char *bytes, int64_t tag) {
  const Elf64_Phdr *segment = segment_of(bytes, PT_DYNAMIC, 0);
  Elf64_Dyn *entry = table_at(bytes, segment->p_offset);
  while (entry->d_tag != DT_NULL && entry->d_tag != tag) entry++;
  assert_true(entry->d_tag == tag);
  return entry;
}

// The tables are in the first segment, where addresses equal file offsets.
static Elf64_Rela *relocation_of(char *bytes) {
  return table_at(bytes, entry_of(bytes, DT_RELA)->d_un.d_ptr);
}

static Elf64_Sym *symbol_of(char *bytes) {
  Elf64_Sym *first = table_at(bytes, entry_of(bytes, DT_SYMTAB)->d_un.d_ptr);
  return first + 1;
}

static void magic(char *b) { b[0] = 0; }
static void class_32(char *b) { b[EI_CLASS] = ELFCLASS32; }
static void big_endian(char *b) { b[EI_DATA] = ELFDATA2MSB; }
static void executable(char *b) { header_of(b)->e_type = ET_EXEC; }
static void machine(char *b) { header_of(b)->e_machine = EM_RISCV; }
static void phentsize(char *b) { header_of(b)->e_phentsize = 32; }
static void phoff(char *b) { header_of(b)->e_phoff = UINT64_MAX - 8; }
static void phnum(char *b) { header_of(b)->e_phnum = 65535; }
static void offset_wraps(char *b) {
  segment_of(b, PT_LOAD, 0)->p_offset = UINT64_MAX - 8;
}
static void filesz_over(char *b) {
  segment_of(b, PT_LOAD, 0)->p_filesz = (uint64_t)1 << 40;
}
static void memsz_under(char *b) { segment_of(b, PT_LOAD, 1)->p_memsz = 1; }
static void memsz_huge(char *b) {
  segment_of(b, PT_LOAD, 1)->p_memsz = UINT64_MAX;
}
static void vaddr_huge(char *b) {
  segment_of(b, PT_LOAD, 2)->p_vaddr = UINT64_MAX - 4095;
}
static void overlap(char *b) { segment_of(b, PT_LOAD, 1)->p_vaddr = 0; }
static void write_exec(char *b) {
  segment_of(b, PT_LOAD, 1)->p_flags = PF_R | PF_W | PF_X;
}
static void interpreter(char *b) {
  segment_of(b, PT_DYNAMIC, 0)->p_type = PT_INTERP;
}
static void no_dynamic(char *b) {
  segment_of(b, PT_DYNAMIC, 0)->p_type = PT_NULL;
}
static void dynamic_outside(char *b) {
  segment_of(b, PT_DYNAMIC, 0)->p_memsz = 1 << 24;
}
static void needed(char *b) { entry_of(b, DT_SYMENT)->d_tag = DT_NEEDED; }
static void constructor(char *b) { entry_of(b, DT_SYMENT)->d_tag = DT_INIT; }
static void text_relocations(char *b) {
  entry_of(b, DT_SYMENT)->d_tag = DT_TEXTREL;
}
static void syment(char *b) { entry_of(b, DT_SYMENT)->d_un.d_val = 16; }
static void relaent(char *b) { entry_of(b, DT_RELAENT)->d_un.d_val = 16; }
static void hash_outside(char *b) {
  entry_of(b, DT_HASH)->d_un.d_ptr = (uint64_t)1 << 40;
}
static void symbols_outside(char *b) {
  entry_of(b, DT_SYMTAB)->d_un.d_ptr = (uint64_t)1 << 40;
}
static void strings_outside(char *b) {
  entry_of(b, DT_STRSZ)->d_un.d_val = (uint64_t)1 << 40;
}
static void rela_outside(char *b) {
  entry_of(b, DT_RELASZ)->d_un.d_val = (uint64_t)24 << 40;
}
static void rela_odd(char *b) { entry_of(b, DT_RELASZ)->d_un.d_val -= 1; }
static void undefined(char *b) { symbol_of(b)->st_shndx = SHN_UNDEF; }
static void ifunc(char *b) {
  symbol_of(b)->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
}
static void symbol_name(char *b) { symbol_of(b)->st_name = UINT32_MAX; }
static void symbol_value(char *b) { symbol_of(b)->st_value = UINT64_MAX; }
static void relocate_text(char *b) { relocation_of(b)->r_offset = 0; }
static void relocate_outside(char *b) {
  relocation_of(b)->r_offset = UINT64_MAX - 3;
}
static void addend_outside(char *b) { relocation_of(b)->r_addend = -8; }
static void relocation_kind(char *b) {
  relocation_of(b)->r_info = ELF64_R_INFO(0, 99);
}
static void symbol_behind(char *b) {
  const uint32_t *hash = table_at(b, entry_of(b, DT_HASH)->d_un.d_ptr);
  relocation_of(b)->r_info = ELF64_R_INFO((uint64_t)hash[1], RELOC_GLOB_DAT);
}
static void no_symbol(char *b) {
  relocation_of(b)->r_info = ELF64_R_INFO(0, RELOC_ABSOLUTE);
}
static void symbol_index(char *b) {
  relocation_of(b)->r_info = ELF64_R_INFO(0x7FFFFFFF, RELOC_GLOB_DAT);
}

// Moves a table to the segment that relocations write into, and updates its entry.
static void move_to_writable(char *b, int64_t tag, size_t size) {
  const Elf64_Phdr *data = segment_of(b, PT_LOAD, 2);
  Elf64_Dyn *entry = entry_of(b, tag);
  memcpy(b + data->p_offset, b + entry->d_un.d_ptr, size);
  entry->d_un.d_ptr = data->p_vaddr;
}
static void writable_symbols(char *b) {
  Elf64_Rela *row = relocation_of(b);
  move_to_writable(b, DT_SYMTAB, 2 * sizeof(Elf64_Sym));
  // The relocation would rename the first symbol after its name was checked.
  row->r_offset = segment_of(b, PT_LOAD, 2)->p_vaddr + sizeof(Elf64_Sym);
}
static void writable_strings(char *b) {
  move_to_writable(b, DT_STRTAB, entry_of(b, DT_STRSZ)->d_un.d_val);
}
static void writable_relocations(char *b) {
  // The segment has room for one relocation only.
  entry_of(b, DT_RELASZ)->d_un.d_val = sizeof(Elf64_Rela);
  move_to_writable(b, DT_RELA, sizeof(Elf64_Rela));
}
// The second segment begins on the last page of the first segment, after its last byte.
static void shared_page(char *b) {
  Elf64_Phdr *first = segment_of(b, PT_LOAD, 0);
  Elf64_Phdr *second = segment_of(b, PT_LOAD, 1);
  assert_true(first->p_memsz % 4096 != 0);
  second->p_vaddr = first->p_vaddr + first->p_memsz;
}

static const patch_row_t patches[] = {
    {"magic", magic, "no ELF magic"},
    {"32 bits", class_32, "not a 64-bit"},
    {"big endian", big_endian, "not a 64-bit little-endian"},
    {"executable", executable, "not a shared object"},
    {"other machine", machine, "another architecture"},
    {"program header size", phentsize, "unknown size"},
    {"program headers wrap", phoff, "program headers outside"},
    {"program headers beyond", phnum, "program headers outside"},
    {"segment offset wraps", offset_wraps, "segment outside the file"},
    {"segment beyond the file", filesz_over, "more bytes than room"},
    {"memory below file size", memsz_under, "more bytes than room"},
    {"memory size wraps", memsz_huge, "beyond 1 GiB"},
    {"address wraps", vaddr_huge, "beyond 1 GiB"},
    {"overlap", overlap, "overlaps"},
    {"a page of two segments", shared_page, "shares a page"},
    {"writable code", write_exec, "both writable and executable"},
    {"interpreter", interpreter, "interpreter"},
    {"no dynamic section", no_dynamic, "no dynamic section"},
    {"dynamic section outside", dynamic_outside, "dynamic section outside"},
    {"a library", needed, "needs a library"},
    {"a constructor", constructor, "a constructor"},
    {"text relocations", text_relocations, "text relocations"},
    {"symbol size", syment, "of an unknown kind"},
    {"relocation size", relaent, "of an unknown kind"},
    {"hash outside", hash_outside, "no symbol hash table"},
    {"symbols outside", symbols_outside, "symbol table outside"},
    {"strings outside", strings_outside, "string table outside"},
    {"relocations outside", rela_outside, "relocations outside"},
    {"part of a relocation", rela_odd, "relocations outside"},
    {"symbols that relocations write", writable_symbols,
     "symbol table in writable memory"},
    {"strings that relocations write", writable_strings,
     "string table in writable memory"},
    {"relocations that write relocations", writable_relocations,
     "relocations in writable memory"},
    {"undefined symbol", undefined, "undefined symbol"},
    {"indirect function", ifunc, "indirect function"},
    {"symbol name outside", symbol_name, "outside the string table"},
    {"symbol outside", symbol_value, "symbol outside the image"},
    {"relocated text", relocate_text, "not writable"},
    {"relocation outside", relocate_outside, "not writable"},
    {"target outside", addend_outside, "leaves the image"},
    {"unknown relocation", relocation_kind, "unknown kind of relocation"},
    {"no symbol", no_symbol, "against no symbol"},
    {"symbol behind the last", symbol_behind, "against no symbol"},
    {"symbol index outside", symbol_index, "against no symbol"},
};

static void every_broken_rule_is_named(void **state) {
  (void)state;
  char *copy = malloc(image_size);
  assert_non_null(copy);
  FC_TEST_EACH_ROW(const patch_row_t, row, patches) {
    memcpy(copy, image, image_size);
    row->patch(copy);
    fc_error_t err;
    assert_int_not_equal(load(copy, image_size, &err), FC_OK);
    assert_int_equal(err.code, FC_CODE_MODULE_LOAD);
    if (!strstr(err.message, row->reason)) print_error("%s\n", err.message);
    assert_non_null(strstr(err.message, row->reason));
  }
  free(copy);
}

// The rights of the page at `address`, for example "r--p".
static void read_protection(uintptr_t address, char out[5]) {
  FILE *maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  unsigned long begin, end;
  char line[512], rights[5] = "";
  memcpy(out, "none", 5);
  while (fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3) continue;
    if (address >= begin && address < end) memcpy(out, rights, 5);
  }
  fclose(maps);
}

static void segments_are_as_protected_as_they_say(void **state) {
  (void)state;
  fc_error_t err;
  fc_elf_t *elf;
  assert_int_equal(fc_elf_load(fc_str_make(image, image_size),
                               fc_allocator_system(), &elf, &err),
                   FC_OK);
  uintptr_t begin, end;
  char rights[5];
  fc_elf_range(elf, &begin, &end);
  for (unsigned i = 0; i < 3; i++) {
    const Elf64_Phdr *segment = segment_of(image, PT_LOAD, i);
    const bool code = segment->p_flags & PF_X;
    read_protection(begin + segment->p_vaddr, rights);
    // Data is read-only: only relocations write to it, and they are done.
    assert_string_equal(rights, code ? "r-xp" : "r--p");
  }
  fc_elf_unload(elf);
}

static void truncated_images_are_refused(void **state) {
  (void)state;
  fc_error_t err;
  const Elf64_Phdr *last = segment_of(image, PT_LOAD, 2);
  const size_t needed_size = last->p_offset + last->p_filesz;
  for (size_t size = 0; size < needed_size; size += size < 1024 ? 1 : 61) {
    char *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, image, size);
    assert_int_not_equal(load(copy, size, &err), FC_OK);
    free(copy);
  }
}

// Changes headers, dynamic section, symbols, strings and relocations, one byte at a
// time.
static void changed_bytes_never_harm(void **state) {
  (void)state;
  char *copy = malloc(image_size);
  assert_non_null(copy);
  const Elf64_Phdr *first = segment_of(image, PT_LOAD, 0);
  const Elf64_Phdr *dynamic = segment_of(image, PT_DYNAMIC, 0);
  size_t loaded = 0, tried = 0;
  for (size_t at = 0; at < image_size; at++) {
    const bool table = at < first->p_filesz && at < 4096;
    const bool entry =
        at >= dynamic->p_offset && at < dynamic->p_offset + dynamic->p_filesz;
    if (!table && !entry) continue;
    static const unsigned char masks[] = {0x01, 0x10, 0x80, 0xFF};
    for (size_t i = 0; i < sizeof masks; i++) {
      memcpy(copy, image, image_size);
      copy[at] = (char)(copy[at] ^ masks[i]);
      fc_error_t err;
      tried++;
      loaded += load(copy, image_size, &err) == FC_OK;
    }
  }
  free(copy);
  assert_true(tried > 4096);
  assert_true(loaded > 0 && loaded < tried);
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  (void)context;
  fc_elf_t *elf;
  FC_TRY(fc_elf_load(fc_str_make(image, image_size), allocator, &elf, err));
  fc_cpu_t cpu;
  fc_cpu_read(&cpu);
  fc_library_t *library;
  FC_TRY(fc_library_open(elf, &cpu, NULL, 0, allocator, &library, err));
  fc_library_close(library);
  return FC_OK;
}

static long page_size;  // 0: this machine's
long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name) {
  return page_size && name == _SC_PAGESIZE ? page_size : __real_sysconf(name);
}

// Compilers leave room between segments for the largest page that their target may
// have: 4 KiB on x86-64, 64 KiB on AArch64.
static void pages_may_be_as_large_as_the_target_s(void **state) {
  (void)state;
#if defined(__aarch64__)
  const bool loads = true;
#else
  const bool loads = false;
#endif
  for (long size = 4096; size <= 65536; size *= 4) {
    fc_error_t err;
    fc_error_reset(&err);
    page_size = size;
    const fc_status_t status = load(image, image_size, &err);
    page_size = 0;
    assert_int_equal(status == FC_OK, loads || size == 4096);
    if (status != FC_OK) {
      assert_non_null(strstr(err.message, "shares a page with another"));
    }
  }
}

static void opening_survives_failing_allocations(void **state) {
  (void)state;
  assert_true(fc_test_allocation_sweep(attempt, NULL) >= 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_real_image_loads),
      FC_TEST(every_broken_rule_is_named),
      FC_TEST(segments_are_as_protected_as_they_say),
      FC_TEST(pages_may_be_as_large_as_the_target_s),
      FC_TEST(truncated_images_are_refused),
      FC_TEST(changed_bytes_never_harm),
      FC_TEST(opening_survives_failing_allocations),
  };
  return cmocka_run_group_tests_name("elf", tests, read_image, NULL);
}
