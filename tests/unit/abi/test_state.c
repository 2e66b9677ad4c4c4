// SPDX-License-Identifier: Apache-2.0
//
// The member "state" of a sidecar: how it changes a signature, and what is refused.
#include "abi/state.h"

#include <stdio.h>

#include "abi/render.h"
#include "abi/sidecar.h"
#include "helpers/test.h"

// f(x: memref<2xf32>, h: memref<?x3xf16>, n: i64) -> (memref<?x3xf16>, i64)
static const char kDocument[] =
    "{\"farcall\":1,\"functions\":[{\"name\":\"f\",\"symbol\":\"s\",\"args\":["
    "{\"type\":\"memref<2xf32>\"},{\"type\":\"memref<?x3xf16>\"},"
    "{\"type\":\"i64\"}],\"results\":[{\"type\":\"memref<?x3xf16>\"},"
    "{\"type\":\"i64\"}],\"state\":%s}]}";

typedef struct state_row_t {
  const char *name;
  const char *state;
  const char *json;   // NULL: it is refused
  const char *other;  // what else is in the JSON, or the message
} state_row_t;

static const state_row_t kRows[] = {
    {"in place", "{\"kv\":{\"argument\":0}}",
     "\"state\":[{\"name\":\"kv\",\"argument\":0,\"shape\":[2]}]",
     "f(state tensor<2xf32>, "},
    {"with a shape",
     "{\"kv\":{\"argument\":1,\"shape\":[5,3],\"initial\":\"zeros\"}}",
     "\"state\":[{\"name\":\"kv\",\"argument\":1,\"shape\":[5,3]}]",
     "\"role\":\"state\",\"certain\":true"},
    {"a result",
     "{\"h\":{\"argument\":1,\"result\":0,\"shape\":[0,3],\"survives\":true}}",
     "\"state\":[{\"name\":\"h\",\"argument\":1,\"result\":0,\"shape\":[0,3],"
     "\"survives\":true}]",
     "\"results\":[{\"type\":{\"kind\":\"scalar\",\"dtype\":\"i64\"}}]"},
    {"a scalar", "{\"n\":{\"argument\":2,\"result\":1}}",
     "\"state\":[{\"name\":\"n\",\"argument\":2,\"result\":1}]",
     ", state i64) -> "},
    {"two", "{\"n\":{\"argument\":2,\"result\":1},\"x.0\":{\"argument\":0}}",
     "\"state\":[{\"name\":\"n\",\"argument\":2,\"result\":1},"
     "{\"name\":\"x.0\",\"argument\":0,\"shape\":[2]}]",
     ""},
    {"none", "{}", "\"results\":", ""},

    {"no object", "[]", NULL, "must be an object"},
    {"no state", "{\"kv\":4}", NULL, "'kv' must be an object"},
    {"no argument", "{\"kv\":{}}", NULL, "no valid \"argument\""},
    {"a bad name", "{\"a b\":{\"argument\":0}}", NULL, "'a b' is no name"},
    {"no name", "{\"\":{\"argument\":0}}", NULL, "is no name"},
    {"a huge result", "{\"kv\":{\"argument\":0,\"result\":4294967295}}", NULL,
     "no valid"},
    {"other zeros", "{\"kv\":{\"argument\":0,\"initial\":\"ones\"}}", NULL,
     "initial"},
    {"a negative dim", "{\"kv\":{\"argument\":1,\"shape\":[-1,3]}}", NULL,
     "must be a size"},
    {"no such argument", "{\"kv\":{\"argument\":3}}", NULL,
     "there is no such argument"},
    {"no such result", "{\"kv\":{\"argument\":1,\"result\":2}}", NULL,
     "there is no such result"},
    {"a scalar in place", "{\"n\":{\"argument\":2}}", NULL,
     "its argument is no tensor"},
    {"another type", "{\"n\":{\"argument\":2,\"result\":0}}", NULL,
     "its result has another type"},
    {"no size", "{\"kv\":{\"argument\":1}}", NULL, "how large"},
    {"another rank", "{\"kv\":{\"argument\":1,\"shape\":[3]}}", NULL,
     "a shape of 1 dims for a type of 2"},
    {"another size", "{\"kv\":{\"argument\":1,\"shape\":[5,4]}}", NULL,
     "its shape is not that"},
    {"one argument twice", "{\"a\":{\"argument\":0},\"b\":{\"argument\":0}}",
     NULL, "another state"},
    {"one name twice",
     "{\"a\":{\"argument\":0},\"a\":{\"argument\":1,\"shape\":[1,3]}}", NULL,
     "another state"},
};

static fc_status_t parse(const char *state, fc_allocator_t allocator,
                         fc_sidecar_t **out, fc_error_t *err) {
  char json[2048];
  snprintf(json, sizeof json, kDocument, state);
  return fc_sidecar_parse(fc_str(json), FC_SOURCE_SIDECAR, NULL, allocator, out,
                          err);
}

static void a_sidecar_declares_state(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const state_row_t, row, kRows) {
    fc_sidecar_t *sidecar = NULL;
    fc_error_t err = {0};
    const fc_status_t status =
        parse(row->state, fc_allocator_system(), &sidecar, &err);
    assert_int_equal(status == FC_OK, row->json != NULL);
    if (!row->json) {
      assert_int_equal(err.code, FC_CODE_ABI_METADATA);
      assert_non_null(strstr(err.message, row->other));
      continue;
    }
    fc_text_t text;
    fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
    assert_int_equal(
        fc_signature_print_json(sidecar->functions[0].signature, FC_STR("m"),
                                FC_STR("1"), &text.sink, &err),
        FC_OK);
    assert_int_equal(fc_sink_put(&text.sink, fc_str_make("", 1), &err), FC_OK);
    const char *printed = fc_text_str(&text).data;
    assert_non_null(strstr(printed, row->json));
    assert_non_null(strstr(printed, row->other));
    fc_text_reset(&text);
    assert_int_equal(fc_signature_print_mlir(sidecar->functions[0].signature,
                                             &text.sink, &err),
                     FC_OK);
    const fc_str_t mlir = fc_text_str(&text);
    assert_null(memmem(mlir.data, mlir.size, "farcall.role", 12));
    fc_text_deinit(&text);
    fc_sidecar_destroy(sidecar);
  }
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  fc_sidecar_t *sidecar = NULL;
  FC_TRY(parse(context, allocator, &sidecar, err));
  assert_int_equal(sidecar->functions[0].signature->state_count, 2);
  fc_builder_t *builder = fc_builder_create(allocator);
  fc_signature_t *copy = NULL;
  fc_status_t status = FC_OK;
  if (builder) {
    fc_builder_copy(builder, sidecar->functions[0].signature);
    status = fc_signature_build(builder, &copy, err);
  } else {
    status = fc_fail_memory(err);
  }
  if (status == FC_OK) {
    assert_int_equal(copy->state_count, 2);
    assert_int_equal(copy->results[1].role, FC_ROLE_STATE);
    assert_int_equal(copy->dims[copy->states[1].dims], 2);
  }
  fc_builder_destroy(builder);
  fc_signature_destroy(copy);
  fc_sidecar_destroy(sidecar);
  return status;
}

static void every_failed_allocation_is_an_error(void **state) {
  (void)state;
  assert_true(
      fc_test_allocation_sweep(attempt, (void *)(uintptr_t)kRows[4].state) > 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_sidecar_declares_state),
      FC_TEST(every_failed_allocation_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
