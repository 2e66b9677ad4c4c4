// SPDX-License-Identifier: Apache-2.0
//
// The steps of a generation: every pair of step and event, compared with a table made
// by hand.
#include "modules/step.h"

#include <stdio.h>

#include "helpers/generation.h"
#include "helpers/test.h"

// For each step: its letter; then for each event the letter of the next step and that
// of the action. "..": the event cannot happen in this step.
static const char *const kDrawn[FC_STEP_COUNT][2] = {
    // ASKED ROOM LISTED RESTORED OPENED HOSTED PASSED FAILED REFUSED RETIRED DROPPED
    // RELEASED
    [FC_STEP_ENTERED] = {"E", "Wq O- D- Ha .. .. .. Fn .. .. bo .."},
    [FC_STEP_DESCRIBED] = {"D", "Wq O- .. .. .. .. .. Ff .. .. bo .."},
    [FC_STEP_WANTED] = {"W", ".. O- .. .. .. .. .. Ff .. .. wx .."},
    [FC_STEP_OPENING] = {"O", ".. .. .. .. Ha .. .. Ff .. .. ox .."},
    [FC_STEP_HOSTING] = {"H", ".. .. .. .. .. Tt .. fg Ff .. hx .."},
    [FC_STEP_TRIED] = {"T", ".. .. .. .. .. .. Rs fg .. Hh tx .."},
    [FC_STEP_READY] = {"R", ".. .. .. .. .. .. .. .. .. .. ko .."},
    [FC_STEP_FAILING] = {"f", ".. .. .. .. .. .. .. .. .. Fl r- .."},
    [FC_STEP_FAILED] = {"F", ".. .. .. .. .. .. .. .. .. .. bo .."},
    [FC_STEP_LEFT_WANTED] = {"w", ".. be .. .. .. .. .. .. .. .. .. w-"},
    [FC_STEP_LEFT_OPENING] = {"o", ".. .. .. .. be .. .. .. .. .. .. o-"},
    [FC_STEP_LEFT_HOSTING] = {"h", ".. .. .. .. .. tt .. ke .. .. .. h-"},
    [FC_STEP_LEFT_TRIED] = {"t", ".. .. .. .. .. .. ke ke .. bz .. t-"},
    [FC_STEP_HELD] = {"k", ".. .. .. .. .. .. .. .. .. .. .. rr"},
    [FC_STEP_RETIRING] = {"r", ".. .. .. .. .. .. .. .. .. bo .. r-"},
    [FC_STEP_BARE] = {"b", ".. .. .. .. .. .. .. .. .. .. .. gm"},
    [FC_STEP_GONE] = {"g", ".. .. .. .. .. .. .. .. .. .. .. .."},
};

static const char kActions[FC_DO_COUNT] = {
    [FC_DO_NONE] = '-',      [FC_DO_QUEUE] = 'q',   [FC_DO_ADD] = 'a',
    [FC_DO_HOST] = 'h',      [FC_DO_TRY] = 't',     [FC_DO_SERVE] = 's',
    [FC_DO_REFUSE] = 'n',    [FC_DO_FAIL] = 'f',    [FC_DO_GIVE_UP] = 'g',
    [FC_DO_LIGHTEN] = 'l',   [FC_DO_ABANDON] = 'x', [FC_DO_SETTLE] = 'e',
    [FC_DO_END_TRIAL] = 'z', [FC_DO_LET_GO] = 'o',  [FC_DO_RETIRE] = 'r',
    [FC_DO_REMOVE] = 'm',
};

// The events that lead from ENTERED to each step, found in the table below.
typedef struct way_t {
  uint32_t count;
  bool is_known;
  uint8_t events[FC_STEP_COUNT];
} way_t;

static fc_step_t drawn_next(fc_step_t step, unsigned event) {
  const char letter = kDrawn[step][1][3 * event];
  for (unsigned next = 0; next < FC_STEP_COUNT; next++) {
    if (*kDrawn[next][0] == letter) return (fc_step_t)next;
  }
  return FC_STEP_COUNT;
}

static void find_ways(way_t ways[FC_STEP_COUNT]) {
  memset(ways, 0, FC_STEP_COUNT * sizeof *ways);
  ways[FC_STEP_ENTERED].is_known = true;
  for (unsigned round = 0; round < FC_STEP_COUNT; round++) {
    for (unsigned step = 0; step < FC_STEP_COUNT; step++) {
      for (unsigned event = 0; ways[step].is_known && event < FC_ON_COUNT;
           event++) {
        const fc_step_t next = drawn_next((fc_step_t)step, event);
        if (next == FC_STEP_COUNT || ways[next].is_known) continue;
        ways[next] = ways[step];
        ways[next].events[ways[next].count++] = (uint8_t)event;
      }
    }
  }
}

typedef struct table_t {
  fc_generations_t generations;
  int action;  // the last one; -1: none
  const fc_error_t *error;
} table_t;

static void note(void *context, fc_generation_t *generation,
                 fc_step_action_t action, const fc_error_t *error) {
  table_t *table = context;
  (void)generation;
  table->action = (int)action;
  table->error = error;
}

// Checks what the table of generations keeps besides the step.
static void expect_kept(const table_t *table, const fc_generation_t *one) {
  const fc_generations_t *all = &table->generations;
  const fc_generation_state_t state = fc_generation_state(one);
  assert_true((all->newest == one) == (state == FC_GENERATION_READY));
  assert_true((all->oldest == one) == (state == FC_GENERATION_READY));
  assert_int_equal(all->leaving, state == FC_GENERATION_DRAINING ? 100 : 0);
  assert_int_equal(all->bytes, 100);
}

static void try_pair(const way_t *way, fc_step_t step, unsigned event) {
  const char *drawn = kDrawn[step][1] + 3 * event;
  table_t table = {.generations = {.allocator = fc_allocator_system(),
                                   .act = note,
                                   .context = &table}};
  fc_generations_t *all = &table.generations;
  fc_error_t error;
  fc_generation_t *one;
  assert_int_equal(fc_generations_enter(all, FC_STR("m.so"), "", &one, NULL),
                   FC_OK);
  fc_generations_weigh(all, one, 100);
  for (uint32_t i = 0; i < way->count; i++) {
    fc_generations_raise(all, one, way->events[i], NULL);
  }
  assert_int_equal(one->step, step);
  expect_kept(&table, one);
  table.action = -1;
  const fc_step_row_t *row = fc_step_row(step, event);
  assert_true((row != NULL) == (*drawn != '.'));
#ifndef NDEBUG
  if (row)  // raising the others ends the program
#endif
  {
    fc_generations_raise(all, one, event, &error);
    assert_int_equal(one->step, row ? drawn_next(step, event) : step);
    expect_kept(&table, one);
  }
  if (row && drawn[1] != '-') {
    assert_int_equal(kActions[table.action], drawn[1]);
    assert_ptr_equal(table.error, &error);
  } else if (row) {
    assert_int_equal(table.action, -1);
  }
  fc_generations_deinit(all);
}

static void every_pair_leads_where_it_was_drawn(void **state) {
  (void)state;
  way_t ways[FC_STEP_COUNT];
  find_ways(ways);
  for (unsigned step = 0; step < FC_STEP_COUNT; step++) {
    for (unsigned event = 0; event < FC_ON_COUNT; event++) {
      char name[64];
      snprintf(name, sizeof name, "%s, %s", fc_step_name((fc_step_t)step),
               fc_step_event_name((fc_step_event_t)event));
      fc_test_row(name);
      assert_true(ways[step].is_known);
      try_pair(&ways[step], (fc_step_t)step, event);
    }
  }
  fc_test_row(NULL);
}

// A draining generation never serves again, and one that is in the pool leaves it only
// by RETIRED.
static void there_is_no_way_back(void **state) {
  (void)state;
  for (unsigned step = 0; step < FC_STEP_COUNT; step++) {
    for (unsigned event = 0; event < FC_ON_COUNT; event++) {
      const fc_step_row_t *row = fc_step_row(step, event);
      if (!row) continue;
      fc_test_row(fc_step_name((fc_step_t)step));
      if (fc_step_state(step) == FC_GENERATION_DRAINING) {
        assert_int_equal(fc_step_state(row->next), FC_GENERATION_DRAINING);
      }
      if (fc_step_in_pool(step) && !fc_step_in_pool(row->next)) {
        assert_true(event == FC_ON_RETIRED || event == FC_ON_REFUSED);
      }
      if (row->next == FC_STEP_GONE) assert_int_equal(step, FC_STEP_BARE);
    }
  }
  fc_test_row(NULL);
}

// A generation may be held by calls and, besides, by a reader of its signatures.
static void what_is_held_stays(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t holds;
    fc_reading_state_t reading;
    uint8_t becomes;
  } rows[] = {
      {"nobody holds it", 0, FC_READING_NOT, FC_STEP_GONE},
      {"a call holds it", 1, FC_READING_NOT, FC_STEP_BARE},
      {"its signatures are read", 0, FC_READING_NOW, FC_STEP_BARE},
      {"they are to be read again", 0, FC_READING_STALE, FC_STEP_BARE},
      {"both", 1, FC_READING_NOW, FC_STEP_BARE},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    table_t table = {.generations = {.allocator = fc_allocator_system(),
                                     .act = note,
                                     .context = &table}};
    fc_generations_t *all = &table.generations;
    fc_generation_t *one;
    assert_int_equal(fc_generations_enter(all, FC_STR("m.so"), "", &one, NULL),
                     FC_OK);
    assert_int_equal(fc_generations_describe(all, one, NULL), FC_OK);
    one->holds = row->holds;
    one->loading.reading = (uint8_t)row->reading;
    fc_generations_drain(all, one);
    assert_int_equal(table.action, FC_DO_LET_GO);
    fc_generations_let_go(all, one);
    assert_int_equal(one->step, row->becomes);
    if (row->holds) {
      fc_generations_release(all, one);
      assert_int_equal(one->step, row->reading ? FC_STEP_BARE : FC_STEP_GONE);
    }
    fc_generations_deinit(all);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_pair_leads_where_it_was_drawn),
      FC_TEST(there_is_no_way_back),
      FC_TEST(what_is_held_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
