// SPDX-License-Identifier: Apache-2.0
#include "config/policy.h"

static bool is_name(fc_str_t name) {
  fc_str_t host = fc_address_host_name(name);
  if (name.size == 0 || host.size != name.size) return false;
  if (name.data[0] == '[') return fc_peer_is_address(name);
  for (size_t i = 0; i < name.size; i++) {
    const char c = name.data[i];
    const char low = (char)(c | 0x20);
    if (!((low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
          c == '-' || c == '_')) {
      return false;
    }
  }
  return true;
}

fc_status_t fc_policy_init(fc_policy_t *policy, fc_str_t hosts,
                           fc_str_t proxies, fc_error_t *err) {
  *policy = (fc_policy_t){.hosts = hosts};
  bool more = hosts.size > 0;
  while (more) {
    more = memchr(hosts.data, ',', hosts.size) != NULL;
    fc_str_t name = fc_str_take(&hosts, ',');
    if (is_name(name)) continue;
    char shown[80];
    fc_escape(shown, sizeof shown, 64, name);
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "--allow-host: '%s' is no host name (no port, no scheme)",
                   shown);
  }
  fc_error_t own;
  if (fc_networks_parse(proxies, &policy->proxies, &own) == FC_OK) return FC_OK;
  return fc_fail(err, FC_CODE_NOT_ACCEPTABLE, "--trusted-proxy: %s",
                 own.message);
}

fc_status_t fc_policy_check_bind(bool allowed, const fc_address_t *address,
                                 fc_str_t item, fc_error_t *err) {
  if (allowed || fc_address_is_unix(address) ||
      fc_address_is_loopback(address)) {
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_FORBIDDEN,
                 "%.*s can be reached by others and there is no "
                 "authentication: add --allow-insecure-bind if that is meant",
                 FC_STR_ARG(item));
}
