// SPDX-License-Identifier: Apache-2.0
//
// A connection to a server: a non-blocking socket, or TLS over one. wire.c has the common
// part; wire_tls.c speaks TLS; wire_none.c refuses TLS in a build without it
// (-DFARCALL_TLS=OFF). One thread.
#ifndef FARCALL_CLI_WIRE_H_
#define FARCALL_CLI_WIRE_H_

#include <sys/types.h>

#include "farcall/base.h"

typedef struct fc_wire_t {
  int file;   // -1: closed
  void *tls;  // OpenSSL's SSL, NULL: none is spoken
} fc_wire_t;

// The trusted authorities, and the certificate of this program.
typedef struct fc_wire_rules_t {
  const char *host;         // that the server's certificate must name
  const char *ca;           // PEM; NULL: the authorities of the system
  const char *certificate;  // PEM; NULL: none
  const char *key;          // PEM; NULL: it is in the file of the certificate
  bool http2;               // spoken over TLS, in place of HTTP/1.1
} fc_wire_rules_t;

#define FC_WIRE_CLOSED ((fc_wire_t){.file = -1})

// Prepares TLS over wire->file. The rules of the first call are used for all.
// FC_CODE_JSON_SCHEMA: a file of the rules is wrong.
fc_status_t fc_wire_secure(fc_wire_t *wire, const fc_wire_rules_t *rules,
                           fc_error_t *err) FC_MUST_CHECK;
// Continues the handshake. Returns 0 when it is finished (at once, without TLS), POLLIN
// or POLLOUT for the event to wait for, or a negative number if it has failed: then
// *out_why gives the reason, valid until the next call.
int fc_wire_shake(fc_wire_t *wire, const char **out_why);

// Like send(2) and recv(2), with errno; EAGAIN: the socket must become ready first.
ssize_t fc_wire_send(fc_wire_t *wire, const void *data, size_t size);
ssize_t fc_wire_recv(fc_wire_t *wire, void *data, size_t size);
// Returns TLS's reason for EPROTO from these two.
const char *fc_wire_why(void);
// Have bytes been received already, so that the socket may not become readable?
bool fc_wire_has(const fc_wire_t *wire);
// The socket is readable: are there bytes for the caller, or has the connection ended?
bool fc_wire_is_answered(fc_wire_t *wire);
// Accepts a closed wire.
void fc_wire_close(fc_wire_t *wire);

// ---------------------------------------------------------------------------
// For TLS, used by wire.c

ssize_t fc_wire_tls_send(fc_wire_t *wire, const void *data, size_t size);
ssize_t fc_wire_tls_recv(fc_wire_t *wire, void *data, size_t size);
int fc_wire_tls_shake(fc_wire_t *wire, const char **out_why);
bool fc_wire_tls_has(const fc_wire_t *wire);
bool fc_wire_tls_is_answered(fc_wire_t *wire);
void fc_wire_tls_close(fc_wire_t *wire);

#endif  // FARCALL_CLI_WIRE_H_
