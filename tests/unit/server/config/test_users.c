// SPDX-License-Identifier: Apache-2.0
//
// Rules for users of a Unix socket: how they are read, which rule counts, and which
// user the kernel reports.
#include "config/users.h"

#include <sys/socket.h>
#include <unistd.h>

#include "helpers/test.h"

static void rules_are_read(void **state) {
  (void)state;
  static const struct {
    const char *name, *text;
    uint32_t count;
    const char *says;  // NULL: it is right
  } rows[] = {
      {"none", "", 0, NULL},
      {"a user", "root=call", 1, NULL},
      {"a number", "1000=call+read", 1, NULL},
      {"a group", ":0=read", 1, NULL},
      {"both", "0:0=read", 1, NULL},
      {"everybody", "=read", 1, NULL},
      {"several", "root=admin+call,:7=call,=read", 3, NULL},
      {"no scopes", "root", 0, "'root' is no [USER][:GROUP]=SCOPE+SCOPE of"},
      {"no such scope", "root=call,0=root", 1, "'0=root' is no "},
      {"an empty rule", "root=call,", 1, "'' is no "},
      {"no such user", "nobody-of-that-name=call", 0,
       "--socket-users: there is no user 'nobody-of-that-name'"},
      {"no such group", ":nobody-of-that-name=call", 0,
       "--socket-users: there is no group 'nobody-of-that-name'"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_users_t users;
    fc_error_t error;
    const fc_status_t status =
        fc_users_parse(fc_str(row->text), &users, &error);
    assert_int_equal(status == FC_OK, row->says == NULL);
    assert_int_equal(users.count, row->count);
    if (row->says) assert_non_null(strstr(error.message, row->says));
  }
  char many[8 * (FC_USER_RULES_MAX + 1)] = "";
  for (int i = 0; i <= FC_USER_RULES_MAX; i++) {
    memcpy(&many[7 * i], ",0=call", 8);
  }
  fc_users_t users;
  fc_error_t error;
  assert_int_equal(fc_users_parse(fc_str(many + 1), &users, &error),
                   FC_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "more than 32 rules"));
}

static void the_first_that_fits_counts(void **state) {
  (void)state;
  static const struct {
    const char *name, *rules;
    uint32_t user, groups[2];
    uint8_t scopes;
  } rows[] = {
      {"its own", "5=call,=read", 5, {5, 6}, FC_SCOPE_CALL},
      {"everybody's", "5=call,=read", 7, {5, 6}, FC_SCOPE_READ},
      {"nobody's", "5=call", 7, {5, 6}, 0},
      {"its main group", ":5=call", 7, {5, 6}, FC_SCOPE_CALL},
      {"another group",
       ":6=call+admin",
       7,
       {5, 6},
       FC_SCOPE_CALL | FC_SCOPE_ADMIN},
      {"no group of its", ":7=call", 7, {5, 6}, 0},
      {"both", "7:6=call", 7, {5, 6}, FC_SCOPE_CALL},
      {"the user alone", "7:8=call", 7, {5, 6}, 0},
      {"the group alone", "8:6=call", 7, {5, 6}, 0},
      {"before a wider one", ":6=read,7=call", 7, {5, 6}, FC_SCOPE_READ},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_users_t users;
    fc_error_t error;
    const fc_user_t user = {row->user, 2, {row->groups[0], row->groups[1]}};
    assert_int_equal(fc_users_parse(fc_str(row->rules), &users, &error), FC_OK);
    assert_int_equal(fc_users_scopes(&users, &user), row->scopes);
  }
}

static void the_kernel_says_who_it_is(void **state) {
  (void)state;
  int pair[2];
  fc_users_t users = {0};
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  fc_known_user_t who = fc_users_of_socket(&users, pair[0]);
  assert_true(who.known);
  assert_int_equal(who.id, getuid());
  assert_int_equal(who.scopes, 0);
  users.count = 2;
  users.items[0] = (fc_user_rule_t){getuid() + 1, UINT32_MAX, FC_SCOPE_READ};
  users.items[1] = (fc_user_rule_t){UINT32_MAX, getgid(), FC_SCOPE_CALL};
  assert_int_equal(fc_users_of_socket(&users, pair[0]).scopes, FC_SCOPE_CALL);
  close(pair[0]);
  close(pair[1]);
  assert_false(fc_users_of_socket(&users, -1).known);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(rules_are_read),
      FC_TEST(the_first_that_fits_counts),
      FC_TEST(the_kernel_says_who_it_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
