// SPDX-License-Identifier: Apache-2.0
//
// Rows of a profile and their times. How calls get into them is tested in
// module/profiled.
#include "helpers/test.h"

#include "base/profile.h"

static const int kKeys[8];

static fc_profile_place_t function(uint32_t index) {
  static const char *const kNames[] = {"f", "g", "h"};
  return (fc_profile_place_t){.kind = FC_PROFILE_FUNCTION,
                              .key = &kKeys[index],
                              .index = index,
                              .name = fc_str(kNames[index])};
}

static void enter(fc_profile_t *profile, uint32_t index) {
  const fc_profile_place_t place = function(index);
  fc_profile_enter(profile, &place);
}

static uint64_t sum_of_self(const fc_profile_t *profile) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < profile->row_count; i++) {
    sum += profile->rows[i].self_ns;
  }
  return sum;
}

// The times of all rows add up to the call's, and no row has more than its caller.
static void check_sums(const fc_profile_t *profile) {
  uint64_t totals[FC_PROFILE_ROWS];
  fc_profile_totals(profile, totals);
  assert_int_equal(totals[0], sum_of_self(profile));
  assert_int_equal(totals[0], profile->noted_ns - profile->began_ns);
  for (uint32_t i = 1; i < profile->row_count; i++) {
    assert_true(profile->rows[i].parent < i);
    assert_true(totals[i] <= totals[profile->rows[i].parent]);
  }
}

static fc_profile_t *begin(void) {
  fc_profile_t *profile = fc_profile_create(fc_allocator_system());
  assert_non_null(profile);
  fc_profile_begin(profile, FC_STR("call"));
  return profile;
}

// Each letter enters that function; '.' leaves the current one.
static void rows_are_a_tree(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *events;
    uint32_t rows;
    uint64_t counts[4];  // of the rows after the first
    uint32_t parents[4];
  } rows[] = {
      {"nothing", "", 1, {0}, {0}},
      {"one", "f.", 2, {1}, {0}},
      {"one three times", "f.f.f.", 2, {3}, {0}},
      {"two beside each other", "f.g.f.", 3, {2, 1}, {0, 0}},
      {"one within the other", "fg.g..", 3, {1, 2}, {0, 1}},
      {"by two callers", "fh..gh..", 5, {1, 1, 1, 1}, {0, 1, 0, 3}},
      {"within itself", "ffff....", 2, {4}, {0}},
      {"two within each other", "fgfg....", 3, {2, 2}, {0, 1}},
      {"and what they call", "fgfh....", 4, {2, 1, 1}, {0, 1, 1}},
      {"left open", "fgh", 4, {1, 1, 1}, {0, 1, 2}},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_profile_t *profile = begin();
    for (const char *event = row->events; *event; event++) {
      if (*event == '.') fc_profile_leave(profile);
      else enter(profile, (uint32_t)(*event - 'f'));
    }
    fc_profile_end(profile);
    assert_int_equal(profile->row_count, row->rows);
    assert_int_equal(profile->dropped, 0);
    assert_int_equal(profile->current, 0);
    for (uint32_t i = 1; i < row->rows; i++) {
      assert_int_equal(profile->rows[i].count, row->counts[i - 1]);
      assert_int_equal(profile->rows[i].parent, row->parents[i - 1]);
    }
    check_sums(profile);
    fc_profile_destroy(profile);
  }
}

static fc_profile_place_t dispatch(uint32_t x, uint64_t bytes) {
  return (fc_profile_place_t){.kind = FC_PROFILE_DISPATCH,
                              .key = kKeys,
                              .grid = {x, 1, 1},
                              .name = FC_STR("d"),
                              .bytes = bytes};
}

static void dispatches_are_told_apart_by_their_grids(void **state) {
  (void)state;
  fc_profile_t *profile = begin();
  for (uint32_t i = 0; i < 6; i++) {
    const fc_profile_place_t place = dispatch(i % 2, 10);
    fc_profile_enter(profile, &place);
    fc_profile_leave(profile);
  }
  fc_profile_end(profile);
  assert_int_equal(profile->row_count, 3);
  assert_int_equal(profile->rows[1].count, 3);
  assert_int_equal(profile->rows[1].bytes, 30);
  assert_int_equal(profile->rows[2].grid[0], 1);
  assert_int_equal(profile->span_count, 6);
  uint64_t end_ns = 0;
  for (uint32_t i = 0; i < 6; i++) {
    const fc_profile_span_t *span = &profile->spans[i];
    assert_int_equal(span->row, 1 + i % 2);
    assert_true(span->began_ns >= end_ns);
    end_ns = span->began_ns + span->took_ns;
  }
  uint64_t totals[FC_PROFILE_ROWS];
  fc_profile_totals(profile, totals);
  assert_true(end_ns <= totals[0]);
  check_sums(profile);
  fc_profile_destroy(profile);
}

static void what_finds_no_row_is_counted(void **state) {
  (void)state;
  fc_profile_t *profile = begin();
  enter(profile, 0);
  for (uint32_t i = 0; i < 100000; i++) {
    const fc_profile_place_t place = dispatch(i, 1);
    fc_profile_enter(profile, &place);
    fc_profile_leave(profile);
  }
  enter(profile, 0);  // it has a row
  enter(profile, 1);  // it has none
  enter(profile, 0);
  fc_profile_end(profile);
  assert_int_equal(profile->row_count, FC_PROFILE_ROWS);
  assert_int_equal(profile->dropped, 100000 - (FC_PROFILE_ROWS - 2) + 1);
  assert_int_equal(profile->rows[1].count, 3);
  assert_int_equal(profile->span_count, FC_PROFILE_SPANS);
  check_sums(profile);
  fc_profile_destroy(profile);
}

static void deeper_than_it_knows(void **state) {
  (void)state;
  fc_profile_t *profile = begin();
  const uint32_t depth = FC_PROFILE_DEPTH + 100;
  for (uint32_t i = 0; i < depth; i++) enter(profile, i % 3);
  for (uint32_t i = 0; i < depth; i++) fc_profile_leave(profile);
  assert_int_equal(profile->depth, 0);
  assert_int_equal(profile->current, 0);
  assert_int_equal(profile->dropped, 100);
  enter(profile, 0);
  fc_profile_leave(profile);
  fc_profile_end(profile);
  assert_int_equal(profile->row_count, 4);
  assert_int_equal(profile->rows[1].count, FC_PROFILE_DEPTH / 3 + 1);
  check_sums(profile);
  fc_profile_destroy(profile);
}

static void names_are_cut_where_a_character_ends(void **state) {
  (void)state;
  char longest[FC_PROFILE_NAME + 8];
  memset(longest, 'x', sizeof longest);
  memcpy(longest + FC_PROFILE_NAME - 1, "\xC3\xA9", 2);
  const struct {
    const char *name;
    fc_str_t given;
    fc_str_t kept;
  } rows[] = {
      {"short", FC_STR("k"), FC_STR("k")},
      {"no name", FC_STR(""), FC_STR(":7")},
      {"no UTF-8", FC_STR("\xFF"), FC_STR(":7")},
      {"some UTF-8", FC_STR("a\xFF"), FC_STR("a")},
      {"long", fc_str_make(longest, sizeof longest),
       fc_str_make(longest, FC_PROFILE_NAME - 1)},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_profile_t *profile = begin();
    const fc_profile_place_t place = {
        .kind = FC_PROFILE_IMPORT, .key = row, .index = 7, .name = row->given};
    fc_profile_enter(profile, &place);
    fc_profile_end(profile);
    const fc_profile_row_t *made = &profile->rows[1];
    assert_true(
        fc_str_equal(fc_str_make(made->name, made->name_size), row->kept));
    fc_profile_destroy(profile);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(rows_are_a_tree),
      FC_TEST(dispatches_are_told_apart_by_their_grids),
      FC_TEST(what_finds_no_row_is_counted),
      FC_TEST(deeper_than_it_knows),
      FC_TEST(names_are_cut_where_a_character_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
