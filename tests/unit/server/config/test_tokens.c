// SPDX-License-Identifier: Apache-2.0
//
// The file of tokens: how it is read, what is said of mistakes, and whose secret
// matches.
#include "config/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "helpers/test.h"

// The digests of "one" and of "two".
#define ONE "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
#define TWO "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"

static void lines_are_read(void **state) {
  (void)state;
  static const struct {
    const char *name, *text;
    const char *says;  // NULL: it is right
  } rows[] = {
      {"nothing", "", NULL},
      {"a comment", "# a\n\n \t# b", NULL},
      {"a token", "a call " ONE, NULL},
      {"more of it",
       " a.b-c_9\tcall,read,admin,metrics,profile " ONE "  net*,t # c\r\n",
       NULL},
      {"two", "a call " ONE "\nb read " TWO "\n", NULL},
      {"a name", "a! call " ONE,
       "f:1:1: a name is 1 to 32 letters, digits, '.', '-' and '_'"},
      {"a long name", "a23456789012345678901234567890123 call " ONE,
       "f:1:1: a name is 1 to 32 letters, digits, '.', '-' and '_'"},
      {"the same name", "a call " ONE "\n\n a read " TWO,
       "f:3:2: there are two tokens 'a'"},
      {"no scope", "a",
       "f:1:2: a scope is one of call, read, admin, metrics, "
       "profile, not ''"},
      {"another scope", "#\na call,root " ONE,
       "f:2:8: a scope is one of call, read, admin, metrics, profile, not 'root'"},
      {"an empty scope", "a call, " ONE,
       "f:1:8: a scope is one of call, read, admin, metrics, profile, not ''"},
      {"no hash", "a call",
       "f:1:7: the SHA-256 of a secret is 64 digits of "
       "lower case hex"},
      {"a secret", "a call hunter2",
       "f:1:8: the SHA-256 of a secret is 64 digits of lower case hex"},
      {"a secret before the name", ONE " a call " ONE,
       "f:1:1: a name is 1 to 32 letters, digits, '.', '-' and '_'"},
      {"a secret before the scopes", "a " ONE " call",
       "f:1:3: a scope is one of call, read, admin, metrics, profile"},
      {"the same secret", "a call " ONE "\nb read " ONE,
       "f:2:8: two tokens have this hash"},
      {"a range", "a call " ONE " t priority=-4..3", NULL},
      {"a range alone", "a call " ONE " priority=2", NULL},
      {"two lists", "a call " ONE " t u",
       "f:1:75: a line has at most one list of modules"},
      {"a word too many", "a call " ONE " t priority=0..1 u",
       "f:1:89: a line has at most five words"},
      {"no range", "a call " ONE " priority=3..2",
       "f:1:73: a range is priority=LOW..HIGH, from -4 to 4, not "
       "'priority=3..2'"},
      {"beyond", "a call " ONE " priority=0..5",
       "f:1:73: a range is priority=LOW..HIGH, from -4 to 4, not "
       "'priority=0..5'"},
      {"another word", "a call " ONE " calls=5",
       "f:1:73: a range is priority=LOW..HIGH, from -4 to 4, not 'calls=5'"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_tokens_t tokens;
    fc_error_t error;
    const fc_status_t status =
        fc_tokens_parse(&tokens, "f", fc_str(row->text), &error);
    assert_int_equal(status == FC_OK, row->says == NULL);
    if (row->says) assert_string_equal(error.message, row->says);
    fc_tokens_close(&tokens);
  }
}

static void secrets_are_found(void **state) {
  (void)state;
  fc_tokens_t tokens;
  fc_error_t error;
  char long_one[FC_TOKEN_SECRET_MAX + 1], hash[65], text[400];
  memset(long_one, 'x', sizeof long_one);
  fc_sha256_hex(long_one, sizeof long_one, hash);
  snprintf(text, sizeof text,
           "a call %s t,net*\nb read,admin %s priority=-1..4\nc read %s\n", ONE,
           TWO, hash);
  assert_int_equal(fc_tokens_parse(&tokens, "f", fc_str(text), &error), FC_OK);
  assert_int_equal(tokens.count, 3);
  const fc_grant_t *one = fc_tokens_find(&tokens, FC_STR("one"));
  const fc_grant_t *two = fc_tokens_find(&tokens, FC_STR("two"));
  assert_true(one && two);
  assert_int_equal(one->scopes, FC_SCOPE_CALL);
  assert_true(fc_str_equal(one->name, FC_STR("a")));
  assert_true(fc_str_equal(one->modules, FC_STR("t,net*")));
  assert_false(one->is_ranged);
  assert_true(two->is_ranged);
  assert_int_equal(two->priorities.low, -1);
  assert_int_equal(two->priorities.high, 4);
  assert_int_equal(two->scopes, FC_SCOPE_READ | FC_SCOPE_ADMIN);
  assert_int_equal(two->modules.size, 0);
  const char *const kNone[] = {"", "On", "one ", ONE, "a"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNone); i++) {
    assert_null(fc_tokens_find(&tokens, fc_str(kNone[i])));
  }
  assert_null(fc_tokens_find(&tokens, fc_str_make(long_one, sizeof long_one)));
  fc_tokens_close(&tokens);
}

static void digests_are_compared(void **state) {
  (void)state;
  char other[65] = ONE;
  assert_true(fc_sha256_same(ONE, other));
  for (size_t i = 0; i < 64; i++) {
    other[i] ^= 1;
    assert_false(fc_sha256_same(ONE, other));
    other[i] ^= 1;
  }
}

static void there_are_at_most_1024(void **state) {
  (void)state;
  enum { LINE = 80 };
  char *text = calloc(FC_TOKENS_MAX + 1, LINE + 1);
  fc_tokens_t tokens;
  fc_error_t error;
  assert_non_null(text);
  size_t size = 0, most = 0;
  for (unsigned i = 0; i <= FC_TOKENS_MAX; i++) {
    most = size;
    size += (size_t)sprintf(text + size, "n%u call %04x%s\n", i, i, &ONE[4]);
  }
  assert_int_equal(
      fc_tokens_parse(&tokens, "f", fc_str_make(text, most), &error), FC_OK);
  assert_int_equal(tokens.count, FC_TOKENS_MAX);
  fc_tokens_close(&tokens);
  assert_int_not_equal(
      fc_tokens_parse(&tokens, "f", fc_str_make(text, size), &error), FC_OK);
  assert_string_equal(error.message, "f:1025:1: more than 1024 tokens");
  free(text);
}

// With the largest number of tokens each is found, also those with the same place in
// the table, and no other secret is.
static void every_one_of_many_is_found(void **state) {
  (void)state;
  enum { LINE = 80, ALIKE = 24 };
  char *text = calloc(FC_TOKENS_MAX, LINE + 1), secret[32], name[32], hash[65];
  fc_tokens_t tokens;
  fc_error_t error;
  assert_non_null(text);
  size_t size = 0;
  for (unsigned i = 0; i < FC_TOKENS_MAX - ALIKE; i++) {
    snprintf(secret, sizeof secret, "secret %u", i);
    fc_sha256_hex(secret, strlen(secret), hash);
    size += (size_t)sprintf(text + size, "n%u call %s\n", i, hash);
  }
  fc_sha256_hex("secret 0", 8, hash);
  for (unsigned i = 0; i < ALIKE; i++) {
    snprintf(&hash[62], 3, "%02x", i);
    size += (size_t)sprintf(text + size, "alike%u call %s\n", i, hash);
  }
  assert_int_equal(
      fc_tokens_parse(&tokens, "f", fc_str_make(text, size), &error), FC_OK);
  assert_int_equal(tokens.count, FC_TOKENS_MAX);
  for (unsigned i = 0; i < FC_TOKENS_MAX; i++) {
    const int length = snprintf(secret, sizeof secret, "secret %u", i);
    const fc_grant_t *grant =
        fc_tokens_find(&tokens, fc_str_make(secret, (size_t)length));
    assert_int_equal(grant != NULL, i < FC_TOKENS_MAX - ALIKE);
    if (!grant) continue;
    snprintf(name, sizeof name, "n%u", i);
    assert_true(fc_str_equal(grant->name, fc_str(name)));
  }
  fc_tokens_close(&tokens);
  free(text);
}

static void patterns_fit_names(void **state) {
  (void)state;
  static const struct {
    const char *name, *patterns, *module;
    bool fit;
  } rows[] = {
      {"the name", "net", "net", true},
      {"a longer name", "net", "net2", false},
      {"a shorter name", "net", "ne", false},
      {"a beginning", "net*", "net", true},
      {"an end", "*net", "my.net", true},
      {"the middle", "a*b*c", "a.bb.c", true},
      {"the middle, not", "a*b*c", "a.bb.cd", false},
      {"back and forth", "*ab", "aab", true},
      {"the second", "a,b", "b", true},
      {"both", "a,b", "a,b", false},
      {"everything", "*", "x", true},
      {"nothing", ",", "x", false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_int_equal(
        fc_patterns_fit(fc_str(row->patterns), fc_str(row->module)), row->fit);
  }
}

static void files_are_looked_at(void **state) {
  (void)state;
  static const struct {
    const char *name;
    mode_t mode;
    bool good, others_read;
  } rows[] = {
      {"the owner's", 0600, true, false},
      {"read by a group", 0640, true, true},
      {"read by all", 0604, true, true},
      {"written by a group", 0620, false, false},
      {"written by all", 0602, false, false},
  };
  char path[] = "/tmp/farcall-tokens-XXXXXX", says[128];
  fc_tokens_t tokens;
  fc_error_t error;
  const int fd = mkstemp(path);
  assert_true(fd >= 0 && write(fd, "a call " ONE "\n", 72) == 72);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_int_equal(fchmod(fd, row->mode), 0);
    assert_int_equal(fc_tokens_open(&tokens, path, &error) == FC_OK, row->good);
    if (row->good) {
      assert_int_equal(tokens.count, 1);
      assert_int_equal(tokens.others_read, row->others_read);
    } else {
      snprintf(says, sizeof says,
               "%s: others than its owner may write it (mode %04o)", path,
               (unsigned)row->mode);
      assert_string_equal(error.message, says);
    }
    fc_tokens_close(&tokens);
  }
  close(fd);
  unlink(path);
  const char *const kNone[] = {path, "/tmp", "/dev/null"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNone); i++) {
    assert_int_not_equal(fc_tokens_open(&tokens, kNone[i], &error), FC_OK);
    assert_non_null(strstr(error.message, kNone[i]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(lines_are_read),
      FC_TEST(secrets_are_found),
      FC_TEST(digests_are_compared),
      FC_TEST(there_are_at_most_1024),
      FC_TEST(patterns_fit_names),
      FC_TEST(files_are_looked_at),
      FC_TEST(every_one_of_many_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
