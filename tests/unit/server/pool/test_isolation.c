// SPDX-License-Identifier: Apache-2.0
//
// Which host a module gets for each value of --isolation.
#include "pool/isolation.h"

#include "helpers/test.h"

static void modules_get_the_host_they_were_given(void **state) {
  (void)state;
  static const struct {
    const char *name;
    unsigned mode;
    bool native, bytecode;  // in a process?
  } rows[] = {
      {"auto", FC_ISOLATION_AUTO, true, false},
      {"process", FC_ISOLATION_PROCESS, true, true},
      {"thread", FC_ISOLATION_THREAD, false, false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_int_equal(fc_isolation_process(row->mode, true), row->native);
    assert_int_equal(fc_isolation_process(row->mode, false), row->bytecode);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(modules_get_the_host_they_were_given),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
