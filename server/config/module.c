// SPDX-License-Identifier: Apache-2.0
#include "config/module.h"

#include <stdio.h>

#include "config/file.h"
#include "farcall/backend.h"
#include "module/proof.h"

const fc_option_t fc_module_keys[FC_MODULE_KEYS] = {
#define FC_MODULE_KEY(field, key, kind, value, form, inherited, when, help) \
  FC_OPTION_ROW(fc_module_policy_t, field, key, 0, kind, value, form,       \
                inherited, when, help),
#include "config/module.def"
#undef FC_MODULE_KEY
};

void fc_module_policy_init(fc_module_policy_t *policy, const char *name) {
  *policy = (fc_module_policy_t){.name = name};
  fc_option_set_defaults(policy, fc_module_keys, FC_MODULE_KEYS);
}

// ---------------------------------------------------------------------------
// The policies in force

typedef struct resolver_t {
  fc_module_policies_t *policies;
  const fc_server_options_t *options;
  fc_error_t *err;
} resolver_t;

// Is the key about all versions of a module? Then all versions have the module's value.
static bool is_of_module(size_t key) {
  return key == FC_MODULE_KEY_versions || key == FC_MODULE_KEY_aliases;
}

static void inherit(fc_module_policy_t *policy, const fc_module_policy_t *base,
                    size_t key) {
  fc_option_copy(policy, &fc_module_keys[key], base, &fc_module_keys[key]);
  policy->origins[key] = base->origins[key];
}

// Gives every key of the policy the value in force. `base` is the module's policy if
// `policy` is that of one version, else NULL.
static void resolve(const resolver_t *r, fc_module_policy_t *policy,
                    const fc_module_policy_t *base) {
  for (size_t key = 0; key < FC_MODULE_KEYS; key++) {
    const fc_option_t *option = fc_option_inherited(&fc_module_keys[key]);
    const bool given = policy->origins[key].from != FC_ORIGIN_DEFAULT;
    if (base && (!given || is_of_module(key))) {
      inherit(policy, base, key);
    } else if (!given && option) {
      fc_option_copy(policy, &fc_module_keys[key], r->options, option);
      policy->origins[key] = r->options->origins[option - fc_options];
    }
  }
}

static fc_status_t enter(const resolver_t *r,
                         const fc_module_policy_t *policy) {
  fc_module_policies_t *policies = r->policies;
  FC_TRY(fc_name_table_put(&policies->names, fc_str(policy->name),
                           policies->count, r->err));
  fc_str_t module;
  policies->versioned |=
      fc_module_policy_is_version(fc_str(policy->name), &module);
  policies->items[policies->count++] = *policy;
  return FC_OK;
}

static fc_status_t enter_all(const resolver_t *r) {
  const fc_config_file_t *file = &r->options->file;
  r->policies->items = fc_alloc_array(
      r->policies->allocator, file->module_count, sizeof *r->policies->items);
  if (!r->policies->items) return fc_fail_memory(r->err);
  for (size_t i = 0; i < file->module_count; i++) {
    FC_TRY(enter(r, &file->modules[i]));
  }
  return FC_OK;
}

// Resolves the policies of versions, or those of modules. Modules are resolved first,
// because versions inherit from them.
static void resolve_all(const resolver_t *r, bool versions) {
  fc_module_policies_t *policies = r->policies;
  for (uint32_t i = 0; i < policies->count; i++) {
    fc_module_policy_t *policy = &policies->items[i];
    fc_str_t module;
    const bool is_version =
        fc_module_policy_is_version(fc_str(policy->name), &module);
    if (is_version != versions) continue;
    resolve(r, policy,
            is_version ? fc_module_policies_find(policies, module) : NULL);
  }
}

fc_status_t fc_module_policies_init(fc_module_policies_t *policies,
                                    fc_allocator_t allocator,
                                    const fc_server_options_t *options,
                                    fc_error_t *err) {
  const resolver_t r = {policies, options, err};
  *policies = (fc_module_policies_t){.allocator = allocator,
                                     .names = {.allocator = allocator}};
  fc_module_policy_init(&policies->others, NULL);
  const fc_status_t status = enter_all(&r);
  resolve(&r, &policies->others, NULL);
  resolve_all(&r, false);
  if (policies->versioned) resolve_all(&r, true);
  if (status != FC_OK) fc_module_policies_deinit(policies);
  return status;
}

void fc_module_policies_deinit(fc_module_policies_t *policies) {
  fc_free(policies->allocator, policies->items);
  fc_name_table_deinit(&policies->names);
  *policies = (fc_module_policies_t){0};
}

bool fc_module_policy_is_version(fc_str_t name, fc_str_t *out_module) {
  *out_module = fc_str_take(&name, '@');
  return name.size > 0;
}

const fc_module_policy_t *fc_module_policies_find_version(
    const fc_module_policies_t *policies, fc_str_t module, fc_str_t version) {
  char key[192];
  if (policies->versioned && module.size + version.size < sizeof key - 1) {
    const int size = snprintf(key, sizeof key, "%.*s@%.*s", FC_STR_ARG(module),
                              FC_STR_ARG(version));
    const uint32_t at =
        fc_name_table_find(&policies->names, fc_str_make(key, (size_t)size));
    if (at != FC_NAME_NONE) return &policies->items[at];
  }
  return fc_module_policies_find(policies, module);
}

const fc_module_policy_t *fc_module_policies_find(
    const fc_module_policies_t *policies, fc_str_t module) {
  const uint32_t at = policies->count
                          ? fc_name_table_find(&policies->names, module)
                          : FC_NAME_NONE;
  return at == FC_NAME_NONE ? &policies->others : &policies->items[at];
}
