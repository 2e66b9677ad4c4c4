// SPDX-License-Identifier: Apache-2.0
//
// The verdict on two times that were measured in turn.
#include "helpers/test.h"

#include "paired.h"

typedef struct row_t {
  const char *name;
  size_t rounds;
  uint64_t was, is;  // of every round
  size_t flipped;    // rounds, from the first, in which the two are swapped
  uint64_t jitter;   // is added to both, times the round modulo 7
  fc_paired_verdict_t verdict;
} row_t;

static const row_t rows[] = {
    {"the same", 200, 5000, 5000, 0, 100, FC_PAIRED_SAME},
    {"twice as long", 200, 5000, 10000, 0, 100, FC_PAIRED_LONGER},
    {"half as long", 200, 10000, 5000, 0, 100, FC_PAIRED_SHORTER},
    {"a twentieth more, always", 200, 10000, 10500, 0, 0, FC_PAIRED_SAME},
    {"an eighth more, always", 200, 10000, 11250, 0, 0, FC_PAIRED_LONGER},
    {"as often longer as shorter", 200, 5000, 21000, 100, 0, FC_PAIRED_SAME},
    {"longer by chance", 200, 5000, 21000, 85, 0, FC_PAIRED_SAME},
    {"longer, with outliers", 200, 5000, 21000, 60, 0, FC_PAIRED_LONGER},
    // Of 11 tosses of a coin, 10 or more agree in 1.17 % of cases; of 12, 11 or more in
    // 0.63 %; of 200, 118 or more in 1.31 % and 119 or more in 0.87 %.
    {"one of 11 is shorter", 11, 5000, 21000, 1, 0, FC_PAIRED_SAME},
    {"one of 12 is shorter", 12, 5000, 21000, 1, 0, FC_PAIRED_LONGER},
    {"82 of 200 are shorter", 200, 5000, 21000, 82, 0, FC_PAIRED_SAME},
    {"81 of 200 are shorter", 200, 5000, 21000, 81, 0, FC_PAIRED_LONGER},
    {"one of 12 is longer", 12, 21000, 5000, 1, 0, FC_PAIRED_SHORTER},
    {"enough rounds", 11, 5000, 21000, 0, 0, FC_PAIRED_LONGER},
    {"too few rounds", 10, 5000, 21000, 0, 0, FC_PAIRED_UNKNOWN},
    {"one cold call", 1, 5000, 21000, 0, 0, FC_PAIRED_UNKNOWN},
    {"none", 0, 0, 0, 0, 0, FC_PAIRED_UNKNOWN},
};

static void times_are_judged(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const row_t, row, rows) {
    fc_paired_t paired = {.count = row->rounds};
    for (size_t i = 0; i < row->rounds; i++) {
      const int swap = i < row->flipped;
      paired.ns[swap][i] = row->was + row->jitter * (i % 7);
      paired.ns[!swap][i] = row->is + row->jitter * (i % 7);
    }
    assert_int_equal(fc_paired_verdict(&paired), row->verdict);
  }
}

static void one_slow_round_moves_no_median(void **state) {
  (void)state;
  fc_paired_t paired = {.count = 3, .ns = {{5, 900, 7}, {1, 2, 3}}};
  assert_int_equal(fc_paired_median(&paired, 0), 7);
  assert_int_equal(fc_paired_median(&paired, 1), 2);
  assert_int_equal(paired.ns[0][1], 900);  // the rounds stay in order
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(times_are_judged),
      cmocka_unit_test(one_slow_round_moves_no_median),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
