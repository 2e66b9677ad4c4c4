// SPDX-License-Identifier: Apache-2.0
//
// Where the server listens: the endpoints of --listen, of the configuration file and
// of the service manager, each with its socket and what it allows. Who connects there is
// accept.h's. For server.c and end.c; loop thread.
#ifndef FARCALL_SERVER_LISTEN_H_
#define FARCALL_SERVER_LISTEN_H_

#include "config/address.h"
#include "server.h"
#include "stream/listener.h"

// Certificate and key, read again in a thread of libuv.
typedef struct fc_keys_reading_t {
  uv_work_t work;
  bool working;
  bool again;  // the files may have changed since the thread began
  // What came of it
  fc_status_t status;
  fc_error_t error;
  fc_tls_keys_t *keys;
} fc_keys_reading_t;

typedef struct fc_endpoint_t {
  fc_loop_t *loop;
  fc_listener_t listener;
  const char *token_file;  // NULL: it needs no tokens
  fc_tokens_t tokens;      // of that file; policy.tokens points here
  fc_tls_files_t tls_files;
  fc_tls_keys_t *tls_keys;  // NULL: no TLS is spoken there
  fc_keys_reading_t reading;
  fc_policy_t policy;
  fc_address_t address;  // that the socket is bound to
  // The literal address, in brackets if it is IPv6; the path of a Unix socket.
  char host[sizeof(struct sockaddr_un)];
  int port;  // 0: a Unix socket has none
} fc_endpoint_t;

// Listens everywhere: on the sockets that a service manager has passed, if there are
// any, and on the addresses of --listen or of the configuration file; on the default
// address only if no socket was passed. Among the errors: FC_CODE_FORBIDDEN for an
// address that needs --allow-insecure-bind, FC_CODE_NOT_ACCEPTABLE for one that can't be
// read, FC_CODE_MODULE_UNAVAILABLE for one that can't be had.
fc_status_t fc_loop_listen(fc_loop_t *loop, fc_error_t *err) FC_MUST_CHECK;
// Call it when the modules are served: from now on clients of passed sockets, who had to
// wait for the modules, are accepted. Logs each endpoint, and how many tokens it has.
void fc_loop_open(fc_loop_t *loop);
// Closes the listening sockets. A passed one stays open in the service manager, and its
// clients wait there. More than once is allowed. The endpoints' memory is freed by
// fc_loop_free_endpoints, when the loop has closed the handles.
void fc_loop_stop_listening(fc_loop_t *loop);
// Frees the endpoints, whose handles the loop has closed, and what TLS needs.
void fc_loop_free_endpoints(fc_loop_t *loop);

#endif  // FARCALL_SERVER_LISTEN_H_
