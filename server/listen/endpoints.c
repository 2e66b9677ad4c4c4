// SPDX-License-Identifier: Apache-2.0
#include "listen/endpoints.h"

#include <errno.h>
#include <fcntl.h>

#include "listen/accept.h"
#include "listen/certificates.h"
#include "listen/own_socket.h"
#include "listen/passed.h"
#include "listen/token_files.h"

static fc_status_t fail_listen(fc_str_t item, const fc_endpoint_t *endpoint,
                               int code, fc_error_t *err) {
  if (code == UV_EADDRINUSE) {
    return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                   "%.*s is in use by another program: choose another %s with "
                   "--listen",
                   FC_STR_ARG(item),
                   fc_address_is_unix(&endpoint->address) ? "path" : "port");
  }
  return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE, "cannot listen on %.*s: %s",
                 FC_STR_ARG(item), uv_strerror(code));
}

static uint32_t most_of(uint64_t number) {
  return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

// For a Unix socket neither the bind nor Host is checked: the permissions of its file say
// who may connect, and no page in a browser can connect to it.
static fc_status_t set_policy(fc_endpoint_t *endpoint,
                              const fc_listener_policy_t *said, fc_str_t item,
                              fc_error_t *err) {
  fc_policy_t *policy = &endpoint->policy;
  FC_TRY(fc_policy_init(policy, fc_str(said->allow_host),
                        fc_str(said->trusted_proxy), err));
  FC_TRY(fc_policy_set_origins(policy, fc_str(said->allow_origin), err));
  policy->admin = (uint8_t)said->admin;
  policy->client_calls = most_of(said->client_calls);
  policy->client_connections = most_of(said->client_connections);
  FC_TRY(fc_listener_priorities(said, &policy->priorities, err));
  FC_TRY(fc_token_files_open(endpoint, said, err));
  policy->local = policy->any_host = fc_address_is_unix(&endpoint->address);
  if (policy->local) {
    return fc_users_parse(fc_str(said->socket_users), &policy->users, err);
  }
  policy->loopback = fc_address_is_loopback(&endpoint->address);
  policy->tls = fc_listener_has_tls(item, said);
  return fc_policy_check_bind(fc_listener_is_guarded(item, said),
                              &endpoint->address, item, err);
}

// Notes the address in the form for the log and for the check of Host.
static void describe(fc_endpoint_t *endpoint) {
  endpoint->port = fc_address_print(&endpoint->address, endpoint->host,
                                    sizeof endpoint->host);
  endpoint->policy.bind = fc_str(endpoint->host);
}

static fc_status_t open_endpoint(fc_endpoint_t *endpoint, fc_str_t item,
                                 const fc_listener_policy_t *said,
                                 fc_error_t *err) {
  fc_address_t *address = &endpoint->address;
  const fc_listener_events_t events = fc_accept_events(endpoint);
  fc_socket_file_t file;
  FC_TRY(fc_address_parse(item, address, err));
  FC_TRY(set_policy(endpoint, said, item, err));
  FC_TRY(fc_certificates_open(endpoint, said, err));
  FC_TRY(fc_socket_file_parse(fc_str(said->socket_mode),
                              fc_str(said->socket_owner), &file, err));
  int code = fc_listener_open(&endpoint->listener, endpoint->all->uv,
                              &address->any, &file, &events);
  if (code) return fail_listen(item, endpoint, code, err);
  if (!fc_address_is_unix(address)) {
    // If the port was 0, the kernel has chosen one.
    socklen_t size = sizeof address->storage;
    if (getsockname(endpoint->listener.socket, &address->any, &size)) {
      return fail_listen(item, endpoint, -errno, err);
    }
  }
  describe(endpoint);
  return FC_OK;
}

static fc_status_t adopt_endpoint(fc_endpoint_t *endpoint, int socket,
                                  fc_error_t *err) {
  fc_listener_policy_t said;
  fc_address_t *address = &endpoint->address;
  socklen_t size = sizeof address->storage;
  const int flags = fcntl(socket, F_GETFL);
  if (flags < 0 || !fc_passed_listens(socket) ||
      getsockname(socket, &address->any, &size) ||
      (address->any.sa_family != AF_INET &&
       address->any.sa_family != AF_INET6 &&
       address->any.sa_family != AF_UNIX)) {
    return fc_fail(
        err, FC_CODE_MODULE_UNAVAILABLE,
        "descriptor %d, which LISTEN_FDS promises, is no TCP or Unix "
        "socket that listens",
        socket);
  }
  (void)fcntl(socket, F_SETFD, FD_CLOEXEC);
  (void)fcntl(socket, F_SETFL, flags | O_NONBLOCK);
  fc_listener_of_passed(endpoint->all->options,
                        fc_passed_name((uint32_t)(socket - FC_PASSED_FIRST)),
                        &said);
  FC_TRY(set_policy(endpoint, &said, FC_STR("an address of LISTEN_FDS"), err));
  FC_TRY(fc_certificates_open(endpoint, &said, err));
  describe(endpoint);
  const fc_listener_events_t events = fc_accept_events(endpoint);
  const int code = fc_listener_adopt(&endpoint->listener, endpoint->all->uv,
                                     socket, &address->any, &events);
  if (code) return fail_listen(fc_str(endpoint->host), endpoint, code, err);
  return FC_OK;
}

static fc_endpoint_t *next_endpoint(fc_endpoints_t *all) {
  fc_endpoint_t *endpoint = &all->rows[all->count++];
  endpoint->all = all;
  return endpoint;
}

// Can the module connect to the user's own socket? Machine code without a strict jail
// could, and would change the server with the rights of its user.
static bool may_connect(const fc_module_policy_t *policy) {
  return policy->sandbox == FC_SANDBOX_BASIC ||
         policy->sandbox == FC_SANDBOX_OFF;
}

static bool any_may_connect(const fc_server_options_t *options,
                            const fc_module_policies_t *policies) {
  if (options->no_native_kernels || options->worker_user[0]) return false;
  bool any = may_connect(&policies->others);
  for (uint32_t i = 0; i < policies->count; i++) {
    any |= may_connect(&policies->items[i]);
  }
  return any;
}

void fc_endpoints_judge_own(fc_endpoints_t *all,
                            const fc_module_policies_t *policies) {
  if (!any_may_connect(all->options, policies)) return;
  for (uint32_t i = 0; i < all->count; i++) {
    fc_endpoint_t *endpoint = &all->rows[i];
    if (!endpoint->own || !endpoint->listener.open) continue;
    fc_listener_close(&endpoint->listener);
    fc_log(all->log, FC_LOG_WARN,
           "no longer listening on unix:%s: --sandbox lets modules connect",
           endpoint->host);
  }
}

static bool is_safe(const fc_endpoints_t *all) {
  fc_module_policies_t policies;
  fc_error_t error;  // ignored here: logged where the policies are put in force
  if (fc_module_policies_init(&policies, all->allocator, all->options,
                              &error)) {
    return false;
  }
  const bool safe = !any_may_connect(all->options, &policies);
  fc_module_policies_deinit(&policies);
  return safe;
}

// Opens the user's own socket beside --listen. It does not if --listen has a Unix socket,
// if nobody may change the server, or if a module could connect. Nobody asked for this
// socket, so a failure is no error.
static void listen_for_own(fc_endpoints_t *all) {
  fc_listener_policy_t said;
  fc_error_t error;
  char item[FC_OWN_SOCKET_MAX];
  fc_listener_of_all(all->options, &said);
  if (said.admin == FC_ADMIN_OFF || !is_safe(all)) return;
  for (uint32_t i = 0; i < all->count; i++) {
    if (all->rows[i].policy.local) return;
  }
  if (!fc_own_socket(all->rows[0].host, all->rows[0].port, item)) return;
  said.socket_mode = "0600";
  said.socket_owner = "";
  fc_endpoint_t *endpoint = next_endpoint(all);
  if (open_endpoint(endpoint, fc_str(item), &said, &error) == FC_OK) {
    endpoint->own = true;
    return;
  }
  fc_tokens_close(&endpoint->tokens);
  *endpoint = (fc_endpoint_t){0};
  all->count--;
}

// Passed sockets replace the default address, but not an address that the user gave.
fc_status_t fc_endpoints_listen(fc_endpoints_t *all, fc_error_t *err) {
  const fc_server_options_t *options = all->options;
  const bool of_file = fc_listeners_of_file(options);
  fc_listener_policy_t said;
  fc_str_t item, name;
  uint32_t passed, count = 0;
  FC_TRY(fc_passed_count(&passed, err));
  FC_TRY(fc_passed_check(options, passed, err));
  const bool asked =
      !passed || of_file ||
      options->origins[FC_OPTION_listen].from != FC_ORIGIN_DEFAULT;
  while (asked && fc_listener_at(options, count, &item, &said)) count++;
  all->rows = fc_alloc_array(all->allocator,
                             // One endpoint more, for the user's own socket.
                             (size_t)count + passed + 1, sizeof *all->rows);
  if (!all->rows) return fc_fail_memory(err);
  for (uint32_t i = 0; i < passed; i++) {
    FC_TRY(adopt_endpoint(next_endpoint(all), FC_PASSED_FIRST + (int)i, err));
  }
  for (uint32_t i = 0; i < count; i++) {
    (void)fc_listener_at(options, i, &item, &said);
    if (of_file && fc_listener_is_passed(item, &name)) continue;
    FC_TRY(open_endpoint(next_endpoint(all), item, &said, err));
  }
  if (count && !passed && !of_file) listen_for_own(all);
  return fc_accept_init_tls(all, err);
}

void fc_endpoints_open(fc_endpoints_t *all) {
  fc_certificates_note(all);
  for (uint32_t i = 0; i < all->count; i++) {
    fc_endpoint_t *endpoint = &all->rows[i];
    if (!endpoint->listener.open) continue;  // closed by fc_endpoints_judge_own
    fc_listener_start(&endpoint->listener);
    if (fc_address_is_unix(&endpoint->address)) {
      fc_log(all->log, FC_LOG_INFO, "listening on unix:%s", endpoint->host);
    } else {
      fc_log(all->log, FC_LOG_INFO, "listening on %s://%s:%d",
             fc_endpoint_scheme(endpoint), endpoint->host, endpoint->port);
    }
    fc_token_files_tell(endpoint);
    fc_certificates_tell(endpoint);
  }
}

void fc_endpoints_close(fc_endpoints_t *all) {
  for (uint32_t i = 0; i < all->count; i++) {
    fc_listener_close(&all->rows[i].listener);
  }
}

void fc_endpoints_deinit(fc_endpoints_t *all) {
  for (uint32_t i = 0; i < all->count; i++) {
    fc_tokens_close(&all->rows[i].tokens);
    fc_tls_keys_close(all->rows[i].tls_keys);
  }
  fc_free(all->allocator, all->rows);
  fc_tls_deinit(&all->tls);
}
