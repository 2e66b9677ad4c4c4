// SPDX-License-Identifier: Apache-2.0
#include "pool/cost.h"

#include "helpers/test.h"

#define S 1000000000ull

typedef struct wait_row_t {
  const char *name;
  uint64_t spent_ns;  // of every call so far
  uint32_t waiting;
  uint32_t at_once;
  uint64_t wait_ns;
  uint32_t retry_s;
} wait_row_t;

static const wait_row_t kWaits[] = {
    {"nobody waits", S, 0, 4, 0, 1},
    {"less than a second", S / 10, 4, 2, S / 5, 1},
    {"four at a time", 2 * S, 10, 4, 5 * S, 6},
    {"one at a time", 2 * S, 10, 1, 20 * S, 21},
    {"calls of a minute", 60 * S, 3, 1, 180 * S, 181},
    {"calls of a day", 86400 * S, 2, 1, 172800 * S, 172801},
    {"more than can be said", UINT64_MAX / 2, 4, 1, UINT64_MAX, UINT32_MAX},
};

static void a_wait_is_the_calls_before_it(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const wait_row_t, row, kWaits) {
    fc_cost_t cost = {0};
    for (int i = 0; i < 3; i++) fc_cost_learn(&cost, row->spent_ns);
    assert_int_equal(cost.samples, 3);
    const uint64_t wait_ns = fc_cost_wait_ns(&cost, row->waiting, row->at_once);
    assert_true(wait_ns == row->wait_ns);
    assert_int_equal(fc_cost_retry_s(wait_ns), row->retry_s);
  }
}

static void an_average_follows_what_calls_cost(void **state) {
  (void)state;
  fc_cost_t cost = {0};
  fc_cost_learn(&cost, 800);
  assert_int_equal(cost.average_ns, 800);
  fc_cost_learn(&cost, 1600);
  assert_int_equal(cost.average_ns, 900);
  fc_cost_learn(&cost, 100);
  assert_int_equal(cost.average_ns, 800);
  for (int i = 0; i < 100; i++) fc_cost_learn(&cost, 10 * S);
  assert_true(cost.average_ns > 9 * S && cost.average_ns <= 10 * S);
}

static void who_is_doubted_proves_itself_for_longer(void **state) {
  (void)state;
  fc_cost_t cost = {.needed = 16};
  for (int i = 0; i < 20; i++) fc_cost_learn(&cost, 1000);
  fc_cost_doubt(&cost);
  assert_int_equal(cost.samples, 0);
  assert_int_equal(cost.needed, 32);
  fc_cost_learn(&cost, 500);  // and what it cost before no longer counts
  assert_int_equal(cost.average_ns, 500);
  for (int i = 0; i < 40; i++) fc_cost_doubt(&cost);
  assert_int_equal(cost.needed, 1 << 16);
}

static void what_gains_nothing_is_tried_now_and_then(void **state) {
  (void)state;
  fc_cost_t cost = {.together = 8};
  assert_true(fc_cost_gains(&cost));  // nothing is known
  fc_cost_learn_batch(&cost, 1, 1000, 0);
  assert_true(fc_cost_gains(&cost));
  fc_cost_learn_batch(&cost, 4, 4000, 0);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 64; i++, fc_cost_note_single(&cost)) {
      assert_false(fc_cost_gains(&cost));
    }
    for (int i = 0; i < 3; i++) assert_true(fc_cost_gains(&cost));
    fc_cost_learn_batch(&cost, 4, 4000, 0);
  }
  for (int i = 0; i < 100; i++)
    assert_false(fc_cost_gains(&cost));  // it only asks
  fc_cost_learn_batch(&cost, 4, 2000, 0);
  assert_true(fc_cost_gains(&cost));
  for (int i = 0; i < 100; i++) fc_cost_learn_batch(&cost, 1, 100, 0);
  assert_false(fc_cost_gains(&cost));
}

// A worker that the system does not let run for a while makes no function slow.
static void a_disturbance_is_no_cost(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t calls;      // of each batch
    uint64_t disturbed;  // one batch takes so long
    uint32_t others;     // that take 12 us, after it
    bool gains;
  } kRows[] = {
      {"a turn of the loop", 8, 200000, 0, true},
      {"a turn of another process", 8, 4000000, 0, true},
      {"of two calls", 2, 200000, 0, true},
      {"a long one", 8, 80000000, 0, false},
      {"a long one, and one as ever", 8, 80000000, 1, true},
  };
  FC_TEST_EACH_ROW(const __typeof__(kRows[0]), row, kRows) {
    fc_cost_t cost = {.together = 8};
    fc_cost_learn_batch(&cost, 1, 10000, 0);
    for (uint32_t round = 0; round < row->others + 2; round++) {
      const uint64_t ns = round == 1 ? row->disturbed : 12000;
      for (uint32_t i = 0; i < row->calls; i++) {
        fc_cost_learn_batch(&cost, row->calls, ns, 0);
      }
    }
    assert_int_equal(fc_cost_gains(&cost), row->gains);
  }
}

// One batch was a little quicker than others are, and quicker than single calls.
static void a_quick_batch_is_forgotten(void **state) {
  (void)state;
  fc_cost_t cost = {.together = 8};
  fc_cost_learn_batch(&cost, 1, 10000, 0);
  fc_cost_learn_batch(&cost, 8, 8 * 9900, 0);
  assert_true(fc_cost_gains(&cost));
  for (int i = 0; i < 8 * 1000; i++) {
    fc_cost_learn_batch(&cost, 8, 8 * 10200, 0);
  }
  assert_false(fc_cost_gains(&cost));
}

// A batch is given up if it takes much longer than batches did so far.
static void the_limit_of_a_batch_follows_what_is_known(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_cost_t cost;
    uint64_t limit_ns;
  } kRows[] = {
      {"nothing is known", {.together = 8}, 0},
      {"of batches, not of calls", {.together = 8, .batch_ns = S}, 0},
      {"quick calls", {.average_ns = 1000, .together = 8}, S},
      {"just above", {.average_ns = S / 64, .together = 8}, 2 * S},
      {"a batch that took longer",
       {.average_ns = S / 64, .together = 8, .batch_ns = S},
       16 * S},
      {"more than can be said",
       {.average_ns = UINT64_MAX / 32, .together = 8},
       UINT64_MAX / 2},
  };
  FC_TEST_EACH_ROW(const __typeof__(kRows[0]), row, kRows) {
    assert_true(fc_cost_limit_ns(&row->cost) == row->limit_ns);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_wait_is_the_calls_before_it),
      FC_TEST(an_average_follows_what_calls_cost),
      FC_TEST(who_is_doubted_proves_itself_for_longer),
      FC_TEST(what_gains_nothing_is_tried_now_and_then),
      FC_TEST(a_disturbance_is_no_cost),
      FC_TEST(a_quick_batch_is_forgotten),
      FC_TEST(the_limit_of_a_batch_follows_what_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
