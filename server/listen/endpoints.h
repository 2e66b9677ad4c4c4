// SPDX-License-Identifier: Apache-2.0
//
// The endpoints: where the server listens. They come from --listen, the configuration
// file and the service manager, each with its socket and its policy. accept.h handles the
// clients. Loop thread.
#ifndef FARCALL_SERVER_LISTEN_ENDPOINTS_H_
#define FARCALL_SERVER_LISTEN_ENDPOINTS_H_

#include "config/address.h"
#include "config/module.h"
#include "http1/http1.h"
#include "obs/log.h"
#include "stream/listener.h"
#include "stream/tls.h"

// Certificate and key that a thread of libuv reads again.
typedef struct fc_keys_reading_t {
  uv_work_t work;
  bool working;
  bool again;  // the files may have changed since the thread began
  // The result.
  fc_status_t status;
  fc_error_t error;
  fc_tls_keys_t *keys;
} fc_keys_reading_t;

typedef struct fc_endpoints_t fc_endpoints_t;

typedef struct fc_endpoint_t {
  fc_endpoints_t *all;
  fc_listener_t listener;
  const char *token_file;  // NULL: no token is needed
  fc_tokens_t tokens;      // of that file; policy.tokens points here
  fc_tls_files_t tls_files;
  fc_tls_keys_t *tls_keys;  // NULL: the endpoint does not speak TLS
  fc_keys_reading_t reading;
  fc_policy_t policy;
  bool own;  // the user's own socket (own_socket.h), which no option asked for
  fc_address_t address;  // the address that the socket is bound to
  // The literal address, in brackets if it is IPv6; the path of a Unix socket.
  char host[sizeof(struct sockaddr_un)];
  int port;  // 0 for a Unix socket
} fc_endpoint_t;

// The endpoints of a loop.
struct fc_endpoints_t {
  // Set by the caller; borrowed until the end. fc_endpoints_listen does not use the last
  // three.
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
  uint64_t tls_untold;   // failed handshakes since then that were not logged
  uint64_t shortage_told_ms;
};

static inline const char *fc_endpoint_scheme(const fc_endpoint_t *endpoint) {
  return endpoint->tls_keys ? "https" : "http";
}

// Listens on the sockets that a service manager has passed, and on the addresses of
// --listen or of the configuration file. The default address is used only if no socket
// was passed. Beside addresses of --listen it also listens on the user's own socket
// (own_socket.h), if possible. Errors include FC_CODE_FORBIDDEN (an address needs
// --allow-insecure-bind), FC_CODE_NOT_ACCEPTABLE (it can't be read) and
// FC_CODE_MODULE_UNAVAILABLE (it can't be used).
fc_status_t fc_endpoints_listen(fc_endpoints_t *all,
                                fc_error_t *err) FC_MUST_CHECK;
// Call it when the modules are served. From now on clients of passed sockets, which
// waited for the modules, are accepted. Logs each endpoint and its number of tokens.
void fc_endpoints_open(fc_endpoints_t *all);
// Closes the user's own socket if machine code under these policies could connect to it
// (--sandbox=basic, off). Call it when the policies have changed.
void fc_endpoints_judge_own(fc_endpoints_t *all,
                            const fc_module_policies_t *policies);
// Closes the listening sockets. A passed socket stays open in the service manager, and
// its clients wait there. May be called more than once. fc_endpoints_deinit frees the
// memory after the loop has closed the handles.
void fc_endpoints_close(fc_endpoints_t *all);
// Frees the endpoints and the data of TLS. The loop must have closed their handles.
void fc_endpoints_deinit(fc_endpoints_t *all);

#endif  // FARCALL_SERVER_LISTEN_ENDPOINTS_H_
