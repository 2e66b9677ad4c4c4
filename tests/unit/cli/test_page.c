// SPDX-License-Identifier: Apache-2.0
//
// Times as the pages for browsers show them.
#include "page.h"

#include "helpers/test.h"

static void times_have_three_digits(void **state) {
  (void)state;
  static const struct {
    const char *name;  // as it is shown
    double ns;
  } rows[] = {
      {"0 us", 0},          {"0.001 us", 1},     {"12.3 us", 12345},
      {"999 us", 999.4e3},  {"1 ms", 999.6e3},   {"1 ms", 1e6},
      {"999 ms", 999.4e6},  {"1 s", 999.6e6},    {"1 s", 1e9},
      {"999 s", 999.4e9},   {"1000 s", 999.6e9}, {"1000 s", 1e12},
      {"86400 s", 86400e9},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_string_equal(fc_page_time(row->ns).text, row->name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(times_have_three_digits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
