// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "config/address.h"
#include "config/collector.h"
#include "config/file.h"
#include "config/listener.h"
#include "config/policy.h"
#include "config/socket_file.h"
#include "config/table.h"
#include "modules/policy.h"
#include "modules/versions.h"

// Checks what the options, and "modules" in the configuration file, set for single
// modules (fc_module_policy_check).
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

// --tls-cert and --tls-key need each other, and --client-ca needs both. The contents of
// these files are checked when they are read (fc_tls_keys_open).
static fc_status_t check_tls(const fc_listener_policy_t *listener,
                             unsigned *out_key, fc_error_t *err) {
  *out_key = FC_LISTENER_KEY_tls_cert;
  if (*listener->tls_cert && !*listener->tls_key) {
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "--tls-cert=%s: --tls-key is missing", listener->tls_cert);
  }
  if (*listener->tls_cert) return FC_OK;
  *out_key =
      *listener->tls_key ? FC_LISTENER_KEY_tls_key : FC_LISTENER_KEY_client_ca;
  if (!*listener->tls_key && !*listener->client_ca) return FC_OK;
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "--%s: --tls-cert is missing",
                 fc_listener_keys[*out_key].flag);
}

// Checks the policy of one listener. After a failure *out_key is the key whose value is
// wrong.
static fc_status_t check_listener(const fc_listener_policy_t *listener,
                                  unsigned *out_key, fc_error_t *err) {
  const fc_str_t none = FC_STR("");
  fc_policy_t policy;
  fc_socket_file_t file;
  *out_key = FC_LISTENER_KEY_allow_host;
  FC_TRY(fc_policy_init(&policy, fc_str(listener->allow_host), none, err));
  *out_key = FC_LISTENER_KEY_trusted_proxy;
  FC_TRY(fc_policy_init(&policy, none, fc_str(listener->trusted_proxy), err));
  *out_key = FC_LISTENER_KEY_allow_origin;
  FC_TRY(fc_policy_set_origins(&policy, fc_str(listener->allow_origin), err));
  *out_key = FC_LISTENER_KEY_priority;
  FC_TRY(fc_listener_priorities(listener, &policy.priorities, err));
  *out_key = FC_LISTENER_KEY_socket_users;
  FC_TRY(fc_users_parse(fc_str(listener->socket_users), &policy.users, err));
  FC_TRY(check_tls(listener, out_key, err));
  *out_key = FC_LISTENER_KEY_socket_mode;
  FC_TRY(fc_socket_file_parse(fc_str(listener->socket_mode), none, &file, err));
  *out_key = FC_LISTENER_KEY_socket_owner;
  return fc_socket_file_parse(none, fc_str(listener->socket_owner), &file, err);
}

// Refuses keys that cannot hold for a listener. A TCP socket has no file. The file of a
// socket that a service manager passes exists already. A Unix socket (`local`) has no
// TLS, because its file says who may connect.
static fc_status_t check_keys(const fc_listener_policy_t *said, bool local,
                              unsigned *out_key, fc_error_t *err) {
  for (unsigned key = 0; key < FC_LISTENER_KEYS; key++) {
    const bool wrong = local ? fc_listener_key_is_of_tls(key)
                             : fc_listener_key_is_of_file(key);
    const char *value;
    if (!wrong) continue;
    memcpy(&value, (const char *)said + fc_listener_keys[key].offset,
           sizeof value);
    if (!*value) continue;
    *out_key = key;
    return fc_fail(
        err, FC_CODE_NOT_ACCEPTABLE, "\"%s\" of listener '%s': %s",
        fc_listener_keys[key].flag, said->address,
        local ? "unix:PATH has no TLS" : "only unix:PATH has a file");
  }
  return FC_OK;
}

static fc_status_t check_scheme(fc_str_t item,
                                const fc_listener_policy_t *listener,
                                fc_error_t *err) {
  if (*listener->tls_cert || !fc_str_starts(item, FC_STR("https://"))) {
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                 "'%.*s': TLS needs --tls-cert and --tls-key",
                 FC_STR_ARG(item));
}

static fc_status_t check_address(const fc_server_options_t *options,
                                 uint32_t index, fc_str_t item,
                                 const fc_listener_policy_t *listener,
                                 unsigned *out_key, fc_error_t *err) {
  fc_address_t address = {.any.sa_family = AF_UNSPEC};
  const bool of_file = index < fc_listeners_of_file(options);
  fc_str_t name;
  *out_key = FC_LISTENER_KEY_address;
  if (!of_file || !fc_listener_is_passed(item, &name)) {
    FC_TRY(fc_address_parse(item, &address, err));
    FC_TRY(check_scheme(item, listener, err));
    FC_TRY(fc_policy_check_bind(fc_listener_is_guarded(item, listener),
                                &address, item, err));
  }
  if (!of_file) return FC_OK;
  *out_key = FC_LISTENER_KEY_socket_users;
  if (address.any.sa_family != AF_UNSPEC && !fc_address_is_unix(&address) &&
      *options->file.listeners[index].socket_users) {
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "\"socket-users\" of listener '%.*s': only a Unix socket "
                   "knows its users",
                   FC_STR_ARG(item));
  }
  return check_keys(&options->file.listeners[index],
                    fc_address_is_unix(&address), out_key, err);
}

static fc_status_t check_listeners(const fc_server_options_t *options,
                                   fc_error_t *err) {
  fc_listener_policy_t listener;
  fc_str_t item;
  unsigned key;
  fc_listener_of_all(options, &listener);
  fc_status_t status = check_listener(&listener, &key, err);
  for (uint32_t i = 0;
       status == FC_OK && fc_listener_at(options, i, &item, &listener); i++) {
    status = check_address(options, i, item, &listener, &key, err);
    if (status == FC_OK) status = check_listener(&listener, &key, err);
  }
  if (status != FC_OK) fc_config_locate_at(options, listener.origins[key], err);
  return status;
}

static fc_status_t check_collector(fc_str_t url, fc_error_t *err) {
  fc_collector_t collector;
  return fc_collector_parse(url, &collector, err);
}

static fc_status_t check_ratio(fc_str_t text, fc_error_t *err) {
  uint32_t ratio;
  return fc_ratio_parse(text, &ratio, err);
}

// Texts of options with a grammar of their own. The keys of listeners are checked
// elsewhere.
static const struct {
  unsigned option;  // a TEXT
  fc_status_t (*check)(fc_str_t text, fc_error_t *err);
} kTexts[] = {
    {FC_OPTION_otlp, check_collector},
    {FC_OPTION_trace_sample, check_ratio},
    {FC_OPTION_versions, fc_versions_check},
};

fc_status_t fc_options_check(const fc_server_options_t *options,
                             fc_error_t *err) {
  FC_TRY(check_listeners(options, err));
  for (size_t i = 0; i < FC_ARRAY_COUNT(kTexts); i++) {
    const unsigned option = kTexts[i].option;
    const char *text;
    memcpy(&text, (const char *)options + fc_options[option].offset,
           sizeof text);
    const fc_status_t status = kTexts[i].check(fc_str(text), err);
    if (status == FC_OK) continue;
    fc_config_locate(options, option, err);
    return status;
  }
  return check_modules(options, err);
}
