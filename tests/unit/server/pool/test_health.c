// SPDX-License-Identifier: Apache-2.0
//
// When a module that crashes is started again, and when it is quarantined. The test
// drives the clock.
#include "pool/health.h"

#include <stdio.h>

#include "helpers/test.h"

#define SECOND 1000000000ull
#define QUARANTINE_MS 10000

// The clock begins neither at zero nor at a whole minute.
#define BEGIN (12345 * SECOND + 678)

static void crashes_count_within_a_minute_and_no_longer(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t limit;
    unsigned at_s[10];  // of crashes, ends with 0; three calls before each
    int quarantined;    // the crash that is one too many, -1: none
  } rows[] = {
      {"five at once", 5, {1, 1, 1, 1, 1}, 4},
      {"five in 59 s", 5, {1, 10, 20, 30, 60}, 4},
      {"five in 60 s", 5, {1, 10, 20, 30, 61}, 4},
      {"five in 61 s", 5, {1, 10, 20, 30, 62}, -1},
      {"one each 14 s", 5, {1, 15, 29, 43, 57}, 4},
      {"one each 16 s, for ever", 5, {1, 17, 33, 49, 65, 81, 97, 113}, -1},
      {"slow, then quick", 5, {1, 17, 33, 49, 65, 66}, 5},
      {"slow, then four", 5, {1, 40, 80, 120, 121, 122}, -1},
      {"slow, then five", 5, {1, 40, 80, 120, 121, 122, 123}, 6},
      {"the first of five", 1, {1, 1, 1, 1, 1}, 4},
      {"two in a minute", 2, {1, 70, 131}, -1},
      {"any number", 0, {1, 1, 1, 1, 1, 1, 1, 1, 1}, -1},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_health_t health;
    fc_health_init(&health, row->limit, QUARANTINE_MS);
    int quarantined = -1;
    for (int i = 0; row->at_s[i]; i++) {
      const uint64_t calls = 4 * ((uint64_t)i + 1);
      if (fc_health_crash(&health, true, calls,
                          BEGIN + row->at_s[i] * SECOND)) {
        assert_int_equal(quarantined, -1);
        quarantined = i;
      }
    }
    assert_int_equal(quarantined, row->quarantined);
    assert_int_equal(health.quarantined_ns != 0, quarantined >= 0);
    if (row->limit > 1 && quarantined >= 0) {
      assert_int_equal(health.recent, row->limit);
    }
  }
}

// First good calls, then a crash each second, with some good calls before each crash.
static void crashes_count_if_they_are_many_of_the_calls(void **state) {
  (void)state;
  static const struct {
    const char *name;
    unsigned good;     // calls in the first second
    unsigned begin_s;  // of the crashes
    unsigned between;  // good calls before each crash
    unsigned crashes;  // most of them
    unsigned enough;   // quarantined at this crash, 0: at none
  } rows[] = {
      // With fewer than twenty calls there is no share, so every call may crash.
      {"each call, nineteen", 0, 1, 0, 19, 0},
      {"each call, twenty", 0, 1, 0, 20, 20},
      {"one of two", 0, 1, 1, 30, 10},
      {"one of three", 0, 1, 2, 30, 7},
      {"one of four", 0, 1, 3, 30, 5},
      {"one of five is a fifth, not more", 0, 1, 4, 50, 0},
      {"fourteen good ones, then each", 14, 2, 0, 30, 6},
      {"fifteen good ones, then each", 15, 2, 0, 30, 5},
      {"a hundred good ones", 100, 2, 0, 30, 26},
      {"a thousand", 1000, 2, 0, 40, 0},
      {"a thousand, long ago", 1000, 90, 0, 30, 5},
      {"a thousand, just in the minute", 1000, 55, 0, 5, 0},
      {"a thousand, and it goes on", 1000, 90, 10, 50, 0},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_health_t health;
    fc_health_init(&health, 5, QUARANTINE_MS);
    uint64_t calls = 0, now_ns = BEGIN;
    fc_health_look(&health, calls, now_ns);
    calls = row->good;
    for (unsigned s = 1; s <= row->begin_s; s++) {
      now_ns = BEGIN + s * SECOND;
      fc_health_look(&health, calls, now_ns);
    }
    unsigned enough = 0;
    for (unsigned i = 1; i <= row->crashes && !enough; i++) {
      now_ns += SECOND;
      fc_health_look(&health, calls, now_ns);
      calls += row->between + 1;
      if (fc_health_crash(&health, true, calls, now_ns)) enough = i;
    }
    assert_int_equal(enough, row->enough);
  }
}

static void the_last_twenty_calls_are_twenty(void **state) {
  (void)state;
  fc_health_t health;
  fc_health_init(&health, 4, QUARANTINE_MS);
  assert_false(fc_health_crash(&health, true, 1, BEGIN));
  // Sixteen good calls, then a long time without any.
  fc_health_look(&health, 17, BEGIN + SECOND);
  const uint64_t now_ns = BEGIN + 100 * SECOND;
  for (uint64_t call = 18; call <= 21; call++) {
    assert_false(fc_health_crash(&health, true, call, now_ns));
  }
  assert_true(fc_health_crash(&health, true, 22, now_ns));
}

static void the_window_holds_as_many_as_the_limit(void **state) {
  (void)state;
  fc_health_t health;
  // When the last crash comes, the first is no longer in the window, so there are never
  // too many.
  fc_health_init(&health, 1000000, QUARANTINE_MS);
  assert_int_equal(health.limit, FC_LIMIT_CRASHES);
  uint64_t step_ns = 60 * SECOND / (FC_LIMIT_CRASHES - 1) + 1;
  uint64_t now_ns = BEGIN, calls = 0;
  for (int i = 0; i < 1000; i++, now_ns += step_ns) {
    assert_false(fc_health_crash(&health, true, ++calls, now_ns));
  }
  assert_true(fc_health_crash(&health, true, ++calls, now_ns - step_ns));
}

static void starts_come_later_and_later(void **state) {
  (void)state;
  static const unsigned wanted_ms[] = {0,    100,  200,   400,   800,  1600,
                                       3200, 6400, 10000, 10000, 10000};
  fc_health_t health;
  bool above = false, below = false;
  for (uint64_t seed = 0; seed < 50; seed++) {
    fc_health_init(&health, 64, QUARANTINE_MS);
    uint64_t now_ns = BEGIN + seed * 7919;
    for (size_t i = 0; i < FC_ARRAY_COUNT(wanted_ms); i++) {
      assert_false(fc_health_crash(&health, true, i + 1, now_ns));
      uint64_t wait_ns = health.restart_ns - now_ns;
      uint64_t middle_ns = wanted_ms[i] * 1000000ull;
      assert_in_range(wait_ns, middle_ns / 5 * 4, middle_ns / 5 * 6);
      if (wait_ns > middle_ns) above = true;
      if (wait_ns < middle_ns) below = true;
      // The process ran for a while, but for less than a minute.
      now_ns = health.restart_ns + 59 * SECOND;
    }
    // After a healthy minute all crashes are forgotten.
    now_ns += 61 * SECOND;
    assert_false(fc_health_crash(&health, true, 20, now_ns));
    assert_int_equal(health.restart_ns, now_ns);
  }
  assert_true(above && below);
}

static void without_a_limit_it_is_started_at_once(void **state) {
  (void)state;
  fc_health_t health;
  fc_health_init(&health, 0, QUARANTINE_MS);
  for (int i = 0; i < 100; i++) {
    assert_false(fc_health_crash(&health, true, (uint64_t)i + 1, BEGIN));
    assert_true(health.restart_ns <= BEGIN);
  }
  // A module whose starts keep failing is started later and later.
  assert_false(fc_health_crash(&health, false, 101, BEGIN));
  assert_int_equal(health.restart_ns, BEGIN + SECOND / 10);
  assert_false(fc_health_crash(&health, false, 102, BEGIN + SECOND));
  assert_true(health.restart_ns <= BEGIN + SECOND);
}

// Earlier crashes do not delay a process that could not be started.
static void without_a_limit_one_failed_start_waits_shortly(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool served;
  } rows[] = {{"killed while they served", true},
              {"killed while they loaded", false}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_health_t health;
    uint64_t now_ns = BEGIN;
    fc_health_init(&health, 0, QUARANTINE_MS);
    for (uint64_t i = 1; i <= 12; i++, now_ns += SECOND) {
      assert_false(fc_health_crash(&health, row->served, i, now_ns));
    }
    fc_health_delay(&health, now_ns);
    assert_in_range(health.restart_ns - now_ns, 1, SECOND / 8);
    // After several failed starts in a row the delay grows, with any limit.
    for (int i = 0; i < 8; i++) fc_health_delay(&health, now_ns);
    assert_true(health.restart_ns - now_ns > 5 * SECOND);
  }
}

static void what_cannot_be_started_is_tried_less_and_less(void **state) {
  (void)state;
  fc_health_t health;
  fc_health_init(&health, 5, QUARANTINE_MS);
  uint64_t now_ns = BEGIN, last_ns = 0;
  for (int i = 0; i < 12; i++) {
    fc_health_delay(&health, now_ns);
    uint64_t wait_ns = health.restart_ns - now_ns;
    assert_in_range(wait_ns, 80 * 1000000ull, 12 * SECOND);
    if (i > 1 && i < 8) assert_true(wait_ns > last_ns);
    last_ns = wait_ns;
    now_ns = health.restart_ns;
  }
  // Failed starts do not count as crashes.
  assert_int_equal(health.quarantined_ns, 0);
  assert_false(fc_health_crash(&health, true, 1, now_ns));
}

static void a_quarantine_is_doubled_until_a_healthy_minute(void **state) {
  (void)state;
  fc_health_t health;
  fc_health_init(&health, 3, QUARANTINE_MS);
  uint64_t now_ns = BEGIN, calls = 0;
  assert_int_equal(fc_health_retry_s(&health, now_ns), 0);
  while (!fc_health_crash(&health, true, ++calls, now_ns)) continue;
  static const unsigned wanted_s[] = {10, 20, 40, 80, 160, 320, 320};
  for (size_t i = 0; i < FC_ARRAY_COUNT(wanted_s); i++) {
    assert_int_equal(fc_health_retry_s(&health, now_ns), wanted_s[i]);
    uint64_t until_ns = now_ns + wanted_s[i] * SECOND;
    assert_int_equal(health.quarantined_ns, until_ns);
    // The time left is rounded up and never 0.
    assert_int_equal(fc_health_retry_s(&health, until_ns - 1), 1);
    assert_int_equal(fc_health_retry_s(&health, until_ns - SECOND - 1), 2);
    assert_int_equal(fc_health_retry_s(&health, until_ns + SECOND), 1);
    // Another process that was still running crashes. That changes nothing.
    assert_false(fc_health_crash(&health, true, ++calls, until_ns - 1));
    assert_false(fc_health_recover(&health, until_ns - 1));
    assert_true(fc_health_recover(&health, until_ns));
    assert_false(fc_health_recover(&health, until_ns));
    // On probation one crash is enough: all of the last twenty calls crashed, however
    // long ago that was.
    now_ns = until_ns + (i + 1 < FC_ARRAY_COUNT(wanted_s) ? 59 : 61) * SECOND;
    assert_true(health.restart_ns <= now_ns);
    bool last = i + 1 == FC_ARRAY_COUNT(wanted_s);
    assert_int_equal(fc_health_crash(&health, true, ++calls, now_ns), !last);
  }
  // The module was healthy for a minute, so the next quarantine is as short as the
  // first.
  assert_false(fc_health_crash(&health, true, ++calls, now_ns));
  assert_true(fc_health_crash(&health, true, ++calls, now_ns));
  assert_int_equal(fc_health_retry_s(&health, now_ns), 10);
}

static void one_crash_among_good_calls_ends_no_probation(void **state) {
  (void)state;
  fc_health_t health;
  fc_health_init(&health, 3, QUARANTINE_MS);
  uint64_t now_ns = BEGIN, calls = 0;
  while (!fc_health_crash(&health, true, ++calls, now_ns)) continue;
  now_ns = health.quarantined_ns;
  assert_true(fc_health_recover(&health, now_ns));
  calls += 200;
  assert_false(fc_health_crash(&health, true, ++calls, now_ns + SECOND));
  assert_int_equal(health.quarantined_ns, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(crashes_count_within_a_minute_and_no_longer),
      FC_TEST(crashes_count_if_they_are_many_of_the_calls),
      FC_TEST(the_last_twenty_calls_are_twenty),
      FC_TEST(the_window_holds_as_many_as_the_limit),
      FC_TEST(starts_come_later_and_later),
      FC_TEST(without_a_limit_it_is_started_at_once),
      FC_TEST(without_a_limit_one_failed_start_waits_shortly),
      FC_TEST(what_cannot_be_started_is_tried_less_and_less),
      FC_TEST(a_quarantine_is_doubled_until_a_healthy_minute),
      FC_TEST(one_crash_among_good_calls_ends_no_probation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
