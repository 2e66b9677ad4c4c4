// SPDX-License-Identifier: Apache-2.0
//
// A page of another site can make its visitor's browser send requests to this server.
// With a POST, and with any request whose answer the page wants to read, the browser
// names that site in Origin. The site can also make its own host name resolve to our
// address (DNS rebinding). Then Origin and Host agree, and only the name in them shows
// that they are not ours. The page can forge neither field, and a literal address cannot
// be the name of the page's site.
#include "exchange/access.h"

#include "config/address.h"
#include "exchange/forwarded.h"

static bool is_in_list(fc_str_t list, fc_str_t name) {
  while (list.size) {
    if (fc_request_same_text(fc_str_take(&list, ','), name)) return true;
  }
  return false;
}

// The address that a browser used, as far as the server can know it.
typedef struct address_t {
  fc_str_t scheme;  // "http", "https"
  fc_str_t host;    // "name:port"
  fc_str_t name;
  bool forwarded;  // `host` is what a trusted proxy says
} address_t;

// Reads the host and scheme that the browser used, as the last proxy reports them.
static void read_forwarded(const fc_request_t *request, address_t *address) {
  fc_str_t item;
  if (fc_forwarded_last(request, FC_STR("x-forwarded-host"), &item)) {
    address->host = item;
    address->forwarded = true;
  }
  if (!fc_forwarded_last(request, FC_STR("x-forwarded-proto"), &item)) return;
  if (fc_request_same_text(item, FC_STR("https"))) {
    address->scheme = FC_STR("https");
  } else if (fc_request_same_text(item, FC_STR("http"))) {
    address->scheme = FC_STR("http");
  }
}

static address_t asked_for(const fc_policy_t *policy,
                           const fc_request_t *request, bool trusted) {
  address_t address = {.scheme = policy->tls ? FC_STR("https") : FC_STR("http"),
                       .host = request->fields[FC_FIELD_HOST]};
  if (!address.host.data) address.host = request->authority;
  if (trusted) read_forwarded(request, &address);
  address.name = fc_address_host_name(address.host);
  return address;
}

// Is the name "localhost" or a name of --allow-host? No other site can own these names.
static bool is_ours(const fc_policy_t *policy, fc_str_t name) {
  return fc_request_same_text(name, FC_STR("localhost")) ||
         is_in_list(policy->hosts, name);
}

static fc_status_t check_host(const fc_policy_t *policy,
                              const address_t *address, fc_error_t *err) {
  fc_str_t name = address->name;
  if (policy->any_host) return FC_OK;
  if (!policy->loopback && policy->hosts.size == 0) return FC_OK;
  // Browsers always send Host, and never an empty one. Only HTTP/1.0 allows its absence.
  if (address->host.size == 0 && !address->forwarded) return FC_OK;
  if (is_ours(policy, name)) return FC_OK;
  // With DNS rebinding a browser asks for a name, never for an address. A loopback
  // listener that is not behind a proxy accepts only its own addresses.
  if (policy->loopback && !address->forwarded
          ? fc_request_same_text(name, FC_STR("127.0.0.1")) ||
                fc_request_same_text(name, FC_STR("[::1]")) ||
                fc_request_same_text(name, policy->bind)
          : fc_peer_is_address(name)) {
    return FC_OK;
  }
  char shown[80];
  fc_escape(shown, sizeof shown, 64, name);
  fc_status_t status =
      fc_fail(err, FC_CODE_HOST_NOT_ALLOWED,
              "the server does not answer as '%s': --allow-host=NAME lets "
              "names in",
              shown);
  fc_error_got(err, address->host);
  return status;
}

// Returns the host without the default port of its scheme.
static fc_str_t less_port(fc_str_t host, fc_str_t scheme) {
  fc_str_t port =
      fc_str_equal(scheme, FC_STR("http")) ? FC_STR(":80") : FC_STR(":443");
  if (fc_str_ends(host, port)) host.size -= port.size;
  return host;
}

static bool is_same_host(const address_t *address, fc_str_t host) {
  return address->name.size &&
         fc_request_same_text(less_port(host, address->scheme),
                              less_port(address->host, address->scheme));
}

fc_str_t fc_access_origin(const fc_policy_t *policy,
                          const fc_request_t *request) {
  const fc_str_t origin = request->fields[FC_FIELD_ORIGIN];
  if (!origin.size) return FC_STR("");
  if (fc_str_equal(policy->origins, FC_STR("*"))) return policy->origins;
  for (fc_str_t rest = policy->origins; rest.size;) {
    const fc_str_t allowed = fc_str_take(&rest, ',');
    if (fc_str_equal(allowed, origin)) return allowed;
  }
  return FC_STR("");
}

bool fc_access_is_preflight(const fc_request_t *request) {
  return !strcmp(request->method_name, "OPTIONS") &&
         request->fields[FC_FIELD_ASKED_METHOD].data;
}

static fc_status_t check_origin(const fc_policy_t *policy,
                                const address_t *address, fc_str_t origin,
                                fc_error_t *err) {
  if (!origin.data) return FC_OK;
  const fc_str_t kSchemes[] = {FC_STR("http"), FC_STR("https")};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSchemes); i++) {
    fc_str_t scheme = kSchemes[i], host = origin;
    if (!fc_str_starts(host, scheme)) continue;
    host = fc_str_make(host.data + scheme.size, host.size - scheme.size);
    if (!fc_str_starts(host, FC_STR("://"))) continue;
    host = fc_str_make(host.data + 3, host.size - 3);
    if (!is_same_host(address, host)) continue;
    if (!fc_str_equal(scheme, address->scheme)) {
      return fc_fail(err, FC_CODE_ORIGIN_NOT_ALLOWED,
                     "the page came by %.*s and its request by %.*s: "
                     "--trusted-proxy=ADDR names a proxy in between",
                     FC_STR_ARG(scheme), FC_STR_ARG(address->scheme));
    }
    if (fc_peer_is_address(address->name) || is_ours(policy, address->name)) {
      return FC_OK;
    }
    char shown[80];
    fc_escape(shown, sizeof shown, 64, address->name);
    return fc_fail(err, FC_CODE_ORIGIN_NOT_ALLOWED,
                   "pages of '%s' are not answered, since any site can have "
                   "its name point here: --allow-host=NAME lets names in",
                   shown);
  }
  return fc_fail(err, FC_CODE_ORIGIN_NOT_ALLOWED,
                 "requests from pages of other origins are not answered");
}

fc_status_t fc_access_check(const fc_policy_t *policy,
                            const fc_request_t *request, fc_peer_t *peer,
                            fc_error_t *err) {
  const bool trusted = peer && fc_networks_have(&policy->proxies, peer);
  if (trusted) fc_forwarded_client(policy, request, peer);
  const address_t address = asked_for(policy, request, trusted);
  FC_TRY(check_host(policy, &address, err));
  if (fc_access_origin(policy, request).size) return FC_OK;
  return check_origin(policy, &address, request->fields[FC_FIELD_ORIGIN], err);
}
