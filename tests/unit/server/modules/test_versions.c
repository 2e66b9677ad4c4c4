// SPDX-License-Identifier: Apache-2.0
//
// Which versions are served.
#include "modules/versions.h"

#include <stdio.h>

#include "helpers/test.h"

static void policies_are_checked(void **state) {
  (void)state;
  static const struct {
    const char *name, *text;
    bool good;
  } rows[] = {
      {"all", "all", true},
      {"the latest ones", "latest:2", true},
      {"a list", "1+30", true},
      {"none", "latest:0", false},
      {"many", "latest:1000000", false},
      {"no number", "latest:x", false},
      {"a word", "newest", false},
      {"of a module", "m=1", false},
      {"two", "all,latest:1", false},
      {"a zero in front", "01", false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_error_t error;
    assert_int_equal(fc_versions_check(fc_str(row->text), &error) == FC_OK,
                     row->good);
    if (!row->good) assert_non_null(strstr(error.message, "latest:N"));
  }
}

static void versions_are_filtered(void **state) {
  (void)state;
  static const char *const kPaths[] = {"d/a.so",          "d/m/1/model.so",
                                       "d/m/12/model.so", "d/m/12/model.vmfb",
                                       "d/m/3/model.so",  "d/mm/1/model.so",
                                       "d/n/2/model.so",  "d/x/02/model.so",
                                       "d/x/2/other.so"};
  static const struct {
    const char *name, *policy, *kept;
    const char *unread;  // a version of m
    bool served;
    const char *of_m;  // the policy of m alone
  } rows[] = {
      {"all", "all", "012345678", NULL, false, NULL},
      {"the latest", "latest:1", "0235678", NULL, false, NULL},
      {"two", "latest:2", "02345678", NULL, false, NULL},
      {"a list", "1+2", "015678", NULL, false, NULL},
      {"one module's", "latest:1", "045678", NULL, false, "3"},
      {"that alone", "all", "015678", NULL, false, "1"},
      {"what there is not", "7", "078", NULL, false, NULL},
      {"the latest cannot be read", "latest:1", "05678", "d/m/13", true, NULL},
      {"two, the latest cannot be read", "latest:2", "0235678", "d/m/13", true,
       NULL},
      {"it cannot be read and never could", "latest:1", "0235678", "d/m/13",
       false, NULL},
      {"one in the middle", "latest:2", "0235678", "d/m/5", true, NULL},
      {"a low one", "latest:1", "0235678", "d/m/2", true, NULL},
      {"one that is listed", "latest:2", "02345678", "d/m/12", true, NULL},
      {"all of it", "latest:1", "0235678", "d/m", false, NULL},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_listed_t files[FC_ARRAY_COUNT(kPaths)];
    char kept[FC_ARRAY_COUNT(kPaths) + 1] = "";
    for (size_t i = 0; i < FC_ARRAY_COUNT(kPaths); i++) {
      files[i] = (fc_listed_t){.path = fc_str(kPaths[i]), .mark = i};
    }
    fc_listing_t listing = {.files = files, .count = FC_ARRAY_COUNT(kPaths)};
    fc_unread_t unread = {.name = FC_STR("m"), .served = row->served};
    if (row->unread) {
      unread.folder = fc_str(row->unread);
      listing.unread = &unread;
    }
    fc_server_options_t options;
    fc_module_policies_t policies;
    fc_error_t error;
    fc_module_policy_t m;
    fc_server_options_init(&options);
    options.versions = row->policy;
    if (row->of_m) {
      fc_module_policy_init(&m, "m");
      m.versions = row->of_m;
      m.origins[FC_MODULE_KEY_versions].from = FC_ORIGIN_FILE;
      options.file.modules = &m;
      options.file.module_count = 1;
    }
    assert_int_equal(fc_module_policies_init(&policies, fc_allocator_system(),
                                             &options, &error),
                     FC_OK);
    fc_versions_filter(&policies, &listing);
    fc_module_policies_deinit(&policies);
    for (size_t i = 0; i < listing.count; i++) {
      kept[i] = (char)('0' + listing.files[i].mark);
    }
    assert_string_equal(kept, row->kept);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(policies_are_checked),
      FC_TEST(versions_are_filtered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
