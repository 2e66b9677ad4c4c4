// SPDX-License-Identifier: Apache-2.0
#include "listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "config/limits.h"
#include "config/listener.h"
#include "epoll.h"

// Least time between two log lines about shortages, and about failed handshakes.
#define TELL_MS 1000u

// ---------------------------------------------------------------------------
// Clients that connect

void fc_loop_tell_shortage(fc_loop_t *loop, const char *what) {
  uint64_t now = uv_now(&loop->uv);
  if (now < loop->shortage_told_ms + TELL_MS) return;
  loop->shortage_told_ms = now;
  fc_log(&loop->log, FC_LOG_WARN, "%s, with %u connections", what,
         loop->server.connections);
}

// Answers and closes the socket; needs no memory. A client that speaks TLS gets no
// answer, because it would not understand one without TLS.
static void refuse(const fc_endpoint_t *endpoint, int socket,
                   const fc_error_t *error) {
  char text[FC_HTTP1_REFUSAL_MAX];
  endpoint->loop->server.connections_refused++;
  const fc_str_t answer = fc_http1_refusal(&endpoint->loop->http1, error, text);
  fc_socket_tell(socket, endpoint->tls_keys ? FC_STR("") : answer);
}

static void on_tls_failed(void *context, const fc_peer_t *address,
                          fc_tls_failure_t why, const char *text) {
  static const char *const kNames[] = {
#define FC_TLS_FAILURE(id, name) name,
#include "obs/tls.def"
#undef FC_TLS_FAILURE
  };
  fc_loop_t *loop = context;
  const uint64_t now = uv_now(&loop->uv);
  char peer[FC_PEER_TEXT_SIZE];
  if (now < loop->tls_told_ms + TELL_MS) {
    loop->tls_untold++;
    return;
  }
  fc_peer_print(address, peer);
  const fc_log_field_t fields[] = {
      FC_LOG_TEXT("cause", fc_str(kNames[why])),
      FC_LOG_TEXT("reason", fc_str(text)),
      FC_LOG_TEXT("peer", fc_str(peer)),
      FC_LOG_NUMBER("others", loop->tls_untold),
  };
  fc_log_fields(&loop->log, FC_LOG_WARN, FC_STR("a TLS handshake has failed"),
                fields, FC_ARRAY_COUNT(fields));
  loop->tls_told_ms = now;
  loop->tls_untold = 0;
}

static void refuse_unwatched(const fc_endpoint_t *endpoint, int socket) {
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_OVERLOADED,
                "the kernel has no room to watch a connection: %s",
                strerror(errno));
  fc_loop_tell_shortage(endpoint->loop, error.message);
  refuse(endpoint, socket, &error);
}

static void on_socket(void *context, int socket,
                      const struct sockaddr *address) {
  const fc_endpoint_t *endpoint = context;
  fc_loop_t *loop = endpoint->loop;
  const bool tls = endpoint->tls_keys != NULL;
  if (!fc_epoll_join(&loop->epoll, socket)) {
    refuse_unwatched(endpoint, socket);
    return;
  }
  if (tls) fc_tls_keys_renew(endpoint->tls_keys, uv_now(&loop->uv));
  const fc_tls_source_t source = {
      .socket = {.uv = &loop->uv, .socket = socket},
      .below = endpoint->listener.streams,
      .tls = &loop->tls,
      .keys = endpoint->tls_keys,
      .address = fc_peer_of_socket_address(address)};
  const fc_client_t client = {
      .streams = tls ? &fc_stream_tls : endpoint->listener.streams,
      .source = tls ? (const void *)&source : &source.socket,
      .policy = &endpoint->policy,
      .address = source.address,
      .user = endpoint->policy.local
                  ? fc_users_of_socket(&endpoint->policy.users, socket)
                  : (fc_known_user_t){0}};
  if (fc_http1_accept(&loop->http1, &client)) return;
  fc_error_t error;
  (void)fc_fail_memory(&error);
  refuse(endpoint, socket, &error);
}

static void on_last_socket(void *context, int socket) {
  const fc_endpoint_t *endpoint = context;
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_OVERLOADED,
                "no file descriptor is left for a connection");
  fc_loop_tell_shortage(endpoint->loop, error.message);
  refuse(endpoint, socket, &error);
}

static void on_wait(void *context, int error) {
  const fc_endpoint_t *endpoint = context;
  fc_loop_tell_shortage(endpoint->loop, uv_strerror(-error));
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

static fc_status_t open_tokens(fc_endpoint_t *endpoint,
                               const fc_listener_policy_t *said,
                               fc_error_t *err) {
  if (!*said->token_file) return FC_OK;
  endpoint->token_file = said->token_file;
  endpoint->policy.tokens = &endpoint->tokens;
  return fc_tokens_open(&endpoint->tokens, said->token_file, err);
}

static uint32_t most_of(uint64_t number) {
  return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

// For a Unix socket neither the bind nor Host is checked: the permissions of its file
// say who may connect, and no page of a browser can have it for its address.
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
  FC_TRY(open_tokens(endpoint, said, err));
  policy->local = policy->any_host = fc_address_is_unix(&endpoint->address);
  if (policy->local) {
    return fc_users_parse(fc_str(said->socket_users), &policy->users, err);
  }
  policy->loopback = fc_address_is_loopback(&endpoint->address);
  policy->tls = fc_listener_has_tls(item, said);
  return fc_policy_check_bind(fc_listener_is_guarded(item, said),
                              &endpoint->address, item, err);
}

static fc_tls_files_t files_of(const fc_listener_policy_t *said) {
  return (fc_tls_files_t){.certificate = said->tls_cert,
                          .key = said->tls_key,
                          .client_ca = said->client_ca};
}

// Called after set_policy, which says in policy.tls whether TLS is spoken.
static fc_status_t open_keys(fc_endpoint_t *endpoint,
                             const fc_listener_policy_t *said,
                             fc_error_t *err) {
  if (!endpoint->policy.tls) return FC_OK;
  endpoint->tls_files = files_of(said);
  return fc_tls_keys_open(&endpoint->tls_files, endpoint->loop->allocator,
                          &endpoint->tls_keys, err);
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
  FC_TRY(open_keys(endpoint, said, err));
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

// The name that the service manager gave its socket `index`, from 0; "" if none.
static fc_str_t passed_name(uint32_t index) {
  const char *names = getenv("LISTEN_FDNAMES");
  fc_str_t rest = fc_str(names ? names : ""), name = fc_str_take(&rest, ':');
  while (index--) name = fc_str_take(&rest, ':');
  return name;
}

// Checks that each listener of the file that is to have passed sockets has one.
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
  FC_TRY(open_keys(endpoint, &said, err));
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

// Handshakes get half of --connections and one, and FC_LIMIT_HANDSHAKES at most, so that
// they do not keep other clients out.
static fc_status_t init_tls(fc_loop_t *loop, fc_error_t *err) {
  const uint64_t half = loop->options->connections / 2;
  bool any = false;
  for (uint32_t i = 0; i < loop->endpoint_count; i++) {
    any |= loop->endpoints[i].tls_keys != NULL;
  }
  if (!any) return FC_OK;
  loop->tls.on_failed = on_tls_failed;
  loop->tls.context = loop;
  loop->tls.handshake_ms = loop->options->head_timeout;
  loop->tls.handshake_max =
      half < FC_LIMIT_HANDSHAKES ? (uint32_t)half + 1 : FC_LIMIT_HANDSHAKES;
  return fc_tls_init(&loop->tls, &loop->uv, loop->allocator, err);
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
  return init_tls(loop, err);
}

static void tell_tokens(const fc_endpoint_t *endpoint) {
  const fc_policy_t *policy = &endpoint->policy;
  fc_log_t *log = &endpoint->loop->log;
  if (!policy->tokens) return;
  fc_log(log, FC_LOG_INFO, "%s has %u tokens", endpoint->host,
         policy->tokens->count);
  if (policy->tokens->others_read) {
    fc_log(log, FC_LOG_WARN,
           "%s can be read by others than its owner: names and scopes, but no "
           "secret, are in it",
           endpoint->token_file);
  }
  if (!policy->local && !policy->loopback && !policy->tls) {
    fc_log(log, FC_LOG_WARN,
           "%s has no TLS: whoever sees the traffic learns the tokens",
           endpoint->host);
  }
}

// Holds the certificate now, and is its end far away?
static bool will_last(const fc_tls_keys_t *keys) {
  int64_t begin_s, end_s;
  const int64_t now_s = (int64_t)time(NULL);
  fc_tls_keys_dates(keys, &begin_s, &end_s);
  return now_s >= begin_s && end_s - now_s > FC_LIMIT_CERTIFICATE_S;
}

// A server begins with a certificate that has ended: clients decide what they take.
static void tell_dates(const fc_endpoint_t *endpoint) {
  char dates[FC_TLS_DATES_MAX];
  if (!endpoint->tls_keys || will_last(endpoint->tls_keys)) return;
  (void)fc_tls_keys_hold(endpoint->tls_keys, time(NULL), dates);
  fc_log(&endpoint->loop->log, FC_LOG_WARN,
         "https://%s:%d has a certificate that %s", endpoint->host,
         endpoint->port, dates);
}

static void note_dates(fc_loop_t *loop) {
  fc_certificates_t dates = {0, INT64_MIN, INT64_MAX};
  for (uint32_t i = 0; i < loop->endpoint_count; i++) {
    int64_t begin_s, end_s;
    if (!loop->endpoints[i].tls_keys) continue;
    fc_tls_keys_dates(loop->endpoints[i].tls_keys, &begin_s, &end_s);
    if (begin_s > dates.begin_s) dates.begin_s = begin_s;
    if (end_s < dates.end_s) dates.end_s = end_s;
    dates.count++;
  }
  loop->server.certificates = dates;
}

void fc_loop_open(fc_loop_t *loop) {
  note_dates(loop);
  for (uint32_t i = 0; i < loop->endpoint_count; i++) {
    fc_endpoint_t *endpoint = &loop->endpoints[i];
    const char *scheme = endpoint->tls_keys ? "https" : "http";
    fc_listener_start(&endpoint->listener);
    fc_notify_at(&loop->notify, scheme, endpoint->host, endpoint->port);
    if (fc_address_is_unix(&endpoint->address)) {
      fc_log(&loop->log, FC_LOG_INFO, "listening on unix:%s", endpoint->host);
    } else {
      fc_log(&loop->log, FC_LOG_INFO, "listening on %s://%s:%d", scheme,
             endpoint->host, endpoint->port);
    }
    tell_tokens(endpoint);
    tell_dates(endpoint);
  }
}

fc_status_t fc_listen_check_tokens(const fc_server_options_t *options,
                                   fc_error_t *err) {
  fc_listener_policy_t said;
  fc_str_t item;
  for (uint32_t i = 0; fc_listener_at(options, i, &item, &said); i++) {
    fc_tokens_t tokens;
    if (!*said.token_file) continue;
    FC_TRY(fc_tokens_open(&tokens, said.token_file, err));
    fc_tokens_close(&tokens);
  }
  return FC_OK;
}

void fc_loop_reload_tokens(fc_loop_t *loop) {
  for (uint32_t i = 0; i < loop->endpoint_count; i++) {
    fc_endpoint_t *endpoint = &loop->endpoints[i];
    fc_tokens_t tokens;
    fc_error_t error;
    if (!endpoint->policy.tokens) continue;
    if (fc_tokens_open(&tokens, endpoint->token_file, &error) != FC_OK) {
      fc_log(&loop->log, FC_LOG_ERROR, "%s: %s keeps its tokens", error.message,
             endpoint->host);
      continue;
    }
    fc_tokens_close(&endpoint->tokens);
    endpoint->tokens = tokens;
    tell_tokens(endpoint);
  }
}

void fc_loop_stop_listening(fc_loop_t *loop) {
  for (uint32_t i = 0; i < loop->endpoint_count; i++) {
    fc_listener_close(&loop->endpoints[i].listener);
  }
}

fc_status_t fc_listen_check_keys(const fc_server_options_t *options,
                                 fc_error_t *err) {
  fc_listener_policy_t said;
  fc_str_t item;
  for (uint32_t i = 0; fc_listener_at(options, i, &item, &said); i++) {
    fc_tls_keys_t *keys = NULL;
    if (fc_str_starts(item, FC_STR("unix:")) ||
        !fc_listener_has_tls(item, &said)) {
      continue;
    }
    const fc_tls_files_t files = files_of(&said);
    char dates[FC_TLS_DATES_MAX];
    FC_TRY(fc_tls_keys_open(&files, fc_allocator_system(), &keys, err));
    const bool hold = fc_tls_keys_hold(keys, time(NULL), dates);
    const bool lasts = will_last(keys);
    fc_tls_keys_close(keys);
    if (hold && !lasts) {
      fprintf(stderr, "farcalld: --tls-cert: '%.128s': the certificate %s\n",
              files.certificate, dates);
    }
    if (hold) continue;
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "--tls-cert: '%.128s': the certificate %s",
                   files.certificate, dates);
  }
  return FC_OK;
}

// In a thread, since a handshake tries the keys (fc_tls_keys_open).
static void read_keys(uv_work_t *work) {
  fc_endpoint_t *endpoint = work->data;
  fc_keys_reading_t *reading = &endpoint->reading;
  reading->status =
      fc_tls_keys_open(&endpoint->tls_files, endpoint->loop->allocator,
                       &reading->keys, &reading->error);
}

static void take_keys(fc_endpoint_t *endpoint) {
  const fc_keys_reading_t *reading = &endpoint->reading;
  fc_log_t *log = &endpoint->loop->log;
  if (reading->status != FC_OK) {
    fc_log(log, FC_LOG_ERROR, "https://%s:%d keeps its certificate: %s",
           endpoint->host, endpoint->port, reading->error.message);
    return;
  }
  char dates[FC_TLS_DATES_MAX];
  (void)fc_tls_keys_hold(reading->keys, time(NULL), dates);
  fc_tls_keys_close(endpoint->tls_keys);
  endpoint->tls_keys = reading->keys;
  note_dates(endpoint->loop);
  fc_log(log, will_last(reading->keys) ? FC_LOG_INFO : FC_LOG_WARN,
         "https://%s:%d has its certificate anew, which %s", endpoint->host,
         endpoint->port, dates);
}

static void reload_keys(fc_endpoint_t *endpoint);

static void on_keys(uv_work_t *work, int status) {
  fc_endpoint_t *endpoint = work->data;
  fc_keys_reading_t *reading = &endpoint->reading;
  (void)status;  // nobody cancels the work
  reading->working = false;
  take_keys(endpoint);
  if (reading->again) reload_keys(endpoint);
}

static void reload_keys(fc_endpoint_t *endpoint) {
  fc_keys_reading_t *reading = &endpoint->reading;
  reading->again = reading->working;
  if (reading->working) return;
  reading->working = true;
  reading->work.data = endpoint;
  // uv_queue_work fails only if it is given no function.
  (void)uv_queue_work(&endpoint->loop->uv, &reading->work, read_keys, on_keys);
}

void fc_loop_reload_keys(fc_loop_t *loop) {
  for (uint32_t i = 0; i < loop->endpoint_count; i++) {
    if (loop->endpoints[i].tls_keys) reload_keys(&loop->endpoints[i]);
  }
}

void fc_loop_free_endpoints(fc_loop_t *loop) {
  for (uint32_t i = 0; i < loop->endpoint_count; i++) {
    fc_tokens_close(&loop->endpoints[i].tokens);
    fc_tls_keys_close(loop->endpoints[i].tls_keys);
  }
  fc_free(loop->allocator, loop->endpoints);
  fc_tls_deinit(&loop->tls);
}
