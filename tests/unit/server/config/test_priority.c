// SPDX-License-Identifier: Apache-2.0
#include "config/priority.h"

#include "helpers/test.h"

static void ranges_are_read(void **state) {
  (void)state;
  static const struct {
    const char *name, *text;
    bool good;
    int8_t low, high, usual;
  } rows[] = {
      {"one", "0", true, 0, 0, 0},
      {"one below", "-3", true, -3, -3, -3},
      {"all", "-4..4", true, -4, 4, 0},
      {"above", "2..3", true, 2, 3, 2},
      {"below", "-3..-1", true, -3, -1, -1},
      {"nothing", "", false, 0, 0, 0},
      {"half", "..3", false, 0, 0, 0},
      {"the other half", "3..", false, 0, 0, 0},
      {"backwards", "3..2", false, 0, 0, 0},
      {"too high", "0..5", false, 0, 0, 0},
      {"too low", "-5..0", false, 0, 0, 0},
      {"three dots", "0...2", false, 0, 0, 0},
      {"a plus", "+1", false, 0, 0, 0},
      {"a blank", " 1", false, 0, 0, 0},
      {"two digits", "00", false, 0, 0, 0},
      {"a letter", "a", false, 0, 0, 0},
      {"a minus", "-", false, 0, 0, 0},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_priorities_t range = {9, 9};
    assert_int_equal(fc_priorities_parse(fc_str(row->text), &range), row->good);
    if (!row->good) {
      assert_int_equal(range.low, 9);
      continue;
    }
    assert_int_equal(range.low, row->low);
    assert_int_equal(range.high, row->high);
    assert_int_equal(fc_priorities_default(&range), row->usual);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {FC_TEST(ranges_are_read)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
