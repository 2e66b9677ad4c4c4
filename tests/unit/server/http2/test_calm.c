// SPDX-License-Identifier: Apache-2.0
//
// How many useless frames a client may send. The test drives the clock.
#include "http2/calm.h"

#include "helpers/test.h"

// Pays for frames as long as that is allowed; returns how many.
static unsigned pay_all(fc_calm_t *calm, uint64_t now_ms) {
  unsigned count = 0;
  while (fc_calm_pay(calm, now_ms)) count++;
  return count;
}

static void what_is_earned_can_be_paid(void **state) {
  (void)state;
  static struct {
    const char *name;
    uint64_t wait_ms;
    unsigned answers;
    size_t bytes;
    unsigned frames;  // that may be sent then
  } rows[] = {
      {"nothing", 0, 0, 0, 0},
      {"too short a time", 19, 0, 0, 0},
      {"a second", 1000, 0, 0, 50},
      {"a minute", 60000, 0, 0, 1000},
      {"a year", UINT64_C(31536000000), 0, 0, 1000},
      {"answers", 0, 3, 0, 12},
      {"bytes", 0, 0, 10240, 10},
      {"a byte less", 0, 0, 10239, 9},
      {"a gigabyte", 0, 0, 1 << 30, 1000},
      {"all", 100, 1, 2048, 5 + 4 + 2},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_calm_t calm;
    fc_test_row(rows[i].name);
    fc_calm_init(&calm, 5);
    assert_int_equal(pay_all(&calm, 5), 1000);
    fc_calm_earn(&calm, FC_CALM_ANSWER * rows[i].answers);
    fc_calm_earn_bytes(&calm, rows[i].bytes);
    assert_int_equal(pay_all(&calm, 5 + rows[i].wait_ms), rows[i].frames);
  }
  fc_test_row(NULL);
}

// Time and bytes that do not yet pay for a whole frame are remembered.
static void little_by_little_is_as_much(void **state) {
  (void)state;
  fc_calm_t calm;
  unsigned paid = 0;
  fc_calm_init(&calm, 0);
  assert_int_equal(pay_all(&calm, 0), 1000);
  for (uint64_t now_ms = 1; now_ms <= 2000; now_ms++) {
    paid += pay_all(&calm, now_ms);
  }
  assert_int_equal(paid, 100);
  for (size_t byte = 0; byte < 10240; byte++) fc_calm_earn_bytes(&calm, 1);
  assert_int_equal(pay_all(&calm, 2000), 10);
}

// 8 KiB that are not of bodies cost a frame, in reads of any size.
static void other_bytes_are_paid_for(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 100, 8191, 8192, 8193, 65536, 1 << 20};
  for (size_t i = 0; i < FC_ARRAY_COUNT(sizes); i++) {
    fc_calm_t calm;
    size_t paid = 0;
    fc_calm_init(&calm, 0);
    while (paid <= 10u << 20 && fc_calm_pay_bytes(&calm, sizes[i], 0)) {
      paid += sizes[i];
    }
    const size_t most = (1001 * 8192 - 1) / sizes[i] * sizes[i];
    if (paid != most) fail_msg("%zu: %zu, not %zu", sizes[i], paid, most);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(what_is_earned_can_be_paid),
      FC_TEST(little_by_little_is_as_much),
      FC_TEST(other_bytes_are_paid_for),
  };
  return fc_test_exit(cmocka_run_group_tests(tests, NULL, NULL));
}
