// SPDX-License-Identifier: Apache-2.0
//
// Decides who may ask a listener for what: by Host and Origin, by what trusted proxies in
// front of the listener say, and by tokens and users. fc_access_check comes before the
// path of a request is looked up. Loop thread; no allocation.
#ifndef FARCALL_SERVER_EXCHANGE_ACCESS_H_
#define FARCALL_SERVER_EXCHANGE_ACCESS_H_

#include "config/policy.h"
#include "dialect/request.h"

// Fails with FC_CODE_HOST_NOT_ALLOWED or FC_CODE_ORIGIN_NOT_ALLOWED. `peer` is
// the other end of the socket, NULL if no proxy is trusted. If it is a trusted
// proxy that names its client, *peer becomes the client.
fc_status_t fc_access_check(const fc_policy_t *policy,
                            const fc_request_t *request, fc_peer_t *peer,
                            fc_error_t *err) FC_MUST_CHECK;

// The origin that the answer may be given to: as --allow-origin has it, or "*"; borrowed
// from the policy. "" if the request has no Origin, or one that --allow-origin does not
// have.
fc_str_t fc_access_origin(const fc_policy_t *policy,
                          const fc_request_t *request);
// Does a browser ask whether a page may make a request (a preflight)?
bool fc_access_is_preflight(const fc_request_t *request);

// What only some clients may do.
typedef enum fc_access_t {
  FC_ACCESS_CHANGE,   // change the server
  FC_ACCESS_PROFILE,  // profile a call, which tells what a module is made of
  FC_ACCESS_COUNT
} fc_access_t;

// May the request do it? If not, FC_CODE_FORBIDDEN. `address` is the other end of the
// socket. On a listener with tokens or rules for users only --admin=off forbids it here:
// scopes decide, and were looked at before.
fc_status_t fc_access_check_admin(const fc_policy_t *policy, fc_access_t what,
                                  const fc_request_t *request,
                                  const fc_peer_t *address,
                                  fc_error_t *err) FC_MUST_CHECK;

// What the client is allowed, by the request's Authorization and the tokens of the
// listener. FC_CODE_UNAUTHORIZED unless that Authorization has one of the tokens; the
// error never shows what was sent.
fc_status_t fc_access_identify(const fc_policy_t *policy,
                               const fc_request_t *request,
                               fc_grant_t *out_grant,
                               fc_error_t *err) FC_MUST_CHECK;
// What a user of a Unix socket is allowed, by --socket-users. FC_CODE_FORBIDDEN if no
// rule fits, or the user is not known. `text` is for the name, to which the grant points.
#define FC_USER_TEXT_SIZE 11
fc_status_t fc_access_identify_user(const fc_known_user_t *user,
                                    char text[FC_USER_TEXT_SIZE],
                                    fc_grant_t *out_grant,
                                    fc_error_t *err) FC_MUST_CHECK;
// FC_CODE_FORBIDDEN names a scope that is needed and not granted.
fc_status_t fc_access_check_scopes(const fc_grant_t *grant, uint8_t needed,
                                   fc_error_t *err) FC_MUST_CHECK;
// FC_CODE_FORBIDDEN unless the grant is for this module; `module` "": for all of them.
fc_status_t fc_access_check_module(const fc_grant_t *grant, fc_str_t module,
                                   fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_EXCHANGE_ACCESS_H_
