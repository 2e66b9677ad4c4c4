// SPDX-License-Identifier: Apache-2.0
//
// Who may talk to a listener: the rules of Host and Origin, and what proxies in
// front of it are believed. Every request passes here first, whatever it asks
// for. Loop thread; no allocation.
#ifndef FARCALL_SERVER_EXCHANGE_ACCESS_H_
#define FARCALL_SERVER_EXCHANGE_ACCESS_H_

#include "http1/peer.h"
#include "http1/request.h"

typedef struct fc_access_t {
  bool loopback;   // the listener's address is one
  fc_str_t bind;   // the literal address it listens on, in brackets if IPv6
  fc_str_t hosts;  // of --allow-host, separated by commas
  fc_networks_t proxies;  // of --trusted-proxy
} fc_access_t;

// Reads the two options; `hosts` is borrowed. FC_CODE_NOT_ACCEPTABLE names the
// item that can't be read. `loopback` and `bind` are the caller's to set.
fc_status_t fc_access_init(fc_access_t *access, fc_str_t hosts,
                           fc_str_t proxies, fc_error_t *err) FC_MUST_CHECK;

// FC_CODE_HOST_NOT_ALLOWED or FC_CODE_ORIGIN_NOT_ALLOWED. `peer` is the other
// end of the socket and becomes the client if that is a trusted proxy that names
// one; NULL is somebody unknown.
fc_status_t fc_access_check(const fc_access_t *access,
                            const fc_request_t *request, fc_peer_t *peer,
                            fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_EXCHANGE_ACCESS_H_
