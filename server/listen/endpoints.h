// SPDX-License-Identifier: Apache-2.0
//
// Where the server listens: the endpoints of --listen, of the configuration file and
// of the service manager, each with its socket and what it allows. Who connects there is
// accept.h's. Loop thread.
#ifndef FARCALL_SERVER_LISTEN_ENDPOINTS_H_
#define FARCALL_SERVER_LISTEN_ENDPOINTS_H_

#include "config/address.h"
#include "config/module.h"
#include "http1/http1.h"
#include "obs/log.h"
#include "stream/listener.h"
#include "stream/tls.h"

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

typedef struct fc_endpoints_t fc_endpoints_t;

typedef struct fc_endpoint_t {
  fc_endpoints_t *all;
  fc_listener_t listener;
  const char *token_file;  // NULL: it needs no tokens
  fc_tokens_t tokens;      // of that file; policy.tokens points here
  fc_tls_files_t tls_files;
  fc_tls_keys_t *tls_keys;  // NULL: no TLS is spoken there
  fc_keys_reading_t reading;
  fc_policy_t policy;
  bool own;              // own_socket.h: nobody asked for it
  fc_address_t address;  // that the socket is bound to
  // The literal address, in brackets if it is IPv6; the path of a Unix socket.
  char host[sizeof(struct sockaddr_un)];
  int port;  // 0: a Unix socket has none
} fc_endpoint_t;

// Those of a loop.
struct fc_endpoints_t {
  // Set by the caller; borrowed, and kept until the end. fc_endpoints_listen uses none of
  // the last three.
  uv_loop_t *uv;
  fc_allocator_t allocator;
  const fc_server_options_t *options;
  fc_log_t *log;
  fc_http1_t *http1;
  fc_server_t *server;
  fc_endpoint_t *rows;
  uint32_t count;
  fc_tls_t tls;          // of all endpoints that have keys
  uint64_t tls_told_ms;  // when a failed handshake was logged last
  uint64_t tls_untold;   // failed since then, and not logged
  uint64_t shortage_told_ms;
};

static inline const char *fc_endpoint_scheme(const fc_endpoint_t *endpoint) {
  return endpoint->tls_keys ? "https" : "http";
}

// Listens everywhere: on the sockets that a service manager has passed, if there are
// any, and on the addresses of --listen or of the configuration file; on the default
// address only if no socket was passed; beside addresses of --listen on the user's own
// socket (own_socket.h), if that can be had. Among the errors: FC_CODE_FORBIDDEN for an
// address that needs --allow-insecure-bind, FC_CODE_NOT_ACCEPTABLE for one that can't be
// read, FC_CODE_MODULE_UNAVAILABLE for one that can't be had.
fc_status_t fc_endpoints_listen(fc_endpoints_t *all,
                                fc_error_t *err) FC_MUST_CHECK;
// Call it when the modules are served: from now on clients of passed sockets, who had to
// wait for the modules, are accepted. Logs each endpoint, and how many tokens it has.
void fc_endpoints_open(fc_endpoints_t *all);
// Closes the user's own socket if machine code of these policies could connect to it
// (--sandbox=basic, off). Call it when they have changed.
void fc_endpoints_judge_own(fc_endpoints_t *all,
                            const fc_module_policies_t *policies);
// Closes the listening sockets. A passed one stays open in the service manager, and its
// clients wait there. More than once is allowed. The endpoints' memory is freed by
// fc_endpoints_deinit, when the loop has closed the handles.
void fc_endpoints_close(fc_endpoints_t *all);
// Frees the endpoints, whose handles the loop has closed, and what TLS needs.
void fc_endpoints_deinit(fc_endpoints_t *all);

#endif  // FARCALL_SERVER_LISTEN_ENDPOINTS_H_
