// SPDX-License-Identifier: Apache-2.0
//
// "modules" and "listeners" of the configuration file.
#include "config/file_parser.h"
#include "config/listener.h"
#include "config/module.h"
#include "module/files.h"

// The keys that an object of "modules" or "listeners" may have.
typedef struct keys_t {
  const fc_option_t *table;
  size_t count;
  const char *which;  // tells users where the keys are listed
} keys_t;

#define KEYS_MAX 32

static fc_status_t take_key(fc_file_parser_t *p, const keys_t *keys,
                            void *values, fc_origin_t *origins) {
  const char *names[KEYS_MAX];
  FC_ASSERT(keys->count <= KEYS_MAX);
  for (size_t i = 0; i < keys->count; i++) {
    const fc_option_t *key = &keys->table[i];
    if (fc_json_text_is(&p->reader, fc_str(key->flag))) {
      return fc_file_take_member(p, key, values, &origins[i]);
    }
    names[i] = key->flag;
  }
  return fc_file_fail_key(p, names, keys->count, keys->which);
}

// Reads the members of an object whose '{' was just read.
static fc_status_t take_keys(fc_file_parser_t *p, const keys_t *keys,
                             void *values, fc_origin_t *origins) {
  fc_json_token_t token;
  for (;;) {
    FC_TRY(fc_file_next(p, &token));
    if (token == FC_JSON_OBJECT_END) return FC_OK;
    FC_TRY(take_key(p, keys, values, origins));
  }
}

static fc_status_t check_module_name(fc_file_parser_t *p, fc_str_t name) {
  const fc_config_file_t *file = p->file;
  fc_str_t rest = name;
  const fc_str_t module = fc_str_take(&rest, '@');
  const bool alone = module.size == name.size;
  if (!fc_is_module_name(module) || !(alone || fc_is_version(rest))) {
    char shown[80];
    fc_escape(shown, sizeof shown, 64, name);
    return fc_file_fail(p, fc_fail(p->err, FC_CODE_NOT_ACCEPTABLE,
                                   "'%s' is no name of a module, and no "
                                   "MODULE@VERSION",
                                   shown));
  }
  const uint32_t other = fc_name_table_find(&p->modules, name);
  if (other == FC_NAME_NONE) return FC_OK;
  return fc_file_fail(
      p, fc_fail(p->err, FC_CODE_DUPLICATE_ARGUMENT,
                 "module '%.*s' is given twice, first in line %u",
                 FC_STR_ARG(name), file->modules[other].origin.line));
}

// Refuses "versions" and "aliases" in the member of a single version ("m@3"): they apply
// to all versions of a module.
static fc_status_t check_version_keys(fc_file_parser_t *p,
                                      const fc_module_policy_t *policy) {
  static const unsigned kKeys[] = {FC_MODULE_KEY_versions,
                                   FC_MODULE_KEY_aliases};
  fc_str_t module;
  if (!fc_module_policy_is_version(fc_str(policy->name), &module)) return FC_OK;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kKeys); i++) {
    const fc_origin_t origin = policy->origins[kKeys[i]];
    if (origin.from == FC_ORIGIN_DEFAULT) continue;
    const fc_status_t status =
        fc_fail(p->err, FC_CODE_NOT_ACCEPTABLE,
                "\"%s\" is not of one version: say it of module '%.*s'",
                fc_module_keys[kKeys[i]].flag, FC_STR_ARG(module));
    fc_file_put_place(p->file, origin, p->err);
    return status;
  }
  return FC_OK;
}

// Reads the member of a module. The reader has just read the module's name.
static fc_status_t take_module(fc_file_parser_t *p) {
  static const keys_t kKeys = {fc_module_keys, FC_MODULE_KEYS,
                               "docs/config.md has those of modules"};
  fc_config_file_t *file = p->file;
  char *name;
  size_t size;
  FC_TRY(fc_file_take_string(p, &name, &size));
  FC_TRY(check_module_name(p, fc_str_make(name, size)));
  void *grown =
      fc_file_grow(file->modules, file->module_count, sizeof *file->modules);
  if (!grown) return fc_fail_memory(p->err);
  file->modules = grown;
  FC_TRY(fc_name_table_put(&p->modules, fc_str_make(name, size),
                           (uint32_t)file->module_count, p->err));
  fc_module_policy_t *policy = &file->modules[file->module_count++];
  fc_module_policy_init(policy, name);
  policy->origin = fc_lines_find(&p->lines, p->reader.token_offset);
  FC_TRY(fc_file_expect_object(p, "a module's policy: "));
  FC_TRY(take_keys(p, &kKeys, policy, policy->origins));
  return check_version_keys(p, policy);
}

fc_status_t fc_file_take_modules(fc_file_parser_t *p) {
  fc_json_token_t token;
  if (p->had_modules) {
    return fc_file_fail(p, fc_fail(p->err, FC_CODE_DUPLICATE_ARGUMENT,
                                   "\"modules\" is given twice"));
  }
  p->had_modules = true;
  FC_TRY(fc_file_expect_object(p, "\"modules\": "));
  for (;;) {
    FC_TRY(fc_file_next(p, &token));
    if (token == FC_JSON_OBJECT_END) return FC_OK;
    FC_TRY(take_module(p));
  }
}

// Checks the newest listener of the file.
static fc_status_t check_listener(fc_file_parser_t *p,
                                  const fc_listener_policy_t *listener) {
  const fc_listener_policy_t *first = p->file->listeners;
  const fc_str_t address = fc_str(listener->address);
  fc_status_t status = FC_OK;
  fc_str_t name;
  // Each listener of port 0 gets its own port, so two of them are different addresses.
  const bool is_new = !fc_listener_is_passed(address, &name) &&
                      fc_str_ends(address, FC_STR(":0"));
  while (strcmp(first->address, listener->address) != 0) first++;
  if (!*listener->address) {
    status = fc_fail(p->err, FC_CODE_MISSING_ARGUMENT,
                     "a listener without an \"address\"");
  } else if (first != listener && !is_new) {
    status = fc_fail(p->err, FC_CODE_DUPLICATE_ARGUMENT,
                     "listener '%.100s' is given twice, first in line %u",
                     listener->address, first->origin.line);
  }
  if (status != FC_OK) fc_file_put_place(p->file, listener->origin, p->err);
  return status;
}

// Reads the member of a listener. The reader has just read the object's '{'.
static fc_status_t take_listener(fc_file_parser_t *p) {
  static const keys_t kKeys = {fc_listener_keys, FC_LISTENER_KEYS,
                               "docs/config.md has those of listeners"};
  fc_config_file_t *file = p->file;
  void *grown = fc_file_grow(file->listeners, file->listener_count,
                             sizeof *file->listeners);
  if (!grown) return fc_fail_memory(p->err);
  file->listeners = grown;
  fc_listener_policy_t *policy = &file->listeners[file->listener_count++];
  fc_listener_policy_init(policy);
  policy->origin = fc_lines_find(&p->lines, p->reader.token_offset);
  FC_TRY(take_keys(p, &kKeys, policy, policy->origins));
  return check_listener(p, policy);
}

fc_status_t fc_file_take_listeners(fc_file_parser_t *p) {
  fc_json_token_t token;
  if (p->listeners.line) {
    return fc_file_fail(
        p, fc_fail(p->err, FC_CODE_DUPLICATE_ARGUMENT,
                   "\"listeners\" is given twice, first in line %u",
                   p->listeners.line));
  }
  p->listeners = fc_lines_find(&p->lines, p->reader.token_offset);
  FC_TRY(fc_file_next(p, &token));
  bool good = token == FC_JSON_ARRAY_BEGIN;
  while (good) {
    FC_TRY(fc_file_next(p, &token));
    if (token == FC_JSON_ARRAY_END) return FC_OK;
    good = token == FC_JSON_OBJECT_BEGIN;
    if (good) FC_TRY(take_listener(p));
  }
  return fc_file_fail(p,
                      fc_fail(p->err, FC_CODE_TYPE_MISMATCH,
                              "\"listeners\" takes a list of objects, not %s",
                              fc_json_token_name(token)));
}
