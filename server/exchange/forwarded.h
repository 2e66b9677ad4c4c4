// SPDX-License-Identifier: Apache-2.0
//
// What proxies say of a request, in fields that they add (X-Forwarded-For and the like).
// Any client can invent them: they are believed of trusted proxies alone. Loop thread; no
// allocation.
#ifndef FARCALL_SERVER_EXCHANGE_FORWARDED_H_
#define FARCALL_SERVER_EXCHANGE_FORWARDED_H_

#include "config/policy.h"
#include "dialect/request.h"

// The item that the last proxy has added to the fields called `name`, borrowed from the
// request. False: there is none.
bool fc_forwarded_last(const fc_request_t *request, fc_str_t name,
                       fc_str_t *out_item);
// If *peer, the other end of the socket, is a trusted proxy that names its client, *peer
// becomes the client: the first address, counted from the end, that is no trusted proxy;
// if there is none, the last one read. If an item is no address, nothing before it is
// read.
void fc_forwarded_client(const fc_policy_t *policy, const fc_request_t *request,
                         fc_peer_t *peer);
// Did the request come through a proxy, trusted or not? Any field that only proxies add
// shows it. A proxy on this machine connects from here, wherever its client is.
bool fc_forwarded_is_any(const fc_request_t *request);

#endif  // FARCALL_SERVER_EXCHANGE_FORWARDED_H_
