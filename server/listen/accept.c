// SPDX-License-Identifier: Apache-2.0
#include "listen/accept.h"

#include <errno.h>
#include <sys/epoll.h>

#include "config/limits.h"

// Minimum time between two log lines about shortages, and between two about failed
// handshakes.
#define TELL_MS 1000u

// Warns about a shortage, at most once a second.
static void tell_shortage(fc_endpoints_t *all, const char *what) {
  uint64_t now = uv_now(all->uv);
  if (now < all->shortage_told_ms + TELL_MS) return;
  all->shortage_told_ms = now;
  fc_log(all->log, FC_LOG_WARN, "%s, with %u connections", what,
         all->server->connections);
}

// Answers and closes the socket; needs no memory. A client that speaks TLS gets no
// answer, because it would not understand one without TLS.
static void refuse(const fc_endpoint_t *endpoint, int socket,
                   const fc_error_t *error) {
  char text[FC_HTTP1_REFUSAL_MAX];
  endpoint->all->server->connections_refused++;
  const fc_str_t answer = fc_http1_refusal(endpoint->all->http1, error, text);
  fc_socket_tell(socket, endpoint->tls_keys ? FC_STR("") : answer);
}

static void on_tls_failed(void *context, const fc_peer_t *address,
                          fc_tls_failure_t why, const char *text) {
  static const char *const kNames[] = {
#define FC_TLS_FAILURE(id, name) name,
#include "obs/tls.def"
#undef FC_TLS_FAILURE
  };
  fc_endpoints_t *all = context;
  const uint64_t now = uv_now(all->uv);
  char peer[FC_PEER_TEXT_SIZE];
  if (now < all->tls_told_ms + TELL_MS) {
    all->tls_untold++;
    return;
  }
  fc_peer_print(address, peer);
  const fc_log_field_t fields[] = {
      FC_LOG_TEXT("cause", fc_str(kNames[why])),
      FC_LOG_TEXT("reason", fc_str(text)),
      FC_LOG_TEXT("peer", fc_str(peer)),
      FC_LOG_NUMBER("others", all->tls_untold),
  };
  fc_log_fields(all->log, FC_LOG_WARN, FC_STR("a TLS handshake has failed"),
                fields, FC_ARRAY_COUNT(fields));
  all->tls_told_ms = now;
  all->tls_untold = 0;
}

static void refuse_unwatched(const fc_endpoint_t *endpoint, int socket) {
  fc_error_t error;
  (void)fc_fail(&error, FC_CODE_OVERLOADED,
                "the kernel has no room to watch a connection: %s",
                strerror(errno));
  tell_shortage(endpoint->all, error.message);
  refuse(endpoint, socket, &error);
}

// libuv ends the process if the kernel has no room to watch a descriptor that libuv adds
// (fs.epoll.max_user_watches, which all processes of a user share, or memory). So the
// kernel is asked to watch a client's socket first, and libuv then finds it watched
// (EEXIST).
static bool may_watch(const uv_loop_t *uv, int socket) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = socket};
  return !epoll_ctl(uv_backend_fd(uv), EPOLL_CTL_ADD, socket, &event);
}

static void on_socket(void *context, int socket,
                      const struct sockaddr *address) {
  const fc_endpoint_t *endpoint = context;
  fc_endpoints_t *all = endpoint->all;
  const bool tls = endpoint->tls_keys != NULL;
  if (!may_watch(all->uv, socket)) {
    refuse_unwatched(endpoint, socket);
    return;
  }
  if (tls) fc_tls_keys_renew(endpoint->tls_keys, uv_now(all->uv));
  const fc_tls_source_t source = {
      .socket = {.uv = all->uv, .socket = socket},
      .below = endpoint->listener.streams,
      .tls = &all->tls,
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
  if (fc_http1_accept(all->http1, &client)) return;
  fc_error_t error;
  (void)fc_fail_memory(&error);
  refuse(endpoint, socket, &error);
}

static void on_wait(void *context, int error) {
  const fc_endpoint_t *endpoint = context;
  tell_shortage(endpoint->all, uv_strerror(-error));
}

fc_listener_events_t fc_accept_events(fc_endpoint_t *endpoint) {
  return (fc_listener_events_t){
      .on_socket = on_socket, .on_wait = on_wait, .context = endpoint};
}

// Handshakes in progress are limited to half of --connections plus one, and to
// FC_LIMIT_HANDSHAKES, so that they do not keep other clients out.
fc_status_t fc_accept_init_tls(fc_endpoints_t *all, fc_error_t *err) {
  const uint64_t half = all->options->connections / 2;
  bool any = false;
  for (uint32_t i = 0; i < all->count; i++) {
    any |= all->rows[i].tls_keys != NULL;
  }
  if (!any) return FC_OK;
  all->tls.on_failed = on_tls_failed;
  all->tls.context = all;
  all->tls.handshake_ms = all->options->head_timeout;
  all->tls.handshake_max =
      half < FC_LIMIT_HANDSHAKES ? (uint32_t)half + 1 : FC_LIMIT_HANDSHAKES;
  return fc_tls_init(&all->tls, all->uv, all->allocator, err);
}
