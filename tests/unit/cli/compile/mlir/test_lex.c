// SPDX-License-Identifier: Apache-2.0
//
// Pieces of MLIR text. The texts are as mlir-opt prints them or a user may write
// them.
#include "helpers/test.h"

#include <stdio.h>

#include "compile/mlir/lex.h"

static void brackets_pair_up(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *text;
    size_t plain;     // where the bracket ends
    size_t comments;  // the same with comments
  } rows[] = {
      {"nested", "([{}]<a>) b", 9, 9},
      {"a string hides", "(\")\") b", 5, 5},
      {"an escaped quote", "(\"\\\")\") b", 7, 7},
      {"an arrow", "((i32) -> f32) b", 14, 14},
      {"a comparison", "(a >= b) c", 8, 8},
      {"properties", "<{value = 1 : i32}> : x", 19, 19},
      {"a comment", "(// )\n) b", 5, 7},
      {"open", "(a", 2, 2},
      {"an open string", "(\"a", 3, 3},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    fc_str_t text = fc_str(rows[i].text);
    assert_int_equal(fc_lex_balanced(text, 0, false), rows[i].plain);
    assert_int_equal(fc_lex_balanced(text, 0, true), rows[i].comments);
  }
}

static void lists_come_apart(void **state) {
  (void)state;
  static const struct {
    const char *list;
    const char *elements;  // each in brackets
  } rows[] = {
      {"", ""},
      {"  ", ""},
      {"a", "[a]"},
      {" a , b ", "[a][b]"},
      {"memref<2x3xf32, strided<[3, 1]>>, \"x, y\", {a = 1, b = 2}",
       "[memref<2x3xf32, strided<[3, 1]>>][\"x, y\"][{a = 1, b = 2}]"},
      {"(i32, i32) -> f32, i1", "[(i32, i32) -> f32][i1]"},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    char got[128] = "";
    size_t at = 0, count = 0;
    fc_str_t rest = fc_str(rows[i].list), element;
    fc_test_row(rows[i].list);
    for (; fc_lex_element(&rest, &element); count++) {
      at += (size_t)snprintf(got + at, sizeof got - at, "[%.*s]",
                             FC_STR_ARG(element));
    }
    assert_string_equal(got, rows[i].elements);
    assert_int_equal(fc_lex_count(fc_str(rows[i].list)), count);
  }
}

static void lines_begin_with_an_operation_or_not(void **state) {
  (void)state;
  static const struct {
    const char *line;
    const char *name;  // NULL: none
    char operands;     // the character at the index returned
  } rows[] = {
      {"\"func.return\"() : () -> ()", "func.return", '('},
      {"    %0:2 = \"a.b\"(%1) : (i32) -> (i1, i1) loc(#loc)", "a.b", '('},
      {"  ^bb0(%arg0: i32 loc(\"x\":1:1)):", NULL, 0},
      {"}) {note = \"a.b\"} : () -> ()", NULL, 0},
      {"#loc1 = loc(\"m.mlir\":1:1)", NULL, 0},
      {"%0 = \"a.b\" (%1)", NULL, 0},
      {"%0 = \"a.b", NULL, 0},
      {"", NULL, 0},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_str_t line = fc_str(rows[i].line), name;
    size_t at = 0;
    fc_test_row(rows[i].line);
    assert_int_equal(fc_lex_operation(line, &name, &at), rows[i].name != NULL);
    if (!rows[i].name) continue;
    assert_true(fc_str_equal(name, fc_str(rows[i].name)));
    assert_int_equal(fc_lex_char(line, at), rows[i].operands);
  }
}

static void modules_are_opened_by_their_operation(void **state) {
  (void)state;
  static const struct {
    const char *line;
    bool opens;
  } rows[] = {
      {"\"builtin.module\"() ({", true},
      {"  \"builtin.module\"() <{sym_name = \"m\"}> ({", true},
      {"\"builtin.module_x\"() ({", false},
      {"// \"builtin.module\"() ({", false},
      {"\"builtin.module\"", false},
      {"", false},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].line);
    assert_int_equal(fc_lex_opens_module(fc_str(rows[i].line)), rows[i].opens);
  }
}

static void locations_are_the_last_of_their_line(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"%0 = \"a.b\"() : () -> i1 loc(#loc3)", "#loc3"},
      {"\"a.b\"() {m = \"loc(#loc1)\"} : () -> () loc(\"x y\":1:2)",
       "\"x y\":1:2"},
      {"#loc2 = loc(fused[#loc1, \"a\":1:1])", "fused[#loc1, \"a\":1:1]"},
      {"no place", ""},
      {"loc(", ""},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i][0]);
    assert_true(
        fc_str_equal(fc_lex_location(fc_str(rows[i][0])), fc_str(rows[i][1])));
  }
}

static void properties_and_results_are_found(void **state) {
  (void)state;
  static const struct {
    const char *line;  // behind the operands
    const char *properties;
    const char *results;
  } rows[] = {
      {" : (i32) -> i1 loc(#loc)", "", "i1 loc(#loc)"},
      {" <{a = 1 : i32, b}> : () -> (i1, i2)", "a = 1 : i32, b", "(i1, i2)"},
      {"[^bb1, ^bb2] <{a}> : (i1) -> ()", "a", "()"},
      {" {note = \": (i32) -> i8\"} : () -> f32", "", "f32"},
      {" ({", "", ""},
      {"", "", ""},
      {" : x", "", ""},
      {" : (i32) x", "", ""},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_str_t line = fc_str(rows[i].line);
    fc_test_row(rows[i].line);
    assert_true(
        fc_str_equal(fc_lex_properties(line, 0), fc_str(rows[i].properties)));
    assert_true(
        fc_str_equal(fc_lex_result_types(line, 0), fc_str(rows[i].results)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(brackets_pair_up),
      FC_TEST(lists_come_apart),
      FC_TEST(lines_begin_with_an_operation_or_not),
      FC_TEST(modules_are_opened_by_their_operation),
      FC_TEST(properties_and_results_are_found),
      FC_TEST(locations_are_the_last_of_their_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
