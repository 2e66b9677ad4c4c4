// SPDX-License-Identifier: Apache-2.0
//
// After which errors a module is loaded again without a request.
#include "modules/retry.h"

#include "helpers/test.h"

static void only_what_comes_from_outside_may_pass(void **state) {
  (void)state;
  static const struct {
    const char *name;
    fc_code_t code;
    fc_status_t status;
    bool helps;
  } rows[] = {
      {"no memory", FC_CODE_OUT_OF_MEMORY, FC_RESOURCE_EXHAUSTED, true},
      {"no process", FC_CODE_MODULE_UNAVAILABLE, FC_RESOURCE_EXHAUSTED, true},
      {"its own heap", FC_CODE_CALL_FAILED, FC_RESOURCE_EXHAUSTED, false},
      {"its initializer failed", FC_CODE_CALL_FAILED, FC_INTERNAL, false},
      {"a damaged file", FC_CODE_VMFB_INVALID, FC_INVALID_ARGUMENT, false},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_error_t error;
    (void)fc_fail_as(&error, rows[i].code, rows[i].status, "%s", rows[i].name);
    if (fc_retry_may_help(&error) == rows[i].helps) continue;
    fail_msg("%s: a retry is said %sto help", rows[i].name,
             rows[i].helps ? "not " : "");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(only_what_comes_from_outside_may_pass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
