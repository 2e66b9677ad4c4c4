// SPDX-License-Identifier: Apache-2.0
//
// Which requests a listener answers, by Host and Origin, and by what trusted proxies in
// front of it say of both. That comes before the path of a request is looked up; what the
// request may do there is decided later (grant.h, privilege.h). Loop thread; no
// allocation.
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

#endif  // FARCALL_SERVER_EXCHANGE_ACCESS_H_
