// SPDX-License-Identifier: Apache-2.0
//
// Which query parameters are known on which route, and how others are refused.
#include "dialect/parameter.h"

#include "helpers/test.h"

static void only_known_parameters_are_taken(void **state) {
  (void)state;
  static const struct {
    const char *name;  // the query
    fc_route_t route;
    bool post;
    const char *says;  // NULL: fine
    const char *expected;
  } rows[] = {
      {"", FC_ROUTE_FUNCTION, true, NULL, NULL},
      {"validate=only", FC_ROUTE_FUNCTION, true, NULL, NULL},
      {"&&validate=only&", FC_ROUTE_FUNCTION, true, NULL, NULL},
      {"validate=onyl", FC_ROUTE_FUNCTION, true,
       "'validate' may be 'only', not 'onyl'", "only"},
      {"validate=true", FC_ROUTE_FUNCTION, true,
       "'validate' may be 'only', not 'true'", "only"},
      {"validate", FC_ROUTE_FUNCTION, true, "'validate' may be 'only', not ''",
       "only"},
      {"validate=", FC_ROUTE_FUNCTION, true, "'validate' may be 'only', not ''",
       "only"},
      {"validate=only=", FC_ROUTE_FUNCTION, true,
       "'validate' may be 'only', not 'only='", "only"},
      {"valdiate=only", FC_ROUTE_FUNCTION, true,
       "no query parameter 'valdiate' here: there is 'validate', 'profile', 'iterate', 'timing', 'session'",
       ""},
      {"validate=only&x=1", FC_ROUTE_FUNCTION, true,
       "no query parameter 'x' here: there is 'validate', 'profile', 'iterate', 'timing', 'session'",
       ""},
      {"validate=only&validate=only", FC_ROUTE_FUNCTION, true,
       "'validate' is given twice", ""},
      {"profile=1", FC_ROUTE_FUNCTION, true, NULL, NULL},
      {"profile=0&validate=only", FC_ROUTE_FUNCTION, true, NULL, NULL},
      {"profile=yes", FC_ROUTE_FUNCTION, true,
       "'profile' may be '0', '1', not 'yes'", "0, 1"},
      {"profile=1", FC_ROUTE_FUNCTION, false,
       "no query parameter 'profile' here: there is 'format'", ""},
      {"=only", FC_ROUTE_FUNCTION, true,
       "no query parameter '' here: there is 'validate', 'profile', 'iterate', 'timing', 'session'",
       ""},
      {"validate=only", FC_ROUTE_FUNCTION, false,
       "no query parameter 'validate' here: there is 'format'", ""},
      {"format=text", FC_ROUTE_FUNCTION, true,
       "no query parameter 'format' here: there is 'validate', 'profile', 'iterate', 'timing', 'session'",
       ""},
      {"format=json", FC_ROUTE_FUNCTION, false, NULL, NULL},
      {"format=jsonschema", FC_ROUTE_FUNCTION, false, NULL, NULL},
      {"format=yaml", FC_ROUTE_FUNCTION, false,
       "'format' may be 'json', 'text', 'mlir', 'sip', 'v1', 'jsonschema', not "
       "'yaml'",
       "json, text, mlir, sip, v1, jsonschema"},
      {"format=JSON", FC_ROUTE_FUNCTION, false,
       "'format' may be 'json', 'text', 'mlir', 'sip', 'v1', 'jsonschema', not "
       "'JSON'",
       "json, text, mlir, sip, v1, jsonschema"},
      {"format=|", FC_ROUTE_FUNCTION, false,
       "'format' may be 'json', 'text', 'mlir', 'sip', 'v1', 'jsonschema', not "
       "'|'",
       "json, text, mlir, sip, v1, jsonschema"},
      {"signatures=0", FC_ROUTE_MODULES, false, NULL, NULL},
      {"signatures=1", FC_ROUTE_MODULE, false, NULL, NULL},
      {"signatures=1", FC_ROUTE_FUNCTIONS, false, NULL, NULL},
      {"signatures=1", FC_ROUTE_FUNCTIONS_OF, false, NULL, NULL},
      {"signatures=yes", FC_ROUTE_MODULE, false,
       "'signatures' may be '0', '1', not 'yes'", "0, 1"},
      {"x=1", FC_ROUTE_INFO, false,
       "no query parameter 'x' here: there is none", ""},
      {"x=1", FC_ROUTE_EXAMPLE, false,
       "no query parameter 'x' here: there is 'name'", ""},
      {"name=any%20one", FC_ROUTE_EXAMPLE, false, NULL, NULL},
      {"name=a&name=b", FC_ROUTE_EXAMPLE, false, "'name' is given twice", ""},
      {"\"\x01=1", FC_ROUTE_INFO, false,
       "no query parameter '\\\"\\x01' here: there is none", ""},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_error_t error;
    fc_error_reset(&error);
    const fc_status_t status = fc_parameter_check(
        row->route, row->post ? FC_METHOD_POST : FC_METHOD_HEAD,
        fc_str(row->name), &error);
    assert_int_equal(status == FC_OK, row->says == NULL);
    if (!row->says) continue;
    assert_int_equal(error.code, FC_CODE_UNKNOWN_FIELD);
    assert_string_equal(error.message, row->says);
    assert_string_equal(error.expected, row->expected);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(only_known_parameters_are_taken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
