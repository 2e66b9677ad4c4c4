// SPDX-License-Identifier: Apache-2.0
//
// Errors: codes, statuses, cut messages, escaped text of clients.
#include "helpers/test.h"

#include <stdio.h>

static void every_code_has_a_row(void **state) {
  (void)state;
  for (int code = 0; code < FC_CODE_COUNT; code++) {
    const fc_code_info_t *info = fc_code_info((fc_code_t)code);
    assert_true(info->text && info->text[0]);
    assert_true(info->title && info->title[0]);
    assert_int_equal(info->status == FC_OK, code == FC_CODE_NONE);
    for (int other = 0; other < code; other++) {
      assert_string_not_equal(info->text, fc_code_info((fc_code_t)other)->text);
    }
  }
  assert_string_equal(fc_code_info(FC_CODE_COUNT)->text, "internal");
  assert_string_equal(fc_code_info((fc_code_t)-1)->text, "internal");
}

static void statuses_have_the_canonical_numbers(void **state) {
  (void)state;
  assert_string_equal(fc_status_name(FC_OK), "OK");
  assert_string_equal(fc_status_name((fc_status_t)3), "INVALID_ARGUMENT");
  assert_string_equal(fc_status_name((fc_status_t)5), "NOT_FOUND");
  assert_string_equal(fc_status_name((fc_status_t)8), "RESOURCE_EXHAUSTED");
  assert_string_equal(fc_status_name((fc_status_t)16), "UNAUTHENTICATED");
  assert_string_equal(fc_status_name((fc_status_t)18), "INCOMPATIBLE");
  assert_string_equal(fc_status_name((fc_status_t)19), "UNKNOWN");
  assert_string_equal(fc_status_name((fc_status_t)-1), "UNKNOWN");
}

static void failing_describes_and_clears(void **state) {
  (void)state;
  fc_error_t err;
  memset(&err, 0xA5, sizeof err);
  assert_int_equal(
      fc_fail(&err, FC_CODE_OUT_OF_RANGE, "%d does not fit %s", 300, "i8"),
      FC_OUT_OF_RANGE);
  assert_int_equal(err.status, FC_OUT_OF_RANGE);
  assert_int_equal(err.code, FC_CODE_OUT_OF_RANGE);
  assert_string_equal(err.message, "300 does not fit i8");
  assert_string_equal(err.pointer, "");
  assert_false(err.has_pointer);
  assert_true(err.byte_offset == FC_NO_OFFSET);
  fc_error_expected(&err, "i8 in [%d,%d]", -128, 127);
  fc_error_got(&err, FC_STR("300"));
  assert_string_equal(err.expected, "i8 in [-128,127]");
  assert_string_equal(err.got, "300");

  // The next failure clears all members of this one.
  assert_int_equal(fc_fail_memory(&err), FC_RESOURCE_EXHAUSTED);
  assert_string_equal(err.expected, "");
  assert_string_equal(err.got, "");
  fc_error_reset(&err);
  assert_int_equal(err.status, FC_OK);
  assert_string_equal(err.message, "");
}

static void nobody_need_listen(void **state) {
  (void)state;
  fc_error_reset(NULL);
  fc_error_expected(NULL, "%d", 1);
  fc_error_got(NULL, FC_STR("x"));
  assert_int_equal(fc_fail(NULL, FC_CODE_NOT_FOUND, "x"), FC_NOT_FOUND);
  assert_int_equal(fc_fail_memory(NULL), FC_RESOURCE_EXHAUSTED);
}

static void a_call_fails_with_its_own_status(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_status_t status;
    fc_status_t result;
  } rows[] = {
      {"out of range", FC_OUT_OF_RANGE, FC_OUT_OF_RANGE},
      {"exhausted", FC_RESOURCE_EXHAUSTED, FC_RESOURCE_EXHAUSTED},
      {"unimplemented", FC_UNIMPLEMENTED, FC_UNIMPLEMENTED},
      {"ok is no failure", FC_OK, FC_INTERNAL},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_error_t err;
    fc_test_row(rows[i].name);
    assert_int_equal(fc_fail_as(&err, FC_CODE_CALL_FAILED, rows[i].status, "x"),
                     rows[i].result);
    assert_int_equal(err.status, rows[i].result);
  }
  fc_test_row(NULL);
}

// A message of any length is cut at the end of its array, between two characters.
static void long_messages_are_cut_between_characters(void **state) {
  (void)state;
  char text[600];
  for (size_t lead = 0; lead < 8; lead++) {
    memset(text, 'a', lead);
    size_t size = lead;
    for (; size + 4 < sizeof text; size += 4) {
      memcpy(text + size, "\xF0\x9F\x98\x80", 4);
    }
    text[size] = '\0';
    fc_error_t err;
    fc_fail(&err, FC_CODE_INTERNAL, "%s", text);
    size_t length = strlen(err.message);
    assert_in_range(length, sizeof err.message - 6, sizeof err.message - 1);
    assert_int_equal((length - lead) % 4, 0);
    assert_memory_equal(err.message, text, length);
  }
  memset(text, 'b', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  fc_error_t err;
  fc_fail(&err, FC_CODE_INTERNAL, "%s", text);
  assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void client_text_is_escaped(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_str_t text;
    size_t capacity, limit;
    const char *out;
  } rows[] = {
      {"plain", {"abc", 3}, 80, 64, "abc"},
      {"empty", {"", 0}, 80, 64, ""},
      {"quotes", {"a\"b\\c", 5}, 80, 64, "a\\\"b\\\\c"},
      {"controls", {"\0\n\x7F", 3}, 80, 64, "\\x00\\x0a\\x7f"},
      {"controls above ASCII",
       {"\xC2\x9B\xC2\xA0", 4},
       80,
       64,
       "\\u009b\xC2\xA0"},
      {"what turns text round",
       {"fdp\xE2\x80\xAE.so\xE2\x81\xA6", 12},
       80,
       64,
       "fdp\\u202e.so\\u2066"},
      {"what is not seen",
       {"\xEF\xBB\xBF|\xE2\x80\x8D|\xC2\xAD", 10},
       80,
       64,
       "\\ufeff|\\u200d|\\u00ad"},
      {"UTF-8",
       {"\xC3\xA9\xF0\x9F\x98\x80", 6},
       80,
       64,
       "\xC3\xA9\xF0\x9F\x98\x80"},
      {"bad bytes",
       {"\xC0\xAF\xED\xA0\x80", 5},
       80,
       64,
       "\\xc0\\xaf\\xed\\xa0\\x80"},
      {"cut sequence", {"a\xE2\x82", 3}, 80, 64, "a\\xe2\\x82"},
      {"limit", {"abcdef", 6}, 80, 3, "abc\xE2\x80\xA6"},
      {"limit just met", {"abc", 3}, 80, 3, "abc"},
      {"room", {"abcdef", 6}, 8, 64, "abcd\xE2\x80\xA6"},
      {"no room for the mark", {"abcdef", 6}, 3, 64, ""},
      {"no room at all", {"abcdef", 6}, 1, 64, ""},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    char out[96];
    memset(out, '#', sizeof out);
    fc_test_row(rows[i].name);
    size_t size = fc_escape(out, rows[i].capacity, rows[i].limit, rows[i].text);
    assert_string_equal(out, rows[i].out);
    assert_int_equal(size, strlen(rows[i].out));
    assert_int_equal(out[rows[i].capacity], '#');
  }
  fc_test_row(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(every_code_has_a_row),
      FC_TEST(statuses_have_the_canonical_numbers),
      FC_TEST(failing_describes_and_clears),
      FC_TEST(nobody_need_listen),
      FC_TEST(a_call_fails_with_its_own_status),
      FC_TEST(long_messages_are_cut_between_characters),
      FC_TEST(client_text_is_escaped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
