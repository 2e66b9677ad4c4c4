// SPDX-License-Identifier: Apache-2.0
//
// State that stays between a program's calls: machine code writes into it, and a call
// that fails may leave it changed.
#include "module/state.h"

#include <stdio.h>
#include <unistd.h>

#include "helpers/test.h"

#define OWNER FARCALL_BUILD_DIR "/tests/modules/native/owner.so"

// axpy(a, x, y): y += a * x, where y is state of %s elements.
#define AXPY                                                                \
  "\"name\":\"axpy\",\"symbol\":\"_mlir_ciface_axpy\",\"args\":[{\"type\":" \
  "\"f32\"},{\"type\":\"memref<?xf32>\"},{\"type\":\"memref<?xf32>\"}],"    \
  "\"results\":[],\"state\":{\"y\":{\"argument\":2,\"shape\":[%s]}}"
// pass(y, x): (y, x). The new value of the state y is x.
#define PASS                                                                     \
  "\"name\":\"pass\",\"symbol\":\"_mlir_ciface_alias_both\",\"threads\":\"%s\"," \
  "\"args\":[{\"type\":\"memref<3xf32>\"},{\"type\":\"memref<3xf32>\"}],"        \
  "\"results\":[{\"type\":\"memref<3xf32>\"},{\"type\":\"memref<3xf32>\"}],"     \
  "\"state\":{\"y\":{\"argument\":0,\"result\":1}}"

// Opens a module whose sidecar lists `functions`.
static fc_status_t open_module(const char *functions, fc_allocator_t allocator,
                               fc_module_t **out_module, fc_error_t *err) {
  char folder[] = "/tmp/farcall-state-XXXXXX", path[64], sidecar[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/axpy.so", folder);
  snprintf(sidecar, sizeof sidecar, "%s/axpy.farcall.json", folder);
  assert_int_equal(symlink(OWNER, path), 0);
  FILE *file = fopen(sidecar, "w");
  assert_non_null(file);
  fprintf(file, "{\"farcall\":1,\"functions\":[%s]}", functions);
  assert_int_equal(fclose(file), 0);
  const fc_status_t status =
      fc_module_load(NULL, fc_str(path), NULL, allocator, out_module, err);
  unlink(path);
  unlink(sidecar);
  rmdir(folder);
  return status;
}

// Opens a call of a function that the sidecar describes with `json`.
static fc_call_t *open_call(const char *name, const char *json,
                            fc_module_t **out_module,
                            fc_instance_t **out_instance) {
  char functions[600];
  fc_error_t err = {0};
  fc_call_t *call = NULL;
  snprintf(functions, sizeof functions, "{\"cc\":\"ciface\",%s}", json);
  if (open_module(functions, fc_allocator_system(), out_module, &err)) {
    fail_msg("%s", err.message);
  }
  assert_int_equal(fc_instance_create(*out_module, NULL, out_instance, &err),
                   FC_OK);
  assert_int_equal(fc_call_create(*out_instance, name, &call, &err), FC_OK);
  return call;
}

static fc_call_t *open_axpy(const char *size, fc_module_t **out_module,
                            fc_instance_t **out_instance) {
  char json[512];
  snprintf(json, sizeof json, AXPY, size);
  return open_call("axpy", json, out_module, out_instance);
}

static void close_call(fc_call_t *call, fc_module_t *module,
                       fc_instance_t *instance) {
  fc_call_destroy(call);
  fc_instance_destroy(instance);
  fc_module_release(module);
}

static void set_inputs(fc_call_t *call, float *a, float *x) {
  static const int64_t three[] = {3};
  const fc_tensor_t scalar = {FC_DTYPE_F32, 0, three, NULL, a};
  const fc_tensor_t vector = {FC_DTYPE_F32, 1, three, NULL, x};
  fc_error_t err;
  assert_int_equal(fc_call_set(call, "0", &scalar, &err), FC_OK);
  assert_int_equal(fc_call_set(call, "1", &vector, &err), FC_OK);
}

static void machine_code_writes_into_state(void **state) {
  (void)state;
  float a = 2, x[] = {1, 2, 3};
  fc_module_t *module;
  fc_instance_t *instance;
  fc_state_t *first, *second;
  fc_tensor_t y;
  fc_error_t err = {0};
  fc_call_t *call = open_axpy("3", &module, &instance);
  assert_int_equal(fc_state_create(NULL, &first, &err), FC_OK);
  assert_int_equal(fc_state_create(NULL, &second, &err), FC_OK);
  set_inputs(call, &a, x);
  // The state is neither an argument nor a result of the call.
  size_t count;
  (void)fc_call_arguments(call, &count);
  assert_int_equal(count, 2);
  (void)fc_call_results(call, &count);
  assert_int_equal(count, 0);
  assert_int_equal(fc_call_run(call, NULL, &err), FC_OK);
  for (int i = 1; i < 5; i++) {
    fc_call_use_state(call, i % 2 ? first : second);
    assert_int_equal(fc_call_run(call, NULL, &err), FC_OK);
  }
  assert_int_equal(fc_state_get(first, "y", &y, &err), FC_OK);
  assert_int_equal(y.shape[0], 3);
  for (int i = 0; i < 3; i++) {
    assert_true(((float *)y.data)[i] == 2 * 2 * x[i]);
  }
  assert_int_equal(fc_state_copied(first), 0);
  assert_int_equal(fc_state_size(first), 4096);
  fc_state_reset(first);
  assert_int_equal(fc_state_size(first), 0);
  assert_int_not_equal(fc_state_get(first, "y", &y, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_REFERENCE_UNKNOWN);
  fc_call_use_state(call, first);
  assert_int_equal(fc_call_run(call, NULL, &err), FC_OK);
  assert_int_equal(fc_state_get(first, "y", &y, &err), FC_OK);
  assert_true(((float *)y.data)[2] == 6);
  close_call(call, module, instance);
  fc_state_destroy(first);
  fc_state_destroy(second);
}

static void a_call_without_room_leaves_nothing(void **state) {
  (void)state;
  float a = 2, x[] = {1, 2, 3};
  fc_module_t *module;
  fc_instance_t *instance;
  fc_state_t *small;
  fc_error_t err = {0};
  fc_call_t *call = open_axpy("3000", &module, &instance);
  assert_int_equal(
      fc_state_create(&(fc_state_options_t){.size_max = 8192}, &small, &err),
      FC_OK);
  set_inputs(call, &a, x);
  fc_call_use_state(call, small);
  assert_int_not_equal(fc_call_run(call, NULL, &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_OUT_OF_MEMORY);
  assert_non_null(strstr(err.message, "'y' takes 12288 bytes, 8192 are left"));
  assert_int_equal(fc_state_size(small), 0);
  close_call(call, module, instance);
  fc_state_destroy(small);
}

// The function returns the old state as a result, from the memory that the new state
// then gets.
static void a_result_that_was_the_state_stays(void **state) {
  (void)state;
  static const char *const threads[] = {"reentrant", "serial"};
  for (int i = 0; i < 2; i++) {
    float x[] = {0, 0, 0};
    static const int64_t three[] = {3};
    fc_module_t *module;
    fc_instance_t *instance;
    fc_state_t *values;
    fc_tensor_t result, y;
    fc_error_t err = {0};
    char json[512];
    snprintf(json, sizeof json, PASS, threads[i]);
    fc_call_t *call = open_call("pass", json, &module, &instance);
    const fc_tensor_t vector = {FC_DTYPE_F32, 1, three, NULL, x};
    assert_int_equal(fc_state_create(NULL, &values, &err), FC_OK);
    fc_call_use_state(call, values);
    assert_int_equal(fc_call_set(call, "1", &vector, &err), FC_OK);
    for (int step = 1; step < 4; step++) {
      x[2] = (float)step;
      assert_int_equal(fc_call_run(call, NULL, &err), FC_OK);
      assert_int_equal(fc_call_get(call, "0", &result, &err), FC_OK);
      assert_true(((float *)result.data)[2] == (float)(step - 1));
      assert_int_equal(fc_state_get(values, "y", &y, &err), FC_OK);
      assert_true(((float *)y.data)[2] == (float)step);
    }
    close_call(call, module, instance);
    fc_state_destroy(values);
  }
}

#define ADDING(name, type, state)                                              \
  "{\"name\":\"" name                                                          \
  "\",\"symbol\":\"_mlir_ciface_axpy\",\"cc\":\"ciface\",\"args\":[{\"type\":" \
  "\"f32\"},{\"type\":\"" type "\"},{\"type\":\"" type                         \
  "\"}],\"results\":[],\"state\":{" state "}}"

// Pairs of functions that may, or may not, share a state's name.
static const struct {
  const char *name, *first, *second;
  bool fits;
} kPairs[] = {
    {"one value",
     ADDING("f", "memref<?xf32>", "\"y\":{\"argument\":2,\"shape\":[3]}"),
     ADDING("g", "memref<3xf32>", "\"y\":{\"argument\":1}"), true},
    {"two values", ADDING("f", "memref<3xf32>", "\"y\":{\"argument\":2}"),
     ADDING("g", "memref<4xf64>",
            "\"x\":{\"argument\":2},\"z\":{\"argument\":1}"),
     true},
    {"another dim", ADDING("f", "memref<3xf32>", "\"y\":{\"argument\":2}"),
     ADDING("g", "memref<4xf32>",
            "\"x\":{\"argument\":2},\"y\":{\"argument\":1}"),
     false},
    {"another rank", ADDING("f", "memref<3xf32>", "\"y\":{\"argument\":2}"),
     ADDING("g", "memref<3x1xf32>", "\"y\":{\"argument\":2}"), false},
    {"another element type",
     ADDING("f", "memref<3xf32>", "\"y\":{\"argument\":2}"),
     ADDING("g", "memref<3xf64>", "\"y\":{\"argument\":2}"), false},
};

static fc_status_t open_pair(fc_allocator_t allocator, void *context,
                             fc_error_t *err) {
  const size_t i = *(const size_t *)context;
  char functions[800];
  fc_module_t *module = NULL;
  snprintf(functions, sizeof functions, "%s,%s", kPairs[i].first,
           kPairs[i].second);
  FC_TRY(open_module(functions, allocator, &module, err));
  fc_module_release(module);
  return FC_OK;
}

static void one_name_is_one_value(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kPairs); i++) {
    fc_error_t err = {0};
    fc_test_row(kPairs[i].name);
    const fc_status_t status = open_pair(fc_allocator_system(), &i, &err);
    if (kPairs[i].fits) {
      if (status != FC_OK) fail_msg("%s", err.message);
      continue;
    }
    assert_int_equal(err.code, FC_CODE_ABI_METADATA);
    assert_non_null(strstr(err.message, "state 'y' is one value"));
    assert_non_null(strstr(err.message, "in function 'f' and another in 'g'"));
  }
  fc_test_row(NULL);
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  (void)context;
  fc_state_t *state = NULL;
  FC_TRY(fc_state_create(&(fc_state_options_t){.allocator = allocator}, &state,
                         err));
  fc_state_destroy(state);
  return FC_OK;
}

static void every_failed_allocation_is_an_error(void **state) {
  (void)state;
  size_t pair = 1;
  assert_int_equal(fc_test_allocation_sweep(attempt, NULL), 1);
  assert_true(fc_test_allocation_sweep(open_pair, &pair) > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(machine_code_writes_into_state),
      FC_TEST(a_call_without_room_leaves_nothing),
      FC_TEST(a_result_that_was_the_state_stays),
      FC_TEST(one_name_is_one_value),
      FC_TEST(every_failed_allocation_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
