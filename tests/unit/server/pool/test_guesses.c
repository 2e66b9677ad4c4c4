// SPDX-License-Identifier: Apache-2.0
//
// Wrong tokens: which clients are slowed and for how long, and that other clients are
// not. The test drives the clock.
#include "pool/guesses.h"

#include "config/limits.h"
#include "helpers/test.h"

#define SECOND UINT64_C(1000000000)

static fc_owner_t client_of(uint32_t number) {
  fc_owner_t client = {{0}};
  memcpy(client.bytes + 12, &number, sizeof number);
  return client;
}

// Each row is a new client that sends `count` wrong tokens, `step_ns` apart.
static void ten_within_a_minute_slow_the_next(void **state) {
  (void)state;
  static const struct {
    const char *name;
    unsigned count;
    uint64_t step_ns;
    unsigned slowed;  // of them
  } rows[] = {
      {"one", 1, SECOND, 0},
      {"ten", 10, SECOND, 0},
      {"eleven", 11, SECOND, 1},
      {"at once", 1000, 0, 990},
      {"ten in a minute", 100, 6 * SECOND, 0},
      {"eleven in a minute", 11, 59 * SECOND / 10, 1},
      {"one a minute", 30, 60 * SECOND, 0},
      {"once slowed, a steady trickle", 12, 5 * SECOND, 2},
  };
  fc_guesses_t *guesses = fc_guesses_create(fc_allocator_system(), 1);
  uint32_t number = 0;
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const fc_owner_t client = client_of(++number);
    uint64_t now_ns = 1000 * SECOND;
    unsigned slowed = 0;
    for (unsigned i = 0; i < row->count; i++, now_ns += row->step_ns) {
      slowed += fc_guesses_note(guesses, &client, now_ns);
    }
    assert_int_equal(slowed, row->slowed);
  }
  fc_guesses_destroy(guesses);
}

static void a_minute_without_one_ends_it(void **state) {
  (void)state;
  fc_guesses_t *guesses = fc_guesses_create(fc_allocator_system(), 1);
  const fc_owner_t client = client_of(1), other = client_of(2);
  uint64_t now_ns = SECOND;
  for (int i = 0; i < 11; i++) (void)fc_guesses_note(guesses, &client, now_ns);
  assert_true(fc_guesses_note(guesses, &client, now_ns += 59 * SECOND));
  assert_false(fc_guesses_note(guesses, &other, now_ns));
  assert_true(fc_guesses_note(guesses, &client, now_ns += 59 * SECOND));
  assert_false(fc_guesses_note(guesses, &client, now_ns += 60 * SECOND));
  fc_guesses_destroy(guesses);
}

// A million other clients send wrong tokens. The table does not grow, and a client that
// goes on is still known.
static void many_take_no_more_memory(void **state) {
  (void)state;
  fc_guesses_t *guesses = fc_guesses_create(fc_allocator_system(), 1);
  const fc_owner_t client = client_of(0);
  uint64_t now_ns = SECOND;
  unsigned slowed = 0;
  for (uint32_t i = 1; i <= 1000000; i++) {
    const fc_owner_t other = client_of(i);
    now_ns += 1000;
    assert_false(fc_guesses_note(guesses, &other, now_ns));
    if (i % 100 == 0) slowed += fc_guesses_note(guesses, &client, now_ns);
  }
  assert_in_range(slowed, 9000, 9990);
  fc_guesses_destroy(guesses);
}

// While tokens are guessed, the answer to a right token waits, too. Otherwise a client
// that hangs up early would know that a token without a quick answer is wrong.
static void a_right_one_waits_where_it_may_be_guessed(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t client, token;
    unsigned wrong;  // tokens of the client before
    uint64_t after_ns;
    bool waited, waits;
  } rows[] = {
      {"nobody guesses", 1, 1, 0, 0, false, false},
      {"ten wrong ones", 1, 2, 10, 0, false, false},
      {"eleven, one that came before", 1, 2, 1, 0, false, false},
      {"a new one", 1, 3, 0, 0, false, true},
      {"again, by somebody who did not wait", 1, 3, 0, 0, false, true},
      {"when it has waited", 1, 3, 0, 0, true, false},
      {"and from then on", 1, 3, 0, 0, false, false},
      {"elsewhere", 2, 3, 0, 0, false, false},
      {"another new one", 1, 4, 0, 59 * SECOND, false, true},
      {"a minute later", 1, 5, 0, SECOND, false, false},
  };
  fc_guesses_t *guesses = fc_guesses_create(fc_allocator_system(), 1);
  uint64_t now_ns = 1000 * SECOND;
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const fc_owner_t client = client_of(row->client),
                     token = client_of(row->token);
    now_ns += row->after_ns;
    for (unsigned i = 0; i < row->wrong; i++) {
      (void)fc_guesses_note(guesses, &client, now_ns);
    }
    assert_int_equal(
        fc_guesses_greet(guesses, &client, &token, row->waited, now_ns),
        row->waits);
  }
  fc_guesses_destroy(guesses);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(ten_within_a_minute_slow_the_next),
      FC_TEST(a_minute_without_one_ends_it),
      FC_TEST(many_take_no_more_memory),
      FC_TEST(a_right_one_waits_where_it_may_be_guessed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
