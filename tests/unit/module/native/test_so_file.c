// SPDX-License-Identifier: Apache-2.0
//
// Reads shared objects that the C compiler made, and damaged ones.
#include "helpers/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "module/native/so_file.h"

#define MODULES FARCALL_BUILD_DIR "/tests/modules/native/"

static fc_str_t read_module(const char *name) {
  char path[512];
  snprintf(path, sizeof path, MODULES "%s.so", name);
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("%s", path);
  char *bytes = aligned_alloc(64, 1 << 20);
  size_t size = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return fc_str_make(bytes, size);
}

static void forget(fc_str_t bytes) { free((void *)(uintptr_t)bytes.data); }

static bool has(const fc_so_t *elf, const char *name, bool defined) {
  for (size_t i = 0; i < elf->symbol_count; i++) {
    fc_so_symbol_t symbol;
    if (fc_so_symbol(elf, i, &symbol) && symbol.defined == defined &&
        fc_str_equal(symbol.name, fc_str(name))) {
      return true;
    }
  }
  return false;
}

static void exports_imports_and_the_embedded_text(void **state) {
  (void)state;
  fc_so_t elf;
  fc_error_t err;
  fc_str_t owner = read_module("owner");
  assert_int_equal(fc_so_parse(owner, &elf, &err), FC_OK);
  assert_true(has(&elf, "_mlir_ciface_fresh", true));
  assert_true(has(&elf, "malloc", false));
  assert_false(has(&elf, "filled", true));
  assert_true(fc_so_exports(&elf, FC_STR("_mlir_ciface_fresh")));
  assert_false(fc_so_exports(&elf, FC_STR("_mlir_ciface_fres")));
  assert_false(fc_so_exports(&elf, FC_STR("malloc")));
  fc_str_t text;
  assert_false(fc_so_text(&elf, FC_STR("__farcall_abi"), &text));
  assert_false(fc_so_uses_origin(&elf));
  forget(owner);

  fc_str_t embedded = read_module("embedded");
  assert_int_equal(fc_so_parse(embedded, &elf, &err), FC_OK);
  assert_true(fc_so_text(&elf, FC_STR("__farcall_abi"), &text));
  assert_true(fc_str_starts(text, FC_STR("{\"farcall\":1,")));
  assert_true(fc_str_ends(text, FC_STR("]}]}")));
  forget(embedded);
}

static void state_is_writable_data_of_its_own(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool has_state;
  } rows[] = {{"owner", false},    {"scalars", false},  {"hostile", false},
              {"state", true},     {"impure", true},    {"tables", true},
              {"embedded", false}, {"fastmath", false}, {"threaded", true},
              {"flag", true}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    fc_so_t elf;
    fc_error_t err;
    fc_str_t bytes = read_module(rows[i].name);
    assert_int_equal(fc_so_parse(bytes, &elf, &err), FC_OK);
    assert_int_equal(fc_so_state_size(&elf) > 0, rows[i].has_state);
    forget(bytes);
  }
  fc_test_row(NULL);
}

// The writable data of tables.so begins exactly where the read-only part ends.
static void the_read_only_part_ends_at_its_end(void **state) {
  (void)state;
  fc_so_t elf;
  fc_error_t err;
  fc_str_t bytes = read_module("tables");
  assert_int_equal(fc_so_parse(bytes, &elf, &err), FC_OK);
  const Elf64_Phdr *relro = elf.segments;
  while (relro->p_type != PT_GNU_RELRO) {
    assert_true(++relro < elf.segments + elf.header->e_phnum);
  }
  const uint64_t begin = relro->p_vaddr, end = begin + relro->p_memsz;
  assert_false(fc_so_is_relro(&elf, begin - 1));
  assert_true(fc_so_is_relro(&elf, begin));
  assert_true(fc_so_is_relro(&elf, end - 1));
  assert_false(fc_so_is_relro(&elf, end));
  const Elf64_Shdr *data = elf.sections;
  while (data->sh_addr != end || data->sh_type != SHT_PROGBITS) {
    assert_true(++data < elf.sections + elf.header->e_shnum);
  }
  assert_int_equal(data->sh_flags, SHF_WRITE | SHF_ALLOC);
  forget(bytes);
}

static Elf64_Sym *symbol_of(const fc_so_t *elf, const char *name) {
  for (size_t i = 0; i < elf->symbol_count; i++) {
    const Elf64_Sym *symbol = &elf->symbols[i];
    if (!strcmp(elf->names.data + symbol->st_name, name)) {
      return (Elf64_Sym *)(uintptr_t)symbol;
    }
  }
  fail_msg("%s", name);
  return NULL;
}

static void only_what_others_see_is_exported(void **state) {
  (void)state;
  static const struct {
    unsigned char visibility;
    bool exported;
  } rows[] = {{STV_DEFAULT, true},
              {STV_PROTECTED, true},
              {STV_HIDDEN, false},
              {STV_INTERNAL, false}};
  fc_so_t elf;
  fc_error_t err;
  fc_str_t bytes = read_module("owner");
  assert_int_equal(fc_so_parse(bytes, &elf, &err), FC_OK);
  Elf64_Sym *symbol = symbol_of(&elf, "_mlir_ciface_fresh");
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    symbol->st_other = rows[i].visibility;
    assert_int_equal(fc_so_exports(&elf, FC_STR("_mlir_ciface_fresh")),
                     rows[i].exported);
    assert_int_equal(has(&elf, "_mlir_ciface_fresh", true), rows[i].exported);
  }
  forget(bytes);
}

// The table is cut before the terminator of its last name.
static void a_name_without_an_end_is_none(void **state) {
  (void)state;
  fc_so_t elf;
  fc_error_t err;
  fc_str_t bytes = read_module("owner");
  const fc_str_t name = FC_STR("_mlir_ciface_fresh");
  assert_int_equal(fc_so_parse(bytes, &elf, &err), FC_OK);
  elf.names.size = symbol_of(&elf, name.data)->st_name + name.size + 1;
  assert_true(fc_so_exports(&elf, name));
  elf.names.size--;
  assert_false(fc_so_exports(&elf, name));
  forget(bytes);
}

static void note_malloc(void *context, fc_str_t symbol, uint64_t address) {
  (void)address;
  int *count = context;
  *count += fc_str_equal(symbol, FC_STR("malloc"));
}

static void the_places_of_imported_addresses(void **state) {
  (void)state;
  fc_so_t elf;
  fc_error_t err;
  int count = 0;
  fc_str_t bytes = read_module("owner");
  assert_int_equal(fc_so_parse(bytes, &elf, &err), FC_OK);
  fc_so_each_reference(&elf, note_malloc, &count);
  assert_int_equal(count, 1);
  forget(bytes);
}

static void note_address(void *context, fc_str_t symbol, uint64_t address) {
  uint64_t *highest = context;
  if (symbol.size && address > *highest) *highest = address;
}

static void a_place_lies_in_memory_to_its_last_byte(void **state) {
  (void)state;
  fc_so_t elf;
  fc_error_t err;
  uint64_t highest = 0, again = 0;
  fc_str_t bytes = read_module("owner");
  assert_int_equal(fc_so_parse(bytes, &elf, &err), FC_OK);
  fc_so_each_reference(&elf, note_address, &highest);
  assert_true(highest > 0);
  // The segment that holds this address is cut right after it, and then within it.
  Elf64_Phdr *segment = (Elf64_Phdr *)(uintptr_t)elf.segments;
  while (segment->p_type != PT_LOAD || highest < segment->p_vaddr ||
         highest >= segment->p_vaddr + segment->p_memsz) {
    segment++;
  }
  segment->p_memsz = highest + 8 - segment->p_vaddr;
  fc_so_each_reference(&elf, note_address, &again);
  assert_int_equal(again, highest);
  segment->p_memsz--;
  again = 0;
  fc_so_each_reference(&elf, note_address, &again);
  assert_true(again < highest);
  forget(bytes);
}

typedef struct damage_row_t {
  const char *name;
  size_t offset;
  uint8_t byte;
  const char *message;
} damage_row_t;

static const damage_row_t damages[] = {
    {"magic", 0, 'X', "not an ELF file"},
    {"class", EI_CLASS, ELFCLASS32, "compiled for"},
    {"machine", offsetof(Elf64_Ehdr, e_machine), EM_RISCV,
     "compiled for riscv (64-bit), this machine is "},
    {"type", offsetof(Elf64_Ehdr, e_type), ET_REL,
     "ELF type 1 is not a shared object: link with -shared"},
    {"many program headers", offsetof(Elf64_Ehdr, e_phnum), 129,
     "129 program headers, at most 128"},
    {"program headers", offsetof(Elf64_Ehdr, e_phoff) + 7, 0x7f,
     "truncated or damaged: no program headers"},
    {"section headers", offsetof(Elf64_Ehdr, e_shoff) + 7, 0x7f,
     "truncated or damaged: no section headers"},
};

static void damaged_files_say_what_is_wrong(void **state) {
  (void)state;
  fc_str_t bytes = read_module("owner");
  FC_TEST_EACH_ROW(const damage_row_t, row, damages) {
    fc_so_t elf;
    fc_error_t err;
    uint8_t *at = (uint8_t *)(uintptr_t)bytes.data + row->offset;
    const uint8_t good = *at;
    *at = row->byte;
    assert_int_equal(fc_so_parse(bytes, &elf, &err), FC_FAILED_PRECONDITION);
    assert_int_equal(err.code, FC_CODE_MODULE_LOAD);
    assert_non_null(strstr(err.message, row->message));
    *at = good;
  }
  forget(bytes);
}

static void a_truncated_file_is_refused(void **state) {
  (void)state;
  fc_str_t whole = read_module("owner");
  for (size_t size = 0; size < whole.size; size += 61) {
    // The copy is on the heap, with less than 16 bytes after its end: a read further on
    // would be noticed.
    char *bytes = aligned_alloc(16, (size + 16) & ~(size_t)15);
    memcpy(bytes, whole.data, size);
    fc_so_t elf;
    fc_error_t err;
    assert_int_not_equal(fc_so_parse(fc_str_make(bytes, size), &elf, &err),
                         FC_OK);
    free(bytes);
  }
  forget(whole);
}

static void code_with_relocations_is_refused(void **state) {
  (void)state;
  fc_so_t elf;
  fc_error_t err;
  fc_str_t bytes = read_module("owner");
  assert_int_equal(fc_so_parse(bytes, &elf, &err), FC_OK);
  Elf64_Dyn *flags = (Elf64_Dyn *)(uintptr_t)elf.dynamic;
  while (flags->d_tag != DT_FLAGS) {  // -z now
    assert_int_not_equal(flags->d_tag, DT_NULL);
    flags++;
  }
  flags->d_un.d_val |= DF_TEXTREL;
  assert_int_equal(fc_so_parse(bytes, &elf, &err), FC_FAILED_PRECONDITION);
  assert_string_equal(err.message,
                      "its code has relocations: compile it with -fPIC");
  forget(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(exports_imports_and_the_embedded_text),
      FC_TEST(state_is_writable_data_of_its_own),
      FC_TEST(the_read_only_part_ends_at_its_end),
      FC_TEST(only_what_others_see_is_exported),
      FC_TEST(a_name_without_an_end_is_none),
      FC_TEST(the_places_of_imported_addresses),
      FC_TEST(a_place_lies_in_memory_to_its_last_byte),
      FC_TEST(damaged_files_say_what_is_wrong),
      FC_TEST(a_truncated_file_is_refused),
      FC_TEST(code_with_relocations_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
