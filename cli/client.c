// SPDX-License-Identifier: Apache-2.0
//
// The HTTP client: getaddrinfo, a blocking socket whose timeouts the kernel
// keeps, and llhttp on what comes back.
#include "client.h"

#include <errno.h>
#include <llhttp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "farcall/version.h"
#include "file.h"

#define BODY_LIMIT ((size_t)1 << 30)
#define PORT_DEFAULT "80"

// ---------------------------------------------------------------------------
// URLs

static fc_status_t refuse_url(fc_error_t *err, const char *url,
                              const char *why) {
  return fc_fail(err, FC_CODE_JSON_SCHEMA, "server '%s': %s", url, why);
}

static bool is_digits(fc_str_t text) {
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
  }
  return text.size > 0 && text.size <= 5;
}

fc_status_t fc_server_parse(fc_arena_t *arena, const char *url,
                            fc_server_t *out_server, fc_error_t *err) {
  const char *scheme_end = strstr(url, "://");
  const char *at = scheme_end ? scheme_end + 3 : url;
  if (scheme_end && strncmp(url, "http://", 7) != 0) {
    return refuse_url(err, url, "only http:// is spoken here");
  }
  size_t size = strcspn(at, "/?#");
  fc_str_t authority = {at, size}, host = authority;
  fc_str_t port = FC_STR(PORT_DEFAULT);
  if (memchr(at, '@', size)) {
    return refuse_url(err, url, "a user name has no meaning here");
  }
  const char *close = size && at[0] == '[' ? memchr(at, ']', size) : NULL;
  const char *tail = close ? close + 1 : at;
  const char *colon = memchr(tail, ':', (size_t)(at + size - tail));
  if (colon) {
    host.size = (size_t)(colon - at);
    port = fc_str_make(colon + 1, (size_t)(at + size - colon - 1));
  }
  if (close) host = fc_str_make(at + 1, (size_t)(close - at - 1));
  fc_str_t prefix = fc_str(at + size);
  if (memchr(prefix.data, '?', prefix.size) ||
      memchr(prefix.data, '#', prefix.size)) {
    return refuse_url(err, url, "a query has no meaning here");
  }
  while (prefix.size && prefix.data[prefix.size - 1] == '/') prefix.size--;
  if (!host.size) return refuse_url(err, url, "it names no host");
  if (!is_digits(port)) return refuse_url(err, url, "its port is no number");
  out_server->url = url;
  out_server->host = fc_arena_copy(arena, host).data;
  out_server->port = fc_arena_copy(arena, port).data;
  out_server->authority = fc_arena_copy(arena, authority).data;
  out_server->prefix = fc_arena_copy(arena, prefix).data;
  out_server->timeout_ms = 0;
  if (!out_server->host || !out_server->port || !out_server->authority ||
      !out_server->prefix) {
    return fc_fail_memory(err);
  }
  return FC_OK;
}

char *fc_url_segment(fc_arena_t *arena, fc_str_t text) {
  static const char kHex[] = "0123456789ABCDEF";
  static const char kMarks[] = "-._~";
  char *out = fc_arena_alloc(arena, text.size * 3 + 1, 1);
  char *at = out;
  for (size_t i = 0; out && i < text.size; i++) {
    unsigned char c = (unsigned char)text.data[i];
    bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                 (c >= 'a' && c <= 'z') || (c && strchr(kMarks, c));
    if (!plain) {
      *at++ = '%';
      *at++ = kHex[c >> 4];
      c = (unsigned char)kHex[c & 15];
    }
    *at++ = (char)c;
  }
  if (out) *at = '\0';
  return out;
}

// ---------------------------------------------------------------------------
// One exchange

static fc_status_t lost(const fc_server_t *server, fc_error_t *err,
                        const char *what) {
  return fc_fail_as(err, FC_CODE_NOT_READY, FC_UNAVAILABLE,
                    "no answer from %s: %s", server->url, what);
}

static const char *errno_text(void) {
  bool late = errno == EAGAIN || errno == EINPROGRESS;
  return late ? "timed out" : strerror(errno);
}

static int open_one(const struct addrinfo *address, uint64_t timeout_ms) {
  int one = 1;
  int file = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC,
                    address->ai_protocol);
  if (file < 0) return -1;
  struct timeval limit = {.tv_sec = (time_t)(timeout_ms / 1000),
                          .tv_usec = (suseconds_t)(timeout_ms % 1000 * 1000)};
  // The send timeout holds for connect as well.
  setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (!connect(file, address->ai_addr, address->ai_addrlen)) return file;
  int reason = errno;
  close(file);
  errno = reason;
  return -1;
}

static fc_status_t open_server(const fc_server_t *server, int *out_file,
                               fc_error_t *err) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
  int failed = getaddrinfo(server->host, server->port, &hints, &list);
  if (failed) return lost(server, err, gai_strerror(failed));
  int file = -1;
  for (struct addrinfo *each = list; each && file < 0; each = each->ai_next) {
    file = open_one(each, server->timeout_ms);
  }
  int reason = errno;
  freeaddrinfo(list);
  errno = reason;
  if (file < 0) return lost(server, err, errno_text());
  *out_file = file;
  return FC_OK;
}

// False when the server closed or stalled. It may have answered all the same
// (413 before it read the body), so the caller reads on.
static bool send_all(int file, fc_str_t data) {
  while (data.size) {
    ssize_t sent = send(file, data.data, data.size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    data.data += sent;
    data.size -= (size_t)sent;
  }
  return true;
}

typedef struct fc_exchange_t {
  llhttp_t parser;  // first: llhttp hands back a pointer to it
  fc_text_t body;
  fc_error_t *err;
  bool done;
} fc_exchange_t;

static int on_body(llhttp_t *parser, const char *data, size_t size) {
  fc_exchange_t *exchange = (fc_exchange_t *)parser;
  fc_str_t text = {data, size};
  return fc_sink_put(&exchange->body.sink, text, exchange->err) ? -1 : 0;
}

static int on_complete(llhttp_t *parser) {
  fc_exchange_t *exchange = (fc_exchange_t *)parser;
  if (parser->status_code < 200) return 0;  // 100 Continue and the like
  exchange->done = true;
  return HPE_PAUSED;
}

static fc_status_t receive(const fc_server_t *server, int file,
                           fc_exchange_t *exchange, fc_error_t *err) {
  char block[16384];
  while (!exchange->done) {
    ssize_t got = recv(file, block, sizeof block, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return lost(server, err, errno_text());
    llhttp_errno_t code =
        got ? llhttp_execute(&exchange->parser, block, (size_t)got)
            : llhttp_finish(&exchange->parser);
    if (exchange->done) return FC_OK;
    if (code == HPE_USER) return FC_UNAVAILABLE;  // on_body said why
    if (code != HPE_OK) return lost(server, err, "that is not HTTP");
    if (!got) return lost(server, err, "the connection was closed");
  }
  return FC_OK;
}

static fc_status_t exchange_on(fc_arena_t *arena, const fc_server_t *server,
                               int file, fc_str_t head, fc_str_t body,
                               fc_answer_t *out_answer, fc_error_t *err) {
  llhttp_settings_t settings;
  llhttp_settings_init(&settings);
  settings.on_body = on_body;
  settings.on_message_complete = on_complete;
  fc_exchange_t exchange = {.err = err};
  llhttp_init(&exchange.parser, HTTP_RESPONSE, &settings);
  fc_text_init(&exchange.body, fc_allocator_system(), BODY_LIMIT);
  if (send_all(file, head)) (void)send_all(file, body);
  fc_status_t status = receive(server, file, &exchange, err);
  if (status == FC_OK) {
    fc_str_t text = fc_text_str(&exchange.body);
    out_answer->status = exchange.parser.status_code;
    out_answer->body = fc_arena_copy(arena, text);
    if (!out_answer->body.data) status = fc_fail_memory(err);
  }
  fc_text_deinit(&exchange.body);
  return status;
}

fc_status_t fc_server_ask(fc_arena_t *arena, const fc_server_t *server,
                          const char *target, fc_str_t body,
                          fc_answer_t *out_answer, fc_error_t *err) {
  char length[96] = "";
  if (body.data) {
    snprintf(length, sizeof length,
             "Content-Type: application/json\r\nContent-Length: %zu\r\n",
             body.size);
  }
  const char *head =
      fc_print(arena,
               "%s %s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: farcall/%s\r\n"
               "Accept: application/json\r\nConnection: close\r\n%s\r\n",
               body.data ? "POST" : "GET", server->prefix, target,
               server->authority, fc_version(), length);
  if (!head) return fc_fail_memory(err);
  int file = -1;
  FC_TRY(open_server(server, &file, err));
  fc_status_t status =
      exchange_on(arena, server, file, fc_str(head), body, out_answer, err);
  close(file);
  return status;
}
