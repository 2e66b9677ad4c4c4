// SPDX-License-Identifier: Apache-2.0
#include "obs/code.h"

#include "helpers/test.h"

static const struct {
  const char *name;
  fc_code_t code;
  fc_status_t status;
  int http;
} rows[] = {
    {"nothing", FC_CODE_NONE, FC_OK, 200},
    {"out of range", FC_CODE_OUT_OF_RANGE, FC_OUT_OF_RANGE, 422},
    {"a crash", FC_CODE_WORKER_CRASHED, FC_ABORTED, 502},
    {"failed", FC_CODE_CALL_FAILED, FC_OUT_OF_RANGE, 422},
    {"failed for a bug", FC_CODE_CALL_FAILED, FC_INTERNAL, 422},
    {"failed for memory", FC_CODE_CALL_FAILED, FC_RESOURCE_EXHAUSTED, 503},
    {"failed for good", FC_CODE_CALL_FAILED, FC_UNIMPLEMENTED, 501},
    // The status decides only for the code of a failed call.
    {"too large", FC_CODE_TENSOR_TOO_LARGE, FC_RESOURCE_EXHAUSTED, 422},
    {"no such code", FC_CODE_COUNT, FC_OK, 500},
    {"nor this", (fc_code_t)-1, FC_OK, 500},
};

static void an_error_has_the_status_of_its_code(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].name);
    const fc_error_t error = {.code = rows[i].code, .status = rows[i].status};
    assert_int_equal(fc_http_status(&error), rows[i].http);
  }
  fc_test_row(NULL);
}

// All codes about an argument have the status 422.
static void every_code_has_a_status(void **state) {
  (void)state;
  for (int i = 0; i < FC_CODE_COUNT; i++) {
    const fc_error_t error = {.code = (fc_code_t)i};
    assert_in_range(fc_http_status(&error), 200, 599);
    if (fc_code_is_argument(error.code)) {
      assert_int_equal(fc_http_status(&error), 422);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(an_error_has_the_status_of_its_code),
      FC_TEST(every_code_has_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
