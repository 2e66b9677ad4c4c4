// SPDX-License-Identifier: Apache-2.0
//
// The policies of single modules. Each is a member of "modules" in the configuration
// file, with the keys of module.def. Where a key is not given, the option of its row
// holds, or the row's default if it has no option. "m@3" is version 3 of m: keys that
// "m@3" does not give have the values of m.
//
// modules/policy.h says what the keys do.
#ifndef FARCALL_SERVER_CONFIG_MODULE_H_
#define FARCALL_SERVER_CONFIG_MODULE_H_

#include "base/name_table.h"
#include "config/table.h"

enum {
#define FC_MODULE_KEY(field, ...) FC_MODULE_KEY_##field,
#include "config/module.def"
#undef FC_MODULE_KEY
  FC_MODULE_KEYS
};

typedef struct fc_module_policy_t {
#define FC_MODULE_KEY(field, key, kind, ...) FC_OPTION_TYPE_##kind field;
#include "config/module.def"
#undef FC_MODULE_KEY
  const char *name;  // the module's name; NULL: the policy of all other modules
  fc_origin_t origin;                   // of the member
  fc_origin_t origins[FC_MODULE_KEYS];  // where each value comes from
} fc_module_policy_t;

// The policies in force.
typedef struct fc_module_policies_t {
  fc_allocator_t allocator;
  // The policies of the modules and versions that the configuration names.
  fc_module_policy_t *items;
  uint32_t count;
  fc_module_policy_t others;  // the policy of all others
  fc_name_table_t names;      // from names to positions in `items`
  bool versioned;             // some of `items` are policies of single versions
} fc_module_policies_t;

// The table, with offsets in fc_module_policy_t.
extern const fc_option_t fc_module_keys[FC_MODULE_KEYS];

// Sets every key to its default.
void fc_module_policy_init(fc_module_policy_t *policy, const char *name);

// Makes the policies in force from the options. Borrows the texts of the options.
// FC_CODE_OUT_OF_MEMORY.
fc_status_t fc_module_policies_init(fc_module_policies_t *policies,
                                    fc_allocator_t allocator,
                                    const fc_server_options_t *options,
                                    fc_error_t *err) FC_MUST_CHECK;
void fc_module_policies_deinit(fc_module_policies_t *policies);
// Is `name` the name of one version, "NAME@VERSION"? *out_module is NAME, or the whole
// name if it is not of a version.
bool fc_module_policy_is_version(fc_str_t name, fc_str_t *out_module);
// Returns the policy of a version of a module. Never NULL; valid as long as the policies.
const fc_module_policy_t *fc_module_policies_find_version(
    const fc_module_policies_t *policies, fc_str_t module, fc_str_t version);
// Returns the policy of a module, without the policies of its versions.
const fc_module_policy_t *fc_module_policies_find(
    const fc_module_policies_t *policies, fc_str_t module);

#endif  // FARCALL_SERVER_CONFIG_MODULE_H_
