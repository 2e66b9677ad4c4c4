// SPDX-License-Identifier: Apache-2.0
//
// Who a client is, and what it is allowed: by a token, or as the user at the other end of
// a Unix socket. guard.c asks for both. Loop thread; no allocation.
#ifndef FARCALL_SERVER_EXCHANGE_GRANT_H_
#define FARCALL_SERVER_EXCHANGE_GRANT_H_

#include "config/policy.h"
#include "dialect/request.h"

// What the client is allowed, by the request's Authorization and the tokens of the
// listener. FC_CODE_UNAUTHORIZED unless that Authorization has one of the tokens; the
// error never shows what was sent.
fc_status_t fc_grant_of_token(const fc_policy_t *policy,
                              const fc_request_t *request,
                              fc_grant_t *out_grant,
                              fc_error_t *err) FC_MUST_CHECK;
// What a user of a Unix socket is allowed, by --socket-users. FC_CODE_FORBIDDEN if no
// rule fits, or the user is not known. `text` is for the name, to which the grant points.
#define FC_USER_TEXT_SIZE 11
fc_status_t fc_grant_of_user(const fc_known_user_t *user,
                             char text[FC_USER_TEXT_SIZE],
                             fc_grant_t *out_grant,
                             fc_error_t *err) FC_MUST_CHECK;
// FC_CODE_FORBIDDEN names a scope that is needed and not granted.
fc_status_t fc_grant_check_scopes(const fc_grant_t *grant, uint8_t needed,
                                  fc_error_t *err) FC_MUST_CHECK;
// FC_CODE_FORBIDDEN unless the grant is for this module; `module` "": for all of them.
fc_status_t fc_grant_check_module(const fc_grant_t *grant, fc_str_t module,
                                  fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_EXCHANGE_GRANT_H_
