// SPDX-License-Identifier: Apache-2.0
//
// Rights that only some clients have (--admin). Loop thread; no allocation.
#ifndef FARCALL_SERVER_EXCHANGE_PRIVILEGE_H_
#define FARCALL_SERVER_EXCHANGE_PRIVILEGE_H_

#include "config/policy.h"
#include "dialect/request.h"

typedef enum fc_privilege_t {
  FC_PRIVILEGE_CHANGE,   // change the server
  FC_PRIVILEGE_PROFILE,  // profile a call, which shows what a module consists of
  FC_PRIVILEGE_COUNT
} fc_privilege_t;

// May the request use the privilege? FC_CODE_FORBIDDEN: it may not. `address` is the
// other end of the socket. On a listener with tokens or rules for users, scopes decide,
// and they were checked before; here only --admin=off forbids.
fc_status_t fc_privilege_check(const fc_policy_t *policy, fc_privilege_t what,
                               const fc_request_t *request,
                               const fc_peer_t *address,
                               fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_EXCHANGE_PRIVILEGE_H_
