// SPDX-License-Identifier: Apache-2.0
//
// An address to listen on (--listen, "listeners" of the file), as text and as the kernel
// stores it. Only the name localhost is resolved.
#ifndef FARCALL_SERVER_CONFIG_ADDRESS_H_
#define FARCALL_SERVER_CONFIG_ADDRESS_H_

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "farcall/base.h"

typedef union fc_address_t {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
  struct sockaddr_un local;
  struct sockaddr_storage storage;
} fc_address_t;

// Reads "127.0.0.1:8000", "[::1]:8000", "localhost:8000" or ":8000" (every IPv4
// address), with or without "http://" or "https://" in front; or
// "unix:/run/farcall.sock". FC_CODE_NOT_ACCEPTABLE: the text is none of these.
fc_status_t fc_address_parse(fc_str_t text, fc_address_t *out_address,
                             fc_error_t *err) FC_MUST_CHECK;
// Is it a Unix socket? A Unix socket has no host name, and only programs of this
// machine that may open its file can reach it.
static inline bool fc_address_is_unix(const fc_address_t *address) {
  return address->any.sa_family == AF_UNIX;
}
// Can only programs of this machine reach the address? Must not be called for Unix
// sockets.
bool fc_address_is_loopback(const fc_address_t *address);
// Writes the literal address, in brackets if it is IPv6, or the path of a Unix socket.
// Returns the port; 0 for a Unix socket.
int fc_address_print(const fc_address_t *address, char *out, size_t capacity);
// Returns the host name in "name", "name:port", "[v6]" or "[v6]:port", brackets included;
// "" if `host` has none of these forms.
fc_str_t fc_address_host_name(fc_str_t host);

#endif  // FARCALL_SERVER_CONFIG_ADDRESS_H_
