// SPDX-License-Identifier: Apache-2.0
//
// Addresses are read by inet_pton, which refuses names, ports, zones and octal numbers.
#include "config/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

// Leading bits that all IPv4 addresses share (::ffff:0:0/96).
#define IPV4_BITS 96

static fc_peer_t of_ipv4(const struct in_addr *address) {
  fc_peer_t peer = {.bytes = {[10] = 0xFF, [11] = 0xFF}};
  memcpy(peer.bytes + IPV4_BITS / 8, address, sizeof *address);
  return peer;
}

static bool is_ipv4(const fc_peer_t *peer) {
  static const uint8_t kPrefix[IPV4_BITS / 8] = {[10] = 0xFF, [11] = 0xFF};
  return !memcmp(peer->bytes, kPrefix, sizeof kPrefix);
}

fc_peer_t fc_peer_of_socket_address(const struct sockaddr *address) {
  fc_peer_t peer = {0};
  if (address->sa_family == AF_INET) {
    struct sockaddr_in v4;
    memcpy(&v4, address, sizeof v4);
    return of_ipv4(&v4.sin_addr);
  }
  if (address->sa_family == AF_INET6) {
    struct sockaddr_in6 v6;
    memcpy(&v6, address, sizeof v6);
    memcpy(peer.bytes, &v6.sin6_addr, sizeof peer.bytes);
  }
  return peer;
}

bool fc_peer_is_loopback(const fc_peer_t *peer) {
  static const fc_peer_t kLoopback = {.bytes = {[15] = 1}};
  if (is_ipv4(peer)) return peer->bytes[IPV4_BITS / 8] == 127;
  return fc_peer_equal(peer, &kLoopback);
}

bool fc_peer_parse(fc_str_t text, fc_peer_t *out_peer) {
  char copy[INET6_ADDRSTRLEN];
  if (text.size == 0 || text.size >= sizeof copy) return false;
  memcpy(copy, text.data, text.size);
  copy[text.size] = '\0';
  if (strlen(copy) != text.size) return false;
  struct in_addr v4;
  struct in6_addr v6;
  if (inet_pton(AF_INET, copy, &v4) == 1) {
    *out_peer = of_ipv4(&v4);
    return true;
  }
  if (inet_pton(AF_INET6, copy, &v6) != 1) return false;
  memcpy(out_peer->bytes, &v6, sizeof out_peer->bytes);
  return true;
}

void fc_peer_print(const fc_peer_t *peer, char out[FC_PEER_TEXT_SIZE]) {
  static const fc_peer_t kUnknown;
  _Static_assert(FC_PEER_TEXT_SIZE >= INET6_ADDRSTRLEN, "any address fits");
  out[0] = '\0';
  if (fc_peer_equal(peer, &kUnknown)) return;
  const bool v4 = is_ipv4(peer);
  inet_ntop(v4 ? AF_INET : AF_INET6, peer->bytes + (v4 ? IPV4_BITS / 8 : 0),
            out, FC_PEER_TEXT_SIZE);
}

bool fc_peer_is_address(fc_str_t name) {
  fc_peer_t peer;
  if (name.size > 2 && name.data[0] == '[') {
    name = fc_str_make(name.data + 1, name.size - 2);
    return memchr(name.data, ':', name.size) && fc_peer_parse(name, &peer);
  }
  return fc_peer_parse(name, &peer);
}

fc_peer_t fc_peer_share(const fc_peer_t *peer) {
  fc_peer_t share = *peer;
  if (!is_ipv4(peer)) memset(share.bytes + 8, 0, 8);
  return share;
}

// ---------------------------------------------------------------------------
// Networks

static bool parse_bits(fc_str_t text, unsigned limit, unsigned *out_bits) {
  unsigned bits = 0;
  if (text.size == 0 || text.size > 3) return false;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
    bits = bits * 10 + (unsigned)(text.data[i] - '0');
  }
  *out_bits = bits;
  return bits <= limit;
}

static bool parse_network(fc_str_t text, fc_network_t *out_network) {
  const char *slash = text.size ? memchr(text.data, '/', text.size) : NULL;
  const size_t size = slash ? (size_t)(slash - text.data) : text.size;
  fc_str_t address = fc_str_make(text.data, size);
  if (!fc_peer_parse(address, &out_network->address)) return false;
  // Whether the text is IPv6 decides what the prefix length counts: ::ffff:10.0.0.0/104
  // is the same network as 10.0.0.0/8.
  const bool v6 = memchr(address.data, ':', address.size) != NULL;
  unsigned bits = v6 ? 128 : 32;
  if (slash &&
      !parse_bits(fc_str_make(slash + 1, text.size - size - 1), bits, &bits)) {
    return false;
  }
  out_network->bits = (uint8_t)(v6 ? bits : bits + IPV4_BITS);
  return true;
}

fc_status_t fc_networks_parse(fc_str_t list, fc_networks_t *out_networks,
                              fc_error_t *err) {
  *out_networks = (fc_networks_t){0};
  while (list.size) {
    const fc_str_t item = fc_str_take(&list, ',');
    if (out_networks->count == FC_NETWORKS_MAX) {
      return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                     "more than %d networks are named", FC_NETWORKS_MAX);
    }
    if (parse_network(item, &out_networks->items[out_networks->count])) {
      out_networks->count++;
      continue;
    }
    char shown[80];
    fc_escape(shown, sizeof shown, 64, item);
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "'%s' is no network: ADDR or ADDR/BITS, such as 10.0.0.0/8 "
                   "or ::1",
                   shown);
  }
  return FC_OK;
}

static bool is_in(const fc_network_t *network, const fc_peer_t *peer) {
  const size_t whole = network->bits / 8u;
  if (memcmp(network->address.bytes, peer->bytes, whole) != 0) return false;
  const unsigned rest = network->bits % 8u;
  if (rest == 0) return true;
  return (network->address.bytes[whole] ^ peer->bytes[whole]) >> (8 - rest) ==
         0;
}

bool fc_networks_have(const fc_networks_t *networks, const fc_peer_t *peer) {
  for (uint32_t i = 0; i < networks->count; i++) {
    if (is_in(&networks->items[i], peer)) return true;
  }
  return false;
}
