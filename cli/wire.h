// SPDX-License-Identifier: Apache-2.0
//
// A connection to a server: a socket that does not block, or TLS over it. wire.c has
// what both share; wire_tls.c speaks TLS, and wire_none.c refuses to, in a build without
// it (-DFARCALL_TLS=OFF). One thread.
#ifndef FARCALL_CLI_WIRE_H_
#define FARCALL_CLI_WIRE_H_

#include <sys/types.h>

#include "farcall/base.h"

typedef struct fc_wire_t {
  int file;   // -1: closed
  void *tls;  // OpenSSL's SSL, NULL: none is spoken
} fc_wire_t;

// Who is trusted, and who this program is.
typedef struct fc_wire_rules_t {
  const char *host;         // that the server's certificate must name
  const char *ca;           // PEM; NULL: the authorities of the system
  const char *certificate;  // PEM; NULL: none
  const char *key;          // PEM; NULL: it is in the file of the certificate
  bool http2;               // spoken over TLS, in place of HTTP/1.1
} fc_wire_rules_t;

#define FC_WIRE_CLOSED ((fc_wire_t){.file = -1})

// Prepares TLS over wire->file. The rules of the first call hold for all.
// FC_CODE_JSON_SCHEMA: a file of the rules is wrong.
fc_status_t fc_wire_secure(fc_wire_t *wire, const fc_wire_rules_t *rules,
                           fc_error_t *err) FC_MUST_CHECK;
// Goes on with the handshake. Returns 0 when it is over (at once, without TLS), POLLIN
// or POLLOUT for what must come first, or a negative number when it has failed: then
// *out_why says why, until the next call.
int fc_wire_shake(fc_wire_t *wire, const char **out_why);

// As send(2) and recv(2), with errno: EAGAIN when the socket must be ready first.
ssize_t fc_wire_send(fc_wire_t *wire, const void *data, size_t size);
ssize_t fc_wire_recv(fc_wire_t *wire, void *data, size_t size);
// What EPROTO of these two means: the reason that TLS has for it.
const char *fc_wire_why(void);
// Are there bytes to receive that came already, so that the socket may stay silent?
bool fc_wire_has(const fc_wire_t *wire);
// The socket has something to read: is it bytes for the caller, or the end?
bool fc_wire_is_answered(fc_wire_t *wire);
// A closed one is allowed.
void fc_wire_close(fc_wire_t *wire);

// ---------------------------------------------------------------------------
// Of TLS, for wire.c

ssize_t fc_wire_tls_send(fc_wire_t *wire, const void *data, size_t size);
ssize_t fc_wire_tls_recv(fc_wire_t *wire, void *data, size_t size);
int fc_wire_tls_shake(fc_wire_t *wire, const char **out_why);
bool fc_wire_tls_has(const fc_wire_t *wire);
bool fc_wire_tls_is_answered(fc_wire_t *wire);
void fc_wire_tls_close(fc_wire_t *wire);

#endif  // FARCALL_CLI_WIRE_H_
