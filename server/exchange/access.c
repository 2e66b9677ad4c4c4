// SPDX-License-Identifier: Apache-2.0
//
// A page of another site can make its visitor's browser send requests to this server. The
// browser names that site in Origin with a POST, and with any request whose answer the
// page is to read. The site can also make its own host name resolve to our address (DNS
// rebinding): then Origin and Host agree, and only the name in them shows that they are
// not ours. The page can forge neither field, and a literal address cannot be its site's
// name.
#include "exchange/access.h"

#include <stdio.h>

#include "config/address.h"
#include "config/options.h"

// ---------------------------------------------------------------------------
// Fields of proxies. Each proxy appends an item to a field, or adds a field
// behind those there are. So what a client invented stands before what a proxy
// wrote, and items are read from the last to the first.

static size_t find_last(fc_str_t text, char c) {
  size_t at = text.size;
  while (at && text.data[at - 1] != c) at--;
  return at;  // the index behind the last `c`, 0 when there is no `c`
}

// Cuts the last item off `text`, whose items `c` separates, and returns it.
static fc_str_t take_last(fc_str_t *text, char c) {
  const size_t at = find_last(*text, c);
  fc_str_t last = fc_str_make(text->data + at, text->size - at);
  text->size = at ? at - 1 : 0;
  return last;
}

typedef struct forwarded_t {
  fc_str_t lines;   // field lines that were not read yet
  fc_str_t values;  // items, of the line read last, that were not read yet
} forwarded_t;

// Finds the next item of the fields called `name`, going from the last to the
// first. False when there are no more.
static bool next_forwarded(forwarded_t *at, fc_str_t name, fc_str_t *out_item) {
  while (at->values.size == 0) {
    if (at->lines.size == 0) return false;
    fc_str_t line = take_last(&at->lines, '\n');
    if (line.size <= name.size || line.data[name.size] != ':' ||
        !fc_request_same_text(fc_str_make(line.data, name.size), name)) {
      continue;
    }
    if (line.data[line.size - 1] == '\r') line.size--;
    at->values = fc_request_trim(
        fc_str_make(line.data + name.size + 1, line.size - name.size - 1));
  }
  *out_item = fc_request_trim(take_last(&at->values, ','));
  return true;
}

static forwarded_t read_fields(const fc_request_t *request) {
  return (forwarded_t){.lines = request->lines};
}

// Reads "10.1.2.3", "10.1.2.3:80", "2001:db8::1" or "[2001:db8::1]:80".
static bool parse_client(fc_str_t text, fc_peer_t *out_peer) {
  if (fc_peer_parse(text, out_peer)) return true;
  fc_str_t name = fc_address_host_name(text);
  if (name.size > 2 && name.data[0] == '[') {
    name = fc_str_make(name.data + 1, name.size - 2);
  }
  return fc_peer_parse(name, out_peer);
}

// The client is the first address, counted from the end, that is no trusted proxy; if
// there is none, the last one read. If an item is no address, nothing before it is read.
static void find_client(const fc_policy_t *policy, const fc_request_t *request,
                        fc_peer_t *peer) {
  forwarded_t at = read_fields(request);
  fc_str_t item;
  fc_peer_t client;
  while (fc_networks_have(&policy->proxies, peer) &&
         next_forwarded(&at, FC_STR("x-forwarded-for"), &item) &&
         parse_client(item, &client)) {
    *peer = client;
  }
}

// ---------------------------------------------------------------------------
// Names

static bool is_in_list(fc_str_t list, fc_str_t name) {
  while (list.size) {
    if (fc_request_same_text(take_last(&list, ','), name)) return true;
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

// Reads which host and scheme the browser used, as the last proxy says it.
static void read_forwarded(const fc_request_t *request, address_t *address) {
  fc_str_t item;
  forwarded_t at = read_fields(request);
  if (next_forwarded(&at, FC_STR("x-forwarded-host"), &item)) {
    address->host = item;
    address->forwarded = true;
  }
  at = read_fields(request);
  if (!next_forwarded(&at, FC_STR("x-forwarded-proto"), &item)) return;
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

// Is this "localhost" or a name of --allow-host? No other site can make these its own.
static bool is_ours(const fc_policy_t *policy, fc_str_t name) {
  return fc_request_same_text(name, FC_STR("localhost")) ||
         is_in_list(policy->hosts, name);
}

static fc_status_t check_host(const fc_policy_t *policy,
                              const address_t *address, fc_error_t *err) {
  fc_str_t name = address->name;
  if (policy->any_host) return FC_OK;
  if (!policy->loopback && policy->hosts.size == 0) return FC_OK;
  // No browser sends a request without Host (only HTTP/1.0 allows that), or an empty one.
  if (address->host.size == 0 && !address->forwarded) return FC_OK;
  if (is_ours(policy, name)) return FC_OK;
  // A browser that DNS has misled asks for a name, never for an address. A
  // loopback listener that is asked without a proxy answers to its own
  // addresses only.
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

// The host without the port that its scheme implies.
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
  if (trusted) find_client(policy, request, peer);
  const address_t address = asked_for(policy, request, trusted);
  FC_TRY(check_host(policy, &address, err));
  if (fc_access_origin(policy, request).size) return FC_OK;
  return check_origin(policy, &address, request->fields[FC_FIELD_ORIGIN], err);
}

// ---------------------------------------------------------------------------
// Acts and profiles

// A proxy on this machine connects from this machine, though its client may be
// elsewhere. Any field that only proxies add shows that the request came through
// one, whether the proxy is trusted or not.
static bool was_passed_on(const fc_request_t *request) {
  static const char *const kFields[] = {
      "forwarded:",   "x-forwarded-", "via:", "x-real-ip:",
      "x-client-ip:", "x-envoy-",     "cf-",  "true-client-ip:"};
  for (fc_str_t rest = request->lines; rest.size;) {
    const fc_str_t line = fc_str_take(&rest, '\n');
    for (size_t i = 0; i < FC_ARRAY_COUNT(kFields); i++) {
      const fc_str_t field = fc_str(kFields[i]);
      if (line.size >= field.size &&
          fc_request_same_text(fc_str_make(line.data, field.size), field)) {
        return true;
      }
    }
  }
  return false;
}

fc_status_t fc_access_check_admin(const fc_policy_t *policy, fc_access_t what,
                                  const fc_request_t *request,
                                  const fc_peer_t *address, fc_error_t *err) {
  static const struct {
    const char *is, *is_not;
  } kWords[FC_ACCESS_COUNT] = {
      {"the server is changed", "nothing is changed"},
      {"the server's calls are profiled", "no call is profiled"},
  };
  const char *is = kWords[what].is, *is_not = kWords[what].is_not;
  if (policy->admin == FC_ADMIN_OFF) {
    return fc_fail(err, FC_CODE_FORBIDDEN, "--admin=off: %s over HTTP", is_not);
  }
  if (fc_policy_is_guarded(policy)) return FC_OK;
  if (fc_access_origin(policy, request).size) {
    return fc_fail(err, FC_CODE_FORBIDDEN,
                   "%s for a page (Origin) without tokens", is_not);
  }
  if (!policy->local && policy->admin != FC_ADMIN_LOOPBACK) {
    return fc_fail(err, FC_CODE_FORBIDDEN,
                   "%s over a Unix socket (--listen=unix:PATH), or from this "
                   "machine with --admin=loopback",
                   is);
  }
  if (!policy->local && !fc_peer_is_loopback(address)) {
    return fc_fail(err, FC_CODE_FORBIDDEN, "%s from its own machine only", is);
  }
  if (!was_passed_on(request)) return FC_OK;
  return fc_fail(err, FC_CODE_FORBIDDEN,
                 "%s for a request that a proxy passed on", is_not);
}

// ---------------------------------------------------------------------------
// Tokens

// RFC 6750 2.1. The scheme's case does not matter; blanks may follow it.
static bool read_secret(fc_str_t field, fc_str_t *out_secret) {
  const fc_str_t scheme = fc_str_take(&field, ' ');
  *out_secret = fc_request_trim(field);
  bool good =
      fc_request_same_text(scheme, FC_STR("bearer")) && out_secret->size;
  for (size_t i = 0; i < out_secret->size && good; i++) {
    good = out_secret->data[i] > ' ' && out_secret->data[i] < 0x7F;
  }
  return good;
}

fc_status_t fc_access_identify(const fc_policy_t *policy,
                               const fc_request_t *request,
                               fc_grant_t *out_grant, fc_error_t *err) {
  const fc_str_t field = request->fields[FC_FIELD_AUTHORIZATION];
  fc_str_t secret;
  if (!field.data) {
    return fc_fail(err, FC_CODE_UNAUTHORIZED,
                   "a token is needed: 'Authorization: Bearer TOKEN'");
  }
  if (!read_secret(field, &secret)) {
    return fc_fail(err, FC_CODE_UNAUTHORIZED,
                   "'Authorization' is not 'Bearer TOKEN'");
  }
  const fc_grant_t *grant = fc_tokens_find(policy->tokens, secret);
  if (!grant) {
    return fc_fail(err, FC_CODE_UNAUTHORIZED, "the token is not known");
  }
  *out_grant = *grant;
  return FC_OK;
}

fc_status_t fc_access_identify_user(const fc_known_user_t *user,
                                    char text[FC_USER_TEXT_SIZE],
                                    fc_grant_t *out_grant, fc_error_t *err) {
  const int size = snprintf(text, FC_USER_TEXT_SIZE, "%u", user->id);
  if (!user->known || !user->scopes) {
    return fc_fail(err, FC_CODE_FORBIDDEN,
                   "user %s may not ask this socket for anything "
                   "(--socket-users)",
                   user->known ? text : "?");
  }
  *out_grant = (fc_grant_t){.scopes = user->scopes,
                            .name = fc_str_make(text, (size_t)size),
                            .is_user = true};
  return FC_OK;
}

fc_status_t fc_access_check_scopes(const fc_grant_t *grant, uint8_t needed,
                                   fc_error_t *err) {
  const uint8_t missing = needed & FC_SCOPE_ALL & (uint8_t)~grant->scopes;
  if (!missing) return FC_OK;
  return fc_fail(err, FC_CODE_FORBIDDEN,
                 "%s '%.*s' has not the scope '%s', which this needs",
                 grant->is_user ? "user" : "token", FC_STR_ARG(grant->name),
                 fc_scope_name(missing));
}

fc_status_t fc_access_check_module(const fc_grant_t *grant, fc_str_t module,
                                   fc_error_t *err) {
  if (!grant->modules.size) return FC_OK;
  if (module.size && fc_patterns_fit(grant->modules, module)) return FC_OK;
  return fc_fail(err, FC_CODE_FORBIDDEN, "token '%.*s' is for modules '%.*s'",
                 FC_STR_ARG(grant->name), FC_STR_ARG(grant->modules));
}
