// SPDX-License-Identifier: Apache-2.0
//
// Which values of --socket-mode and --socket-owner are accepted.
#include "config/socket_file.h"

#include "helpers/test.h"

#define KEEP FC_SOCKET_FILE_KEEP

static void modes_and_owners_are_read(void **state) {
  (void)state;
  static const struct {
    const char *name;  // the mode
    const char *owner;
    fc_socket_file_t wanted;
  } rows[] = {
      {"", "", {KEEP, KEEP, KEEP}},
      {"0660", "", {0660, KEEP, KEEP}},
      {"0", "root", {0, 0, KEEP}},
      {"777", ":root", {0777, KEEP, 0}},
      {"", "root:7", {KEEP, 0, 7}},
      {"", "4294967294:", {KEEP, 4294967294u, KEEP}},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_socket_file_t file;
    fc_error_t error;
    if (fc_socket_file_parse(fc_str(row->name), fc_str(row->owner), &file,
                             &error) != FC_OK) {
      fail_msg("%s", error.message);
    }
    assert_int_equal(file.mode, row->wanted.mode);
    assert_int_equal(file.user, row->wanted.user);
    assert_int_equal(file.group, row->wanted.group);
  }
}

static void what_they_cannot_be_is_said(void **state) {
  (void)state;
  static const struct {
    const char *name;  // the mode
    const char *owner;
    const char *message;
  } rows[] = {
      {"0680", "", "--socket-mode: '0680' is no octal number from 0 to 0777"},
      {"01777", "", "--socket-mode: '01777' is no octal number from 0 to 0777"},
      {"rw", "", "--socket-mode: 'rw' is no octal number from 0 to 0777"},
      {"", "nobody.at.all", "--socket-owner: there is no user 'nobody.at.all'"},
      {"", "root:no.such", "--socket-owner: there is no group 'no.such'"},
      {"", "4294967295", "--socket-owner: there is no user '4294967295'"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_socket_file_t file;
    fc_error_t error;
    assert_int_not_equal(
        fc_socket_file_parse(fc_str(row->name), fc_str(row->owner), &file,
                             &error),
        FC_OK);
    assert_int_equal(error.code, FC_CODE_NOT_ACCEPTABLE);
    assert_string_equal(error.message, row->message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(modes_and_owners_are_read),
      FC_TEST(what_they_cannot_be_is_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
