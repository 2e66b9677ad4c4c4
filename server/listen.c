// SPDX-License-Identifier: Apache-2.0
#include "listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/limits.h"
#include "config/listener.h"

#define TELL_MS 1000u  // least time between two such lines of the log

// ---------------------------------------------------------------------------
// Clients that connect

static void tell_shortage(fc_loop_t *loop, const char *what) {
  uint64_t now = uv_now(&loop->uv);
  if (now < loop->shortage_told_ms + TELL_MS) return;
  loop->shortage_told_ms = now;
  fc_log(&loop->log, FC_LOG_WARN, "%s, with %u connections", what,
         loop->server.connections);
}

// Answers and closes the socket; needs no memory.
static void refuse(fc_loop_t *loop, int socket, const fc_error_t *error) {
  char text[FC_HTTP1_REFUSAL_MAX];
  fc_socket_tell(socket, fc_http1_refusal(&loop->http1, error, text));
}

static void on_socket(void *context, int socket,
                      const struct sockaddr *address) {
  const fc_endpoint_t *endpoint = context;
  fc_loop_t *loop = endpoint->loop;
  const fc_socket_source_t source = {.uv = &loop->uv, .socket = socket};
  const fc_client_t client = {.streams = endpoint->listener.streams,
                              .source = &source,
                              .policy = &endpoint->policy,
                              .address = fc_peer_of_socket_address(address)};
  if (fc_http1_accept(&loop->http1, &client)) return;
  fc_error_t error;
  (void)fc_fail_memory(&error);
  refuse(loop, socket, &error);
}

static void on_last_socket(void *context, int socket) {
  const fc_endpoint_t *endpoint = context;
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_OVERLOADED,
                "no file descriptor is left for a connection");
  tell_shortage(endpoint->loop, error.message);
  refuse(endpoint->loop, socket, &error);
}

static void on_wait(void *context, int error) {
  const fc_endpoint_t *endpoint = context;
  tell_shortage(endpoint->loop, uv_strerror(-error));
}

// ---------------------------------------------------------------------------
// Endpoints

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

// For a Unix socket nothing is checked: the permissions of its file say who may
// connect, and no page of a browser can have it for its address.
static fc_status_t set_policy(fc_endpoint_t *endpoint,
                              const fc_listener_policy_t *said, fc_str_t item,
                              fc_error_t *err) {
  fc_policy_t *policy = &endpoint->policy;
  FC_TRY(fc_policy_init(policy, fc_str(said->allow_host),
                        fc_str(said->trusted_proxy), err));
  policy->admin = (uint8_t)said->admin;
  policy->local = policy->any_host = fc_address_is_unix(&endpoint->address);
  if (policy->local) return FC_OK;
  policy->loopback = fc_address_is_loopback(&endpoint->address);
  return fc_policy_check_bind(said->allow_insecure_bind, &endpoint->address,
                              item, err);
}

// Notes the address as the log and the check of Host have it.
static void describe(fc_endpoint_t *endpoint) {
  endpoint->port = fc_address_print(&endpoint->address, endpoint->host,
                                    sizeof endpoint->host);
  endpoint->policy.bind = fc_str(endpoint->host);
}

static fc_listener_events_t events_of(fc_endpoint_t *endpoint) {
  return (fc_listener_events_t){.on_socket = on_socket,
                                .on_last_socket = on_last_socket,
                                .on_wait = on_wait,
                                .context = endpoint};
}

static fc_status_t open_endpoint(fc_endpoint_t *endpoint, fc_str_t item,
                                 const fc_listener_policy_t *said,
                                 fc_error_t *err) {
  fc_address_t *address = &endpoint->address;
  const fc_listener_events_t events = events_of(endpoint);
  fc_socket_file_t file;
  FC_TRY(fc_address_parse(item, address, err));
  FC_TRY(set_policy(endpoint, said, item, err));
  FC_TRY(fc_socket_file_parse(fc_str(said->socket_mode),
                              fc_str(said->socket_owner), &file, err));
  int code = fc_listener_open(&endpoint->listener, &endpoint->loop->uv,
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

// ---------------------------------------------------------------------------
// Sockets that are there already (sd_listen_fds(3))

#define FIRST_PASSED 3

// How many sockets a service manager has passed to this process.
static fc_status_t count_passed(uint32_t *out_count, fc_error_t *err) {
  const char *pid = getenv("LISTEN_PID");
  const char *text = getenv("LISTEN_FDS");
  *out_count = 0;
  if (!pid || !text || strtoull(pid, NULL, 10) != (uint64_t)getpid()) {
    return FC_OK;
  }
  const unsigned long long count = strtoull(text, NULL, 10);
  if (count > FC_LIMIT_PASSED) {
    return fc_fail(err, FC_CODE_MODULE_UNAVAILABLE,
                   "LISTEN_FDS promises %llu sockets; at most %d can be passed",
                   count, FC_LIMIT_PASSED);
  }
  *out_count = (uint32_t)count;
  return FC_OK;
}

static bool is_listening(int socket) {
  int type = 0, listens = 0;
  socklen_t size = sizeof type;
  if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size)) return false;
  size = sizeof listens;
  if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size)) {
    return false;
  }
  return type == SOCK_STREAM && listens;
}

// What the service manager calls a socket, counted from 0; "" if nothing.
static fc_str_t passed_name(uint32_t index) {
  const char *names = getenv("LISTEN_FDNAMES");
  fc_str_t rest = fc_str(names ? names : ""), name = fc_str_take(&rest, ':');
  while (index--) name = fc_str_take(&rest, ':');
  return name;
}

// Each listener that is to have passed sockets has one.
static fc_status_t check_passed(const fc_loop_t *loop, uint32_t passed,
                                fc_error_t *err) {
  const fc_config_file_t *file = &loop->options->file;
  fc_str_t name;
  if (!passed && !fc_listeners_of_file(loop->options)) return FC_OK;
  for (size_t i = 0; i < file->listener_count; i++) {
    const char *item = file->listeners[i].address;
    if (!fc_listener_is_passed(fc_str(item), &name)) continue;
    bool found = passed && !name.size;
    for (uint32_t k = 0; k < passed && !found; k++) {
      found = fc_str_equal(passed_name(k), name);
    }
    if (found) continue;
    return fc_fail(
        err, FC_CODE_MODULE_UNAVAILABLE,
        "listener '%s': LISTEN_FDS and LISTEN_FDNAMES pass no such socket",
        item);
  }
  return FC_OK;
}

static fc_status_t adopt_endpoint(fc_endpoint_t *endpoint, int socket,
                                  fc_error_t *err) {
  fc_listener_policy_t said;
  fc_address_t *address = &endpoint->address;
  socklen_t size = sizeof address->storage;
  const int flags = fcntl(socket, F_GETFL);
  if (flags < 0 || !is_listening(socket) ||
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
  fc_listener_of_passed(endpoint->loop->options,
                        passed_name((uint32_t)(socket - FIRST_PASSED)), &said);
  FC_TRY(set_policy(endpoint, &said, FC_STR("an address of LISTEN_FDS"), err));
  describe(endpoint);
  const fc_listener_events_t events = events_of(endpoint);
  const int code = fc_listener_adopt(&endpoint->listener, &endpoint->loop->uv,
                                     socket, &address->any, &events);
  if (code) return fail_listen(fc_str(endpoint->host), endpoint, code, err);
  return FC_OK;
}

static fc_endpoint_t *next_endpoint(fc_loop_t *loop) {
  fc_endpoint_t *endpoint = &loop->endpoints[loop->endpoint_count++];
  endpoint->loop = loop;
  return endpoint;
}

// Sockets that were passed take the place of the default address, not of an
// address that somebody wrote down.
fc_status_t fc_loop_listen(fc_loop_t *loop, fc_error_t *err) {
  const fc_server_options_t *options = loop->options;
  const bool of_file = fc_listeners_of_file(options);
  fc_listener_policy_t said;
  fc_str_t item, name;
  uint32_t passed, count = 0;
  FC_TRY(count_passed(&passed, err));
  FC_TRY(check_passed(loop, passed, err));
  const bool asked =
      !passed || of_file ||
      options->origins[FC_OPTION_listen].from != FC_ORIGIN_DEFAULT;
  while (asked && fc_listener_at(options, count, &item, &said)) count++;
  loop->endpoints = fc_alloc_array(loop->allocator, (size_t)count + passed,
                                   sizeof *loop->endpoints);
  if (!loop->endpoints) return fc_fail_memory(err);
  for (uint32_t i = 0; i < passed; i++) {
    FC_TRY(adopt_endpoint(next_endpoint(loop), FIRST_PASSED + (int)i, err));
  }
  for (uint32_t i = 0; i < count; i++) {
    (void)fc_listener_at(options, i, &item, &said);
    if (of_file && fc_listener_is_passed(item, &name)) continue;
    FC_TRY(open_endpoint(next_endpoint(loop), item, &said, err));
  }
  return FC_OK;
}

void fc_loop_open(fc_loop_t *loop) {
  for (uint32_t i = 0; i < loop->endpoint_count; i++) {
    fc_endpoint_t *endpoint = &loop->endpoints[i];
    fc_listener_start(&endpoint->listener);
    if (fc_address_is_unix(&endpoint->address)) {
      fc_log(&loop->log, FC_LOG_INFO, "listening on unix:%s", endpoint->host);
    } else {
      fc_log(&loop->log, FC_LOG_INFO, "listening on http://%s:%d",
             endpoint->host, endpoint->port);
    }
  }
}

void fc_loop_stop_listening(fc_loop_t *loop) {
  for (uint32_t i = 0; i < loop->endpoint_count; i++) {
    fc_listener_close(&loop->endpoints[i].listener);
  }
}
