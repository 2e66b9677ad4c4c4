// SPDX-License-Identifier: Apache-2.0
//
// Calls of real modules with a profile: the results are the same, and the profile has a
// row for each function that was called.
#include "helpers/test.h"

#include "farcall/farcall.h"
#include "marshal/profiled.h"

#define DIGITS FARCALL_SOURCE_DIR "/examples/iree/digits.vmfb"
#define MATMUL FARCALL_SOURCE_DIR "/examples/iree/matmul.vmfb"
#define LINE "[0,0,2,12,8,7,6,2]"
#define IMAGE \
  "[" LINE "," LINE "," LINE "," LINE "," LINE "," LINE "," LINE "," LINE "]"
#define OPS FARCALL_SOURCE_DIR "/tests/corpus/vm/ops.vmfb"

typedef struct fixture_t {
  fc_module_t *module;
  const fc_function_t *function;
  void *instance;
  fc_frame_t *frame;
  fc_profile_t *profile;
  fc_text_t answer;
} fixture_t;

static void begin(fixture_t *f, const char *path, const char *function) {
  fc_error_t err;
  const fc_allocator_t allocator = fc_allocator_system();
  *f = (fixture_t){.profile = fc_profile_create(allocator)};
  assert_non_null(f->profile);
  fc_error_reset(&err);
  if (fc_module_load(NULL, fc_str(path), NULL, allocator, &f->module, &err)) {
    fail_msg("%s", err.message);
  }
  f->function = fc_module_find(f->module, fc_str(function));
  assert_non_null(f->function);
  assert_non_null(f->function->plan);
  assert_int_equal(
      fc_module_get_backend(f->module)->instance_create(
          fc_module_get_handle(f->module), allocator, &f->instance, &err),
      FC_OK);
  assert_int_equal(fc_frame_create(allocator, NULL, &f->frame, &err), FC_OK);
  fc_text_init(&f->answer, allocator, (size_t)16 << 20);
}

static void end(fixture_t *f) {
  fc_frame_destroy(f->frame);
  fc_module_get_backend(f->module)->instance_destroy(f->instance);
  fc_module_release(f->module);
  fc_profile_destroy(f->profile);
  fc_text_deinit(&f->answer);
}

static fc_status_t call(fixture_t *f, const char *document, bool profiled,
                        fc_error_t *err) {
  const fc_backend_t *backend = fc_module_get_backend(f->module);
  fc_error_reset(err);
  fc_text_reset(&f->answer);
  fc_frame_begin(f->frame, f->function->plan, NULL);
  FC_TRY(fc_frame_decode(f->frame, fc_str(document), err));
  if (!profiled) {
    FC_TRY(fc_frame_invoke(f->frame, backend, f->instance, f->function->index,
                           NULL, 0, err));
    return fc_frame_encode(f->frame, &f->answer.sink, err);
  }
  FC_TRY(fc_frame_invoke_profiled(f->frame, backend, f->instance,
                                  f->function->index, f->function->name, NULL,
                                  0, f->profile, err));
  return fc_frame_encode_profiled(f->frame, &f->answer.sink, err);
}

static uint64_t count_kind(const fc_profile_t *profile,
                           fc_profile_kind_t kind) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < profile->row_count; i++) {
    if (profile->rows[i].kind == kind) count += profile->rows[i].count;
  }
  return count;
}

static void check_profile(const fc_profile_t *profile) {
  uint64_t totals[FC_PROFILE_ROWS], self = 0, dispatches = 0;
  fc_profile_totals(profile, totals);
  for (uint32_t i = 0; i < profile->row_count; i++) {
    const fc_profile_row_t *row = &profile->rows[i];
    self += row->self_ns;
    assert_true(row->count > 0);
    if (row->kind != FC_PROFILE_DISPATCH) continue;
    dispatches += totals[i];
    assert_int_equal(row->self_ns, totals[i]);
    assert_true(row->grid[0] && row->grid[1] && row->grid[2]);
    assert_true(row->bytes > 0);
    assert_int_equal(row->child, 0);
  }
  assert_int_equal(self, totals[0]);
  assert_true(dispatches <= totals[0]);
  assert_int_equal(profile->depth, 0);
  assert_int_equal(profile->current, 0);
}

static void a_profile_changes_no_result(void **state) {
  (void)state;
  static const struct {
    const char *name, *path, *function;
    const char *document;                     // NULL: zeros
    uint64_t functions, imports, dispatches;  // at least
  } rows[] = {
      {"a network", DIGITS, "classify", "[" IMAGE "]", 1, 2, 2},
      {"kernels of bytecode", MATMUL, "matmul", "[[[1]],[[2]]]", 1, 1, 1},
      {"a call of a call", OPS, "call.deep", "[]", 2, 0, 0},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fixture_t f;
    fc_error_t err;
    fc_text_t plain;
    begin(&f, row->path, row->function);
    for (int turn = 0; turn < 2; turn++) {
      if (call(&f, row->document, false, &err)) fail_msg("%s", err.message);
      fc_text_init(&plain, fc_allocator_system(), (size_t)16 << 20);
      const fc_str_t answer = fc_text_str(&f.answer);
      assert_int_equal(fc_sink_put(&plain.sink, answer, &err), FC_OK);
      if (call(&f, row->document, true, &err)) fail_msg("%s", err.message);
      const fc_profile_t *profile = f.profile;
      check_profile(profile);
      assert_true(count_kind(profile, FC_PROFILE_FUNCTION) >= row->functions);
      assert_true(count_kind(profile, FC_PROFILE_IMPORT) >= row->imports);
      assert_true(count_kind(profile, FC_PROFILE_DISPATCH) >= row->dispatches);
      // The answer has the same results, followed by the profile.
      const size_t same = fc_text_str(&plain).size - 1;
      fc_str_t profiled = fc_text_str(&f.answer);
      assert_memory_equal(profiled.data, fc_text_str(&plain).data, same);
      profiled = fc_str_make(profiled.data + same, profiled.size - same);
      assert_true(fc_str_starts(profiled, FC_STR(",\"profile\":{\"ns\":")));
      assert_true(fc_str_ends(profiled, FC_STR("}]}}")));
      fc_text_deinit(&plain);
    }
    end(&f);
  }
}

static const fc_profile_row_t *deepest(const fc_profile_t *profile) {
  return &profile->rows[profile->row_count - 1];
}

static void recursion_is_one_row(void **state) {
  (void)state;
  fixture_t f;
  fc_error_t err;
  begin(&f, OPS, "call.deep");
  if (call(&f, "[]", true, &err)) fail_msg("%s", err.message);
  assert_int_equal(f.profile->row_count, 3);
  assert_int_equal(deepest(f.profile)->count, 1001);
  assert_int_equal(f.profile->dropped, 0);
  check_profile(f.profile);
  end(&f);
}

// After a failure no function of the profile is still entered, and the next call gets a
// profile of its own.
static void a_call_that_fails_has_a_profile(void **state) {
  (void)state;
  fixture_t f;
  fc_error_t err;
  begin(&f, OPS, "call.too.deep");
  for (int turn = 0; turn < 2; turn++) {
    assert_int_equal(call(&f, "[]", true, &err), FC_RESOURCE_EXHAUSTED);
    assert_int_equal(f.profile->row_count, 3);
    assert_in_range(deepest(f.profile)->count, 1000, FC_PROFILE_DEPTH);
    check_profile(f.profile);
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_profile_changes_no_result),
      FC_TEST(recursion_is_one_row),
      FC_TEST(a_call_that_fails_has_a_profile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
