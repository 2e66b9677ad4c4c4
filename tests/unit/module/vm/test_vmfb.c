// SPDX-License-Identifier: Apache-2.0
//
// Files that are wrong in one place: the container, a table or a descriptor. Each is a
// good module in which one field is overwritten.
#include "module/vm/vmfb.h"

#include "module/vm/archive.h"
#include "module/vm/flatbuffer.h"
#include "module/vm/run.h"

// Field numbers of the root table and of its parts.
enum {
  TYPES = 4,
  IMPORTS = 6,
  EXPORTS = 7,
  SIGNATURES = 8,
  RODATA = 9,
  STATE = 11,
  DESCRIPTORS = 12,
  BYTECODE_VERSION = 13,
};

typedef enum place_t {
  AT_FILE,     // byte `at` of the file
  AT_ROOT,     // field `id` of the root
  AT_VECTOR,   // byte `at` of the vector in field `id`; -4: its count
  AT_ELEMENT,  // field `at` of table 0 of the vector in field `id`
  AT_TABLE,    // field `at` of the table in field `id`
} place_t;

typedef struct row_t {
  const char *name;
  const char *file;
  place_t place;
  uint32_t id;
  int32_t at;
  uint32_t bytes;
  uint64_t value;
  fc_code_t code;
  const char *message;
} row_t;

#define SCALARS "scalars-3.13.0.vmfb"
#define VMVX "versions-3.13.0-vmvx.vmfb"
#define INVALID FC_CODE_VMFB_INVALID

static const row_t rows[] = {
    {"neither zip nor flatbuffer", SCALARS, AT_FILE, 0, 0, 4, 0, INVALID,
     "no flatbuffer with the identifier IREE"},
    {"a zip name past the end", SCALARS, AT_FILE, 0, 26, 2, 0xFFFF, INVALID,
     "passes the end"},
    {"a newer bytecode", SCALARS, AT_ROOT, BYTECODE_VERSION, 0, 4, 18 << 16,
     FC_CODE_VMFB_VERSION, "bytecode 18.0; this farcall reads 15.0 to 17.0"},
    {"an older bytecode", SCALARS, AT_ROOT, BYTECODE_VERSION, 0, 4, 14 << 16,
     FC_CODE_VMFB_VERSION, "bytecode 14.0; this farcall reads 15.0 to 17.0"},
    {"a newer minor", SCALARS, AT_ROOT, BYTECODE_VERSION, 0, 4, 17 << 16 | 1,
     FC_CODE_VMFB_VERSION, "bytecode 17.1"},
    {"a function at a negative offset", SCALARS, AT_VECTOR, DESCRIPTORS, 0, 4,
     (uint32_t)-8, INVALID, "code outside bytecode_data"},
    {"a negative length whose sum is in range", SCALARS, AT_VECTOR, DESCRIPTORS,
     4, 4, (uint32_t)-1, INVALID, "code outside bytecode_data"},
    {"a length of 0", SCALARS, AT_VECTOR, DESCRIPTORS, 4, 4, 0, INVALID,
     "code outside bytecode_data"},
    {"a length past the end", SCALARS, AT_VECTOR, DESCRIPTORS, 4, 4, 1 << 20,
     INVALID, "code outside bytecode_data"},
    {"an unknown feature", SCALARS, AT_VECTOR, DESCRIPTORS, 8, 4, 1 << 4,
     INVALID, "unknown requirements"},
    {"no blocks", SCALARS, AT_VECTOR, DESCRIPTORS, 14, 2, 0, INVALID,
     "block count outside 1 to 32767"},
    {"negative blocks", SCALARS, AT_VECTOR, DESCRIPTORS, 14, 2, 0xFFFF, INVALID,
     "block count outside 1 to 32767"},
    {"negative cells", SCALARS, AT_VECTOR, DESCRIPTORS, 16, 2, 0x8000, INVALID,
     "too many registers"},
    {"more refs than operands can name", SCALARS, AT_VECTOR, DESCRIPTORS, 18, 2,
     0x4000, INVALID, "too many registers"},
    {"fewer descriptors than signatures", SCALARS, AT_VECTOR, DESCRIPTORS, -4,
     4, 1, INVALID, "function_signatures for 1 function_descriptors"},
    {"an export of no function", SCALARS, AT_ELEMENT, EXPORTS, 1, 4, 1000,
     INVALID, "]: no such function"},
    {"a negative export", SCALARS, AT_ELEMENT, EXPORTS, 1, 4, UINT32_MAX,
     INVALID, "]: no such function"},
    {"negative globals", SCALARS, AT_TABLE, STATE, 0, 4, UINT32_MAX, INVALID,
     "of globals, at most"},
    {"a vector past the end", SCALARS, AT_VECTOR, TYPES, -4, 4, 1 << 30,
     INVALID, "types: vector passes the end of the file"},
    {"rodata where the sum wraps", VMVX, AT_ELEMENT, RODATA, 3, 8,
     UINT64_MAX - 63, INVALID, "passes the end of the file"},
};

static uint8_t *field_of(const fc_fb_table_t *table, uint32_t id) {
  assert_true(id < table->field_count && fc_fb_has(table, id));
  const uint8_t *vtable = table->buffer.data + table->vtable;
  uint16_t offset = (uint16_t)(vtable[4 + 2 * id] | vtable[5 + 2 * id] << 8);
  return (uint8_t *)(uintptr_t)table->buffer.data + table->position + offset;
}

static uint8_t *find_place(const row_t *row, uint8_t *data, size_t size) {
  fc_vm_archive_t archive;
  fc_error_t err;
  fc_fb_table_t root, table;
  fc_fb_vector_t vector;
  assert_int_equal(fc_vm_archive_parse(data, size, &archive, &err), FC_OK);
  fc_fb_t buffer = {data + archive.flatbuffer,
                    (uint32_t)archive.flatbuffer_size, NULL};
  assert_int_equal(fc_fb_root(buffer, &root, &err), FC_OK);
  switch (row->place) {
    case AT_ROOT:
      return field_of(&root, row->id);
    case AT_VECTOR:
      assert_int_equal(fc_fb_vector(&root, row->id, "", 1, &vector, &err), 0);
      return data + archive.flatbuffer + vector.position + row->at;
    case AT_ELEMENT:
      assert_int_equal(fc_fb_vector(&root, row->id, "", 4, &vector, &err), 0);
      for (uint32_t i = 0; i < vector.count; i++) {
        assert_int_equal(fc_fb_vector_table(&vector, i, "", &table, &err), 0);
        if (fc_fb_has(&table, (uint32_t)row->at)) break;
      }
      return field_of(&table, (uint32_t)row->at);
    case AT_TABLE:
      assert_int_equal(fc_fb_table(&root, row->id, "", &table, &err), 0);
      return field_of(&table, (uint32_t)row->at);
    default:
      return data + row->at;
  }
}

static void what_is_wrong_is_named(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    char path[512];
    size_t size = 0;
    snprintf(path, sizeof path, "%s/releases/%s", CORPUS, row->file);
    uint8_t *data = read_file(path, &size);
    assert_non_null(data);
    memcpy(find_place(row, data, size), &row->value, row->bytes);
    fc_error_t err = {0};
    fc_vm_module_t *module = NULL;
    assert_int_not_equal(
        fc_vm_module_create(data, size, fc_allocator_system(), &module, &err),
        FC_OK);
    if (err.code != row->code || !strstr(err.message, row->message)) {
      fail_msg("wanted '%s', got '%s'", row->message, err.message);
    }
    free(data);
  }
}

static void an_unknown_type_is_named(void **state) {
  (void)state;
  size_t size = 0;
  uint8_t *data = read_file(CORPUS "/releases/" VMVX, &size);
  const char *known = "!hal.buffer_view";
  for (size_t i = 0; i + 16 < size; i++) {
    if (!memcmp(data + i, known, 16) && data[i + 16] == 0) data[i + 15] = 'x';
  }
  fc_error_t err = {0};
  fc_vm_module_t *module = NULL;
  assert_int_not_equal(
      fc_vm_module_create(data, size, fc_allocator_system(), &module, &err),
      FC_OK);
  assert_int_equal(err.code, FC_CODE_VMFB_VERSION);
  assert_non_null(strstr(err.message, "unknown type '!hal.buffer_viex'"));
  free(data);
}

// ---------------------------------------------------------------------------
// Every mutant of a small module is refused, or runs within its fuel.

static void try_mutant(const uint8_t *data, size_t size, size_t *verified) {
  // The copy has the exact size, so the address sanitizer sees a read past its end.
  uint8_t *exact = malloc(size ? size : 1);
  assert_non_null(exact);
  memcpy(exact, data, size);
  fc_error_t err = {0};
  vm_t vm;
  if (vm_open(&vm, exact, size, fc_allocator_system(), &err) == FC_OK) {
    ++*verified;
    for (uint32_t i = 0; i < vm.module->export_count; i++) {
      uint32_t function = vm.module->exports[i].function;
      const fc_vm_cconv_t *cconv = &vm.module->functions[function].cconv;
      fc_vm_raw_t in[8] = {{.i64 = 3}, {.i64 = 2}}, out[8] = {{0}};
      if (cconv->arguments.size > 8 || cconv->results.size > 8) continue;
      for (size_t k = 0; k < cconv->arguments.size; k++) {
        if (cconv->arguments.data[k] == 'r') in[k].ref = NULL;
      }
      vm.invocation.fuel = 200;
      if (fc_vm_call(vm.context, &vm.invocation, function, in, out, &err)) {
        continue;
      }
      for (size_t k = 0; k < cconv->results.size; k++) {
        if (cconv->results.data[k] == 'r') fc_vm_release(out[k].ref);
      }
    }
  }
  vm_close(&vm);
  free(exact);
}

static void mutants_are_refused_or_run(void **state) {
  (void)state;
  static const char *const files[] = {
      "scalars-3.13.0.vmfb", "scalars-3.10.0.vmfb", "scalars-2.9.0.vmfb"};
  size_t mutants = 0, verified = 0;
  for (size_t f = 0; f < FC_ARRAY_COUNT(files); f++) {
    char path[512];
    size_t size = 0;
    snprintf(path, sizeof path, "%s/releases/%s", CORPUS, files[f]);
    uint8_t *data = read_file(path, &size);
    assert_non_null(data);
    for (size_t i = 0; i < size; i++) {
      static const uint8_t flips[] = {0x01, 0x80, 0x40, 0xFF};
      uint8_t was = data[i];
      for (size_t k = 0; k < FC_ARRAY_COUNT(flips); k++, mutants++) {
        data[i] = (uint8_t)(was ^ flips[k]);
        try_mutant(data, size, &verified);
      }
      data[i] = was;
      try_mutant(data, i, &verified);  // the file cut short
      mutants++;
    }
    free(data);
  }
  print_message("%zu mutants, %zu of them verify\n", mutants, verified);
  assert_true(verified > 0 && verified < mutants);
}

// A table with one string. Each reading of it uses up the budget `left`, so it can be
// read only a few times.
static void shared_text_is_read_so_often(void **state) {
  (void)state;
  // The offsets: the root's place at 0, its vtable at 6, the root at 12, the string at
  // 20.
  static const uint8_t bytes[] = {
      12, 0, 0, 0, 0, 0, 6, 0, 8, 0,   4,   0,   6,   0,   0,
      0,  4, 0, 0, 0, 5, 0, 0, 0, 'h', 'e', 'l', 'l', 'o',
  };
  uint64_t left = 12;
  fc_fb_t buffer = {bytes, sizeof bytes, &left};
  fc_fb_table_t table;
  fc_str_t text;
  fc_error_t err = {0};
  assert_int_equal(fc_fb_root(buffer, &table, &err), FC_OK);
  for (uint32_t i = 0; i < 2; i++) {
    assert_int_equal(fc_fb_string(&table, 0, "text", &text, &err), FC_OK);
    assert_true(fc_str_equal(text, FC_STR("hello")));
  }
  assert_int_equal(fc_fb_string(&table, 0, "text", &text, &err),
                   FC_INVALID_ARGUMENT);
  assert_non_null(strstr(err.message, "text: too much text in all at byte 24"));
}

// Makes the text "0Ciii…D_v".
static fc_str_t long_spans(char *text, size_t size) {
  memset(text, 'i', size);
  memcpy(text, "0C", 2);
  memcpy(text + size - 3, "D_v", 3);
  return fc_str_make(text, size);
}

static void conventions_are_checked(void **state) {
  (void)state;
  typedef struct convention_t {
    const char *name;
    fc_str_t text;
    bool is_import;
    bool ok;
  } convention_t;
  char fits[256], over[257];
  const convention_t conventions[] = {
      {"nothing at all", FC_STR(""), false, true},
      {"voids", FC_STR("0v_v"), false, true},
      {"every letter", FC_STR("0iIfFr_rFfIi"), false, true},
      {"a void among others", FC_STR("0iv_v"), false, false},
      {"spans of an import", FC_STR("0CrIDiCfD_r"), true, true},
      {"spans of a function", FC_STR("0CrID_r"), false, false},
      {"a void in a span", FC_STR("0CvD_r"), true, false},
      {"an empty span", FC_STR("0CD_r"), true, false},
      {"an empty span behind another", FC_STR("0CiDCD_r"), true, false},
      {"a span in the results", FC_STR("0i_CiD"), true, false},
      {"256 bytes with a span", long_spans(fits, sizeof fits), true, true},
      {"257 bytes with a span", long_spans(over, sizeof over), true, false},
  };
  FC_TEST_EACH_ROW(const convention_t, row, conventions) {
    fc_vm_cconv_t cconv;
    fc_error_t err = {0};
    fc_status_t status =
        fc_vm_cconv_parse(row->text, row->is_import, &cconv, &err);
    assert_int_equal(status == FC_OK, row->ok);
  }
}

// Kernels write into constants, so constants must not overlap tables or bytecode.
static void check_constants(const char *path, const uint8_t *data, size_t size,
                            void *context) {
  (void)context;
  fc_error_t err = {0};
  fc_vm_archive_t archive;
  fc_vm_module_t *module = NULL;
  if (fc_vm_archive_parse(data, size, &archive, &err) ||
      fc_vm_module_create(data, size, fc_allocator_system(), &module, &err)) {
    fail_msg("%s: %s", path, err.message);
  }
  for (uint32_t i = 0; i < module->rodata_count; i++) {
    const uint8_t *at = module->rodata[i].data;
    assert_true(at < data || at >= data + archive.rodata);
  }
  fc_vm_module_destroy(module);
}

static void constants_lie_apart_from_what_was_verified(void **state) {
  (void)state;
  assert_true(each_module(CORPUS "/releases", check_constants, NULL) > 0);
  assert_true(each_module(CORPUS "/state", check_constants, NULL) > 0);
}

// Documents that name the releases which farcall reads must name the right ones.
static void pages_name_the_releases(void **state) {
  (void)state;
  static const char *const pages[] = {"README.md", "docs/vm.md"};
  char wanted[64];
  snprintf(wanted, sizeof wanted, "from %s to %s",
           fc_vm_bytecodes[0].first_release,
           fc_vm_bytecodes[fc_vm_bytecode_count - 1].last_release);
  for (size_t i = 0; i < FC_ARRAY_COUNT(pages); i++) {
    char path[512];
    size_t size = 0;
    fc_test_row(pages[i]);
    snprintf(path, sizeof path, FARCALL_SOURCE_DIR "/%s", pages[i]);
    uint8_t *text = read_file(path, &size);
    assert_non_null(text);
    assert_non_null(memmem(text, size, wanted, strlen(wanted)));
    free(text);
  }
  fc_test_row(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(conventions_are_checked),
      FC_TEST(shared_text_is_read_so_often),
      FC_TEST(what_is_wrong_is_named),
      FC_TEST(an_unknown_type_is_named),
      FC_TEST(mutants_are_refused_or_run),
      FC_TEST(constants_lie_apart_from_what_was_verified),
      FC_TEST(pages_name_the_releases),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
