// SPDX-License-Identifier: Apache-2.0
//
// Error bodies, member by member.
#include "dialect/problem.h"

#include <stdio.h>

#include "helpers/test.h"
#include "obs/code.h"

static void check(const fc_problem_t *problem, const char *expected) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1u << 16);
  assert_int_equal(fc_problem_write(problem, &text.sink, NULL), FC_OK);
  assert_int_equal(fc_sink_put(&text.sink, fc_str_make("", 1), NULL), FC_OK);
  assert_string_equal(text.data, expected);
  fc_text_deinit(&text);
}

static void a_full_problem_has_every_member_in_order(void **state) {
  (void)state;
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_OUT_OF_RANGE,
                "argument 0 ('x'): 300 does not fit i8");
  error.has_pointer = true;
  memcpy(error.pointer, "/args/0/1/3", 12);
  error.byte_offset = 512;
  fc_error_expected(&error, "i8 in [-128,127]");
  fc_error_got(&error, FC_STR("300"));
  check(
      &(fc_problem_t){.error = &error,
                      .status = 422,
                      .module = FC_STR("m"),
                      .function = FC_STR("f"),
                      .stage = "decode",
                      .step = 7,
                      .request_id = FC_STR("id-1"),
                      .name = FC_STR("its \"id\"")},
      "{\"type\":\"urn:farcall:error:out_of_range\","
      "\"title\":\"Value out of range\",\"status\":422,"
      "\"code\":\"out_of_range\","
      "\"detail\":\"argument 0 ('x'): 300 does not fit i8\","
      "\"pointer\":\"/args/0/1/3\",\"byte_offset\":512,"
      "\"expected\":\"i8 in [-128,127]\",\"got\":\"300\",\"module\":\"m\","
      "\"function\":\"f\",\"stop\":\"decode\",\"step\":7,"
      "\"request_id\":\"id-1\","
      "\"id\":\"its \\\"id\\\"\",\"error\":\"argument 0 ('x'): 300 does not fit i8\"}");
}

static void absent_members_are_left_out(void **state) {
  (void)state;
  fc_error_t error;
  (void)fc_fail_memory(&error);
  check(&(fc_problem_t){.error = &error, .status = fc_http_status(&error)},
        "{\"type\":\"urn:farcall:error:out_of_memory\","
        "\"title\":\"Out of memory\",\"status\":503,"
        "\"code\":\"out_of_memory\",\"detail\":\"out of memory\","
        "\"error\":\"out of memory\"}");
}

static void the_status_of_a_failed_call_follows_its_code(void **state) {
  (void)state;
  fc_error_t error;
  (void)fc_fail_as(&error, FC_CODE_CALL_FAILED, FC_UNIMPLEMENTED, "no \"x\"");
  error.has_pointer = true;  // the whole document
  check(&(fc_problem_t){.error = &error, .status = fc_http_status(&error)},
        "{\"type\":\"urn:farcall:error:call_failed\",\"title\":\"Call failed\","
        "\"status\":501,\"code\":\"call_failed\",\"detail\":\"no \\\"x\\\"\","
        "\"pointer\":\"\",\"error\":\"no \\\"x\\\"\"}");
}

static void our_own_bugs_tell_nothing(void **state) {
  (void)state;
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_INTERNAL, "secret at 0x1234");
  fc_error_expected(&error, "secret");
  fc_error_got(&error, FC_STR("secret"));
  check(&(fc_problem_t){.error = &error,
                        .status = fc_http_status(&error),
                        .request_id = FC_STR("r")},
        "{\"type\":\"urn:farcall:error:internal\","
        "\"title\":\"Internal error\",\"status\":500,\"code\":\"internal\","
        "\"detail\":\"internal error\",\"request_id\":\"r\","
        "\"error\":\"internal error\"}");
}

// docs/errors.md is written by hand. This test compares it with error.def.
static void the_documentation_lists_every_code(void **state) {
  (void)state;
  FILE *file = fopen(FARCALL_SOURCE_DIR "/docs/errors.md", "r");
  assert_non_null(file);
  static char text[1u << 16];
  size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = '\0';
  for (int i = FC_CODE_NONE + 1; i < FC_CODE_COUNT; i++) {
    const fc_code_info_t *info = fc_code_info((fc_code_t)i);
    char row[256], short_row[256];
    snprintf(row, sizeof row, "| `%s` | %d | %s |", info->text,
             fc_http_status(&(fc_error_t){.code = (fc_code_t)i}), info->title);
    snprintf(short_row, sizeof short_row, "| `%s` | %s |", info->text,
             info->title);
    if (!strstr(text, row) && !strstr(text, short_row)) fail_msg("%s", row);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_full_problem_has_every_member_in_order),
      FC_TEST(absent_members_are_left_out),
      FC_TEST(the_status_of_a_failed_call_follows_its_code),
      FC_TEST(our_own_bugs_tell_nothing),
      FC_TEST(the_documentation_lists_every_code),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
