// SPDX-License-Identifier: Apache-2.0
//
// Lists are parsed at each use: they are short, and were checked when they were first
// read.
#include "modules/policy.h"

#include "module/files.h"
#include "modules/decisions.h"
#include "modules/versions.h"

// Takes "ALIAS=VERSION" from a list; false at its end.
static bool next_alias(fc_str_t *rest, fc_str_t *out_alias,
                       fc_str_t *out_version) {
  if (!rest->size) return false;
  *out_version = fc_str_take(rest, ',');
  *out_alias = fc_str_take(out_version, '=');
  return true;
}

static fc_status_t check_aliases(fc_str_t rest, fc_error_t *err) {
  fc_str_t alias, version;
  while (next_alias(&rest, &alias, &version)) {
    if (fc_is_alias(alias) && fc_is_version(version)) continue;
    char shown[80];
    fc_escape(shown, sizeof shown, 64, alias);
    return fc_fail(
        err, FC_CODE_NOT_ACCEPTABLE,
        "'%s' leads to no version: aliases are ALIAS=VERSION, a word "
        "of letters and a number, as stable=3",
        shown);
  }
  return FC_OK;
}

fc_status_t fc_module_policy_check(const fc_module_policy_t *policy,
                                   unsigned *out_key, fc_error_t *err) {
  *out_key = FC_MODULE_KEY_versions;
  FC_TRY(fc_versions_check(fc_str(policy->versions), err));
  *out_key = FC_MODULE_KEY_aliases;
  return check_aliases(fc_str(policy->aliases), err);
}

bool fc_module_policy_exposes(const fc_module_policy_t *policy,
                              fc_str_t function) {
  fc_str_t rest = fc_str(policy->functions);
  if (!rest.size) return true;
  while (rest.size) {
    if (fc_str_equal(fc_str_take(&rest, ','), function)) return true;
  }
  return false;
}

bool fc_module_policy_alias(const fc_module_policy_t *policy, fc_str_t alias,
                            fc_str_t *out_version) {
  fc_str_t rest = fc_str(policy->aliases), name, version;
  while (next_alias(&rest, &name, &version)) {
    if (!fc_str_equal(name, alias)) continue;
    *out_version = version;
    return true;
  }
  return false;
}
