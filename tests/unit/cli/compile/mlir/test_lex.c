// SPDX-License-Identifier: Apache-2.0
//
// Lexing MLIR text. The texts are as mlir-opt prints them, or as a user may write them.
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

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(brackets_pair_up),
      FC_TEST(lists_come_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
