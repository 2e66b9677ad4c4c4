// SPDX-License-Identifier: Apache-2.0
#include "config/module.h"

#include <stdio.h>

#include "config/file.h"
#include "farcall/backend.h"
#include "module/files.h"
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
// What is in force

typedef struct resolver_t {
  fc_module_policies_t *policies;
  const fc_server_options_t *options;
  fc_error_t *err;
} resolver_t;

// The options that may name modules: with a value for each (NAME=VALUE, for aliases
// NAME@ALIAS=VERSION), or alone.
static const unsigned kNaming[] = {FC_OPTION_isolation, FC_OPTION_versions,
                                   FC_OPTION_pin_modules, FC_OPTION_aliases};

static fc_str_t text_of(const resolver_t *r, const fc_option_t *option) {
  const char *text;
  memcpy(&text, (const char *)r->options + option->offset, sizeof text);
  return fc_str(text);
}

// The next item of such an option. *out_name is "" if the item is about all modules.
// The value of a name alone is "on".
static bool next_item(fc_str_t *rest, unsigned option, fc_str_t *out_name,
                      fc_str_t *out_value) {
  if (!rest->size) return false;
  fc_str_t item = fc_str_take(rest, ',');
  const bool alone = option == FC_OPTION_pin_modules;
  const char mark = option == FC_OPTION_aliases ? '@' : '=';
  const bool named = item.size && memchr(item.data, mark, item.size);
  *out_name = alone ? item : named ? fc_str_take(&item, mark) : FC_STR("");
  *out_value = alone ? FC_STR("on") : item;
  return true;
}

static fc_status_t fail_memory(const resolver_t *r) {
  return fc_fail_memory(r->err);
}

static fc_status_t keep(const resolver_t *r, fc_str_t text, const char **out) {
  char *kept = fc_arena_alloc(&r->policies->texts, text.size + 1, 1);
  if (!kept) return fail_memory(r);
  if (text.size) memcpy(kept, text.data, text.size);
  kept[text.size] = '\0';
  *out = kept;
  return FC_OK;
}

// Is the key about all versions of a module? Then a version has its module's value.
static bool is_of_module(size_t key) {
  return key == FC_MODULE_KEY_versions || key == FC_MODULE_KEY_aliases;
}

static void inherit(fc_module_policy_t *policy, const fc_module_policy_t *base,
                    size_t key) {
  fc_option_copy(policy, &fc_module_keys[key], base, &fc_module_keys[key]);
  policy->origins[key] = base->origins[key];
}

static fc_status_t join(const resolver_t *r, fc_str_t a, fc_str_t b,
                        fc_str_t *out) {
  char *text = fc_arena_alloc(&r->policies->texts, a.size + 1 + b.size, 1);
  if (!text) return fail_memory(r);
  memcpy(text, a.data, a.size);
  text[a.size] = ',';
  memcpy(text + a.size + 1, b.data, b.size);
  *out = fc_str_make(text, a.size + 1 + b.size);
  return FC_OK;
}

// How closely an item for `name` fits the policy: 2: it names the policy; 1: it names
// the module of which the policy is a version; 0: it is for all; -1: it is for others.
static int nearness(const fc_module_policy_t *policy, fc_str_t name) {
  fc_str_t module;
  if (name.size == 0) return 0;
  if (!policy->name) return -1;
  if (fc_str_equal(name, fc_str(policy->name))) return 2;
  return fc_module_policy_is_version(fc_str(policy->name), &module) &&
                 fc_str_equal(name, module)
             ? 1
             : -1;
}

// Gives the key the value that the option has for the policy's name, else that of
// `base`, else the option's for all modules. What the file says of the module stays,
// unless a flag or variable names the module.
static fc_status_t take_named(const resolver_t *r, fc_module_policy_t *policy,
                              const fc_module_policy_t *base, size_t key,
                              const fc_option_t *option) {
  const fc_origin_t from = r->options->origins[option - fc_options];
  const unsigned index = (unsigned)(option - fc_options);
  const bool given = policy->origins[key].from != FC_ORIGIN_DEFAULT;
  fc_str_t rest = text_of(r, option), name, value;
  fc_str_t best =
      index == FC_OPTION_pin_modules ? FC_STR("off") : fc_str(option->value);
  int named = 0;
  while (next_item(&rest, index, &name, &value)) {
    const int near = nearness(policy, name);
    if (near < named) continue;
    if (near && near == named && index == FC_OPTION_aliases) {
      FC_TRY(join(r, best, value, &best));
    } else {
      best = value;
    }
    named = near;
  }
  if (given && (!named || from.from <= FC_ORIGIN_FILE)) return FC_OK;
  if (base && named < 2) {  // `base` was resolved: it has what names the module
    inherit(policy, base, key);
    return FC_OK;
  }
  const char *text;
  FC_TRY(keep(r, best, &text));
  policy->origins[key] = from;
  return fc_option_set(policy, &fc_module_keys[key], text, option->flag,
                       r->err);
}

static bool may_name(const fc_option_t *option) {
  for (size_t i = 0; option && i < FC_ARRAY_COUNT(kNaming); i++) {
    if (kNaming[i] == (unsigned)(option - fc_options)) return true;
  }
  return false;
}

// Gives every key of the policy the value in force. `base` is the module's policy if
// `policy` is one version's, else NULL.
static fc_status_t resolve(const resolver_t *r, fc_module_policy_t *policy,
                           const fc_module_policy_t *base) {
  for (size_t key = 0; key < FC_MODULE_KEYS; key++) {
    const fc_option_t *option = fc_option_inherited(&fc_module_keys[key]);
    const bool given = policy->origins[key].from != FC_ORIGIN_DEFAULT;
    if (base && is_of_module(key)) {
      inherit(policy, base, key);
    } else if (may_name(option)) {
      FC_TRY(take_named(r, policy, base, key, option));
    } else if (!given && base) {
      inherit(policy, base, key);
    } else if (!given && option) {
      fc_option_copy(policy, &fc_module_keys[key], r->options, option);
      policy->origins[key] = r->options->origins[option - fc_options];
    }
  }
  return FC_OK;
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

// Refuses a name that no module can have, because what is said of it would never hold.
static fc_status_t check_name(const resolver_t *r, unsigned option,
                              fc_str_t name) {
  fc_str_t version = name;
  const fc_str_t module = fc_str_take(&version, '@');
  const bool of_all = option == FC_OPTION_versions;  // never of one version
  char shown[80];
  if (fc_is_module_name(module) &&
      (module.size == name.size || (!of_all && fc_is_version(version)))) {
    return FC_OK;
  }
  fc_escape(shown, sizeof shown, 64, name);
  const fc_status_t status = fc_fail(
      r->err, FC_CODE_NOT_ACCEPTABLE, "--%s: '%s' is no name of a module%s",
      fc_options[option].flag, shown, of_all ? "" : ", and no MODULE@VERSION");
  fc_config_locate(r->options, option, r->err);
  return status;
}

static fc_status_t enter_named(const resolver_t *r, unsigned option,
                               fc_str_t name) {
  fc_module_policy_t policy;
  const char *text;
  if (!name.size) return FC_OK;
  FC_TRY(check_name(r, option, name));
  if (fc_name_table_find(&r->policies->names, name) != FC_NAME_NONE) {
    return FC_OK;
  }
  FC_TRY(keep(r, name, &text));
  fc_module_policy_init(&policy, text);
  return enter(r, &policy);
}

static fc_status_t enter_all(const resolver_t *r) {
  const fc_config_file_t *file = &r->options->file;
  fc_str_t name, value;
  size_t most = file->module_count;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNaming); i++) {
    fc_str_t rest = text_of(r, &fc_options[kNaming[i]]);
    while (next_item(&rest, kNaming[i], &name, &value)) most++;
  }
  r->policies->items =
      fc_alloc_array(r->policies->allocator, most, sizeof *r->policies->items);
  if (!r->policies->items) return fail_memory(r);
  for (size_t i = 0; i < file->module_count; i++) {
    FC_TRY(enter(r, &file->modules[i]));
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(kNaming); i++) {
    fc_str_t rest = text_of(r, &fc_options[kNaming[i]]);
    while (next_item(&rest, kNaming[i], &name, &value))
      FC_TRY(enter_named(r, kNaming[i], name));
  }
  return FC_OK;
}

// Resolves the policies of versions, or those of modules. Modules come first, because
// versions inherit from them.
static fc_status_t resolve_all(const resolver_t *r, bool versions) {
  fc_module_policies_t *policies = r->policies;
  for (uint32_t i = 0; i < policies->count; i++) {
    fc_module_policy_t *policy = &policies->items[i];
    fc_str_t module;
    const bool is_version =
        fc_module_policy_is_version(fc_str(policy->name), &module);
    if (is_version != versions) continue;
    FC_TRY(
        resolve(r, policy,
                is_version ? fc_module_policies_find(policies, module) : NULL));
  }
  return FC_OK;
}

fc_status_t fc_module_policies_init(fc_module_policies_t *policies,
                                    fc_allocator_t allocator,
                                    const fc_server_options_t *options,
                                    fc_error_t *err) {
  const resolver_t r = {policies, options, err};
  *policies = (fc_module_policies_t){.allocator = allocator,
                                     .names = {.allocator = allocator}};
  fc_arena_init(&policies->texts, allocator, 1024, SIZE_MAX);
  fc_module_policy_init(&policies->others, NULL);
  fc_status_t status = enter_all(&r);
  if (status == FC_OK) status = resolve(&r, &policies->others, NULL);
  if (status == FC_OK) status = resolve_all(&r, false);
  if (status == FC_OK && policies->versioned) status = resolve_all(&r, true);
  if (status != FC_OK) fc_module_policies_deinit(policies);
  return status;
}

void fc_module_policies_deinit(fc_module_policies_t *policies) {
  fc_free(policies->allocator, policies->items);
  fc_name_table_deinit(&policies->names);
  fc_arena_deinit(&policies->texts);
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
