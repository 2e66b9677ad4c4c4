// SPDX-License-Identifier: Apache-2.0
//
// Strings: comparison, order, edit distance. Escaping is tested with errors.
#include "helpers/test.h"

#include <stdio.h>

#include "base/utf8.h"

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

static void lists_are_taken_apart(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *parts[4];
  } rows[] = {
      {"", {NULL}}, {"a", {"a"}},      {"a,b", {"a", "b"}},      {"a,", {"a"}},
      {",", {""}},  {",a", {"", "a"}}, {"a,,b", {"a", "", "b"}},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_str_t rest = fc_str(row->name);
    size_t count = 0;
    while (rest.size) {
      fc_str_t part = fc_str_take(&rest, ',');
      assert_true(fc_str_equal(part, fc_str(row->parts[count++])));
    }
    assert_null(row->parts[count]);
  }
  fc_str_t none = {0};
  assert_int_equal(fc_str_take(&none, ',').size, 0);
}

static void order_is_bytewise(void **state) {
  (void)state;
  // Each row sorts before the next one.
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
      {"swapped neighbours", "div", "dvi", 3, 1},
      {"swapped twice", "abcd", "badc", 3, 2},
      {"swapped and more", "div", "xdvi", 3, 2},
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

static const struct {
  const char *name;
  bool valid;
} sequences[] = {
    {"", true},
    {"\xC3\xA9", true},
    {"\xE2\x82\xAC", true},
    {"\xF0\x9F\x8E\x89", true},
    {"\xF4\x8F\xBF\xBF", true},
    {"\x80", false},      // no lead byte before it
    {"\xC0\x80", false},  // longer than it must be
    {"\xE0\x9F\xBF", false},
    {"\xF0\x8F\xBF\xBF", false},
    {"\xED\xA0\x80", false},      // a surrogate
    {"\xF4\x90\x80\x80", false},  // above U+10FFFF
    {"\xC3", false},
    {"\xE2\x82", false},
    {"\xFF", false},
};

// A sequence may be at any offset of a text, and the text is checked eight bytes at a
// time.
static void utf8_is_told_from_what_is_not(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(sequences); i++) {
    fc_test_row(sequences[i].name);
    for (int before = 0; before < 18; before++) {
      for (int after = 0; after < 10; after++) {
        char text[40];
        int size = snprintf(text, sizeof text, "%.*s%s%.*s", before,
                            "aaaaaaaaaaaaaaaaaa", sequences[i].name, after,
                            "zzzzzzzzzz");
        assert_int_equal(fc_utf8_is_valid(fc_str_make(text, (size_t)size)),
                         sequences[i].valid);
      }
    }
  }
  fc_test_row(NULL);
}

static const struct {
  const char *wanted;
  const char *names[5];
  const char *nearest;
} nearests[] = {
    {"tensr", {"sensor", "tensor"}, "tensor"},
    {"alhpa", {"alpha", "beta"}, "alpha"},
    {"input_id", {"input_mask", "input_ids", "id"}, "input_ids"},
    {"input_ids", {"input_idx", "input_ids"}, "input_ids"},
    {"verb", {"verbose", "verba"}, "verba"},
    {"inp", {"output", "input_b", "input_a"}, "input_b"},
    // Nothing is suggested if more than a third of the letters, or more than three, are
    // wrong.
    {"zz", {"a", "zebra"}, NULL},
    {"x", {"y"}, NULL},
    {"tt", {"s", "t"}, "t"},
    {"cat", {"dog", "cow"}, NULL},
    {"abcdefghijklmnop",
     {"abcdefghijkl____", "abcdefghijklm___"},
     "abcdefghijklm___"},
    {"", {"a", "b"}, NULL},
};

static void the_nearest_name_is_found(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(nearests); i++) {
    fc_test_row(nearests[i].wanted);
    fc_nearest_t search = fc_nearest_begin(fc_str(nearests[i].wanted));
    const char *nearest = NULL;
    for (int k = 0; nearests[i].names[k]; k++) {
      const char *name = nearests[i].names[k];
      if (fc_nearest_offer(&search, fc_str(name))) nearest = name;
    }
    assert_string_equal(nearest ? nearest : "none",
                        nearests[i].nearest ? nearests[i].nearest : "none");
  }
  fc_test_row(NULL);
}

// The edit distance by its definition, without a bound.
static unsigned plain_distance(fc_str_t a, fc_str_t b) {
  unsigned cells[16][16];
  for (size_t i = 0; i <= a.size; i++) {
    for (size_t j = 0; j <= b.size; j++) {
      if (!i || !j) {
        cells[i][j] = (unsigned)(i + j);
        continue;
      }
      unsigned best = cells[i - 1][j - 1] + (a.data[i - 1] != b.data[j - 1]);
      if (cells[i - 1][j] + 1 < best) best = cells[i - 1][j] + 1;
      if (cells[i][j - 1] + 1 < best) best = cells[i][j - 1] + 1;
      if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] &&
          a.data[i - 2] == b.data[j - 1] && cells[i - 2][j - 2] + 1 < best) {
        best = cells[i - 2][j - 2] + 1;
      }
      cells[i][j] = best;
    }
  }
  return cells[a.size][b.size];
}

static void a_bound_changes_no_distance_within_it(void **state) {
  (void)state;
  uint32_t random = 1;
  for (int round = 0; round < 100000; round++) {
    char text[2][12];
    fc_str_t words[2];
    for (int k = 0; k < 2; k++) {
      random = random * 1664525u + 1013904223u;
      const size_t size = random >> 16 & 7;
      for (size_t i = 0; i < size; i++) {
        random = random * 1664525u + 1013904223u;
        text[k][i] = (char)('a' + (random >> 20) % 3);
      }
      words[k] = fc_str_make(text[k], size);
    }
    const unsigned plain = plain_distance(words[0], words[1]);
    const unsigned limit = (unsigned)round % 5;
    assert_int_equal(fc_str_distance(words[0], words[1], limit),
                     plain > limit ? limit + 1 : plain);
  }
}

static void few_names_are_compared_of_many(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *wanted;
    unsigned compared;
  } rows[] = {
      {"as long, and they begin alike", "model-123456", FC_NEAREST_MAX},
      {"another length", "model-1", 0},
      {"another beginning", "tensor-12345", 0},
      {"far longer", "m", 0},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_nearest_t search = fc_nearest_begin(fc_str(row->wanted));
    for (unsigned i = 0; i < 10000; i++) {
      char name[32];
      snprintf(name, sizeof name, "model-%06u", 500000 + i);
      (void)fc_nearest_offer(&search, fc_str(name));
    }
    assert_int_equal(search.compared, row->compared);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(equality_and_ends),
      FC_TEST(lists_are_taken_apart),
      FC_TEST(order_is_bytewise),
      FC_TEST(distance_counts_edits),
      FC_TEST(utf8_is_told_from_what_is_not),
      FC_TEST(the_nearest_name_is_found),
      FC_TEST(a_bound_changes_no_distance_within_it),
      FC_TEST(few_names_are_compared_of_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
