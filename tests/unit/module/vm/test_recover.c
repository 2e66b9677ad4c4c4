// SPDX-License-Identifier: Apache-2.0
//
// Shapes that are recovered from bytecode must be those that the compiler declared in
// the same file, in modules of every release.
#include "module/vm/recover.h"

#include "abi/names.h"
#include "module/vm/exports.h"
#include "module/vm/files.h"
#include "module/vm/signature.h"
#include "module/vm/verify.h"

typedef struct tally_t {
  size_t tensors;  // declared
  size_t known;    // recovered
} tally_t;

static void compare(const char *path, const fc_signature_t *signature,
                    const fc_param_t *params, uint32_t count,
                    const fc_vm_shape_t *shapes, tally_t *tally) {
  for (uint32_t i = 0; i < count; i++) {
    const fc_type_t *type = fc_signature_node(signature, params[i].type);
    if (type->kind != FC_TYPE_TENSOR || params[i].raw_index < 0) continue;
    const fc_vm_shape_t *shape = &shapes[params[i].raw_index];
    tally->tensors++;
    if (!shape->known) continue;
    tally->known++;
    const int64_t *dims = fc_signature_dims(signature, type);
    bool same = shape->dtype == type->dtype && shape->rank == type->rank;
    for (int32_t k = 0; same && k < type->rank; k++) {
      same = shape->dims[k] == dims[k];
    }
    if (!same) {
      fc_str_t name = fc_signature_text(signature, signature->name);
      fail_msg("%s: %.*s, value %u", path, FC_STR_ARG(name), i);
    }
  }
}

static void compare_module(const char *path, const uint8_t *data, size_t size,
                           void *context) {
  tally_t *tally = context;
  fc_error_t err = {0};
  fc_vm_module_t *module = NULL;
  assert_int_equal(
      fc_vm_module_create(data, size, fc_allocator_system(), &module, &err), 0);
  assert_int_equal(fc_vm_verify(module, &err), 0);
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  for (uint32_t i = 0; i < module->export_count; i++) {
    const fc_vm_export_t *export = &module->exports[i];
    if (!fc_vm_export_is_listed(module, export)) continue;
    fc_arena_t arena;
    fc_arena_init(&arena, fc_allocator_system(), 4096, SIZE_MAX);
    size_t budget = FC_VM_RECOVER_BUDGET;
    fc_signature_t *signature = NULL;
    fc_vm_recovered_t recovered;
    if (fc_vm_signature_create(module, export, (fc_str_t){0}, false, NULL,
                               builder, &budget, &arena, &signature, &err) ||
        fc_vm_recover(module, export->function, &budget, &arena, &recovered,
                      &err)) {
      fail_msg("%s: %s", path, err.message);
    }
    if (signature->source == FC_SOURCE_DECLARATION) {
      compare(path, signature, signature->arguments, signature->argument_count,
              recovered.arguments, tally);
      compare(path, signature, signature->results, signature->result_count,
              recovered.results, tally);
    }
    fc_signature_destroy(signature);
    fc_arena_deinit(&arena);
  }
  fc_builder_destroy(builder);
  fc_vm_module_destroy(module);
}

static void recovered_shapes_are_the_declared_ones(void **state) {
  (void)state;
  tally_t tally = {0};
  assert_int_equal(each_module(CORPUS "/releases", compare_module, &tally), 60);
  print_message("%zu of %zu tensors\n", tally.known, tally.tensors);
  assert_true(tally.known > 0);
  assert_int_equal(tally.known, tally.tensors);
}

// ---------------------------------------------------------------------------

typedef struct equal_row_t {
  const char *name;   // of the function
  const char *equal;  // argument.dim=argument.dim
} equal_row_t;

static const equal_row_t equal_rows[] = {
    // The compiler does not compare two arguments with each other: it asserts for each
    // that it has the declared dims.
    {"matmul", ""},
    {"add", ""},
    // Assertions of the program come before anything else …
    {"asserted", "0.0=1.0"},
    {"square", "0.0=0.1"},
    {"inner", "0.1=1.0"},
    // … unless the program asserts only in some calls.
    {"sometimes", ""},
};

static const char dims_path[] = CORPUS "/dims/dims-vmvx.vmfb";

// Opens and verifies a module. Destroy it, then free `out_data`.
static fc_vm_module_t *open_verified(const char *path, uint8_t **out_data) {
  size_t size = 0;
  *out_data = read_file(path, &size);
  assert_non_null(*out_data);
  fc_error_t err = {0};
  fc_vm_module_t *module = NULL;
  assert_int_equal(fc_vm_module_create(*out_data, size, fc_allocator_system(),
                                       &module, &err),
                   0);
  assert_int_equal(fc_vm_verify(module, &err), 0);
  return module;
}

static void dims_that_every_call_compares_are_found(void **state) {
  (void)state;
  fc_error_t err = {0};
  uint8_t *data;
  fc_vm_module_t *module = open_verified(dims_path, &data);
  FC_TEST_EACH_ROW(const equal_row_t, row, equal_rows) {
    const fc_vm_export_t *export = fc_vm_module_find(module, fc_str(row->name));
    assert_non_null(export);
    fc_arena_t arena;
    fc_vm_recovered_t recovered;
    char text[128] = "";
    size_t budget = FC_VM_RECOVER_BUDGET, used = 0;
    fc_arena_init(&arena, fc_allocator_system(), 4096, SIZE_MAX);
    assert_int_equal(fc_vm_recover(module, export->function, &budget, &arena,
                                   &recovered, &err),
                     0);
    for (uint32_t i = 0; i < recovered.equal_count; i++) {
      const fc_vm_equal_t *equal = &recovered.equal[i];
      used +=
          (size_t)snprintf(text + used, sizeof text - used, "%s%u.%u=%u.%u",
                           i ? " " : "", equal->left.argument, equal->left.dim,
                           equal->right.argument, equal->right.dim);
    }
    fc_arena_deinit(&arena);
    assert_string_equal(text, row->equal);
  }
  fc_vm_module_destroy(module);
  free(data);
}

// Functions that write into an argument: for which arguments this is known.
static void writes_are_seen(void **state) {
  (void)state;
  static const struct {
    const char *function;
    bool written[3];
  } rows[] = {
      {"bump", {false, true}},
      {"copy", {false, true}},
      {"put", {false, false, false}},  // it writes, and nothing says so
      {"read", {false, false}},
  };
  uint8_t *data;
  fc_vm_module_t *module = open_verified(CORPUS "/roles/roles.vmfb", &data);
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].function);
    const fc_vm_export_t *export =
        fc_vm_module_find(module, fc_str(rows[i].function));
    assert_non_null(export);
    fc_arena_t arena;
    fc_vm_recovered_t recovered;
    size_t budget = FC_VM_RECOVER_BUDGET;
    fc_arena_init(&arena, fc_allocator_system(), 4096, SIZE_MAX);
    assert_int_equal(fc_vm_recover(module, export->function, &budget, &arena,
                                   &recovered, NULL),
                     0);
    const fc_vm_function_t *function = &module->functions[export->function];
    for (size_t k = 0; k < function->cconv.arguments.size; k++) {
      assert_int_equal(recovered.written[k], rows[i].written[k]);
    }
    fc_arena_deinit(&arena);
  }
  fc_test_row(NULL);
  fc_vm_module_destroy(module);
  free(data);
}

// If a module and its sidecar both describe a function, the sidecar wins, whether it
// has types or only names. Functions that only the module describes stay as they are.
static void a_sidecar_wins_over_the_file(void **state) {
  (void)state;
  static const struct {
    const char *name, *sidecar, *doc;
    uint32_t count;
  } rows[] = {
      {"no sidecar", NULL, "the file's", 2},
      {"one of another function",
       "{\"farcall\":1,\"functions\":[{\"name\":\"add\",\"doc\":\"its\"}]}",
       "the file's", 2},
      {"names",
       "{\"farcall\":1,\"functions\":[{\"name\":\"bump\",\"doc\":\"its\"}]}",
       "its", 2},
      {"names, shown",
       "{\"farcall\":1,\"functions\":[{\"name\":\"bump\",\"show\":[]}]}",
       "the file's", 3},
      {"types",
       "{\"farcall\":1,\"functions\":[{\"name\":\"bump\",\"doc\":\"its\","
       "\"arguments\":[{\"type\":{\"kind\":\"tensor\",\"dtype\":\"f32\",\"shape\":null}},"
       "{\"type\":{\"kind\":\"tensor\",\"dtype\":\"f32\",\"shape\":null}}],"
       "\"results\":[{\"type\":{\"kind\":\"tensor\",\"dtype\":\"f32\","
       "\"shape\":null}}]}]}",
       "its", 2},
  };
  const fc_vm_attr_t own[] = {
      {FC_STR("doc"), FC_STR("the file's")},
      {FC_STR("unit"), FC_STR("V")},
  };
  uint8_t *data;
  fc_vm_module_t *module = open_verified(CORPUS "/roles/roles.vmfb", &data);
  const fc_vm_export_t *export = fc_vm_module_find(module, FC_STR("bump"));
  assert_non_null(export);
  module->functions[export->function].attrs = own;
  module->functions[export->function].attr_count = FC_ARRAY_COUNT(own);
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_error_t err = {0};
    fc_names_t *names = NULL;
    if (row->sidecar &&
        fc_names_parse(fc_str(row->sidecar), true, fc_allocator_system(),
                       &names, &err) != FC_OK) {
      fail_msg("%s", err.message);
    }
    fc_arena_t arena;
    fc_arena_init(&arena, fc_allocator_system(), 4096, SIZE_MAX);
    size_t budget = FC_VM_RECOVER_BUDGET;
    fc_signature_t *signature = NULL;
    if (fc_vm_signature_create(module, export, (fc_str_t){0}, false, names,
                               builder, &budget, &arena, &signature, &err)) {
      fail_msg("%s", err.message);
    }
    assert_int_equal(signature->attr_count, row->count);
    assert_true(fc_str_equal(fc_signature_attr(signature, FC_STR("doc")),
                             fc_str(row->doc)));
    assert_true(fc_str_equal(fc_signature_attr(signature, FC_STR("unit")),
                             FC_STR("V")));
    fc_signature_destroy(signature);
    fc_arena_deinit(&arena);
    fc_names_destroy(names);
  }
  fc_builder_destroy(builder);
  fc_vm_module_destroy(module);
  free(data);
}

// Operands are checked against the convention that the file declares for an import. If
// the real function has another convention, nothing is learned from them.
static void imports_of_another_convention_say_nothing(void **state) {
  (void)state;
  fc_error_t err = {0};
  uint8_t *data;
  fc_vm_module_t *module = open_verified(dims_path, &data);
  const fc_vm_export_t *export = fc_vm_module_find(module, FC_STR("asserted"));
  for (int changed = 0; changed < 2; changed++) {
    for (uint32_t i = 0; changed && i < module->import_count; i++) {
      module->imports[i].cconv_text = FC_STR("0rrrrCID_v");
    }
    fc_arena_t arena;
    fc_vm_recovered_t recovered;
    size_t budget = FC_VM_RECOVER_BUDGET;
    fc_arena_init(&arena, fc_allocator_system(), 4096, SIZE_MAX);
    assert_int_equal(fc_vm_recover(module, export->function, &budget, &arena,
                                   &recovered, &err),
                     0);
    assert_int_equal(recovered.arguments[0].known, !changed);
    assert_int_equal(recovered.results[0].known, !changed);
    assert_int_equal(recovered.equal_count > 0, !changed);
    fc_arena_deinit(&arena);
  }
  fc_vm_module_destroy(module);
  free(data);
}

typedef struct path_row_t {
  const char *name;  // of the function
  bool known;
} path_row_t;

// What functions of a file assert of their first argument, or make as their first
// result: either a tensor of 4 f32 on every path, or nothing definite.
static void check_paths(const char *path, const path_row_t *row,
                        bool of_results) {
  uint8_t *data;
  fc_vm_module_t *module = open_verified(path, &data);
  const fc_vm_export_t *export = fc_vm_module_find(module, fc_str(row->name));
  assert_non_null(export);
  fc_arena_t arena;
  fc_vm_recovered_t recovered;
  size_t budget = FC_VM_RECOVER_BUDGET;
  fc_arena_init(&arena, fc_allocator_system(), 4096, SIZE_MAX);
  assert_int_equal(fc_vm_recover(module, export->function, &budget, &arena,
                                 &recovered, NULL),
                   0);
  const fc_vm_shape_t *shape =
      of_results ? recovered.results : recovered.arguments;
  assert_int_equal(shape->known, row->known);
  if (row->known) {
    assert_int_equal(shape->dtype, FC_DTYPE_F32);
    assert_int_equal(shape->rank, 1);
    assert_int_equal(shape->dims[0], 4);
  }
  fc_arena_deinit(&arena);
  fc_vm_module_destroy(module);
  free(data);
}

static const path_row_t paths[] = {
    {"first", true},
    {"joined", true},   // after two paths met
    {"guarded", true},  // behind a check; where the check fails, the call fails
    {"looped", true},   // in a loop that is entered
    {"one", false},
    {"either", false},  // each path asserts another type
    {"unless", false},  // the status it fails with may be OK
    // These assert through a call.
    {"calls_first", true},
    {"calls_one", false},
    {"may_call", false},
};

static void an_assert_counts_when_every_call_passes_it(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const path_row_t, row, paths) {
    check_paths(CORPUS "/paths/paths.vmfb", row, false);
  }
}

static const path_row_t results[] = {
    {"same", true},
    {"other_dims", false},
    {"made_or_null", false},
    // The callee returns its argument. Only the caller asserts its shape.
    {"calls_handed", true},
    {"calls_handed_or_null", false},
    {"calls_null_or_handed", false},
};

static void results_are_what_all_returns_agree_on(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const path_row_t, row, results) {
    check_paths(CORPUS "/paths/results.vmfb", row, true);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(recovered_shapes_are_the_declared_ones),
      FC_TEST(dims_that_every_call_compares_are_found),
      FC_TEST(writes_are_seen),
      FC_TEST(a_sidecar_wins_over_the_file),
      FC_TEST(imports_of_another_convention_say_nothing),
      FC_TEST(an_assert_counts_when_every_call_passes_it),
      FC_TEST(results_are_what_all_returns_agree_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
