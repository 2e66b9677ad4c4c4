// SPDX-License-Identifier: Apache-2.0
#include "exchange/privilege.h"

#include "config/options.h"
#include "exchange/access.h"
#include "exchange/forwarded.h"

fc_status_t fc_privilege_check(const fc_policy_t *policy, fc_privilege_t what,
                               const fc_request_t *request,
                               const fc_peer_t *address, fc_error_t *err) {
  static const struct {
    const char *is, *is_not;
  } kWords[FC_PRIVILEGE_COUNT] = {
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
  if (!fc_forwarded_is_any(request)) return FC_OK;
  return fc_fail(err, FC_CODE_FORBIDDEN,
                 "%s for a request that a proxy passed on", is_not);
}
