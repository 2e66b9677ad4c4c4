// SPDX-License-Identifier: Apache-2.0
//
// Argument names in MLIR as people write it.
#include "helpers/arena.h"

#include "compile/source_names.h"

typedef struct name_row_t {
  const char *name;
  const char *source;
  const char *function;
  size_t count;
  const char *names[3];
} name_row_t;

static const name_row_t sources[] = {
    {"plain", "func.func @f(%a: i32, %b: f32) {", "f", 2, {"a", "b"}},
    {"numbers are no names",
     "func.func @f(%0: i32, %1: f32)",
     "f",
     2,
     {"", ""}},
    {"nested types and attributes",
     "func.func @f(%a: memref<?x4xf32, strided<[?, 1], offset: ?>> {x.y = "
     "[\"), %q\", {k = 1}]}, %b: vector<[4]xf32>)",
     "f",
     2,
     {"a", "b"}},
    {"comments",
     "// func.func @f(%no: i32)\nfunc.func // (%x: i1\n @f( // a\n"
     "  %a: i32, // first, really\n  %b : f32 // )\n)",
     "f",
     2,
     {"a", "b"}},
    {"a string that looks like one",
     "cf.assert %p, \"func.func @f(%no: i32)\" func.func @f(%yes: i32)",
     "f",
     1,
     {"yes"}},
    {"the right one of several",
     "func.func private @f2(%n: i1)\nfunc.func @f(%a: i32)",
     "f",
     1,
     {"a"}},
    {"visibility", "func.func public @f(%a: i32)", "f", 1, {"a"}},
    {"quoted symbol", "func.func @\"a b\\22\"(%x: i32)", "a b\"", 1, {"x"}},
    {"words with dots", "func.func @f(%my.arg-1$: i32)", "f", 1, {"my.arg-1$"}},
    {"no names in a declaration",
     "func.func private @f(i32, f32)",
     "f",
     2,
     {"", ""}},
    {"count differs", "func.func @f(%a: i32)", "f", 2, {"", ""}},
    {"arrow in a type",
     "func.func @f(%g: (i32) -> f32, %b: i32)",
     "f",
     2,
     {"g", "b"}},
    {"not there", "func.func @g(%a: i32)", "f", 1, {""}},
    {"cut off", "func.func @f(%a: memref<4x", "f", 1, {"a"}},
    {"bytecode", "ML\xefR", "f", 1, {""}},
    {"no arguments", "func.func @f()", "f", 0, {0}},
};

static void names_come_from_the_source(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const name_row_t, row, sources) {
    fc_str_t names[3];
    fc_error_t err;
    assert_int_equal(
        fc_mlir_names(&fc_test_arena, fc_str(row->source),
                      fc_str(row->function), row->count, names, &err),
        0);
    for (size_t i = 0; i < row->count; i++) {
      assert_true(fc_str_equal(names[i], fc_str(row->names[i])));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_WITH_ARENA(names_come_from_the_source),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
