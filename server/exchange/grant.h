// SPDX-License-Identifier: Apache-2.0
//
// Identifies a client and its rights: by a token, or as the user at the other end of a
// Unix socket. guard.c uses both. Loop thread; no allocation.
#ifndef FARCALL_SERVER_EXCHANGE_GRANT_H_
#define FARCALL_SERVER_EXCHANGE_GRANT_H_

#include "config/policy.h"
#include "dialect/request.h"

// Gives the rights of the client from the request's Authorization and the listener's
// tokens. FC_CODE_UNAUTHORIZED: Authorization has none of the tokens; the error never
// shows what was sent.
fc_status_t fc_grant_of_token(const fc_policy_t *policy,
                              const fc_request_t *request,
                              fc_grant_t *out_grant,
                              fc_error_t *err) FC_MUST_CHECK;
// Gives the rights of a user of a Unix socket, by --socket-users. FC_CODE_FORBIDDEN: no
// rule matches, or the user is not known. `text` stores the name, to which the grant
// points.
#define FC_USER_TEXT_SIZE 11
fc_status_t fc_grant_of_user(const fc_known_user_t *user,
                             char text[FC_USER_TEXT_SIZE],
                             fc_grant_t *out_grant,
                             fc_error_t *err) FC_MUST_CHECK;
// FC_CODE_FORBIDDEN: a needed scope is not granted; the error names it.
fc_status_t fc_grant_check_scopes(const fc_grant_t *grant, uint8_t needed,
                                  fc_error_t *err) FC_MUST_CHECK;
// FC_CODE_FORBIDDEN: the grant is not for this module; `module` "" means all modules.
fc_status_t fc_grant_check_module(const fc_grant_t *grant, fc_str_t module,
                                  fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_EXCHANGE_GRANT_H_
