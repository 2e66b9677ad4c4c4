// SPDX-License-Identifier: Apache-2.0
//
// How a module's policy is read, and what is said of values that cannot be used.
#include "modules/policy.h"

#include "helpers/test.h"

static void values_are_checked(void **state) {
  (void)state;
  static const struct {
    const char *name;
    unsigned key;
    const char *value;
    fc_code_t code;  // NONE: it is right
  } rows[] = {
      {"as many workers as there are CPUs", FC_MODULE_KEY_workers, "0",
       FC_CODE_NONE},
      {"too many workers", FC_MODULE_KEY_workers, "1025",
       FC_CODE_TYPE_MISMATCH},
      {"no tile", FC_MODULE_KEY_tiles, "0", FC_CODE_TYPE_MISMATCH},
      {"too many tiles", FC_MODULE_KEY_tiles, "65", FC_CODE_TYPE_MISMATCH},
      {"warm", FC_MODULE_KEY_warm_up, "1000", FC_CODE_NONE},
      {"too warm", FC_MODULE_KEY_warm_up, "1001", FC_CODE_TYPE_MISMATCH},
      {"some versions", FC_MODULE_KEY_versions, "1+3", FC_CODE_NONE},
      {"no versions", FC_MODULE_KEY_versions, "new", FC_CODE_NOT_ACCEPTABLE},
      {"versions of another", FC_MODULE_KEY_versions, "1,b=2",
       FC_CODE_NOT_ACCEPTABLE},
      {"aliases", FC_MODULE_KEY_aliases, "a=1,b-c=18", FC_CODE_NONE},
      {"an alias of nothing", FC_MODULE_KEY_aliases, "a",
       FC_CODE_NOT_ACCEPTABLE},
      {"an alias of an alias", FC_MODULE_KEY_aliases, "a=1,b=a",
       FC_CODE_NOT_ACCEPTABLE},
      {"a number for an alias", FC_MODULE_KEY_aliases, "1=2",
       FC_CODE_NOT_ACCEPTABLE},
      {"no alias", FC_MODULE_KEY_aliases, "a=1,", FC_CODE_NONE},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_module_policy_t policy;
    fc_error_t error;
    unsigned key = row->key;
    fc_error_reset(&error);
    fc_module_policy_init(&policy, "m");
    fc_status_t status = fc_option_set(&policy, &fc_module_keys[row->key],
                                       row->value, "it", &error);
    if (status == FC_OK) status = fc_module_policy_check(&policy, &key, &error);
    assert_int_equal(error.code, row->code);
    if (status != FC_OK) assert_int_equal(key, row->key);
  }
}

static void functions_are_exposed(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *functions;
    const char *function;
    bool exposed;
  } rows[] = {
      {"all", "", "f", true},        {"the only one", "f", "f", true},
      {"another", "f", "g", false},  {"the second", "f,g", "g", true},
      {"both", "f,g", "f,g", false}, {"the beginning", "ff", "f", false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const fc_module_policy_t policy = {.functions = row->functions};
    assert_int_equal(fc_module_policy_exposes(&policy, fc_str(row->function)),
                     row->exposed);
  }
}

static void aliases_lead_to_versions(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *aliases;
    const char *alias;
    const char *version;  // NULL: there is no such alias
  } rows[] = {
      {"there are none", "", "stable", NULL},
      {"the only one", "stable=3", "stable", "3"},
      {"the second", "stable=3,canary=14", "canary", "14"},
      {"the beginning", "stable=3", "stab", NULL},
      {"the version", "stable=3", "3", NULL},
      {"two of one name", "a=1,a=2", "a", "1"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const fc_module_policy_t policy = {.aliases = row->aliases};
    fc_str_t version = FC_STR("");
    assert_int_equal(
        fc_module_policy_alias(&policy, fc_str(row->alias), &version),
        row->version != NULL);
    assert_true(
        fc_str_equal(version, fc_str(row->version ? row->version : "")));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(values_are_checked),
      FC_TEST(functions_are_exposed),
      FC_TEST(aliases_lead_to_versions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
