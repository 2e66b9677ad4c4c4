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
  void *tls;  // OpenSSL's SSL; NULL: no TLS
} fc_wire_t;

// The trusted authorities, and the certificate of this program.
typedef struct fc_wire_rules_t {
  const char *host;         // the name that the server's certificate must have
  const char *ca;           // PEM; NULL: the authorities of the system
  const char *certificate;  // PEM; NULL: none
  const char *key;          // PEM; NULL: it is in the file of the certificate
  bool http2;               // HTTP/2 instead of HTTP/1.1, over TLS
} fc_wire_rules_t;

#define FC_WIRE_CLOSED ((fc_wire_t){.file = -1})

// Prepares TLS over wire->file. The rules of the first call are used for all connections.
// FC_CODE_JSON_SCHEMA: a file of the rules is wrong.
fc_status_t fc_wire_secure(fc_wire_t *wire, const fc_wire_rules_t *rules,
                           fc_error_t *err) FC_MUST_CHECK;
// Continues the TLS handshake. Returns 0 when it is finished (without TLS, at once),
// POLLIN or POLLOUT if that event must come first, or a negative number if it has failed:
// then *out_why gives the reason, valid until the next call. FC_WIRE_NO_TLS: what the
// server has sent is not TLS.
#define FC_WIRE_NO_TLS (-2)
int fc_wire_shake(fc_wire_t *wire, const char **out_why);

// Like send(2) and recv(2), with errno. EAGAIN: wait until the socket is ready.
ssize_t fc_wire_send(fc_wire_t *wire, const void *data, size_t size);
ssize_t fc_wire_recv(fc_wire_t *wire, void *data, size_t size);
// Returns TLS's reason for an EPROTO of fc_wire_send or fc_wire_recv.
const char *fc_wire_why(void);
// True if TLS has already read bytes that the caller has not: poll() would not report
// them.
bool fc_wire_has(const fc_wire_t *wire);
// Call it when the socket is readable. True: there are bytes for the caller, or the
// connection has ended.
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
