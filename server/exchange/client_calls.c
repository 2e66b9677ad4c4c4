// SPDX-License-Identifier: Apache-2.0
//
// ADMIT: who a client is, and how many calls it may have, from their heads until they have
// ended (--client-calls).
#include "exchange/exchange.h"

// Does a trusted proxy not say whose call it is? Then the call may be anybody's.
static bool is_of_proxy(const fc_exchange_t *x) {
  return !x->asker.token_size &&
         fc_networks_have(&x->policy->proxies, &x->asker.peer);
}

// Is the client the other end of its connection? Each connection has one call at a time,
// so if nothing is said of calls, the limit of connections is one of calls too. To count
// them would be 2 % of a small call.
static bool is_bounded(const fc_exchange_t *x, uint32_t most) {
  const fc_policy_t *policy = x->policy;
  return !policy->client_calls && !x->asker.token_size &&
         !policy->proxies.count &&
         fc_exchange_share(x->server, policy->client_connections) <= most;
}

fc_status_t fc_exchange_count_call(fc_exchange_t *x, fc_error_t *err) {
  fc_owners_t *calls = &x->server->client_calls;
  const uint32_t most = fc_exchange_share(x->server, x->policy->client_calls);
  if (is_bounded(x, most) || is_of_proxy(x)) return FC_OK;
  if (fc_owners_held(calls, &x->job.caller) >= most) {
    return fc_fail(err, FC_CODE_TOO_MANY_REQUESTS,
                   "%u calls of this client wait or run, the limit", most);
  }
  if (!fc_owners_count(calls, &x->job.caller, &x->job.count)) {
    return fc_fail_memory(err);
  }
  return FC_OK;
}

void fc_exchange_uncount_call(fc_exchange_t *x) {
  fc_owners_uncount(&x->server->client_calls, &x->job.count);
}

fc_owner_t fc_exchange_owner(const fc_peer_t *peer) {
  fc_peer_t share = fc_peer_share(peer);
  fc_owner_t owner;
  _Static_assert(sizeof owner == sizeof share, "an address names an owner");
  memcpy(&owner, &share, sizeof owner);
  return owner;
}

// The bytes for a user must be those of no address (fc_peer_share), so both halves begin
// with a letter. The bytes for an IPv4 address begin with zeros, and the second half of
// those for an IPv6 address is zero.
fc_owner_t fc_exchange_client(const fc_peer_t *peer,
                              const fc_known_user_t *user) {
  fc_owner_t owner = {0};
  if (!user->known) return fc_exchange_owner(peer);
  owner.bytes[0] = owner.bytes[8] = 'u';
  memcpy(&owner.bytes[sizeof owner.bytes - sizeof user->id], &user->id,
         sizeof user->id);
  return owner;
}
