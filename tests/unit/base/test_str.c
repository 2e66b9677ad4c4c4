// SPDX-License-Identifier: Apache-2.0
//
// Strings: comparison, order, edit distance. Escaping is tested with errors.
#include "helpers/test.h"

static void equality_and_ends(void **state) {
  (void)state;
  fc_str_t none = {0};
  assert_true(fc_str_equal(none, FC_STR("")));
  assert_true(fc_str_equal(fc_str(NULL), none));
  assert_true(fc_str_equal(FC_STR("a\0b"), fc_str_make("a\0b", 3)));
  assert_false(fc_str_equal(FC_STR("a\0b"), FC_STR("a\0c")));
  assert_false(fc_str_equal(FC_STR("a"), FC_STR("ab")));
  assert_true(fc_str_starts(FC_STR("abc"), FC_STR("ab")));
  assert_true(fc_str_starts(FC_STR("abc"), none));
  assert_true(fc_str_starts(none, none));
  assert_false(fc_str_starts(FC_STR("ab"), FC_STR("abc")));
  assert_true(fc_str_ends(FC_STR("m.so"), FC_STR(".so")));
  assert_true(fc_str_ends(none, none));
  assert_false(fc_str_ends(FC_STR("so"), FC_STR(".so")));
}

static void order_is_bytewise(void **state) {
  (void)state;
  // Each before the next.
  static const fc_str_t rows[] = {{"", 0},     {"\0", 1},   {"A", 1},
                                  {"a", 1},    {"a\0", 2},  {"aa", 2},
                                  {"ab", 2},   {"b", 1},    {"\x7F", 1},
                                  {"\x80", 1}, {"\xFF", 1}, {"\xFF\xFF", 2}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    for (size_t j = 0; j < FC_ARRAY_COUNT(rows); j++) {
      int order = fc_str_compare(rows[i], rows[j]);
      assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
    }
  }
}

static void distance_counts_edits(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *a, *b;
    unsigned limit, distance;
  } rows[] = {
      {"same", "matmul", "matmul", 3, 0},
      {"one letter", "matmul", "matmal", 3, 1},
      {"one more", "matmul", "matmull", 3, 1},
      {"one less", "matmul", "atmul", 3, 1},
      {"swapped", "matmul", "matlum", 3, 2},
      {"textbook", "kitten", "sitting", 9, 3},
      {"over the limit", "kitten", "sitting", 2, 3},
      {"empty", "", "abc", 5, 3},
      {"both empty", "", "", 5, 0},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    fc_str_t a = fc_str(rows[i].a), b = fc_str(rows[i].b);
    assert_int_equal(fc_str_distance(a, b, rows[i].limit), rows[i].distance);
    assert_int_equal(fc_str_distance(b, a, rows[i].limit), rows[i].distance);
  }
  fc_test_row(NULL);
  char name[200];
  memset(name, 'x', sizeof name);
  assert_int_equal(
      fc_str_distance(fc_str_make(name, 128), fc_str_make(name, 127), 3), 1);
  assert_int_equal(
      fc_str_distance(fc_str_make(name, 129), fc_str_make(name, 129), 3), 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(equality_and_ends),
      FC_TEST(order_is_bytewise),
      FC_TEST(distance_counts_edits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
