// SPDX-License-Identifier: Apache-2.0
//
// Decides who may talk to a listener: by Host and Origin, and by what trusted
// proxies in front of the listener say. Every request passes here first,
// whatever it asks for. Loop thread; no allocation.
#ifndef FARCALL_SERVER_EXCHANGE_ACCESS_H_
#define FARCALL_SERVER_EXCHANGE_ACCESS_H_

#include "config/policy.h"
#include "dialect/request.h"

// Fails with FC_CODE_HOST_NOT_ALLOWED or FC_CODE_ORIGIN_NOT_ALLOWED. `peer` is
// the other end of the socket, NULL if unknown. If `peer` is a trusted proxy
// that names its client, `peer` becomes the client.
fc_status_t fc_access_check(const fc_policy_t *policy,
                            const fc_request_t *request, fc_peer_t *peer,
                            fc_error_t *err) FC_MUST_CHECK;

// May the request change what is served? If not, FC_CODE_FORBIDDEN. `address`
// is the other end of the socket.
fc_status_t fc_access_check_admin(const fc_policy_t *policy,
                                  const fc_request_t *request,
                                  const fc_peer_t *address,
                                  fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_EXCHANGE_ACCESS_H_
