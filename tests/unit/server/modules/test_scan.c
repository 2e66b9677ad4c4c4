// SPDX-License-Identifier: Apache-2.0
//
// Which files belong to a PATH.
#include "modules/scan.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/folder.h"
#include "helpers/shortage.h"

static void a_folder_is_read_in_order(void **state) {
  (void)state;
  static const char *const kNames[] = {"b.so", "a.so", "c.vmfb", "B.so"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNames); i++)
    fc_test_put(kNames[i], "");
  fc_test_put("notes.txt", "");
  fc_test_put(".hidden.so", "");
  char path[80], expected[400];
  snprintf(path, sizeof path, "%s//", fc_test_folder());
  snprintf(expected, sizeof expected, "%s/B.so %s/a.so %s/b.so %s/c.vmfb ",
           fc_test_folder(), fc_test_folder(), fc_test_folder(),
           fc_test_folder());
  fc_listing_t listing;
  fc_error_t error;
  assert_int_equal(fc_scan(fc_str(path), fc_backends, -1, fc_allocator_system(),
                           &listing, &error),
                   FC_OK);
  char found[400] = "";
  for (size_t i = 0; i < listing.count; i++) {
    const size_t size = strlen(found);
    snprintf(found + size, sizeof found - size, "%.*s ",
             FC_STR_ARG(listing.files[i].path));
  }
  assert_string_equal(found, expected);
  fc_listing_deinit(&listing);
}

static uint64_t mark_of(const char *file) {
  char path[80];
  snprintf(path, sizeof path, "%s/%s", fc_test_folder(), file);
  fc_listing_t listing;
  assert_int_equal(fc_scan(fc_str(path), fc_backends, -1, fc_allocator_system(),
                           &listing, NULL),
                   FC_OK);
  const uint64_t mark = listing.files[0].mark;
  fc_listing_deinit(&listing);
  return mark;
}

// Replaces `name` by another file. Its time may be the same, because times may be only
// some milliseconds exact.
static void replace(const char *name) {
  char path[80], other[80];
  fc_test_put("other", "");
  snprintf(path, sizeof path, "%s/%s", fc_test_folder(), name);
  snprintf(other, sizeof other, "%s/other", fc_test_folder());
  assert_int_equal(rename(other, path), 0);
}

static void a_mark_says_whether_files_were_replaced(void **state) {
  (void)state;
  assert_true(mark_of("a.so") == 0);
  fc_test_put("a.so", "");
  const uint64_t first = mark_of("a.so");
  assert_true(first != 0);
  assert_true(mark_of("a.so") == first);
  fc_test_put("b.so", "");
  assert_true(mark_of("b.so") != first);
  replace("a.so");
  const uint64_t second = mark_of("a.so");
  assert_true(second != first);
  fc_test_put("a.farcall.json", "");
  const uint64_t third = mark_of("a.so");
  assert_true(third != second);
  replace("a.farcall.json");
  const uint64_t fourth = mark_of("a.so");
  assert_true(fourth != third);
  fc_test_put("a.tests.jsonl", "");
  assert_true(mark_of("a.so") != fourth);
  fc_test_put("c.vmfb", "");
  const uint64_t alone = mark_of("c.vmfb");
  fc_test_put("c.tests.jsonl", "");
  assert_true(mark_of("c.vmfb") != alone);
}

static void what_is_no_folder_is_listed_itself(void **state) {
  (void)state;
  static const char *const kPaths[] = {"/nonexistent/x.so", "/dev/null", ""};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kPaths); i++) {
    fc_listing_t listing;
    assert_int_equal(fc_scan(fc_str(kPaths[i]), fc_backends, -1,
                             fc_allocator_system(), &listing, NULL),
                     FC_OK);
    assert_int_equal(listing.count, 1);
    assert_true(fc_str_equal(listing.files[0].path, fc_str(kPaths[i])));
    fc_listing_deinit(&listing);
  }
}

static void a_folder_without_modules_is_an_error(void **state) {
  (void)state;
  fc_test_put("notes.txt", "");
  fc_listing_t listing;
  fc_error_t error;
  char expected[120];
  assert_int_equal(fc_scan(fc_str(fc_test_folder()), fc_backends, -1,
                           fc_allocator_system(), &listing, &error),
                   FC_INVALID_ARGUMENT);
  snprintf(expected, sizeof expected,
           "no *.so and no *.vmfb in directory '%s' (farcall serve compiles "
           "ONNX and MLIR)",
           fc_test_folder());
  assert_string_equal(error.message, expected);
}

// A folder that cannot be opened because there are no descriptors does not count as
// gone.
static void a_folder_that_cannot_be_opened_now_is_an_error(void **state) {
  (void)state;
  fc_test_shortage_t shortage;
  assert_int_equal(mkdir(fc_test_in_folder("m"), 0700), 0);
  assert_int_equal(mkdir(fc_test_in_folder("m/1"), 0700), 0);
  fc_test_put("m/1/model.so", "");
  fc_test_shortage_begin(&shortage, 64);
  for (int opened = 0; opened < 4; opened++) {
    fc_listing_t listing = {0};
    fc_error_t error;
    fc_error_reset(&error);
    const fc_status_t status =
        fc_scan(fc_str(fc_test_folder()), fc_backends, -1,
                fc_allocator_system(), &listing, &error);
    assert_int_equal(status, opened < 3 ? FC_RESOURCE_EXHAUSTED : FC_OK);
    assert_int_equal(listing.count, opened == 3);
    if (status != FC_OK) {
      assert_non_null(strstr(error.message, "Too many open files"));
    }
    fc_listing_deinit(&listing);
    fc_test_shortage_ease(&shortage);
  }
  fc_test_shortage_end(&shortage);
}

// How many more entries readdir reads before it fails once.
static unsigned entries_left = UINT_MAX;
// Called after each entry that was read.
static void (*meanwhile)(const char *name);

struct dirent *__real_readdir(DIR *directory);
struct dirent *__wrap_readdir(DIR *directory);
struct dirent *__wrap_readdir(DIR *directory) {
  if (entries_left) {
    entries_left--;
    struct dirent *entry = __real_readdir(directory);
    if (entry && meanwhile) meanwhile(entry->d_name);
    return entry;
  }
  entries_left = UINT_MAX;
  errno = EIO;
  return NULL;
}

static fc_status_t scan_folder(fc_listing_t *out_listing, fc_error_t *err) {
  *out_listing = (fc_listing_t){0};
  return fc_scan(fc_str(fc_test_folder()), fc_backends, -1,
                 fc_allocator_system(), out_listing, err);
}

// How many more calls of open fail with `open_error`.
static unsigned open_failures;
static int open_error;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  if (!open_failures) return __real_open(path, flags);
  open_failures--;
  errno = open_error;
  return -1;
}

static void a_folder_that_is_not_opened_is_no_file(void **state) {
  (void)state;
  static const int kErrors[] = {EIO, EACCES, EPERM, EMFILE};
  fc_listing_t listing;
  fc_error_t error;
  fc_test_put("a.so", "");
  for (size_t i = 0; i < FC_ARRAY_COUNT(kErrors); i++) {
    open_failures = 1;
    open_error = kErrors[i];
    assert_int_not_equal(scan_folder(&listing, &error), FC_OK);
    assert_non_null(strstr(error.message, strerror(kErrors[i])));
    fc_listing_deinit(&listing);
  }
  open_failures = 3;
  open_error = EINTR;
  assert_int_equal(scan_folder(&listing, &error), FC_OK);
  assert_int_equal(listing.count, 1);
  assert_true(listing.is_directory);
  fc_listing_deinit(&listing);
}

// When a disk fails, nothing is known of the rest of a folder.
static void what_cannot_be_read_is_noted(void **state) {
  (void)state;
  fc_listing_t listing;
  fc_error_t error;
  assert_int_equal(mkdir(fc_test_in_folder("m"), 0700), 0);
  fc_test_put("a.so", "");
  for (entries_left = 0;; entries_left++) {
    const unsigned left = entries_left;
    if (scan_folder(&listing, &error) != FC_OK) {
      assert_non_null(strstr(error.message, "': Input/output error"));
    } else if (!listing.unread) {
      break;
    } else {
      assert_int_equal(listing.count, 1);
      assert_null(listing.unread->next);
      assert_int_equal(listing.unread->reason, EIO);
      assert_true(fc_str_equal(listing.unread->name, FC_STR("m")));
      assert_true(
          fc_str_equal(listing.unread->folder, fc_str(fc_test_in_folder("m"))));
    }
    fc_listing_deinit(&listing);
    entries_left = left;
  }
  fc_listing_deinit(&listing);
  entries_left = UINT_MAX;
}

static void what_is_not_gone_is_noted(void **state) {
  (void)state;
  fc_listing_t listing;
  fc_error_t error;
  fc_test_put("a.so", "");
  assert_int_equal(mkdir(fc_test_in_folder("m"), 0700), 0);
  assert_int_equal(mkdir(fc_test_in_folder("m/1"), 0700), 0);
  assert_int_equal(symlink("model.so", fc_test_in_folder("m/1/model.so")), 0);
  assert_int_equal(symlink("model.vmfb", fc_test_in_folder("m/1/model.vmfb")),
                   0);
  assert_int_equal(symlink("n", fc_test_in_folder("n")), 0);
  assert_int_equal(symlink("nowhere", fc_test_in_folder("o")), 0);
  assert_int_equal(scan_folder(&listing, &error), FC_OK);
  unsigned count = 0;
  for (const fc_unread_t *at = listing.unread; at; at = at->next, count++) {
    assert_int_equal(at->reason, ELOOP);
    const char *folder = fc_str_equal(at->name, FC_STR("n")) ? "n" : "m/1";
    assert_true(fc_str_equal(at->folder, fc_str(fc_test_in_folder(folder))));
  }
  assert_int_equal(count, 2);
  fc_listing_deinit(&listing);
  assert_int_equal(unlink(fc_test_in_folder("a.so")), 0);
  assert_int_not_equal(scan_folder(&listing, &error), FC_OK);
  assert_non_null(strstr(error.message, "cannot read '"));
}

// ---------------------------------------------------------------------------
// Directories that are moved while they are read

static void make_versions(const char *name) {
  char text[32];
  assert_int_equal(mkdir(fc_test_in_folder(name), 0700), 0);
  for (int version = 1; version <= 2; version++) {
    snprintf(text, sizeof text, "%s/%d", name, version);
    assert_int_equal(mkdir(fc_test_in_folder(text), 0700), 0);
    snprintf(text, sizeof text, "%s/%d/model.so", name, version);
    fc_test_put(text, "");
  }
}

static void move(const char *from, const char *to) {
  assert_int_equal(rename(fc_test_in_folder(from), fc_test_in_folder(to)), 0);
}

static void move_all(const char *name) {
  if (strcmp(name, "m") != 0) return;
  meanwhile = NULL;
  move("all", "gone");
}

static void replace_one(const char *name) {
  if (strcmp(name, "1") != 0) return;
  meanwhile = NULL;
  move("all/m", "old");
  make_versions("all/m");
  assert_int_equal(unlink(fc_test_in_folder("all/m/2/model.so")), 0);
}

static void replace_always(const char *name) {
  if (strcmp(name, "1") != 0) return;
  meanwhile = NULL;  // making the directories reads none
  static int count;
  char old[16];
  snprintf(old, sizeof old, "old%d", count++);
  move("all/m", old);
  make_versions("all/m");
  meanwhile = replace_always;
}

// Moves version 1 back after the scan has read the next name. (move_version below moved
// it away after the scan had read its name.)
static void move_back(const char *name) {
  (void)name;
  meanwhile = NULL;
  move("away", "all/m/1");
}

static void move_version(const char *name) {
  if (strcmp(name, "1") != 0) return;
  move("all/m/1", "away");
  meanwhile = move_back;
}

static void remove_version(const char *name) {
  if (strcmp(name, "1") != 0) return;
  meanwhile = NULL;
  move("all/m/1", "away");
}

static fc_status_t scan_meanwhile(void (*act)(const char *name),
                                  fc_listing_t *out_listing, fc_error_t *err) {
  char path[80];
  snprintf(path, sizeof path, "%s", fc_test_in_folder("all"));
  *out_listing = (fc_listing_t){0};
  meanwhile = act;
  const fc_status_t status = fc_scan(fc_str(path), fc_backends, -1,
                                     fc_allocator_system(), out_listing, err);
  meanwhile = NULL;
  return status;
}

// A directory that is gone is listed as a missing file. One that was replaced is listed
// as it is now. So the files of the old and the new directory are never mixed.
static void what_is_moved_meanwhile_is_listed_anew(void **state) {
  (void)state;
  fc_listing_t listing;
  fc_error_t error;
  assert_int_equal(mkdir(fc_test_in_folder("all"), 0700), 0);
  make_versions("all/m");
  assert_int_equal(scan_meanwhile(replace_one, &listing, &error), FC_OK);
  assert_int_equal(listing.count, 1);
  assert_true(listing.is_directory && listing.files[0].mark);
  fc_listing_deinit(&listing);
  assert_int_equal(scan_meanwhile(move_all, &listing, &error), FC_OK);
  assert_false(listing.is_directory);
  assert_int_equal(listing.count, 1);
  assert_true(listing.files[0].mark == 0);
  fc_listing_deinit(&listing);
  move("gone", "all");
  assert_int_equal(scan_meanwhile(replace_always, &listing, &error),
                   FC_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "was moved or replaced all 8 times"));
}

static void a_version_that_is_away_for_a_moment_is_there(void **state) {
  (void)state;
  fc_listing_t listing;
  fc_error_t error;
  assert_int_equal(mkdir(fc_test_in_folder("all"), 0700), 0);
  make_versions("all/m");
  assert_int_equal(symlink("nowhere", fc_test_in_folder("all/m/3")), 0);
  fc_test_put("all/m/4", "no folder");
  assert_int_equal(scan_meanwhile(move_version, &listing, &error), FC_OK);
  assert_int_equal(listing.count, 2);
  assert_true(listing.files[0].mark && listing.files[1].mark);
  fc_listing_deinit(&listing);
  assert_int_equal(scan_meanwhile(remove_version, &listing, &error), FC_OK);
  assert_int_equal(listing.count, 1);
  assert_true(fc_str_ends(listing.files[0].path, FC_STR("/m/2/model.so")));
  fc_listing_deinit(&listing);
}

// A folder may allow the use of its files without allowing itself to be listed.
static void a_version_need_not_be_readable(void **state) {
  (void)state;
  fc_listing_t listing;
  fc_error_t error;
  assert_int_equal(mkdir(fc_test_in_folder("m"), 0700), 0);
  assert_int_equal(mkdir(fc_test_in_folder("m/1"), 0700), 0);
  fc_test_put("m/1/model.so", "");
  assert_int_equal(chmod(fc_test_in_folder("m/1"), 0300), 0);
  assert_int_equal(scan_folder(&listing, &error), FC_OK);
  assert_int_equal(listing.count, 1);
  assert_null(listing.unread);
  fc_listing_deinit(&listing);
}

static void models_to_compile_are_noted(void **state) {
  static const char *const kFolders[] = {"m", "m/1", "m/2", "m/03", "m/4"};
  (void)state;
  fc_listing_t listing;
  fc_error_t error;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFolders); i++) {
    assert_int_equal(mkdir(fc_test_in_folder(kFolders[i]), 0700), 0);
  }
  fc_test_put("m/1/model.onnx", "");
  fc_test_put("m/2/model.onnx", "");  // compiled already
  fc_test_put("m/2/model.vmfb", "");
  fc_test_put("m/03/model.onnx", "");  // not named like a version
  fc_test_put("m/4/other.onnx", "");
  assert_int_equal(scan_folder(&listing, &error), FC_OK);
  assert_int_equal(listing.count, 1);
  assert_non_null(listing.uncompiled);
  assert_null(listing.uncompiled->next);
  assert_true(fc_str_ends(listing.uncompiled->path, FC_STR("/m/1/model.onnx")));
  fc_listing_deinit(&listing);
}

// ---------------------------------------------------------------------------

static fc_status_t scan(fc_allocator_t allocator, void *context,
                        fc_error_t *err) {
  (void)context;
  fc_listing_t listing;
  FC_TRY(fc_scan(fc_str(fc_test_folder()), fc_backends, -1, allocator, &listing,
                 err));
  fc_listing_deinit(&listing);
  return FC_OK;
}

static void scanning_survives_any_failed_allocation(void **state) {
  (void)state;
  char name[16];
  for (int i = 0; i < 200; i++) {
    snprintf(name, sizeof name, "m%d.so", i);
    fc_test_put(name, "");
  }
  assert_true(fc_test_allocation_sweep(scan, NULL) > 2);
}

// Computes the marks of x/1 and x/2 with these files of calls.
static void mark_two(const char *tests, size_t size, uint64_t out_marks[2]) {
  fc_listing_t listing;
  fc_error_t error;
  assert_int_equal(fc_scan(fc_str(fc_test_folder()), fc_backends, -1,
                           fc_allocator_system(), &listing, &error),
                   FC_OK);
  assert_int_equal(fc_scan_mark_tests(&listing, fc_str_make(tests, size),
                                      fc_allocator_system(), &error),
                   FC_OK);
  assert_int_equal(listing.count, 2);
  for (size_t i = 0; i < 2; i++) out_marks[i] = listing.files[i].mark;
  fc_listing_deinit(&listing);
}

static void calls_that_the_configuration_names_count(void **state) {
  (void)state;
  char text[400];
  uint64_t plain[2], first[2], second[2], version[2], off[2];
  static const char *const kFolders[] = {"x", "x/1", "x/2"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFolders); i++) {
    assert_int_equal(mkdir(fc_test_in_folder(kFolders[i]), 0700), 0);
  }
  fc_test_put("x/1/model.so", "");
  fc_test_put("x/2/model.so", "");
  fc_test_put("calls", "");
  const char *folder = fc_test_folder();
  int size = snprintf(text, sizeof text, "y%c%s/none%cx%c%s/calls%c", 0, folder,
                      0, 0, folder, 0);
  mark_two("", 0, plain);
  mark_two(text, (size_t)size, first);
  assert_int_not_equal(plain[0], first[0]);
  assert_int_not_equal(plain[1], first[1]);
  replace("calls");
  mark_two(text, (size_t)size, second);
  assert_int_not_equal(first[0], second[0]);
  assert_int_not_equal(first[1], second[1]);
  // The file of calls is named for one version only; then for all versions but one.
  size = snprintf(text, sizeof text, "x@2%c%s/calls%c", 0, folder, 0);
  mark_two(text, (size_t)size, version);
  assert_int_equal(version[0], plain[0]);
  assert_int_equal(version[1], second[1]);
  size = snprintf(text, sizeof text, "x%c%s/calls%cx@2%coff%c", 0, folder, 0, 0,
                  0);
  mark_two(text, (size_t)size, off);
  assert_int_equal(off[0], second[0]);
  assert_int_equal(off[1], plain[1]);
}

// There is one module, whatever variants its sidecar lists; the variants count in its
// mark.
static void variants_are_no_modules_of_their_own(void **state) {
  (void)state;
  fc_listing_t listing;
  fc_error_t error;
  uint64_t marks[3];
  static const char *const kFolders[] = {"x", "x/3"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFolders); i++) {
    assert_int_equal(mkdir(fc_test_in_folder(kFolders[i]), 0700), 0);
  }
  fc_test_put("m.so", "own");
  fc_test_put("m-v4.so", "variant");
  fc_test_put("m-never.so", "x");
  fc_test_put("other.so", "");
  fc_test_put("m.farcall.json",
              "{\"farcall\":1,\"variants\":[{\"file\":\"m-never.so\","
              "\"cpu\":[\"xop\",\"amx-bf16\"]},{\"file\":\"m-v4.so\"}]}");
  fc_test_put("x/3/model.so", "");
  fc_test_put("x/3/model.vmfb", "");
  fc_test_put("x/3/model.farcall.json",
              "{\"farcall\":1,\"variants\":[{\"file\":\"model.so\","
              "\"cpu\":[\"xop\",\"amx-bf16\"]},{\"file\":\"model.vmfb\"}]}");
  for (size_t i = 0; i < FC_ARRAY_COUNT(marks); i++) {
    assert_int_equal(fc_scan(fc_str(fc_test_folder()), fc_backends, -1,
                             fc_allocator_system(), &listing, &error),
                     FC_OK);
    assert_int_equal(listing.count, 3);
    assert_true(fc_str_ends(listing.files[0].path, FC_STR("/m.so")));
    assert_true(fc_str_ends(listing.files[0].variant, FC_STR("/m-v4.so")));
    assert_true(fc_str_ends(listing.files[1].path, FC_STR("/other.so")));
    assert_int_equal(listing.files[1].variant.size, 0);
    assert_true(fc_str_ends(listing.files[2].path, FC_STR("/x/3/model.so")));
    assert_true(
        fc_str_ends(listing.files[2].variant, FC_STR("/x/3/model.vmfb")));
    assert_int_equal(listing.files[0].size, strlen("variant"));
    // A file that was left out is noted, with the file that declares it a variant.
    size_t declared = 0;
    const fc_declared_t *one = listing.declared;
    for (; one; one = one->next, declared++) {
      const bool versioned = fc_str_ends(one->path, FC_STR("/model.vmfb"));
      assert_true(fc_str_ends(
          one->by, versioned ? FC_STR("/x/3/model.so") : FC_STR("/m.so")));
    }
    assert_int_equal(declared, 3);
    marks[i] = listing.files[0].mark;
    fc_listing_deinit(&listing);
    if (i == 0) fc_test_put("m-never.so", "another that is never loaded");
    if (i == 1) {
      fc_test_put("other", "variant");
      assert_int_equal(
          rename(fc_test_in_folder("other"), fc_test_in_folder("m-v4.so")), 0);
    }
  }
  assert_int_equal(marks[0], marks[1]);
  assert_int_not_equal(marks[1], marks[2]);
  // If a later entry of the list is wrong, no variant is chosen, and none becomes a
  // module.
  fc_test_put("m.farcall.json",
              "{\"farcall\":1,\"variants\":[{\"file\":\"m-never.so\","
              "\"cpu\":1},{\"file\":\"m-v4.so\"}]}");
  assert_int_equal(fc_scan(fc_str(fc_test_folder()), fc_backends, -1,
                           fc_allocator_system(), &listing, &error),
                   FC_OK);
  assert_int_equal(listing.count, 3);
  assert_true(fc_str_ends(listing.files[0].path, FC_STR("/m.so")));
  assert_int_equal(listing.files[0].variant.size, 0);
  fc_listing_deinit(&listing);
}

// A variant of a variant is no module, either, whichever file is listed first. If files
// declare each other, one of them is the module.
static void variants_of_variants_are_no_modules(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *declares[3];  // what a, b and c declare
    const char *stays;
  } rows[] = {{"a, b, c", {"b", "c", NULL}, "/a.so"},
              {"b, a, c", {"c", "a", NULL}, "/b.so"},
              {"c, b, a", {NULL, "a", "b"}, "/c.so"},
              {"a ring", {"b", "c", "a"}, "/a.so"},
              {"a ring the other way", {"c", "a", "b"}, "/b.so"}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_listing_t listing;
    fc_error_t error;
    for (int i = 0; i < 3; i++) {
      char file[32], text[120];
      snprintf(file, sizeof file, "%c.so", 'a' + i);
      fc_test_put(file, "");
      snprintf(file, sizeof file, "%c.farcall.json", 'a' + i);
      snprintf(text, sizeof text,
               "{\"farcall\":1,\"variants\":[{\"file\":\"%s.so\"}]}",
               row->declares[i] ? row->declares[i] : "none");
      fc_test_put(file, text);
    }
    assert_int_equal(scan_folder(&listing, &error), FC_OK);
    assert_int_equal(listing.count, 1);
    assert_true(fc_str_ends(listing.files[0].path, fc_str(row->stays)));
    fc_listing_deinit(&listing);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST_IN_FOLDER(a_folder_is_read_in_order),
      FC_TEST(what_is_no_folder_is_listed_itself),
      FC_TEST_IN_FOLDER(a_mark_says_whether_files_were_replaced),
      FC_TEST_IN_FOLDER(calls_that_the_configuration_names_count),
      FC_TEST_IN_FOLDER(variants_are_no_modules_of_their_own),
      FC_TEST_IN_FOLDER(variants_of_variants_are_no_modules),
      FC_TEST_IN_FOLDER(a_folder_without_modules_is_an_error),
      FC_TEST_IN_FOLDER(a_folder_that_cannot_be_opened_now_is_an_error),
      FC_TEST_IN_FOLDER(a_folder_that_is_not_opened_is_no_file),
      FC_TEST_IN_FOLDER(what_cannot_be_read_is_noted),
      FC_TEST_IN_FOLDER(what_is_not_gone_is_noted),
      FC_TEST_IN_FOLDER(what_is_moved_meanwhile_is_listed_anew),
      FC_TEST_IN_FOLDER(a_version_that_is_away_for_a_moment_is_there),
      FC_TEST_IN_FOLDER(a_version_need_not_be_readable),
      FC_TEST_IN_FOLDER(models_to_compile_are_noted),
      FC_TEST_IN_FOLDER(scanning_survives_any_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
