// SPDX-License-Identifier: Apache-2.0
//
// The file of --trust: how it is read, what is said of mistakes, and which sums it has.
#include "config/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers/test.h"

#define ONE "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
#define TWO "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"
#define UPPER "7692C3AD3540BB803C020B3AEE66CD8887123234EA0C6E7143C0ADD73FF431ED"

static void lines_are_read(void **state) {
  (void)state;
  static const struct {
    const char *name, *text;
    unsigned count;    // if it is right
    const char *says;  // NULL: it is right
  } rows[] = {
      {"nothing", "", 0, NULL},
      {"comments", "# a\n\n#" ONE "\n", 0, NULL},
      {"text", ONE "  a b.so\n", 1, NULL},
      {"binary", ONE " *a.so", 1, NULL},
      {"a sum alone", ONE "\n", 1, NULL},
      {"an escaped name", "\\" ONE "  a\\nb.so\n", 1, NULL},
      {"upper case", UPPER "  a.so\n", 1, NULL},
      {"lines of Windows", ONE "  a.so\r\n\r\n" TWO "\r\n", 2, NULL},
      {"twice", ONE "  a.so\n" ONE "  b.so\n", 2, NULL},
      {"no sum", "a.so\n", 0, "f:1:2: a SHA-256 sum is 64 digits of hex"},
      {"a blank before", "# x\n " ONE, 0,
       "f:2:1: a SHA-256 sum is 64 digits of hex"},
      {"a shorter sum", "d41d8cd98f00b204e9800998ecf8427e  a.so", 0,
       "f:1:33: a SHA-256 sum is 64 digits of hex"},
      {"a longer sum", ONE "0  a.so", 0,
       "f:1:65: behind a sum come two spaces, or ' *', and a name"},
      {"one space", ONE " a.so", 0,
       "f:1:65: behind a sum come two spaces, or ' *', and a name"},
      {"no name", ONE "  ", 0,
       "f:1:65: behind a sum come two spaces, or ' *', and a name"},
      {"a tag", "SHA256 (a.so) = " ONE, 0,
       "f:1:1: a SHA-256 sum is 64 digits of hex"},
      {"half a line", "\\", 0, "f:1:2: a SHA-256 sum is 64 digits of hex"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_sums_t sums;
    fc_error_t error;
    const fc_status_t status =
        fc_sums_parse(&sums, "f", fc_str(row->text), &error);
    assert_int_equal(status == FC_OK, row->says == NULL);
    if (row->says) assert_string_equal(error.message, row->says);
    assert_int_equal(sums.count, row->count);
    if (row->count) assert_true(fc_sums_have(&sums, ONE));
    assert_int_equal(fc_sums_have(&sums, TWO), strstr(row->text, TWO) != NULL);
    fc_sums_close(&sums);
  }
}

static void put(const char *path, const char *text, mode_t mode) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod(path, mode), 0);
}

static void sums_are_kept_where_a_file_is_wrong(void **state) {
  (void)state;
  char path[] = "/tmp/farcall-trust-XXXXXX";
  const int fd = mkstemp(path);
  fc_trust_t trust = {0};
  fc_error_t error;
  assert_true(fd >= 0);
  close(fd);
  fc_trust_deinit(&trust);  // a zeroed one
  fc_trust_init(&trust, path);
  put(path, ONE "  a.so\n", 0644);
  assert_int_equal(fc_trust_read(&trust, &error), FC_OK);
  assert_int_equal(fc_trust_count(&trust), 1);
  assert_int_equal(fc_trust_admit(&trust, ONE, &error), FC_OK);
  assert_int_not_equal(fc_trust_admit(&trust, TWO, &error), FC_OK);
  assert_int_equal(error.code, FC_CODE_MODULE_UNTRUSTED);
  assert_string_equal(error.message,
                      "its SHA-256, " TWO ", is not in the file of --trust");
  put(path, "nonsense\n", 0644);
  assert_int_not_equal(fc_trust_read(&trust, &error), FC_OK);
  assert_true(fc_trust_has(&trust, ONE));
  put(path, TWO "  a.so\n", 0664);
  assert_int_not_equal(fc_trust_read(&trust, &error), FC_OK);
  assert_non_null(strstr(error.message, "others than its owner may write it"));
  assert_true(fc_trust_has(&trust, ONE) && !fc_trust_has(&trust, TWO));
  put(path, TWO "  a.so\n", 0600);
  assert_int_equal(fc_trust_read(&trust, &error), FC_OK);
  assert_true(!fc_trust_has(&trust, ONE) && fc_trust_has(&trust, TWO));
  fc_trust_deinit(&trust);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(lines_are_read),
      FC_TEST(sums_are_kept_where_a_file_is_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
