// SPDX-License-Identifier: Apache-2.0
//
// Which changes of directories and files are noticed, and which file is still being
// written to.
#include "modules/watch.h"

#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/folder.h"

static fc_watch_t watch;
static void start(const char *named) {
  fc_error_t error;
  int reason;
  assert_int_equal(
      fc_watch_open(&watch, fc_allocator_system(), &named, 1, &error), FC_OK);
  assert_null(fc_watch_arm(&watch, &reason));
  assert_false(fc_watch_take(&watch));
}

static void a_directory_tells_of_every_name_but_hidden_ones(void **state) {
  (void)state;
  start(fc_test_folder());
  fc_test_put("a.so", "x");
  assert_true(fc_watch_take(&watch));
  assert_false(fc_watch_take(&watch));
  fc_test_put(".hidden", "x");
  assert_false(fc_watch_take(&watch));
  assert_int_equal(symlink("nowhere", fc_test_in_folder("..data")), 0);
  assert_true(fc_watch_take(&watch));
  assert_int_equal(unlink(fc_test_in_folder("a.so")), 0);
  assert_true(fc_watch_take(&watch));
  fc_watch_close(&watch);
}

static void a_file_tells_of_itself_and_its_sidecar(void **state) {
  (void)state;
  char named[128];
  snprintf(named, sizeof named, "%s", fc_test_in_folder("m.so"));
  start(named);
  fc_test_put("other.so", "x");
  assert_false(fc_watch_take(&watch));
  fc_test_put("m.farcall.json", "x");
  assert_true(fc_watch_take(&watch));
  fc_test_put("m.so", "x");
  assert_true(fc_watch_take(&watch));
  fc_watch_close(&watch);
}

static void a_file_is_written_until_it_is_closed(void **state) {
  (void)state;
  start(fc_test_folder());
  FILE *file = fopen(fc_test_in_folder("a.so"), "w");
  assert_non_null(file);
  assert_true(fc_watch_take(&watch));
  assert_false(fc_watch_is_written(&watch, fc_str(fc_test_in_folder("a.so"))));
  assert_true(fputs("x", file) > 0 && fflush(file) == 0);
  assert_false(fc_watch_take(&watch));
  assert_true(fc_watch_is_written(&watch, fc_str(fc_test_in_folder("a.so"))));
  assert_false(fc_watch_is_written(&watch, fc_str(fc_test_in_folder("b.so"))));
  assert_false(fc_watch_is_written(&watch, FC_STR("/elsewhere/a.so")));
  fclose(file);
  assert_true(fc_watch_take(&watch));
  assert_false(fc_watch_is_written(&watch, fc_str(fc_test_in_folder("a.so"))));
  fc_watch_close(&watch);
}

// The loop learns of a directory in a PATH only when it lists the PATH.
static void a_folder_in_a_directory_tells_too(void **state) {
  (void)state;
  start(fc_test_folder());
  assert_int_equal(mkdir(fc_test_in_folder("m"), 0700), 0);
  assert_true(fc_watch_take(&watch));
  const int mark = fc_watch_folder(watch.file, fc_test_in_folder("m"));
  assert_true(mark >= 0);
  fc_test_put("m/.hidden", "x");
  assert_false(fc_watch_take(&watch));
  FILE *file = fopen(fc_test_in_folder("m/model.so"), "w");
  assert_non_null(file);
  assert_true(fc_watch_take(&watch));
  assert_true(fputs("x", file) > 0 && fflush(file) == 0);
  assert_false(fc_watch_take(&watch));
  assert_true(fc_watch_is_written_in(&watch, mark, FC_STR("model.so")));
  assert_false(fc_watch_is_written_in(&watch, mark, FC_STR("model")));
  fclose(file);
  assert_true(fc_watch_take(&watch));
  assert_false(fc_watch_is_written_in(&watch, mark, FC_STR("model.so")));
  assert_int_equal(fc_watch_folder(watch.file, "/nonexistent"), -1);
  fc_watch_close(&watch);
}

// A directory that was moved away still has its watch, which would report files that no
// longer matter.
static void a_folder_that_is_gone_tells_no_more(void **state) {
  (void)state;
  static const char *const kNames[] = {"m", "n", "o"};
  fc_folders_t folders[2] = {{0}, {0}};
  int marks[3];
  start(fc_test_folder());
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(mkdir(fc_test_in_folder(kNames[i]), 0700), 0);
    marks[i] = fc_watch_folder(watch.file, fc_test_in_folder(kNames[i]));
  }
  (void)fc_watch_take(&watch);
  // The first PATH had m and n, and now has n. The second has o, and later also m.
  static const struct {
    size_t position;
    int first, last;  // of marks; none if they cross
    bool told[3];     // of a change in each
  } rows[] = {{0, 0, 1, {true, true, true}},  {1, 2, 2, {true, true, true}},
              {1, 0, 2, {true, true, true}},  {0, 1, 1, {true, true, true}},
              {1, 2, 2, {false, true, true}}, {0, 1, 0, {false, false, true}}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    const size_t count = (size_t)(rows[i].last - rows[i].first + 1);
    fc_folders_t found = {.count = count};
    found.marks = count ? fc_alloc_array(fc_allocator_system(), count,
                                         sizeof *found.marks)
                        : NULL;
    for (size_t k = 0; k < count; k++) {  // the other way round
      found.marks[k] = marks[rows[i].last - (int)k];
    }
    fc_folders_replace(folders, 2, rows[i].position, found, watch.file,
                       fc_allocator_system());
    (void)fc_watch_take(&watch);
    for (size_t k = 0; k < 3; k++) {
      char name[16];
      snprintf(name, sizeof name, "%s/f%zu", kNames[k], i);
      fc_test_put(name, "");
      assert_int_equal(fc_watch_take(&watch), rows[i].told[k]);
    }
  }
  for (size_t i = 0; i < 2; i++) {
    fc_free(fc_allocator_system(), folders[i].marks);
  }
  fc_watch_close(&watch);
}

// The directory of a PATH may also be watched by fc_watch_folder, whose watch may be
// ended.
static void a_watch_that_was_ended_is_told(void **state) {
  (void)state;
  start(fc_test_folder());
  assert_int_equal(inotify_rm_watch(watch.file, watch.watched[0].mark), 0);
  assert_true(fc_watch_take(&watch));
  int reason;
  assert_null(fc_watch_arm(&watch, &reason));
  (void)fc_watch_take(&watch);
  fc_test_put("a.so", "x");
  assert_true(fc_watch_take(&watch));
  fc_watch_close(&watch);
}

// If more events occur than the kernel keeps, something has changed, but it is unknown
// what.
static void an_overflow_tells_of_everything(void **state) {
  (void)state;
  start(fc_test_folder());
  FILE *file = fopen(fc_test_in_folder("a.so"), "w");
  assert_non_null(file);
  assert_true(fputs("x", file) > 0 && fflush(file) == 0);
  assert_true(fc_watch_take(&watch));
  assert_true(fc_watch_is_written(&watch, fc_str(fc_test_in_folder("a.so"))));
  FILE *limit = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
  unsigned most = 16384;
  if (limit) {
    (void)!fscanf(limit, "%u", &most);
    fclose(limit);
  }
  if (most > 1u << 20) fc_test_skip("the kernel keeps very many events");
  // The names do not matter, but must differ: equal events are merged.
  for (unsigned i = 0; i <= most; i++) {
    char name[32];
    snprintf(name, sizeof name, ".%u", i);
    fc_test_put(name, "");
  }
  bool changed = false;
  for (unsigned i = 0; i <= most && !changed; i++) {
    changed = fc_watch_take(&watch);
  }
  assert_true(changed);
  assert_false(fc_watch_is_written(&watch, fc_str(fc_test_in_folder("a.so"))));
  fclose(file);
  fc_watch_close(&watch);
}

static fc_status_t open_watch(fc_allocator_t allocator, void *context,
                              fc_error_t *err) {
  const char *paths[] = {"/tmp", "m.so", "/"};
  (void)context;
  FC_TRY(fc_watch_open(&watch, allocator, paths, 3, err));
  fc_watch_close(&watch);
  return FC_OK;
}

static void watching_survives_any_failed_allocation(void **state) {
  (void)state;
  assert_true(fc_test_allocation_sweep(open_watch, NULL) >= 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_IN_FOLDER(a_directory_tells_of_every_name_but_hidden_ones),
      FC_TEST_IN_FOLDER(a_file_tells_of_itself_and_its_sidecar),
      FC_TEST_IN_FOLDER(a_file_is_written_until_it_is_closed),
      FC_TEST_IN_FOLDER(a_folder_in_a_directory_tells_too),
      FC_TEST_IN_FOLDER(a_folder_that_is_gone_tells_no_more),
      FC_TEST_IN_FOLDER(a_watch_that_was_ended_is_told),
      FC_TEST_IN_FOLDER(an_overflow_tells_of_everything),
      FC_TEST(watching_survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
