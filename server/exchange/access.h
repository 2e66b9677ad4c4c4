// SPDX-License-Identifier: Apache-2.0
//
// Checks whether a listener answers requests with this Host and Origin. The fields of
// trusted proxies override both. This happens before the path is looked up; grant.h and
// privilege.h decide later what the request may do. Loop thread; no allocation.
#ifndef FARCALL_SERVER_EXCHANGE_ACCESS_H_
#define FARCALL_SERVER_EXCHANGE_ACCESS_H_

#include "config/policy.h"
#include "dialect/request.h"

// Fails with FC_CODE_HOST_NOT_ALLOWED or FC_CODE_ORIGIN_NOT_ALLOWED. `peer` is the other
// end of the socket, NULL if no proxy is trusted. If it is a trusted proxy that names its
// client, *peer becomes the client.
fc_status_t fc_access_check(const fc_policy_t *policy,
                            const fc_request_t *request, fc_peer_t *peer,
                            fc_error_t *err) FC_MUST_CHECK;

// Returns the origin that may read the answer: an item of --allow-origin, or "*";
// borrowed from the policy. "" if the request has no Origin, or one that --allow-origin
// does not allow.
fc_str_t fc_access_origin(const fc_policy_t *policy,
                          const fc_request_t *request);
// Is this a preflight: a browser's question whether a page may make a request?
bool fc_access_is_preflight(const fc_request_t *request);

#endif  // FARCALL_SERVER_EXCHANGE_ACCESS_H_
