// SPDX-License-Identifier: Apache-2.0
//
// The text of a function is as iree-dump-module 3.13 prints it, and each byte of each
// module is decoded and verified. tests/e2e/test_iree_disassembly.py and
// test_iree_corpus.py compare whole modules with that tool.
#include "bytecode/disasm.h"

#include "module/vm/files.h"
#include "module/vm/verify.h"

static fc_vm_module_t *open_module(const char *path, const uint8_t *data,
                                   size_t size) {
  fc_error_t err = {0};
  fc_vm_module_t *module = NULL;
  if (fc_vm_module_create(data, size, fc_allocator_system(), &module, &err)) {
    fail_msg("%s: %s", path, err.message);
  }
  return module;
}

typedef struct text_row_t {
  const char *name;
  const char *file;
  const char *function;
  const char *text;
} text_row_t;

static const text_row_t texts[] = {
    {"a loop", CORPUS "/releases/scalars-3.13.0.vmfb", "fact",
     "[00000000]^bb0:\n"
     "[00000001]  %i2:3 = vm.const.i64 1  // 0x0000000000000001\n"
     "[0000000C]  %i4:5 = vm.const.i64.zero\n"
     "[0000000F]  vm.br ^bb1(%i2->%i6, %i3->%i7)\n"
     "[0000001E]^bb1:\n"
     "[0000001F]  %i8 = vm.cmp.lt.i64.s %i4:5, %i0:1\n"
     "[00000026]  vm.cond_br %i8, ^bb2(), ^bb3()\n"
     "[00000036]^bb2:\n"
     "[00000037]  %i8:9 = vm.mul.i64 %i6:7, %i0:1\n"
     "[0000003E]  %i0:1 = vm.sub.i64 %i0:1, %i2:3\n"
     "[00000045]  vm.br ^bb1(%i8->%i6, %i9->%i7)\n"
     "[00000054]^bb3:\n"
     "[00000055]  vm.return %i6\n"},
    {"lists and a moved result", CORPUS "/releases/scalars-3.13.0.vmfb", "pair",
     "[00000000]^bb0:\n"
     "[00000001]  %i2 = vm.const.i32 1  // 0x00000001\n"
     "[00000008]  %i3 = vm.const.i32.zero\n"
     "[0000000B]  %i4 = vm.const.i32 2  // 0x00000002\n"
     "[00000012]  %r0 = vm.list.alloc %i4 : !vm.list<!vm.opaque>\n"
     "[0000001B]  vm.list.resize %r0, %i4\n"
     "[00000020]  vm.list.set.i32 %r0, %i3, %i0\n"
     "[00000027]  vm.list.set.f32 %r0, %i2, %i1\n"
     "[0000002F]  vm.return %R0\n"},
};

static void functions_read_as_the_reference_prints_them(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const text_row_t, row, texts) {
    size_t size = 0;
    uint8_t *data = read_file(row->file, &size);
    assert_non_null(data);
    fc_vm_module_t *module = open_module(row->file, data, size);
    const fc_vm_export_t *export =
        fc_vm_module_find(module, fc_str(row->function));
    assert_non_null(export);
    fc_text_t text;
    fc_error_t err = {0};
    fc_text_init(&text, fc_allocator_system(), 1 << 20);
    assert_int_equal(
        fc_vm_disassemble(module, export->function, &text.sink, &err), FC_OK);
    fc_str_t got = fc_text_str(&text);
    assert_int_equal(got.size, strlen(row->text));
    assert_memory_equal(got.data, row->text, got.size);
    fc_text_deinit(&text);
    fc_vm_module_destroy(module);
    free(data);
  }
}

static void decode_module(const char *path, const uint8_t *data, size_t size,
                          void *context) {
  size_t *functions = context;
  fc_error_t err = {0};
  fc_vm_module_t *module = open_module(path, data, size);
  if (fc_vm_verify(module, &err)) fail_msg("%s: %s", path, err.message);
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 64 << 20);
  if (fc_vm_dump(module, &text.sink, &err)) {
    fail_msg("%s: %s", path, err.message);
  }
  *functions += module->function_count;
  fc_text_deinit(&text);
  fc_vm_module_destroy(module);
}

static void every_module_verifies_and_decodes(void **state) {
  (void)state;
  size_t functions = 0;
  size_t count = each_module(CORPUS "/releases", decode_module, &functions);
  assert_int_equal(count, 60);
  print_message("%zu functions\n", functions);
}

static void every_module_of_others_does(void **state) {
  (void)state;
  static const struct {
    const char *folder;
    size_t count;
  } rows[] = {{"vmasm", 30}, {"e2e", 63}};
  size_t functions = 0;
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    char folder[512];
    fc_test_row(rows[i].folder);
    size_t count =
        each_module(outside(rows[i].folder, folder), decode_module, &functions);
    assert_int_equal(count, rows[i].count);
  }
  fc_test_row(NULL);
}

// If any allocation of an open fails, all others are freed.
static fc_status_t open_and_verify(fc_allocator_t allocator, void *context,
                                   fc_error_t *err) {
  const fc_span_t *file = context;
  fc_vm_module_t *module = NULL;
  FC_TRY(fc_vm_module_create(file->data, file->size, allocator, &module, err));
  fc_status_t status = fc_vm_verify(module, err);
  fc_vm_module_destroy(module);
  return status;
}

static void opening_survives_failing_allocations(void **state) {
  (void)state;
  fc_span_t file = {0};
  file.data =
      read_file(CORPUS "/releases/versions-3.13.0-vmvx.vmfb", &file.size);
  assert_non_null(file.data);
  assert_true(fc_test_allocation_sweep(open_and_verify, &file) > 0);
  free(file.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(functions_read_as_the_reference_prints_them),
      FC_TEST(every_module_verifies_and_decodes),
      FC_TEST(every_module_of_others_does),
      FC_TEST(opening_survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
