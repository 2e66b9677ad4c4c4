// SPDX-License-Identifier: Apache-2.0
//
// Several functions that callers see as one: which of them a call runs.
#include "abi/sizes.h"

#include <stdio.h>

#include "farcall/call.h"
#include "helpers/echo.h"
#include "helpers/test.h"
#include "helpers/types.h"
#include "marshal/oip.h"
#include "marshal/plan.h"

typedef struct sized_t {
  fc_signature_t *signatures[4];  // of the module
  fc_sizes_t *sizes;
  fc_plan_t *plan;  // of the function that is listed first
  fc_frame_t *frame;
  fc_backend_t backend;
  fc_echo_t echo;
} sized_t;

static size_t the_index;  // of the function that was called last

static fc_status_t call(void *instance, size_t index, fc_backend_call_t *call,
                        fc_error_t *err) {
  the_index = index;
  return fc_backend_echo.call(instance, index, call, err);
}

// A module with the functions a, b, c and d of these types. Callers see the first
// `count` as f.
static void sized_init(sized_t *sized, const char *const *types, size_t count) {
  static const char *const kNames[] = {"a", "b", "c", "d"};
  const fc_allocator_t allocator = fc_allocator_system();
  char json[200] = "{\"farcall\":1,\"sizes\":[{\"name\":\"f\",\"functions\":[";
  fc_error_t err;
  *sized = (sized_t){0};
  for (size_t i = 0; i < 4; i++) {
    fc_builder_t *builder = fc_builder_create(allocator);
    fc_signature_t *unnamed = fc_test_build(builder, types[i]);
    fc_builder_name(builder, fc_str(kNames[i]));
    assert_int_equal(fc_signature_build(builder, &sized->signatures[i], &err),
                     FC_OK);
    fc_signature_destroy(unnamed);
    fc_builder_destroy(builder);
    const size_t size = strlen(json);
    if (i >= count) continue;
    snprintf(json + size, sizeof json - size, "%s\"%s\"", i ? "," : "",
             kNames[i]);
  }
  strncat(json, "]}]}", sizeof json - strlen(json) - 1);
  if (fc_sizes_create(fc_str(json), sized->signatures, 4, allocator,
                      &sized->sizes, &err) != FC_OK ||
      fc_plan_create(sized->sizes->listed[0].signature, allocator, &sized->plan,
                     &err) != FC_OK) {
    fail_msg("%s", err.message);
  }
  sized->plan->entries = sized->sizes->listed[0].entries;
  assert_int_equal(fc_frame_create(allocator, NULL, &sized->frame, &err),
                   FC_OK);
  sized->backend = fc_backend_echo;
  sized->backend.call = call;
  sized->echo.info.signatures = sized->signatures;
  sized->echo.info.count = 4;
}

static void sized_deinit(sized_t *sized) {
  fc_frame_destroy(sized->frame);
  fc_plan_destroy(sized->plan);
  fc_sizes_destroy(sized->sizes);
  for (size_t i = 0; i < 4; i++) fc_signature_destroy(sized->signatures[i]);
}

// Makes a call with these arguments, then once more with the arguments as the frame has
// them.
static fc_status_t run(sized_t *sized, const char *body, bool oip,
                       fc_error_t *err) {
  fc_error_reset(err);
  the_index = SIZE_MAX;
  fc_frame_begin(sized->frame, sized->plan, NULL);
  FC_TRY(oip ? fc_oip_decode(sized->frame, fc_str(body), FC_OIP_ALL, err)
             : fc_frame_decode(sized->frame, fc_str(body), err));
  FC_TRY(fc_frame_invoke(sized->frame, &sized->backend, &sized->echo, 0, NULL,
                         0, err));
  const size_t decoded = the_index;
  size_t count;
  the_index = SIZE_MAX;
  assert_non_null(fc_frame_arguments(sized->frame, &count));
  FC_TRY(fc_frame_invoke(sized->frame, &sized->backend, &sized->echo, 0, NULL,
                         0, err));
  assert_int_equal(the_index, decoded);
  return FC_OK;
}

static const char *const kOne[] = {"x: tensor<2xi8>, y: i8 -> tensor<2xi8>, i8",
                                   "x: tensor<1xi8>, y: i8 -> tensor<1xi8>, i8",
                                   "x: tensor<0xi8>, y: i8 -> tensor<0xi8>, i8",
                                   "i8 -> i8"};
static const char *const kTwo[] = {
    "tensor<1x2xi8>, tensor<2xi8> -> tensor<1x2xi8>, tensor<2xi8>",
    "tensor<2x2xi8>, tensor<2xi8> -> tensor<2x2xi8>, tensor<2xi8>",
    "tensor<2x1xi8>, tensor<1xi8> -> tensor<2x1xi8>, tensor<1xi8>", "i8 -> i8"};

static void the_function_of_the_size_is_called(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *const *types;
    const char *body;
    bool oip;
    size_t index;
    const char *says;  // NULL: it is called
  } rows[] = {
      {"first", kOne, "[[1,2],0]", false, 0, NULL},
      {"second", kOne, "[[1],0]", false, 1, NULL},
      {"empty", kOne, "[[],0]", false, 2, NULL},
      {"by name", kOne, "{\"kwargs\":{\"y\":1,\"x\":[1]}}", false, 1, NULL},
      {"too large", kOne, "[[1,2,3],0]", false, 0,
       "argument 0 ('x'), dim 0: [size] is 3, it may be 2, 1 or 0"},
      {"of the Open Inference Protocol", kOne,
       "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"INT8\",\"shape\":[1],"
       "\"data\":[7]},{\"name\":\"y\",\"datatype\":\"INT8\",\"shape\":[1],"
       "\"data\":[7]}]}",
       true, 1, NULL},
      {"too large for it", kOne,
       "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"INT8\",\"shape\":[3],"
       "\"data\":[7,8,9]},{\"name\":\"y\",\"datatype\":\"INT8\",\"shape\":[1],"
       "\"data\":[7]}]}",
       true, 0, "argument 0 ('x'), dim 0: [size] is 3, it may be 2, 1 or 0"},
      {"two sizes", kTwo, "[[[1,2]],[1,2]]", false, 0, NULL},
      {"the second", kTwo, "[[[1,2],[3,4]],[1,2]]", false, 1, NULL},
      {"the third", kTwo, "[[[1],[2]],[1]]", false, 2, NULL},
      {"neither together", kTwo, "[[[1]],[1]]", false, 0,
       "[size]x[size1] is 1x1, it may be 1x2, 2x2 or 2x1"},
      {"dims that must agree", kTwo, "[[[1,2]],[1]]", false, 0,
       "argument 1: dim 0 is 1, dim 1 of argument 0 is 2: both are 'size1'"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    sized_t sized;
    fc_error_t err;
    sized_init(&sized, row->types, 3);
    const fc_status_t status = run(&sized, row->body, row->oip, &err);
    if (row->says) {
      assert_int_not_equal(status, FC_OK);
      assert_int_equal(err.code, FC_CODE_SHAPE_MISMATCH);
      assert_string_equal(err.message, row->says);
      assert_int_equal(the_index, SIZE_MAX);
    } else {
      if (status) fail_msg("%s", err.message);
      assert_int_equal(the_index, row->index);
    }
    sized_deinit(&sized);
  }
}

// A long list of sizes is cut and marked with "…", so the message stays short.
static void many_sizes_are_cut(void **state) {
  (void)state;
  enum { COUNT = 100 };
  fc_builder_t *builder = fc_builder_create(fc_allocator_system());
  fc_signature_t *signature = NULL;
  fc_plan_t *plan = NULL;
  fc_frame_t *frame = NULL;
  fc_error_t err;
  const int64_t name = fc_builder_dim_name(builder, FC_STR("n"));
  fc_builder_argument(builder, FC_STR("x"),
                      fc_builder_tensor(builder, FC_DTYPE_I8, 1, &name),
                      FC_ROLE_IN, true, FC_RAW_NEXT);
  for (int64_t i = 0; i < COUNT; i++) {
    fc_builder_sizes(builder, &(int64_t){1000000 + i});
  }
  assert_int_equal(fc_signature_build(builder, &signature, &err), FC_OK);
  assert_int_equal(
      fc_plan_create(signature, fc_allocator_system(), &plan, &err), FC_OK);
  fc_entry_t entries[COUNT] = {{0, signature}};
  plan->entries = entries;
  assert_int_equal(fc_frame_create(fc_allocator_system(), NULL, &frame, &err),
                   FC_OK);
  fc_frame_begin(frame, plan, NULL);
  assert_int_not_equal(fc_frame_decode(frame, FC_STR("[[1]]"), &err), FC_OK);
  assert_int_equal(err.code, FC_CODE_SHAPE_MISMATCH);
  assert_non_null(
      strstr(err.message, "[n] is 1, it may be 1000000, 1000001, 1000002"));
  assert_non_null(strstr(err.message, "…"));
  assert_true(strlen(err.message) < 200);
  assert_string_equal(err.got, "1");
  fc_frame_destroy(frame);
  fc_plan_destroy(plan);
  fc_signature_destroy(signature);
  fc_builder_destroy(builder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(the_function_of_the_size_is_called),
      FC_TEST(many_sizes_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
