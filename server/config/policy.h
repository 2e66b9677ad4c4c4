// SPDX-License-Identifier: Apache-2.0
//
// What a listener allows its clients: host names, origins of other sites, admin acts and
// tokens, and which proxies in front of it are trusted. It is made once for each
// listener; exchange/access.c checks each request against it. No allocation.
#ifndef FARCALL_SERVER_CONFIG_POLICY_H_
#define FARCALL_SERVER_CONFIG_POLICY_H_

#include "config/address.h"
#include "config/options.h"
#include "config/peer.h"
#include "config/priority.h"
#include "config/tokens.h"
#include "config/users.h"

typedef struct fc_policy_t {
  bool loopback;   // the listener has a loopback address
  bool any_host;   // the listener is a Unix socket: Host may be any
  bool local;      // the listener is a Unix socket
  bool tls;        // the listener speaks TLS, so its scheme is https
  uint8_t admin;   // FC_ADMIN_*
  fc_str_t bind;   // the literal address it listens on, in brackets if IPv6
  fc_str_t hosts;  // as --allow-host: separated by commas
  fc_networks_t proxies;       // as --trusted-proxy
  fc_str_t origins;            // as --allow-origin: separated by commas, or "*"
  const fc_tokens_t *tokens;   // of --token-file; NULL: no token is needed
  fc_users_t users;            // of --socket-users, of a Unix socket
  fc_priorities_t priorities;  // that clients may choose from
  // Most calls and connections of one client; 0: half of all connections.
  uint32_t client_calls;
  uint32_t client_connections;
} fc_policy_t;

// Has the listener tokens, or rules for users? Then a client's scopes limit its
// requests.
static inline bool fc_policy_is_guarded(const fc_policy_t *policy) {
  return policy->tokens || policy->users.count;
}

// May any client of the listener change which modules are served?
static inline bool fc_policy_has_admin(const fc_policy_t *policy) {
  return policy->admin == FC_ADMIN_LOOPBACK ||
         (policy->admin == FC_ADMIN_SOCKET &&
          (policy->local || policy->tokens));
}

// Sets `hosts` (borrowed) and `proxies` from the two texts and zeroes the other fields,
// which the caller sets. FC_CODE_NOT_ACCEPTABLE names the item that can't be read.
fc_status_t fc_policy_init(fc_policy_t *policy, fc_str_t hosts,
                           fc_str_t proxies, fc_error_t *err) FC_MUST_CHECK;

// Sets `origins`, which is borrowed. FC_CODE_NOT_ACCEPTABLE names the item that is not an
// origin as browsers write it.
#define FC_ORIGIN_MAX 128
fc_status_t fc_policy_set_origins(fc_policy_t *policy, fc_str_t origins,
                                  fc_error_t *err) FC_MUST_CHECK;

// May the server listen on this address? FC_CODE_FORBIDDEN: others can reach it and
// `allowed` is false (--allow-insecure-bind). `item` names the address in the error.
fc_status_t fc_policy_check_bind(bool allowed, const fc_address_t *address,
                                 fc_str_t item, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_CONFIG_POLICY_H_
