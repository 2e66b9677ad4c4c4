// SPDX-License-Identifier: Apache-2.0
//
// Prints the options in force as a configuration file that sets the same values.
#include <stdio.h>

#include "config/file.h"
#include "config/listener.h"
#include "config/module.h"
#include "json/writer.h"

// Returns a text that says where the value comes from.
static const char *print_origin(const fc_server_options_t *options,
                                fc_origin_t origin, char room[512]) {
  static const char *const kNames[] = {"default", "", "variable", "flag"};
  if (origin.from != FC_ORIGIN_FILE) return kNames[origin.from];
  snprintf(room, 512, "%.400s:%u:%u", options->file.name, origin.line,
           origin.column);
  return room;
}

// Writes texts with commas between them.
static fc_status_t put_list(const void *values, const fc_option_t *option,
                            fc_sink_t *sink, fc_error_t *err) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  fc_status_t status = fc_option_print(values, option, &text.sink, err);
  if (status == FC_OK) {
    status = fc_json_write_string(sink, fc_text_str(&text), err);
  }
  fc_text_deinit(&text);
  return status;
}

static fc_status_t put_value(const void *values, const fc_option_t *option,
                             fc_sink_t *sink, fc_error_t *err) {
  const void *field = (const char *)values + option->offset;
  switch (option->kind) {
    case FC_OPTION_KIND_TEXT:
      return fc_json_print(sink, err, "'%s'", *(const char *const *)field);
    case FC_OPTION_KIND_LIST:
      return put_list(values, option, sink, err);
    case FC_OPTION_KIND_FLAG:
      return fc_json_print(sink, err, *(const bool *)field ? "true" : "false");
    case FC_OPTION_KIND_COUNT:
      return fc_option_print(values, option, sink, err);
    default:
      FC_TRY(fc_json_print(sink, err, "'"));
      FC_TRY(fc_option_print(values, option, sink, err));
      return fc_json_print(sink, err, "'");
  }
}

// `values` is the struct in which the option's value lies.
static fc_status_t put_member(const fc_server_options_t *options,
                              const char *indent, fc_origin_t origin,
                              const void *values, const fc_option_t *option,
                              fc_sink_t *sink, fc_error_t *err) {
  char room[512];
  FC_TRY(fc_json_print(sink, err, "%s// %s\n%s'%s': ", indent,
                       print_origin(options, origin, room), indent,
                       option->flag));
  return put_value(values, option, sink, err);
}

static fc_status_t put_module(const fc_server_options_t *options,
                              const fc_module_policy_t *policy, fc_sink_t *sink,
                              fc_error_t *err) {
  FC_TRY(fc_json_print(sink, err, "\n    '%s': {\n", policy->name));
  fc_str_t module;
  const bool of_version =
      fc_module_policy_is_version(fc_str(policy->name), &module);
  for (size_t i = 0; i < FC_MODULE_KEYS; i++) {
    // A version's member with these two keys would be refused.
    if (of_version &&
        (i == FC_MODULE_KEY_versions || i == FC_MODULE_KEY_aliases)) {
      continue;
    }
    if (i) FC_TRY(fc_sink_put(sink, FC_STR(",\n"), err));
    FC_TRY(put_member(options, "      ", policy->origins[i], policy,
                      &fc_module_keys[i], sink, err));
  }
  return fc_sink_put(sink, FC_STR("\n    }"), err);
}

static fc_status_t put_modules(const fc_server_options_t *options,
                               const fc_module_policies_t *policies,
                               fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_json_print(sink, err, "  'modules': {"));
  for (uint32_t i = 0; i < policies->count; i++) {
    if (i) FC_TRY(fc_sink_put(sink, FC_STR(","), err));
    FC_TRY(put_module(options, &policies->items[i], sink, err));
  }
  return fc_sink_put(
      sink, policies->count ? FC_STR("\n  },\n") : FC_STR("},\n"), err);
}

static fc_status_t put_listener(const fc_server_options_t *options,
                                uint32_t index, fc_sink_t *sink,
                                fc_error_t *err) {
  fc_listener_policy_t policy;
  fc_str_t address;
  (void)fc_listener_at(options, index, &address, &policy);
  FC_TRY(fc_sink_put(sink, FC_STR("\n    {\n"), err));
  const bool has_file = fc_str_starts(address, FC_STR("unix:"));
  for (size_t i = 0; i < FC_LISTENER_KEYS; i++) {
    if (!has_file && fc_listener_key_is_of_file(i)) continue;
    if (has_file && fc_listener_key_is_of_tls(i)) continue;
    if (i) FC_TRY(fc_sink_put(sink, FC_STR(",\n"), err));
    FC_TRY(put_member(options, "      ", policy.origins[i], &policy,
                      &fc_listener_keys[i], sink, err));
  }
  return fc_sink_put(sink, FC_STR("\n    }"), err);
}

static fc_status_t put_listeners(const fc_server_options_t *options,
                                 fc_sink_t *sink, fc_error_t *err) {
  const size_t count = fc_listeners_of_file(options);
  FC_TRY(fc_json_print(sink, err, "  'listeners': ["));
  for (uint32_t i = 0; i < count; i++) {
    if (i) FC_TRY(fc_sink_put(sink, FC_STR(","), err));
    FC_TRY(put_listener(options, i, sink, err));
  }
  return fc_sink_put(sink, count ? FC_STR("\n  ],\n") : FC_STR("],\n"), err);
}

static fc_status_t put_paths(const fc_server_options_t *options,
                             fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_json_print(sink, err, "  'paths': ["));
  for (size_t i = 0; i < options->path_count; i++) {
    FC_TRY(
        fc_json_print(sink, err, "%s'%s'", i ? ", " : "", options->paths[i]));
  }
  return fc_sink_put(sink, FC_STR("]\n}\n"), err);
}

static fc_status_t put_all(const fc_server_options_t *options,
                           const fc_module_policies_t *policies,
                           fc_sink_t *sink, fc_error_t *err) {
  FC_TRY(fc_sink_put(sink, FC_STR("{\n"), err));
  for (size_t i = 0; i < FC_OPTIONS; i++) {
    if (i == FC_OPTION_config) continue;  // a file does not name another one
    if (i == FC_OPTION_listen && fc_listeners_of_file(options)) continue;
    FC_TRY(put_member(options, "  ", options->origins[i], options,
                      &fc_options[i], sink, err));
    FC_TRY(fc_sink_put(sink, FC_STR(",\n"), err));
  }
  FC_TRY(put_modules(options, policies, sink, err));
  FC_TRY(put_listeners(options, sink, err));
  return put_paths(options, sink, err);
}

fc_status_t fc_config_file_print(const fc_server_options_t *options,
                                 fc_sink_t *sink, fc_error_t *err) {
  fc_module_policies_t policies;
  FC_TRY(
      fc_module_policies_init(&policies, fc_allocator_system(), options, err));
  const fc_status_t status = put_all(options, &policies, sink, err);
  fc_module_policies_deinit(&policies);
  return status;
}
