// SPDX-License-Identifier: Apache-2.0
//
// Lines of calls with their expected answers.
#include "helpers/test.h"

#include "helpers/types.h"
#include "module/expect.h"

static void reads_lines(void **state) {
  (void)state;
  const fc_str_t lines = FC_STR(
      "\n{\"function\":\"f\",\"args\":[1.50, 2],\"results\":[3.5]}\n  \r\n"
      "{\"kwargs\":{\"x\":[1e400]},\"tolerance\":{\"ulp\":2,\"nan\":\"differs\"}}\n"
      "{\"error\":\"call_failed\",\"tolerance\":{\"abs\":0.5,\"rel\":1}}");
  fc_expectations_t *read;
  fc_error_t err = {0};
  // 1e400 is in no type's range, but this reader must not decide that.
  assert_int_not_equal(
      fc_expectations_parse(lines, fc_allocator_system(), &read, &err), FC_OK);
  const fc_str_t good = FC_STR(
      "\n{\"function\":\"f\",\"args\":[1.50, 2],\"results\":[3.5]}\n  \r\n"
      "{\"kwargs\":{\"x\":[1]},\"tolerance\":{\"ulp\":2,\"nan\":\"differs\"}}\n"
      "{\"error\":\"call_failed\",\"tolerance\":{\"abs\":0.5,\"rel\":1}}");
  if (fc_expectations_parse(good, fc_allocator_system(), &read, &err) !=
      FC_OK) {
    fail_msg("%s", err.message);
  }
  static const struct {
    const char *name;
    uint32_t line;
    const char *function, *body, *results, *error;
    fc_tolerance_t tolerance;
  } rows[] = {
      {"args", 2, "f", "{\"args\":[1.50,2]}", "[3.5]", "", {.ulp = 0}},
      {"kwargs",
       4,
       "",
       "{\"args\":[],\"kwargs\":{\"x\":[1]}}",
       "",
       "",
       {.ulp = 2, .nan_differs = true}},
      {"error",
       5,
       "",
       "{\"args\":[]}",
       "",
       "call_failed",
       {.absolute = 0.5, .relative = 1}},
  };
  assert_int_equal(read->count, 3);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const fc_expected_call_t *call = &read->calls[row - rows];
    assert_int_equal(call->line, row->line);
    assert_true(fc_str_equal(call->function, fc_str(row->function)));
    assert_true(fc_str_equal(call->body, fc_str(row->body)));
    assert_true(fc_str_equal(call->results, fc_str(row->results)));
    assert_true(fc_str_equal(call->error, fc_str(row->error)));
    assert_memory_equal(&call->tolerance, &row->tolerance,
                        offsetof(fc_tolerance_t, nan_differs) + 1);
  }
  fc_expectations_destroy(read);
}

static void refuses_what_is_no_call(void **state) {
  (void)state;
  static const struct {
    const char *name, *lines, *message;
    fc_code_t code;
  } rows[] = {
      {"no JSON", "{}\n{", "line 2: not JSON: unexpected end of data at byte 1",
       FC_CODE_JSON_SYNTAX},
      {"no object", "[]", "line 1: must be an object", FC_CODE_JSON_SCHEMA},
      {"a key misspelt", "{\"result\":[]}",
       "line 1: no member 'result': did you mean 'results'?",
       FC_CODE_UNKNOWN_FIELD},
      {"a tolerance misspelt", "{\"tolerance\":{\"upl\":1}}",
       "line 1: no member 'upl': did you mean 'ulp'?", FC_CODE_UNKNOWN_FIELD},
      {"a negative tolerance", "{\"tolerance\":{\"abs\":-1}}",
       "line 1: tolerance 'abs' must be a number of at least 0",
       FC_CODE_JSON_SCHEMA},
      {"half a step", "{\"tolerance\":{\"ulp\":0.5}}",
       "line 1: tolerance 'ulp' must be a whole number", FC_CODE_JSON_SCHEMA},
      {"a rule of NaN", "{\"tolerance\":{\"nan\":true}}",
       "line 1: tolerance 'nan' must be \"equal\" or \"differs\"",
       FC_CODE_JSON_SCHEMA},
      {"both", "{\"results\":[],\"error\":\"call_failed\"}",
       "line 1: 'results' must be a list, and 'error' excludes it",
       FC_CODE_JSON_SCHEMA},
      {"a name", "{\"function\":1}", "line 1: 'function' must be a string",
       FC_CODE_JSON_SCHEMA},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_expectations_t *read;
    fc_error_t err;
    assert_int_not_equal(
        fc_expectations_parse(fc_str(row->lines), fc_allocator_system(), &read,
                              &err),
        FC_OK);
    assert_string_equal(err.message, row->message);
    assert_int_equal(err.code, row->code);
  }
}

static void says_which_call_failed(void **state) {
  (void)state;
  fc_signature_t *signature =
      fc_test_signature(fc_allocator_system(), "-> tensor<2xf32>");
  fc_error_t failed;
  (void)fc_fail(&failed, FC_CODE_CALL_FAILED, "division by zero");
  const struct {
    const char *name, *line, *answer;
    const fc_error_t *error;
    const char *message, *pointer, *expected, *got;
  } rows[] = {
      {"the same", "{\"results\":[[1,2]]}", "{\"results\":[[1.0,2.0]]}", NULL,
       "", "", "", ""},
      {"any results", "{}", "{\"results\":[[1.0,2.0]]}", NULL, "", "", "", ""},
      {"the error", "{\"error\":\"call_failed\"}", "", &failed, "", "", "", ""},
      {"another value", "{\"function\":\"f\",\"results\":[[1,2]]}",
       "{\"results\":[[1.0,2.5]]}", NULL,
       "line 1 ('f'), /results/0/1: expected 2, got 2.5", "/results/0/1", "2",
       "2.5"},
      {"an error", "{\"results\":[[1,2]]}", "", &failed,
       "line 1: call_failed: division by zero", "", "", "call_failed"},
      {"another error", "{\"error\":\"bad_result\"}", "", &failed,
       "line 1: call_failed: division by zero", "", "bad_result",
       "call_failed"},
      {"no error", "{\"error\":\"bad_result\"}", "{}", NULL,
       "line 1: expected bad_result, and it did not fail", "", "bad_result",
       "results"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_expectations_t *read = NULL;
    fc_error_t err = {0};
    assert_int_equal(fc_expectations_parse(fc_str(row->line),
                                           fc_allocator_system(), &read, &err),
                     FC_OK);
    const fc_status_t status =
        fc_expected_check(&read->calls[0], signature, fc_str(row->answer),
                          row->error, fc_allocator_system(), &err);
    assert_string_equal(err.message, row->message);
    assert_int_equal(status == FC_OK, row->message[0] == 0);
    if (status != FC_OK) {
      assert_int_equal(err.code, FC_CODE_SELF_TEST_FAILED);
      assert_string_equal(err.pointer, row->pointer);
      assert_string_equal(err.expected, row->expected);
      assert_string_equal(err.got, row->got);
    }
    fc_expectations_destroy(read);
  }
  fc_signature_destroy(signature);
}

static fc_status_t attempt(fc_allocator_t allocator, void *context,
                           fc_error_t *err) {
  fc_expectations_t *read;
  (void)context;
  FC_TRY(fc_expectations_parse(
      FC_STR(
          "{\"function\":\"f\",\"args\":[1],\"kwargs\":{},\"results\":[1]}\n{}"),
      allocator, &read, err));
  fc_expectations_destroy(read);
  return FC_OK;
}

static void every_failed_allocation_is_an_error(void **state) {
  (void)state;
  assert_true(fc_test_allocation_sweep(attempt, NULL) >= 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(reads_lines),
      FC_TEST(refuses_what_is_no_call),
      FC_TEST(says_which_call_failed),
      FC_TEST(every_failed_allocation_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
