// SPDX-License-Identifier: Apache-2.0
//
// What is remembered about versions: how it is changed, written and read.
#include "modules/decisions.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/folder.h"

#define HEAD "farcall 1\n"

static fc_status_t print(const fc_decision_t *list, fc_allocator_t allocator,
                         fc_text_t *text, fc_error_t *err) {
  fc_text_init(text, allocator, SIZE_MAX);
  return fc_decisions_print(list, &text->sink, err);
}

static void expect_text(const fc_decision_t *list, const char *wanted) {
  fc_text_t text;
  assert_int_equal(print(list, fc_allocator_system(), &text, NULL), FC_OK);
  assert_true(fc_str_equal(fc_text_str(&text), fc_str(wanted)));
  fc_text_deinit(&text);
}

static void a_change_takes_the_place_of_what_is_about_the_same(void **state) {
  (void)state;
  const struct {
    const char *name;
    const fc_decision_t *changed;
    const char *text;
  } rows[] = {
      {"a name", &(fc_decision_t){.name = FC_STR("m"), .version = FC_STR("3")},
       HEAD "lead m - 3 -\nend\n"},
      {"an alias",
       &(fc_decision_t){.name = FC_STR("m"),
                        .alias = FC_STR("canary"),
                        .version = FC_STR("12"),
                        .before = FC_STR("3")},
       HEAD "lead m - 3 -\nlead m canary 12 3\nend\n"},
      {"a refusal",
       &(fc_decision_t){
           .name = FC_STR("m"), .version = FC_STR("4"), .mark = 255},
       HEAD "lead m - 3 -\nlead m canary 12 3\nrefuse m 4 00000000000000ff\n"
            "end\n"},
      {"another module",
       &(fc_decision_t){.name = FC_STR("n"), .version = FC_STR("4")},
       HEAD "lead m - 3 -\nlead m canary 12 3\nrefuse m 4 00000000000000ff\n"
            "lead n - 4 -\nend\n"},
      {"who is led to a version does not refuse it",
       &(fc_decision_t){
           .name = FC_STR("m"), .version = FC_STR("4"), .before = FC_STR("3")},
       HEAD "lead m canary 12 3\nlead n - 4 -\nlead m - 4 3\nend\n"},
      {"another refusal",
       &(fc_decision_t){.name = FC_STR("n"), .version = FC_STR("5"), .mark = 1},
       HEAD "lead m canary 12 3\nlead n - 4 -\nlead m - 4 3\n"
            "refuse n 5 0000000000000001\nend\n"},
      {"a refusal is lifted",
       &(fc_decision_t){.name = FC_STR("n"),
                        .version = FC_STR("5"),
                        .mark = 1,
                        .lifted = true},
       HEAD "lead m canary 12 3\nlead n - 4 -\nlead m - 4 3\nend\n"},
      {"an alias goes",
       &(fc_decision_t){.name = FC_STR("m"), .alias = FC_STR("canary")},
       HEAD "lead n - 4 -\nlead m - 4 3\nend\n"},
  };
  fc_decision_t *list = NULL, *changed;
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_int_equal(fc_decisions_change(list, fc_allocator_system(),
                                         row->changed, &changed, NULL),
                     FC_OK);
    fc_decisions_free(list, fc_allocator_system());
    list = changed;
    expect_text(list, row->text);
  }
  assert_non_null(fc_decisions_find(list, FC_STR("m"), FC_STR("")));
  assert_null(fc_decisions_find(list, FC_STR("m"), FC_STR("canary")));
  assert_false(fc_decisions_refuse(list, FC_STR("m"), FC_STR("4"), 255));
  fc_decisions_free(list, fc_allocator_system());
}

static void what_is_damaged_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *name, *text, *says;
  } rows[] = {
      {"nothing", "", "the last line"},
      {"half of it", HEAD "lead m - 3 -\n", "the last line"},
      {"another kind", "farcall 2\nend\n", "line 1"},
      {"a word", HEAD "follow m - 3 -\nend\n", "line 2"},
      {"a name", HEAD "lead ../m - 3 -\nend\n", "line 2"},
      {"a version", HEAD "lead m - 03 -\nend\n", "line 2"},
      {"an alias", HEAD "lead m 9 3 -\nend\n", "line 2"},
      {"no alias", HEAD "lead m  3 -\nend\n", "line 2"},
      {"not even a dash", HEAD "lead m - 3\nend\n", "line 2"},
      {"where it led", HEAD "lead m - 3 x\nend\n", "line 2"},
      {"a mark", HEAD "refuse m 3 ff\nend\n", "line 2"},
      {"no mark", HEAD "refuse m 3 0000000000000000\nend\n", "line 2"},
      {"more", HEAD "end\nlead m - 3 -\n", "line 3"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_decision_t *list;
    fc_error_t error;
    assert_int_equal(fc_decisions_parse(fc_str(row->text),
                                        fc_allocator_system(), &list, &error),
                     FC_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, row->says));
  }
}

static fc_status_t read_again(fc_allocator_t allocator, void *context,
                              fc_error_t *err) {
  fc_decision_t *list = NULL;
  (void)context;
  FC_TRY(fc_decisions_read(fc_str(fc_test_folder()), allocator, &list, err));
  fc_decisions_free(list, allocator);
  return FC_OK;
}

static void the_file_is_replaced_as_a_whole(void **state) {
  (void)state;
  const fc_str_t folder = fc_str(fc_test_folder());
  static const char kText[] = HEAD "lead m - 3 12\nend\n";
  fc_decision_t *list;
  fc_error_t error;
  assert_int_equal(
      fc_decisions_read(folder, fc_allocator_system(), &list, &error), FC_OK);
  assert_null(list);
  assert_int_equal(fc_decisions_write(folder, fc_str(kText), &error), FC_OK);
  assert_int_equal(
      fc_decisions_read(folder, fc_allocator_system(), &list, &error), FC_OK);
  expect_text(list, kText);
  fc_decisions_free(list, fc_allocator_system());
  assert_true(fc_test_allocation_sweep(read_again, NULL) > 1);
  // If writing fails, the old file stays.
  assert_int_equal(
      fc_decisions_write(FC_STR("/nonexistent"), fc_str(kText), &error),
      FC_UNAVAILABLE);
  assert_non_null(strstr(error.message, "cannot write"));
  char draft[256];
  snprintf(draft, sizeof draft, "%s/modules.new", fc_test_folder());
  assert_int_equal(mkdir(draft, 0700), 0);
  assert_int_equal(fc_decisions_write(folder, FC_STR(HEAD "end\n"), &error),
                   FC_UNAVAILABLE);
  assert_int_equal(rmdir(draft), 0);
  assert_int_equal(
      fc_decisions_read(folder, fc_allocator_system(), &list, &error), FC_OK);
  expect_text(list, kText);
  fc_decisions_free(list, fc_allocator_system());
  fc_test_put("modules", HEAD "nonsense\n");
  assert_int_equal(
      fc_decisions_read(folder, fc_allocator_system(), &list, &error),
      FC_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "/modules: line 2"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_change_takes_the_place_of_what_is_about_the_same),
      FC_TEST(what_is_damaged_is_refused),
      FC_TEST_IN_FOLDER(the_file_is_replaced_as_a_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
