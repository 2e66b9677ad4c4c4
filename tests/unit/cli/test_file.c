// SPDX-License-Identifier: Apache-2.0
//
// Files that grow while they are read, and drafts of files that cannot be written.
#include "file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/test.h"

// The linker replaces fstat by this. It returns `size_said`, while the file is larger.
int __real_fstat(int file, struct stat *out);
int __wrap_fstat(int file, struct stat *out);
static off_t size_said = -1;  // -1: the right one

int __wrap_fstat(int file, struct stat *out) {
  const int failed = __real_fstat(file, out);
  if (size_said >= 0) out->st_size = size_said;
  return failed;
}

static void a_file_is_read_to_its_end(void **state) {
  (void)state;
  static char data[100000];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (char)(i * 7 >> 3);
  char path[] = "/tmp/farcall-test-XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, data, sizeof data), sizeof data);
  close(file);
  static const off_t sizes[] = {-1, 0, 1, 50000, 99999, 200000};
  for (size_t i = 0; i < FC_ARRAY_COUNT(sizes); i++) {
    fc_arena_t arena;
    fc_str_t read = {0};
    fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 22);
    size_said = sizes[i];
    fc_status_t status = fc_file_read(&arena, path, &read, NULL);
    size_said = -1;
    assert_int_equal(status, FC_OK);
    assert_int_equal(read.size, sizeof data);
    assert_memory_equal(read.data, data, sizeof data);
    assert_int_equal(read.data[read.size], 0);
    fc_arena_deinit(&arena);
  }
  unlink(path);
}

static size_t entries_of(const char *folder) {
  size_t count = 0;
  DIR *directory = opendir(folder);
  assert_non_null(directory);
  for (struct dirent *each; (each = readdir(directory));) {
    count += each->d_name[0] != '.';
  }
  closedir(directory);
  return count;
}

static void what_cannot_be_written_leaves_no_draft(void **state) {
  (void)state;
  char folder[] = "/tmp/farcall-test-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/x", folder);
  assert_int_equal(mkdir(path, 0700), 0);
  fc_arena_t arena;
  fc_error_t err;
  fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
  // A folder is not replaced by a file.
  assert_int_not_equal(fc_file_write(&arena, path, FC_STR("abc"), &err), FC_OK);
  assert_non_null(strstr(err.message, "cannot write"));
  assert_int_equal(entries_of(folder), 1);
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(fc_file_write(&arena, path, FC_STR("abc"), &err), FC_OK);
  assert_int_equal(entries_of(folder), 1);
  unlink(path);
  rmdir(folder);
  fc_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_file_is_read_to_its_end),
      FC_TEST(what_cannot_be_written_leaves_no_draft),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
