// SPDX-License-Identifier: Apache-2.0
//
// --isolation: which words it takes and which host a module gets by them.
#include "pool/isolation.h"

#include "config/module.h"

#include "helpers/test.h"

static void modules_get_the_host_they_were_given(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool native;    // "m" and "other", with machine code
    bool bytecode;  // "m" and "other", without
    bool m_native;
    bool m_bytecode;
  } rows[] = {
      // other native, other bytecode, m native, m bytecode: in a process?
      {"auto", true, false, true, false},
      {"process", true, true, true, true},
      {"thread", false, false, false, false},
      {"auto,m=thread", true, false, false, false},
      {"process,m=thread", true, true, false, false},
      {"thread,m=process", false, false, true, true},
      {"m=process", true, false, true, true},
      {"thread,x=process,m=auto", false, false, true, false},
      {"thread,m=process,m=thread", false, false, false, false},
      {"thread,m.v1-2=process", false, false, false, false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_server_options_t options;
    fc_module_policies_t policies;
    fc_error_t error;
    assert_int_equal(fc_isolation_check(fc_str(row->name), &error), FC_OK);
    fc_server_options_init(&options);
    options.isolation = row->name;
    assert_int_equal(fc_module_policies_init(&policies, fc_allocator_system(),
                                             &options, &error),
                     FC_OK);
    const unsigned m =
        fc_module_policies_find(&policies, FC_STR("m"))->isolation;
    const unsigned other =
        fc_module_policies_find(&policies, FC_STR("other"))->isolation;
    assert_int_equal(fc_isolation_process(other, true), row->native);
    assert_int_equal(fc_isolation_process(other, false), row->bytecode);
    assert_int_equal(fc_isolation_process(m, true), row->m_native);
    assert_int_equal(fc_isolation_process(m, false), row->m_bytecode);
    fc_module_policies_deinit(&policies);
  }
}

static void other_words_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *says;
  } rows[] = {
      {"processes", "'processes' is no isolation"},
      {"thread,process", "'process' is no isolation"},
      {"auto,", NULL},
      {"auto,=thread", "'=thread'"},
      {"auto,m=", "'m='"},
      {"auto,m=fork", "'m=fork'"},
      {"auto,,m=thread", "''"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_error_t error;
    fc_status_t status = fc_isolation_check(fc_str(row->name), &error);
    assert_int_equal(status == FC_OK, row->says == NULL);
    if (row->says) assert_non_null(strstr(error.message, row->says));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(modules_get_the_host_they_were_given),
      FC_TEST(other_words_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
