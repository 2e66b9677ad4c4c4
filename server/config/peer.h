// SPDX-License-Identifier: Apache-2.0
//
// Addresses of clients, and networks that an operator names. IPv4 addresses are stored in
// IPv6 form (::ffff:a.b.c.d), so that there is one kind of address. No allocation; any
// thread.
#ifndef FARCALL_SERVER_CONFIG_PEER_H_
#define FARCALL_SERVER_CONFIG_PEER_H_

#include <sys/socket.h>

#include "farcall/base.h"

// All zero: the address is not known.
typedef struct fc_peer_t {
  uint8_t bytes[16];
} fc_peer_t;

typedef struct fc_network_t {
  fc_peer_t address;
  // How many leading bits of `address` count: for IPv4, 96 plus the prefix length.
  uint8_t bits;
} fc_network_t;

#define FC_NETWORKS_MAX 32

typedef struct fc_networks_t {
  uint32_t count;
  fc_network_t items[FC_NETWORKS_MAX];
} fc_networks_t;

// Returns the address of a socket; all zero if the socket is neither IPv4 nor IPv6.
fc_peer_t fc_peer_of_socket_address(const struct sockaddr *address);
// Reads "10.1.2.3" or "2001:db8::1", without port or brackets. False: the text is no
// address.
bool fc_peer_parse(fc_str_t text, fc_peer_t *out_peer);
// Writes the address as fc_peer_parse reads it; "" if the address is not known.
#define FC_PEER_TEXT_SIZE 46
void fc_peer_print(const fc_peer_t *peer, char out[FC_PEER_TEXT_SIZE]);
// Is a host name a literal address? An IPv6 address may be in brackets, an IPv4 address
// may not.
bool fc_peer_is_address(fc_str_t name);
// Returns the address by which a client is counted: an IPv4 address unchanged, of an IPv6
// address the upper 64 bits, because one subscriber has all addresses with the same upper
// 64 bits.
fc_peer_t fc_peer_share(const fc_peer_t *peer);

// Is the address in 127.0.0.0/8, or ::1?
bool fc_peer_is_loopback(const fc_peer_t *peer);

static inline bool fc_peer_equal(const fc_peer_t *a, const fc_peer_t *b) {
  return !memcmp(a->bytes, b->bytes, sizeof a->bytes);
}

// Reads "10.0.0.0/8,::1": networks, or single addresses without a prefix length.
// FC_CODE_NOT_ACCEPTABLE names the item that can't be read, or says that there are more
// than FC_NETWORKS_MAX.
fc_status_t fc_networks_parse(fc_str_t list, fc_networks_t *out_networks,
                              fc_error_t *err) FC_MUST_CHECK;
bool fc_networks_have(const fc_networks_t *networks, const fc_peer_t *peer);

#endif  // FARCALL_SERVER_CONFIG_PEER_H_
