// SPDX-License-Identifier: Apache-2.0
//
// Which modules several workers may call at once: modules of the compiler, and small
// ones that were written to be just allowed or just not (tests/corpus/iree/state).
#include "module/vm/analysis.h"

#include "module/vm/backend.h"
#include "module/vm/files.h"
#include "module/vm/verify.h"

typedef struct state_row_t {
  const char *name;  // of the file, in the corpus
  bool stateful;
} state_row_t;

static const state_row_t rows[] = {
    // A global holds one buffer, which __init makes; no other function stores to a
    // global.
    {"state/written.vmfb", true},   // is written into
    {"state/read.vmfb", false},     // is read only
    {"state/weights.vmfb", false},  // is immutable, says the compiler
    {"state/chosen.vmfb", true},    // is immutable on one path of two
    {"state/agreed.vmfb", false},   // is immutable on both
    // The buffer is made by an import, which does not say whether it is immutable.
    {"state/allocated.vmfb", true},
    // The global holds a constant as a !hal.buffer.
    {"state/imported.vmfb", true},    // each call imports it and writes into it
    {"state/looked_at.vmfb", false},  // each call imports it and reads it
    {"state/wrapped.vmfb", true},     // each wraps it and writes into it
    {"state/lent.vmfb", true},        // __init imported it, calls write into it
    {"state/marked.vmfb", false},     // is immutable, says the compiler
    {"state/viewed.vmfb", true},      // __init wrapped it
    // The global holds one command buffer.
    {"state/recorded.vmfb", true},   // is recorded into
    {"state/handed.vmfb", true},     // is recorded into by another function
    {"state/either.vmfb", true},     // is recorded into on one path of two
    {"state/finalized.vmfb", true},  // is finalized
    {"state/replayed.vmfb", false},  // is run; another is recorded into
    // The global holds one fence.
    {"state/signaled.vmfb", true},  // is signaled
    {"state/queued.vmfb", true},    // is signaled by a queue
    {"state/queried.vmfb", false},  // is looked at
    // The module calls an import with unknown effects.
    {"state/unheard.vmfb", true},
    // A global counts calls, in files of releases with each version of the HAL.
    {"releases/versions-2.9.0-vmvx.vmfb", true},
    {"releases/versions-3.13.0-vmvx.vmfb", true},
    {"releases/versions-3.13.0-llvm-cpu.vmfb", true},
    // The globals hold only executables and weights.
    {"async/async-vmvx.vmfb", false},
    {"async/async-llvm-cpu.vmfb", false},
    {"parameters/parameters-vmvx.vmfb", false},
    {"parameters/parameters-llvm-cpu.vmfb", false},
};

static void calls_that_can_see_each_other_are_found(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const state_row_t, row, rows) {
    char path[512];
    size_t size = 0;
    snprintf(path, sizeof path, CORPUS "/%s", row->name);
    uint8_t *data = read_file(path, &size);
    assert_non_null(data);
    fc_error_t err = {0};
    fc_vm_module_t *module;
    bool stateful = !row->stateful;
    if (fc_vm_module_create(data, size, fc_allocator_system(), &module, &err) ||
        fc_vm_verify(module, &err) ||
        fc_vm_module_is_stateful(module, fc_vm_natives, &stateful, &err)) {
      fail_msg("%s", err.message);
    }
    assert_int_equal(stateful, row->stateful);
    fc_vm_module_destroy(module);
    free(data);
  }
}

// `next` writes into a buffer that stays. That makes state, unless `next` is renamed to
// a hook: no call runs hooks.
static void what_only_hooks_do_is_no_state(void **state) {
  (void)state;
  static const struct {
    const char *name;  // instead of `next`
    bool stateful;
  } names[] = {{"next", true}, {"deinit", true}, {"__deinit", false}};
  FC_TEST_EACH_ROW(const __typeof__(names[0]), row, names) {
    size_t size = 0;
    uint8_t *data = read_file(CORPUS "/state/written.vmfb", &size);
    assert_non_null(data);
    fc_vm_module_t *module;
    assert_int_equal(
        fc_vm_module_create(data, size, fc_allocator_system(), &module, NULL),
        FC_OK);
    for (uint32_t i = 0; i < module->export_count; i++) {
      fc_str_t *name = &module->exports[i].name;
      if (fc_str_equal(*name, FC_STR("next"))) *name = fc_str(row->name);
    }
    bool stateful = !row->stateful;
    assert_int_equal(
        fc_vm_module_is_stateful(module, fc_vm_natives, &stateful, NULL),
        FC_OK);
    assert_int_equal(stateful, row->stateful);
    fc_vm_module_destroy(module);
    free(data);
  }
}

static fc_status_t analyse(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  (void)context;
  size_t size = 0;
  bool stateful;
  fc_vm_module_t *module = NULL;
  uint8_t *data = read_file(CORPUS "/state/written.vmfb", &size);
  assert_non_null(data);
  fc_status_t status = fc_vm_module_create(data, size, allocator, &module, err);
  if (!status)
    status = fc_vm_module_is_stateful(module, fc_vm_natives, &stateful, err);
  fc_vm_module_destroy(module);
  free(data);
  return status;
}

static void looking_survives_failing_allocations(void **state) {
  (void)state;
  assert_true(fc_test_allocation_sweep(analyse, NULL) > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(calls_that_can_see_each_other_are_found),
      FC_TEST(what_only_hooks_do_is_no_state),
      FC_TEST(looking_survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
