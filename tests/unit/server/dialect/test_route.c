// SPDX-License-Identifier: Apache-2.0
//
// Percent-decoding and methods. tests/http/cases/30-routes.http tests which path leads
// to which route.
#include "dialect/route.h"

#include "helpers/test.h"

static void percent_encoding_is_decoded_once(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *expected;  // NULL: malformed
    size_t size;
  } rows[] = {
      {"", "", 0},      {"abc", "abc", 3}, {"%41%62", "Ab", 2},
      {"%2F", "/", 1},  {"%2f", "/", 1},   {"%2541", "%41", 3},
      {"%00", "\0", 1}, {"a+b", "a+b", 3}, {"%c3%A4", "\xc3\xa4", 2},
      {"%", NULL, 0},   {"a%4", NULL, 0},  {"%4g", NULL, 0},
      {"%g4", NULL, 0}, {"%%41", NULL, 0}, {"% 1", NULL, 0},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    char out[16];
    size_t size = 0;
    bool good = fc_percent_decode(fc_str(row->name), out, &size);
    assert_int_equal(good, row->expected != NULL);
    if (!good) continue;
    assert_int_equal(size, row->size);
    if (size) assert_memory_equal(out, row->expected, size);
  }
}

// An escape that the end of the path cuts must not use the bytes after the path.
static void an_escape_ends_with_its_path(void **state) {
  (void)state;
  static const char text[] = "a%41";
  for (size_t size = 2; size <= 4; size++) {
    char out[16];
    size_t got = 0;
    assert_int_equal(fc_percent_decode(fc_str_make(text, size), out, &got),
                     size == 4);
  }
}

static void routes_know_their_methods(void **state) {
  (void)state;
  assert_true(
      fc_str_equal(fc_route_path(&fc_routes, FC_ROUTE_LIVE), FC_STR("/livez")));
  assert_int_equal(fc_route_path(&fc_routes, FC_ROUTE_NONE).size, 0);
  assert_string_equal(fc_route_allow(&fc_routes, FC_ROUTE_LIVE), "GET, HEAD");
  assert_string_equal(fc_route_allow(&fc_routes, FC_ROUTE_FUNCTION),
                      "GET, HEAD, POST");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(percent_encoding_is_decoded_once),
      FC_TEST(an_escape_ends_with_its_path),
      FC_TEST(routes_know_their_methods),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
