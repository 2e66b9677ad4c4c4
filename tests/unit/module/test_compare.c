// SPDX-License-Identifier: Apache-2.0
//
// When results count as equal, and how a difference is described.
#include "helpers/test.h"

#include <math.h>
#include <stdio.h>

#include "helpers/types.h"
#include "module/compare.h"

#define ANSWER(results) "{\"results\":" results "}"

typedef struct row_t {
  const char *name;
  const char *signature;
  const char *expected;
  const char *answer;
  const char *first;  // "": nothing differs; else where, expected, got
  uint64_t different;
  uint64_t max_ulp;
  double max_absolute;
  fc_tolerance_t tolerance;
} row_t;

static const row_t kRows[] = {
    {.name = "equal",
     .signature = "-> f32",
     .expected = "[1.5]",
     .answer = ANSWER("[1.5]")},
    {.name = "written in another way",
     .signature = "-> f32",
     .expected = "[15e-1]",
     .answer = ANSWER("[1.5]")},
    {.name = "rounded to its type",
     .signature = "-> f32",
     .expected = "[0.1]",
     .answer = ANSWER("[0.100000001490116]")},
    {.name = "not rounded to a smaller type",
     .signature = "-> f64",
     .expected = "[0.1]",
     .answer = ANSWER("[0.10000000000000002]"),
     .first = "/results/0 0.1 0.10000000000000002",
     .different = 1,
     .max_ulp = 1,
     .max_absolute = 0x1p-56},
    {.name = "one step",
     .signature = "-> f32",
     .expected = "[1.0]",
     .answer = ANSWER("[1.0000001]"),
     .first = "/results/0 1.0 1.0000001",
     .different = 1,
     .max_ulp = 1,
     .max_absolute = 0x1p-23},
    {.name = "one step is tolerated",
     .signature = "-> f32",
     .expected = "[1.0]",
     .answer = ANSWER("[1.0000001]"),
     .max_ulp = 1,
     .max_absolute = 0x1p-23,
     .tolerance = {.ulp = 1}},
    {.name = "a step of a small type",
     .signature = "-> f16",
     .expected = "[1.0]",
     .answer = ANSWER("[1.001]"),
     .first = "/results/0 1.0 1.001",
     .different = 1,
     .max_ulp = 1,
     .max_absolute = 0x1p-10},
    {.name = "across zero",
     .signature = "-> f8E4M3FN",
     .expected = "[-0.00195]",
     .answer = ANSWER("[0.00195]"),
     .first = "/results/0 -0.00195 0.00195",
     .different = 1,
     .max_ulp = 2,
     .max_absolute = 0x1p-8},
    {.name = "a scale",
     .signature = "-> f8E8M0FNU",
     .expected = "[1.0]",
     .answer = ANSWER("[4.0]"),
     .first = "/results/0 1.0 4.0",
     .different = 1,
     .max_ulp = 2,
     .max_absolute = 3},
    {.name = "an absolute tolerance",
     .signature = "-> f64",
     .expected = "[10.0]",
     .answer = ANSWER("[10.25]"),
     .max_ulp = UINT64_C(1) << 47,
     .max_absolute = 0.25,
     .tolerance = {.absolute = 0.25}},
    {.name = "a relative tolerance",
     .signature = "-> f64",
     .expected = "[-8]",
     .answer = ANSWER("[-8.5]"),
     .max_ulp = UINT64_C(1) << 48,
     .max_absolute = 0.5,
     .tolerance = {.relative = 0.0625}},
    {.name = "beyond a relative tolerance",
     .signature = "-> f64",
     .expected = "[8]",
     .answer = ANSWER("[8.5]"),
     .first = "/results/0 8 8.5",
     .different = 1,
     .max_ulp = UINT64_C(1) << 48,
     .max_absolute = 0.5,
     .tolerance = {.relative = 0.0624}},
    {.name = "the zeros",
     .signature = "-> f64",
     .expected = "[0.0]",
     .answer = ANSWER("[-0.0]")},
    {.name = "NaN",
     .signature = "-> f64",
     .expected = "[\"NaN\"]",
     .answer = ANSWER("[\"NaN\"]")},
    {.name = "NaN that must differ",
     .signature = "-> f64",
     .expected = "[\"NaN\"]",
     .answer = ANSWER("[\"NaN\"]"),
     .first = "/results/0 \"NaN\" \"NaN\"",
     .different = 1,
     .tolerance = {.nan_differs = true}},
    {.name = "a number for NaN",
     .signature = "-> f64",
     .expected = "[\"NaN\"]",
     .answer = ANSWER("[0.0]"),
     .first = "/results/0 \"NaN\" 0.0",
     .different = 1,
     .tolerance = {.absolute = 1e300}},
    {.name = "an infinity is near nothing",
     .signature = "-> f32",
     .expected = "[\"Infinity\"]",
     .answer = ANSWER("[3.4e+38]"),
     .first = "/results/0 \"Infinity\" 3.4e+38",
     .different = 1,
     .max_ulp = 0x3662,
     .max_absolute = (double)INFINITY,
     .tolerance = {.absolute = 1e300, .relative = 1}},
    {.name = "an infinity is no step away",
     .signature = "-> f32",
     .expected = "[3.4028235e+38]",
     .answer = ANSWER("[\"Infinity\"]"),
     .first = "/results/0 3.4028235e+38 \"Infinity\"",
     .different = 1,
     .max_ulp = 1,
     .tolerance = {.ulp = 5}},
    {.name = "large integers are not rounded",
     .signature = "-> i64",
     .expected = "[9007199254740993]",
     .answer = ANSWER("[9007199254740991]"),
     .first = "/results/0 9007199254740993 9007199254740991",
     .different = 1,
     .max_ulp = 2,
     .max_absolute = 2,
     .tolerance = {.absolute = 1}},
    {.name = "integers",
     .signature = "-> i64",
     .expected = "[9007199254740993]",
     .answer = ANSWER("[9007199254740992]"),
     .first = "/results/0 9007199254740993 9007199254740992",
     .different = 1,
     .max_ulp = 1},
    {.name = "unsigned integers",
     .signature = "-> ui64",
     .expected = "[9223372036854775807]",
     .answer = ANSWER("[9223372036854775808]"),
     .first = "/results/0 9223372036854775807 9223372036854775808",
     .different = 1,
     .max_ulp = 1},
    {.name = "an integer's tolerance",
     .signature = "-> i32",
     .expected = "[7]",
     .answer = ANSWER("[5]"),
     .max_ulp = 2,
     .max_absolute = 2,
     .tolerance = {.absolute = 2}},
    {.name = "a bool is no number",
     .signature = "-> i1",
     .expected = "[1]",
     .answer = ANSWER("[true]"),
     .first = "/results/0 1 true",
     .different = 1},
    {.name = "the first of several",
     .signature = "-> tensor<2x2xf32>",
     .expected = "[[[1,2],[3,4]]]",
     .answer = ANSWER("[[[1.0,2.0],[3.5,6.0]]]"),
     .first = "/results/0/1/0 3 3.5",
     .different = 2,
     .max_ulp = 1 << 22,
     .max_absolute = 2},
    {.name = "another shape",
     .signature = "-> tensor<?xf32>",
     .expected = "[[1,2,3]]",
     .answer = ANSWER("[[1.0,2.0]]"),
     .first = "/results/0 a list of 3 a list of 2",
     .different = 1},
    {.name = "what says its type",
     .signature = "-> tensor<?xf32>",
     .expected = "[{\"dtype\":\"f32\",\"shape\":[2],\"data\":[1,2]}]",
     .answer = ANSWER("[{\"shape\":[2],\"dtype\":\"f32\",\"data\":[1.0,2.5]}]"),
     .first = "/results/0/data/1 2 2.5",
     .different = 1,
     .max_ulp = 1 << 21,
     .max_absolute = 0.5},
    {.name = "a shape has no tolerance",
     .signature = "-> tensor<?xf32>",
     .expected = "[{\"shape\":[2],\"data\":[]}]",
     .answer = ANSWER("[{\"shape\":[3],\"data\":[]}]"),
     .first = "/results/0/shape/0 2 3",
     .different = 1,
     .tolerance = {.ulp = 5, .absolute = 5}},
    {.name = "complex",
     .signature = "-> complex<f32>",
     .expected = "[[1,2]]",
     .answer = ANSWER("[[1.0,2.0000002]]"),
     .max_ulp = 1,
     .max_absolute = 0x1p-22,
     .tolerance = {.ulp = 1}},
    {.name = "what declares nothing but says it",
     .signature = "-> any",
     .expected = "[{\"dtype\":\"f16\",\"data\":[1]}]",
     .answer = ANSWER("[{\"dtype\":\"f16\",\"data\":[1.001]}]"),
     .max_ulp = 1,
     .max_absolute = 0x1p-10,
     .tolerance = {.ulp = 1}},
    {.name = "a dict in another order",
     .signature = "-> {a: f32, b: (i32, f32)}",
     .expected = "[{\"b\":[1,2],\"a\":3}]",
     .answer = ANSWER("[{\"a\":3.0,\"b\":[1,2.5]}]"),
     .first = "/results/0/b/1 2 2.5",
     .different = 1,
     .max_ulp = 1 << 21,
     .max_absolute = 0.5},
    {.name = "a key that is missing",
     .signature = "-> {a: f32}",
     .expected = "[{\"a\":1}]",
     .answer = ANSWER("[{\"c\":1.0}]"),
     .first = "/results/0/a 1 nothing",
     .different = 1},
    {.name = "a list",
     .signature = "-> [f32]",
     .expected = "[[1,2]]",
     .answer = ANSWER("[[1.0,2.0]]")},
    {.name = "what an argument holds then",
     .signature = "f64, inout tensor<1xf32> -> i32",
     .expected = "[3,[1.0]]",
     .answer = ANSWER("[3,[1.0000001]]"),
     .max_ulp = 1,
     .max_absolute = 0x1p-23,
     .tolerance = {.ulp = 1}},
    {.name = "text",
     .signature = "-> str",
     .expected = "[\"a\"]",
     .answer = ANSWER("[\"b\"]"),
     .first = "/results/0 \"a\" \"b\"",
     .different = 1},
    {.name = "no results",
     .signature = "-> f32",
     .expected = "[1]",
     .answer = "{}",
     .first = "/results a list of 1 nothing",
     .different = 1},
    {.name = "one result more",
     .signature = "-> f32",
     .expected = "[]",
     .answer = ANSWER("[1.0]"),
     .first = "/results a list of 0 a list of 1",
     .different = 1},
};

static void says_what_differs(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, kRows) {
    fc_signature_t *signature =
        fc_test_signature(fc_allocator_system(), row->signature);
    fc_comparison_t found;
    fc_error_t err = {0};
    char text[512];
    if (fc_compare_results(signature, fc_str(row->expected),
                           fc_str(row->answer), &row->tolerance,
                           fc_allocator_system(), &found, &err) != FC_OK) {
      fail_msg("%s", err.message);
    }
    snprintf(text, sizeof text, "%s %s %s", found.pointer, found.expected,
             found.got);
    assert_string_equal(found.different ? text : "",
                        row->first ? row->first : "");
    assert_int_equal(found.different, row->different);
    assert_int_equal(found.max_ulp, row->max_ulp);
    if (row->max_absolute > 0) {
      assert_true(found.max_absolute == row->max_absolute ||
                  fabs(found.max_absolute - row->max_absolute) <
                      row->max_absolute / 1000);
    }
    fc_signature_destroy(signature);
  }
}

static void refuses_what_is_no_json(void **state) {
  (void)state;
  fc_signature_t *signature =
      fc_test_signature(fc_allocator_system(), "-> f32");
  const fc_tolerance_t exact = {0};
  fc_comparison_t found;
  fc_error_t err;
  char deep[200] = {0};
  memset(deep, '[', 70);
  memset(deep + 70, ']', 70);
  const struct {
    const char *name, *expected, *answer;
    fc_code_t code;
  } rows[] = {{"expected", "[1", "{}", FC_CODE_JSON_SYNTAX},
              {"answer", "[1]", "", FC_CODE_JSON_SYNTAX},
              {"depth", deep, NULL, FC_CODE_JSON_TOO_DEEP}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    char answer[256];
    snprintf(answer, sizeof answer, "{\"results\":%s}", row->expected);
    assert_int_not_equal(
        fc_compare_results(signature, fc_str(row->expected),
                           fc_str(row->answer ? row->answer : answer), &exact,
                           fc_allocator_system(), &found, &err),
        FC_OK);
    assert_int_equal(err.code, row->code);
  }
  fc_signature_destroy(signature);
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  const fc_tolerance_t exact = {0};
  fc_comparison_t found;
  return fc_compare_results(context, FC_STR("[[1,2]]"),
                            FC_STR(ANSWER("[[1.0,2.0]]")), &exact, allocator,
                            &found, err);
}

static void every_failed_allocation_is_an_error(void **state) {
  (void)state;
  fc_signature_t *signature =
      fc_test_signature(fc_allocator_system(), "-> tensor<2xf32>");
  assert_true(fc_test_allocation_sweep(attempt, signature) >= 3);
  fc_signature_destroy(signature);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(says_what_differs),
      FC_TEST(refuses_what_is_no_json),
      FC_TEST(every_failed_allocation_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
