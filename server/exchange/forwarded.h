// SPDX-License-Identifier: Apache-2.0
//
// Reads what proxies say about a request in fields that they add (X-Forwarded-For and
// similar). Any client can invent such fields, so only those of trusted proxies are
// believed. Loop thread; no allocation.
#ifndef FARCALL_SERVER_EXCHANGE_FORWARDED_H_
#define FARCALL_SERVER_EXCHANGE_FORWARDED_H_

#include "config/policy.h"
#include "dialect/request.h"

// Gives the item that the last proxy added to the fields called `name`, borrowed from the
// request. False: there is none.
bool fc_forwarded_last(const fc_request_t *request, fc_str_t name,
                       fc_str_t *out_item);
// If *peer, the other end of the socket, is a trusted proxy that names its client, *peer
// becomes the client: the first address, counted from the end, that is no trusted proxy.
// If all are trusted proxies, it becomes the last one read. Reading stops at an item that
// is no address.
void fc_forwarded_client(const fc_policy_t *policy, const fc_request_t *request,
                         fc_peer_t *peer);
// Did the request come through a proxy, trusted or not? Any field that only proxies add
// shows it. A proxy on this machine connects from here, wherever its client is.
bool fc_forwarded_is_any(const fc_request_t *request);

#endif  // FARCALL_SERVER_EXCHANGE_FORWARDED_H_
