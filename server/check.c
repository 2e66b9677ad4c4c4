// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "config/address.h"
#include "config/file.h"
#include "config/limits.h"
#include "config/policy.h"
#include "config/socket_file.h"
#include "config/table.h"
#include "farcall/backend.h"
#include "modules/policy.h"
#include "modules/versions.h"
#include "pool/isolation.h"

// Refuses numbers that the server could not keep, or with which it could serve
// nothing.
static fc_status_t check_ranges(const fc_server_options_t *options,
                                unsigned *out_option, fc_error_t *err) {
  static const struct {
    unsigned option;  // a COUNT or a SIZE
    uint64_t least, most;
  } kRanges[] = {
      {FC_OPTION_tiles, 1, FC_TILES_MAX},
      {FC_OPTION_workers, 0, FC_LIMIT_WORKERS},
      {FC_OPTION_crash_limit, 0, FC_LIMIT_CRASHES},
      {FC_OPTION_connections, 1, UINT64_MAX},
      {FC_OPTION_max_body, 1, UINT64_MAX},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRanges); i++) {
    const fc_option_t *option = &fc_options[kRanges[i].option];
    uint64_t value;
    memcpy(&value, (const char *)options + option->offset, sizeof value);
    if (value >= kRanges[i].least && value <= kRanges[i].most) continue;
    const bool low = value < kRanges[i].least;
    *out_option = kRanges[i].option;
    return fc_fail(
        err, FC_CODE_OUT_OF_RANGE, "--%s: %llu is not at %s %llu", option->flag,
        (unsigned long long)value, low ? "least" : "most",
        (unsigned long long)(low ? kRanges[i].least : kRanges[i].most));
  }
  return FC_OK;
}

// Refuses options of single modules (`modules` in the configuration file) that
// fc_module_policy_check refuses.
static fc_status_t check_modules(const fc_server_options_t *options,
                                 fc_error_t *err) {
  fc_module_policies_t policies;
  fc_status_t status = FC_OK;
  FC_TRY(
      fc_module_policies_init(&policies, fc_allocator_system(), options, err));
  for (uint32_t i = 0; status == FC_OK && i < policies.count; i++) {
    unsigned key;
    const fc_module_policy_t *policy = &policies.items[i];
    status = fc_module_policy_check(policy, &key, err);
    if (status == FC_OK) continue;
    char message[sizeof err->message];
    memcpy(message, err->message, sizeof message);
    status = fc_fail(err, err->code, "\"%s\" of module '%s': %s",
                     fc_module_keys[key].flag, policy->name, message);
    fc_config_locate_at(options, policy->origins[key], err);
  }
  fc_module_policies_deinit(&policies);
  return status;
}

fc_status_t fc_options_check(const fc_server_options_t *options,
                             fc_error_t *err) {
  fc_address_t address;
  fc_str_t item;
  fc_policy_t policy;
  fc_socket_file_t file;
  unsigned option = FC_OPTION_listen;
  fc_status_t status = FC_OK;
  for (uint32_t i = 0;
       status == FC_OK && fc_texts_at(&options->listen, i, &item); i++) {
    status = fc_address_parse(item, &address, err);
    if (status == FC_OK) {
      status = fc_policy_check_bind(options, &address, item, err);
    }
  }
  if (status == FC_OK) status = check_ranges(options, &option, err);
  if (status == FC_OK) {
    option = FC_OPTION_trusted_proxy;
    status = fc_policy_init(&policy, fc_str(options->allow_host),
                            fc_str(options->trusted_proxy), err);
  }
  if (status == FC_OK) {
    option = options->socket_mode[0] ? FC_OPTION_socket_mode
                                     : FC_OPTION_socket_owner;
    status = fc_socket_file_parse(fc_str(options->socket_mode),
                                  fc_str(options->socket_owner), &file, err);
  }
  if (status == FC_OK) {
    option = FC_OPTION_isolation;
    status = fc_isolation_check(fc_str(options->isolation), err);
  }
  if (status == FC_OK) {
    option = FC_OPTION_versions;
    status = fc_versions_check(fc_str(options->versions), err);
  }
  if (status == FC_OK) {
    option = FC_OPTION_aliases;
    status = fc_module_aliases_check(fc_str(options->aliases), err);
  }
  if (status != FC_OK) fc_config_locate(options, option, err);
  return status == FC_OK ? check_modules(options, err) : status;
}
