// SPDX-License-Identifier: Apache-2.0
//
// Which functions have a bounded run time, and by which rule: functions of a module
// that was written for this test (tests/modules/vmasm/bounds.vmasm), and of compiled
// modules.
#include "module/vm/bound.h"

#include "module/vm/backend.h"
#include "module/vm/files.h"
#include "module/vm/verify.h"

#define VM FARCALL_SOURCE_DIR "/tests/corpus/vm"

typedef struct bound_row_t {
  const char *name;  // of the function
  const char *file;
  fc_bound_t bound;
} bound_row_t;

static const bound_row_t kRows[] = {
    {"add", VM "/bounds.vmfb", FC_BOUND_PROVED},
    {"forward", VM "/bounds.vmfb", FC_BOUND_PROVED},  // branches
    {"twice", VM "/bounds.vmfb", FC_BOUND_PROVED},    // calls `add` twice
    // A chain of 12 functions, each of which calls the next one twice.
    {"double.12", VM "/bounds.vmfb", FC_BOUND_BUDGET},
    {"fact", VM "/bounds.vmfb", FC_BOUND_BUDGET},  // a loop
    {"callee.loops", VM "/bounds.vmfb", FC_BOUND_BUDGET},
    {"recursive", VM "/bounds.vmfb", FC_BOUND_NONE},
    {"callee.is.recursive", VM "/bounds.vmfb", FC_BOUND_NONE},
    {"fill", VM "/bounds.vmfb", FC_BOUND_BUDGET},  // of any size
    {"remainders", VM "/bounds.vmfb", FC_BOUND_NONE},
    {"branch", VM "/endless.vmfb", FC_BOUND_BUDGET},
    {"native", VM "/endless.vmfb", FC_BOUND_NONE},  // an import nobody knows
    {"rem.i32.s", VM "/ops.vmfb", FC_BOUND_PROVED},
    {"hyp", CORPUS "/releases/scalars-3.13.0.vmfb", FC_BOUND_PROVED},
    {"fact", CORPUS "/releases/scalars-3.13.0.vmfb", FC_BOUND_BUDGET},
    {"pair", CORPUS "/releases/scalars-3.13.0.vmfb", FC_BOUND_BUDGET},
    {"mul4", CORPUS "/releases/versions-2.9.0-vmvx.vmfb", FC_BOUND_BUDGET},
    {"mul4", CORPUS "/releases/versions-3.13.0-vmvx.vmfb", FC_BOUND_BUDGET},
    {"matmul", CORPUS "/dims/dims-vmvx.vmfb", FC_BOUND_BUDGET},
    {"twice", CORPUS "/async/async-vmvx.vmfb", FC_BOUND_BUDGET},
    {"mul4", CORPUS "/inline/inline-vmvx.vmfb", FC_BOUND_BUDGET},
    {"next", CORPUS "/state/unheard.vmfb", FC_BOUND_NONE},
    // Hooks make executables, and the time for that is not counted.
    {"__init", CORPUS "/dims/dims-vmvx.vmfb", FC_BOUND_NONE},
};

static fc_vm_module_t *open_module(const char *file, uint8_t **out_data) {
  size_t size = 0;
  fc_error_t err = {0};
  fc_vm_module_t *module = NULL;
  *out_data = read_file(file, &size);
  assert_non_null(*out_data);
  if (fc_vm_module_create(*out_data, size, fc_allocator_system(), &module,
                          &err) ||
      fc_vm_verify(module, &err)) {
    fail_msg("%s: %s", file, err.message);
  }
  return module;
}

static void functions_are_bounded_by_what_they_are(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const bound_row_t, row, kRows) {
    uint8_t *data, bounds[1024];
    fc_vm_module_t *module = open_module(row->file, &data);
    const fc_vm_export_t *export = fc_vm_module_find(module, fc_str(row->name));
    assert_non_null(export);
    assert_true(module->function_count <= sizeof bounds);
    assert_int_equal(fc_vm_module_bound(module, fc_vm_natives, bounds, NULL),
                     FC_OK);
    assert_int_equal(bounds[export->function], row->bound);
    fc_vm_module_destroy(module);
    free(data);
  }
}

static void a_module_is_heavy_by_its_worst_function(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool heavy;
  } rows[] = {{VM "/bounds.vmfb", true}, {VM "/endless.vmfb", false}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    uint8_t *data;
    fc_vm_module_t *module = open_module(row->name, &data);
    assert_int_equal(fc_vm_module_is_heavy(module), row->heavy);
    fc_vm_module_destroy(module);
    free(data);
  }
}

static fc_status_t bound(fc_allocator_t allocator, void *context,
                         fc_error_t *err) {
  fc_vm_module_t *module = context;
  uint8_t bounds[64];
  module->allocator = allocator;
  fc_status_t status = fc_vm_module_bound(module, fc_vm_natives, bounds, err);
  module->allocator = fc_allocator_system();
  return status;
}

static void looking_survives_failing_allocations(void **state) {
  (void)state;
  uint8_t *data;
  fc_vm_module_t *module = open_module(VM "/bounds.vmfb", &data);
  assert_int_equal(fc_test_allocation_sweep(bound, module), 2);
  fc_vm_module_destroy(module);
  free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(functions_are_bounded_by_what_they_are),
      FC_TEST(a_module_is_heavy_by_its_worst_function),
      FC_TEST(looking_survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
