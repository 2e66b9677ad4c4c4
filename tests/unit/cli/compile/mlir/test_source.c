// SPDX-License-Identifier: Apache-2.0
//
// Argument names and roles, read from MLIR source text.
#include "helpers/arena.h"

#include "compile/mlir/text.h"

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
    fc_mlir_argument_t arguments[3];
    fc_error_t err;
    assert_int_equal(
        fc_mlir_arguments(&fc_test_arena, fc_str(row->source),
                          fc_str(row->function), row->count, arguments, &err),
        0);
    for (size_t i = 0; i < row->count; i++) {
      assert_true(fc_str_equal(arguments[i].name, fc_str(row->names[i])));
    }
  }
}

typedef struct role_row_t {
  const char *name;
  const char *source;
  const char *roles[3];
} role_row_t;

#define OVERWRITE " {\n torch.overwrite.tensor.contents %4 overwrites "
#define OF_TYPES " : !torch.vtensor<[4],f32>, !torch.tensor<[4],f32>\n}"
#define ARGUMENTS "(%a: !torch.vtensor<[4],f32>, %b: !torch.tensor<[4],f32>"

static const role_row_t role_rows[] = {
    {"values",
     "func.func @f(%a: tensor<4xf32>, %b: tensor<?xi8> {k = 1})",
     {"in", "in"}},
    {"scalars and others",
     "func.func @f(%a: i32, %b: !hal.buffer_view)",
     {"", ""}},
    {"overwritten",
     "func.func @f" ARGUMENTS ")" OVERWRITE "%b" OF_TYPES,
     {"in", "inout"}},
    {"only read", "func.func @f" ARGUMENTS ") { return }", {"in", ""}},
    {"another is overwritten",
     "func.func @f" ARGUMENTS ")" OVERWRITE "%b2" OF_TYPES,
     {"in", ""}},
    {"numbers",
     "func.func @f(%0: !torch.tensor<[4],f32>, %1: !torch.tensor<[4],f32>)" OVERWRITE
     "%1" OF_TYPES,
     {"", "inout"}},
    {"of another function",
     "func.func @g" ARGUMENTS ")" OVERWRITE "%b" OF_TYPES
     "func.func @f" ARGUMENTS ") { return }"
     "func.func @h" ARGUMENTS ")" OVERWRITE "%b" OF_TYPES,
     {"in", ""}},
};

static void roles_come_from_the_types(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const role_row_t, row, role_rows) {
    fc_mlir_argument_t arguments[2];
    assert_int_equal(fc_mlir_arguments(&fc_test_arena, fc_str(row->source),
                                       FC_STR("f"), 2, arguments, NULL),
                     0);
    for (size_t i = 0; i < 2; i++) {
      assert_string_equal(arguments[i].role, row->roles[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_WITH_ARENA(names_come_from_the_source),
      FC_TEST_WITH_ARENA(roles_come_from_the_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
