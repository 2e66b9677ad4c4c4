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

// Is the text an origin of http or https (RFC 6454 7): the scheme, a host in lower case,
// and the port unless it is the scheme's default?
static bool is_origin(fc_str_t origin) {
  const fc_str_t kSchemes[] = {FC_STR("http://"), FC_STR("https://")};
  const fc_str_t kPorts[] = {FC_STR(":80"), FC_STR(":443")};
  if (origin.size > FC_ORIGIN_MAX) return false;
  for (size_t i = 0; i < origin.size; i++) {
    if (origin.data[i] >= 'A' && origin.data[i] <= 'Z') return false;
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSchemes); i++) {
    const size_t size = kSchemes[i].size;
    if (!fc_str_starts(origin, kSchemes[i])) continue;
    const fc_str_t host = fc_str_make(origin.data + size, origin.size - size);
    const fc_str_t name = fc_address_host_name(host);
    if (!is_name(name) || fc_str_ends(host, kPorts[i])) return false;
    if (host.size == name.size) return true;
    bool good = host.data[name.size] == ':' && host.size > name.size + 1;
    for (size_t k = name.size + 1; k < host.size && good; k++) {
      good = host.data[k] >= '0' && host.data[k] <= '9';
    }
    return good;
  }
  return false;
}

fc_status_t fc_policy_set_origins(fc_policy_t *policy, fc_str_t origins,
                                  fc_error_t *err) {
  policy->origins = origins;
  bool more = origins.size && !fc_str_equal(origins, FC_STR("*"));
  while (more) {
    more = memchr(origins.data, ',', origins.size) != NULL;
    const fc_str_t origin = fc_str_take(&origins, ',');
    if (is_origin(origin)) continue;
    char shown[80];
    fc_escape(shown, sizeof shown, 64, origin);
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "--allow-origin: '%s' is no origin such as "
                   "https://a.example:8443, in lower case and without a port "
                   "that the scheme implies",
                   shown);
  }
  return FC_OK;
}

fc_status_t fc_policy_check_bind(bool allowed, const fc_address_t *address,
                                 fc_str_t item, fc_error_t *err) {
  if (allowed || fc_address_is_unix(address) ||
      fc_address_is_loopback(address)) {
    return FC_OK;
  }
  return fc_fail(err, FC_CODE_FORBIDDEN,
                 "%.*s can be reached by others and there is no "
                 "authentication: set --token-file or --client-ca, or add "
                 "--allow-insecure-bind if that is meant",
                 FC_STR_ARG(item));
}
