// SPDX-License-Identifier: Apache-2.0
//
// What a listener allows: by which host names its clients may call it, and
// which proxies in front of it are believed. Read from the options once;
// exchange/access.c applies it to each request. No allocation.
#ifndef FARCALL_SERVER_CONFIG_POLICY_H_
#define FARCALL_SERVER_CONFIG_POLICY_H_

#include "config/address.h"
#include "config/options.h"
#include "config/peer.h"

typedef struct fc_policy_t {
  bool loopback;   // the listener has a loopback address
  bool any_host;   // the listener has no host name: Host may be any
  bool local;      // the listener is a Unix socket
  uint8_t admin;   // FC_ADMIN_*, of --admin
  fc_str_t bind;   // the literal address it listens on, in brackets if IPv6
  fc_str_t hosts;  // of --allow-host, separated by commas
  fc_networks_t proxies;  // of --trusted-proxy
} fc_policy_t;

// May some client of the listener change which modules are served?
static inline bool fc_policy_has_admin(const fc_policy_t *policy) {
  return policy->admin == FC_ADMIN_LOOPBACK ||
         (policy->admin == FC_ADMIN_SOCKET && policy->local);
}

// Sets `hosts`, which is borrowed, and `proxies` from the texts of the two
// options; the caller sets the other fields. FC_CODE_NOT_ACCEPTABLE names the
// item that can't be read.
fc_status_t fc_policy_init(fc_policy_t *policy, fc_str_t hosts,
                           fc_str_t proxies, fc_error_t *err) FC_MUST_CHECK;

// May the server listen on this address, which `item` names? FC_CODE_FORBIDDEN if
// others can reach it and that is not `allowed` (--allow-insecure-bind).
fc_status_t fc_policy_check_bind(bool allowed, const fc_address_t *address,
                                 fc_str_t item, fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_CONFIG_POLICY_H_
