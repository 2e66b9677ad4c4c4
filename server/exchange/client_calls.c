// SPDX-License-Identifier: Apache-2.0
//
// ADMIT: limits how many calls a client may have (--client-calls), from the head of a
// call until its end.
#include "exchange/exchange.h"

// Does the request come from a trusted proxy that does not name the client? Then it may
// be anybody's.
static bool is_of_proxy(const fc_exchange_t *x) {
  return !x->asker.token_size &&
         fc_networks_have(&x->policy->proxies, &x->asker.peer);
}

// Is the client the other end of its connection? Each connection has one call at a time.
// So without --client-calls, the limit of connections limits calls too, and counting
// calls, which takes 2 % of a small call's time, is not needed.
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

// The bytes for a user must differ from those of every address (fc_peer_share), so both
// halves begin with a letter. The bytes for an IPv4 address begin with zeros, and the
// second half of those for an IPv6 address is zero.
fc_owner_t fc_exchange_client(const fc_peer_t *peer,
                              const fc_known_user_t *user) {
  fc_owner_t owner = {0};
  if (!user->known) return fc_exchange_owner(peer);
  owner.bytes[0] = owner.bytes[8] = 'u';
  memcpy(&owner.bytes[sizeof owner.bytes - sizeof user->id], &user->id,
         sizeof user->id);
  return owner;
}
