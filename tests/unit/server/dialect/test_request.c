// SPDX-License-Identifier: Apache-2.0
//
// The small functions that read field values.
#include "dialect/request.h"

#include "helpers/test.h"

typedef struct text_row_t {
  const char *name;
  const char *expected;
} text_row_t;

static void accept_is_understood(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool accepted;
  } rows[] = {
      {"", true},
      {"*/*", true},
      {"application/*", true},
      {"application/json", true},
      {"Application/JSON", true},
      {"text/html, */*;q=0.1", true},
      {"text/html , application/json ; q=0.5", true},
      {"application/json;q=0", false},
      {"application/json; charset=x; q=0.000", false},
      {"application/json;q=0.001", true},
      {"application/json;q=0, */*", false},
      {"*/*, application/json;q=0", false},
      {"application/json;q=0, application/*", false},
      {"application/*;q=0, */*", false},
      {"application/*;q=0, application/json", true},
      {"*/*;q=0, application/json;q=0.1", true},
      {"text/html;q=0, */*", true},
      {"application/json;q=0, application/json", true},
      {"application/json, application/json;q=0", true},
      {"text/html", false},
      {"application/jsonx", false},
      {"*", false},
      {",", false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_int_equal(fc_request_weight(fc_str(row->name), FC_STR("application"),
                                       FC_STR("json")) > 0,
                     row->accepted);
  }
}

static void weights_are_read_in_thousandths(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t weight;
  } rows[] = {
      {"", 1000},
      {"*/*", 1000},
      {"application/json;q=0.5", 500},
      {"application/json; q=0.25", 250},
      {"application/json;q=0.001", 1},
      {"application/json;q=1.0", 1000},
      {"application/json;q=7", 1000},
      {"application/json;q=x", 1000},
      {"application/json;charset=a;q=.5", 1000},
      {"application/json;q=0.5, application/json;q=0.7", 700},
      {"application/*;q=0.9, application/json;q=0.2", 200},
      {"application/json;q=0.12345", 123},
      {"text/html;q=0.5", 0},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_int_equal(fc_request_weight(fc_str(row->name), FC_STR("application"),
                                       FC_STR("json")),
                     row->weight);
  }
}

static void codings_are_chosen(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_coding_t coding;
  } rows[] = {
      {"", FC_CODING_NONE},
      {"gzip", FC_CODING_GZIP},
      {"GZIP", FC_CODING_GZIP},
      {"x-gzip;q=0.1", FC_CODING_GZIP},
      {"deflate", FC_CODING_DEFLATE},
      {"gzip, deflate, br, zstd", FC_CODING_GZIP},
      {"gzip;q=0.5, deflate", FC_CODING_DEFLATE},
      {"br", FC_CODING_NONE},
      {"*", FC_CODING_GZIP},
      {"*;q=0", FC_CODING_NONE},
      {"gzip;q=0, *;q=0.3", FC_CODING_DEFLATE},
      {"identity", FC_CODING_NONE},
      {"identity, gzip;q=0.9", FC_CODING_NONE},
      {"identity;q=0.5, gzip;q=0.9", FC_CODING_GZIP},
      {"identity, gzip", FC_CODING_GZIP},
      {",;,", FC_CODING_NONE},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_int_equal(fc_request_answer_coding(fc_str(row->name)), row->coding);
  }
}

static void query_members_are_found(void **state) {
  (void)state;
  static const text_row_t rows[] = {
      {"k=v", "v"}, {"a=b&k=v", "v"}, {"k", ""},
      {"k=", ""},   {"kk=v", NULL},   {"a=k", NULL},
      {"", NULL},   {"k=1&k=2", "1"}, {"&&k=v&", "v"},
  };
  FC_TEST_EACH_ROW(const text_row_t, row, rows) {
    fc_str_t value = fc_request_query(fc_str(row->name), FC_STR("k"));
    assert_int_equal(value.data != NULL, row->expected != NULL);
    if (row->expected) {
      assert_true(fc_str_equal(value, fc_str(row->expected)));
    }
  }
}

static int small(int c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }

// Tries every pair of bytes, at the beginning and at the end of texts of those lengths
// for which the comparison works differently.
static void texts_are_the_same_but_for_case(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 7, 8, 9, 16, 17, 23};
  char a[23], b[23];
  memset(a, 'x', sizeof a);
  memset(b, 'X', sizeof b);
  for (size_t i = 0; i < FC_ARRAY_COUNT(sizes); i++) {
    const size_t size = sizes[i], places[] = {0, size / 2, size - 1};
    for (size_t j = 0; j < 3 * 65536; j++) {
      const size_t at = places[j / 65536];
      const int x = (int)(j / 256 % 256), y = (int)(j % 256);
      a[at] = (char)x;
      b[at] = (char)y;
      const bool same =
          fc_request_same_text(fc_str_make(a, size), fc_str_make(b, size));
      if (same != (small(x) == small(y))) fail_msg("%zu: %d, %d", size, x, y);
      a[at] = 'x';
      b[at] = 'X';
    }
  }
  assert_false(fc_request_same_text(FC_STR("ab"), FC_STR("abc")));
  assert_true(fc_request_same_text(FC_STR(""), FC_STR("")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(accept_is_understood),
      FC_TEST(weights_are_read_in_thousandths),
      FC_TEST(codings_are_chosen),
      FC_TEST(query_members_are_found),
      FC_TEST(texts_are_the_same_but_for_case),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
