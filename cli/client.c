// SPDX-License-Identifier: Apache-2.0
//
// The HTTP client: getaddrinfo, one socket, one deadline for the whole exchange, and
// llhttp to read the answer. Every part of an answer is limited, because the server may
// not be a farcalld.
#include "client.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <llhttp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "farcall/version.h"
#include "file.h"

#define RETRY_MS 10  // between two attempts to connect to a busy Unix socket

#define JSON_LIMIT \
  ((size_t)257 << 20)  // farcalld's results have 256 MiB at most
#define OTHER_LIMIT ((size_t)1 << 20)  // farcalld's other answers: signatures
#define HEAD_LIMIT ((size_t)64 << 10)
#define UNIX_SCHEME "unix:"

// The schemes of URLs, with their ports and protocols.
typedef struct scheme_t {
  const char *text;
  const char *port;
  bool is_https;
  bool is_grpc;
} scheme_t;

static const scheme_t kSchemes[] = {{"http://", "80", false, false},
                                    {"https://", "443", true, false},
                                    {"grpc://", "80", false, true},
                                    {"grpcs://", "443", true, true}};

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

static fc_status_t parse_unix(const char *url, fc_remote_t *out_server,
                              fc_error_t *err) {
  const size_t size = strlen(url + strlen(UNIX_SCHEME));
  if (!size || size >= sizeof((struct sockaddr_un *)0)->sun_path) {
    return refuse_url(err, url, "the path of a socket has 1 to 107 bytes");
  }
  *out_server = (fc_remote_t){.url = url,
                              .socket = url + strlen(UNIX_SCHEME),
                              .host = "",
                              .port = "",
                              .authority = "localhost",
                              .prefix = ""};
  return FC_OK;
}

// Returns the scheme with which `*at` begins, and moves `*at` behind it. HTTP if there is
// none; NULL if there is another one.
static const scheme_t *take_scheme(const char **at) {
  const char *end = strstr(*at, "://");
  if (!end) return &kSchemes[0];
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSchemes); i++) {
    const size_t size = strlen(kSchemes[i].text);
    if (strncmp(*at, kSchemes[i].text, size) != 0) continue;
    *at += size;
    return &kSchemes[i];
  }
  return NULL;
}

// Cuts an authority, which may have an IPv6 address in brackets. *port stays if there is
// none.
static fc_str_t cut_host(fc_str_t authority, fc_str_t *port) {
  const char *at = authority.data, *end = at + authority.size;
  const char *close =
      authority.size && at[0] == '[' ? memchr(at, ']', authority.size) : NULL;
  const char *tail = close ? close + 1 : at;
  const char *colon = memchr(tail, ':', (size_t)(end - tail));
  if (colon) *port = fc_str_make(colon + 1, (size_t)(end - colon - 1));
  if (close) return fc_str_make(at + 1, (size_t)(close - at - 1));
  return fc_str_make(at, (size_t)((colon ? colon : end) - at));
}

fc_status_t fc_server_parse(fc_arena_t *arena, const char *url,
                            fc_remote_t *out_server, fc_error_t *err) {
  if (!strncmp(url, UNIX_SCHEME, strlen(UNIX_SCHEME))) {
    return parse_unix(url, out_server, err);
  }
  const char *at = url;
  const scheme_t *scheme = take_scheme(&at);
  if (!scheme) {
    return refuse_url(err, url,
                      "only http://, https://, grpc://, grpcs:// and unix: are "
                      "spoken here");
  }
  const fc_str_t authority = {at, strcspn(at, "/?#")};
  fc_str_t prefix = fc_str(at + authority.size);
  if (memchr(at, '@', authority.size)) {
    return refuse_url(err, url, "a user name has no meaning here");
  }
  if (memchr(prefix.data, '?', prefix.size) ||
      memchr(prefix.data, '#', prefix.size)) {
    return refuse_url(err, url, "a query has no meaning here");
  }
  while (prefix.size && prefix.data[prefix.size - 1] == '/') prefix.size--;
  fc_str_t port = fc_str(scheme->port);
  const fc_str_t host = cut_host(authority, &port);
  if (!host.size) return refuse_url(err, url, "it names no host");
  if (!is_digits(port)) return refuse_url(err, url, "its port is no number");
  *out_server = (fc_remote_t){
      .url = url, .is_https = scheme->is_https, .is_grpc = scheme->is_grpc};
  out_server->rules.http2 = out_server->is_grpc;
  out_server->rules.host = out_server->host = fc_arena_copy(arena, host).data;
  out_server->port = fc_arena_copy(arena, port).data;
  out_server->authority = fc_arena_copy(arena, authority).data;
  out_server->prefix = fc_arena_copy(arena, prefix).data;
  if (!out_server->host || !out_server->port || !out_server->authority ||
      !out_server->prefix) {
    return fc_fail_memory(err);
  }
  return FC_OK;
}

char *fc_url_segment(fc_arena_t *arena, fc_str_t text) {
  static const char kMarks[] = "-._~";
  char *out = fc_arena_alloc(arena, text.size * 3 + 1, 1);
  char *at = out;
  for (size_t i = 0; out && i < text.size; i++) {
    unsigned char c = (unsigned char)text.data[i];
    bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                 (c >= 'a' && c <= 'z') || (c && strchr(kMarks, c));
    if (!plain) {
      at += fc_hex_escape(at, '%', c);
    } else {
      *at++ = (char)c;
    }
  }
  if (out) *at = '\0';
  return out;
}

// ---------------------------------------------------------------------------
// One exchange

#define SHOWN 64  // characters of the received bytes in a message
#define TYPE_SIZE 32

typedef struct fc_client_exchange_t {
  llhttp_t parser;  // first: llhttp hands back a pointer to it
  const fc_remote_t *server;
  const fc_on_lines_t *lines;  // NULL: the answer is kept whole
  fc_text_t body;
  uint64_t deadline_ns;  // 0: none
  uint64_t received;     // bytes
  uint64_t of_body;      // bytes of the body among `received`
  size_t begin_size;
  char begin[SHOWN];  // the first bytes received
  size_t
      name_size;  // of the name of the field being read; `name` has the first bytes
  char name[TYPE_SIZE];
  size_t type_size;
  char type[TYPE_SIZE];  // the first bytes of Content-Type
  bool done;
  bool cut;
  bool refused;
  fc_error_t *err;
} fc_client_exchange_t;

static bool is_word(const char *text, size_t size, const char *word) {
  return size >= strlen(word) && !strncasecmp(text, word, strlen(word));
}

static bool is_lines(const fc_client_exchange_t *exchange) {
  return exchange->lines &&
         is_word(exchange->type, exchange->type_size, "application/x-ndjson");
}

static fc_status_t lost(const fc_client_exchange_t *exchange, const char *what,
                        fc_str_t came) {
  char text[4 * SHOWN] = "";
  const bool cut = is_lines(exchange) && exchange->of_body;
  if (cut) came.size = 0;
  if (came.size) fc_escape(text, sizeof text, SHOWN, came);
  return fc_fail_as(exchange->err, FC_CODE_NOT_READY, FC_UNAVAILABLE,
                    "%s answer from %s: %s%s%s%s", cut ? "half an" : "no",
                    exchange->server->url, what, came.size ? ": '" : "", text,
                    came.size ? "'" : "");
}

static fc_status_t lost_begin(const fc_client_exchange_t *exchange,
                              const char *what) {
  return lost(exchange, what,
              fc_str_make(exchange->begin, exchange->begin_size));
}

static fc_status_t lost_errno(const fc_client_exchange_t *exchange,
                              int reason) {
  char late[48];
  if (reason == ECONNREFUSED) {
    return lost_begin(exchange,
                      "Connection refused: is farcalld running there? --server "
                      "or FARCALL_SERVER names another");
  }
  if (reason != ETIMEDOUT || !exchange->deadline_ns) {
    return lost_begin(exchange, strerror(reason));
  }
  const uint64_t ms = exchange->server->timeout_ms;
  const bool whole = ms % 1000 == 0;
  snprintf(late, sizeof late, "%s in %" PRIu64 " %s",
           exchange->lines ? "nothing came" : "it was not complete",
           whole ? ms / 1000 : ms, whole ? "s" : "ms");
  return lost_begin(exchange, late);
}

// Waits until the socket is ready. False: the deadline has passed (errno ETIMEDOUT), or
// poll failed.
static bool wait_for(const fc_client_exchange_t *exchange, int file,
                     short events, short *out_events) {
  for (;;) {
    int left_ms = -1;
    if (exchange->deadline_ns) {
      uint64_t now = fc_clock_ns(), end = exchange->deadline_ns;
      uint64_t left = end > now ? (end - now) / 1000000 + 1 : 0;
      left_ms = left > INT_MAX ? INT_MAX : (int)left;
    }
    struct pollfd wait = {.fd = file, .events = events};
    int ready = poll(&wait, 1, left_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) errno = ETIMEDOUT;
    *out_events = wait.revents;
    return ready > 0;
  }
}

static bool is_late(const fc_client_exchange_t *exchange) {
  return exchange->deadline_ns && fc_clock_ns() >= exchange->deadline_ns;
}

static bool connect_one(const fc_client_exchange_t *exchange, int file,
                        const struct addrinfo *address) {
  short events;
  int reason = 0;
  socklen_t size = sizeof reason;
  // The queue of a Unix socket may be full, and no event reports when it has room again.
  // So connecting is tried again until the deadline.
  while (connect(file, address->ai_addr, address->ai_addrlen)) {
    if (errno == EINPROGRESS) break;
    if (errno != EAGAIN || is_late(exchange)) return false;
    (void)poll(NULL, 0, RETRY_MS);
  }
  if (!wait_for(exchange, file, POLLOUT, &events)) return false;
  if (getsockopt(file, SOL_SOCKET, SO_ERROR, &reason, &size)) return false;
  errno = reason;
  return reason == 0;
}

static int open_one(const fc_client_exchange_t *exchange,
                    const struct addrinfo *address) {
  int one = 1;
  int file = socket(address->ai_family,
                    address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    address->ai_protocol);
  if (file < 0) return -1;
  if (address->ai_family != AF_UNIX) {
    setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  if (connect_one(exchange, file, address)) return file;
  int reason = errno;
  close(file);
  errno = reason;
  return -1;
}

static int open_unix(const fc_client_exchange_t *exchange) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  const char *path = exchange->server->socket;
  memcpy(name.sun_path, path, strlen(path));
  const struct addrinfo address = {.ai_family = AF_UNIX,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_addr = (struct sockaddr *)&name,
                                   .ai_addrlen = sizeof name};
  return open_one(exchange, &address);
}

static fc_status_t open_socket(const fc_client_exchange_t *exchange,
                               int *out_file) {
  const fc_remote_t *server = exchange->server;
  if (server->socket) {
    *out_file = open_unix(exchange);
    return *out_file < 0 ? lost_errno(exchange, errno) : FC_OK;
  }
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
  int failed = getaddrinfo(server->host, server->port, &hints, &list);
  if (failed) return lost_begin(exchange, gai_strerror(failed));
  int file = -1;
  for (struct addrinfo *each = list; each && file < 0; each = each->ai_next) {
    file = open_one(exchange, each);
  }
  int reason = errno;
  freeaddrinfo(list);
  if (file < 0) return lost_errno(exchange, reason);
  *out_file = file;
  return FC_OK;
}

static fc_status_t shake(const fc_client_exchange_t *exchange,
                         fc_wire_t *wire) {
  const char *why;
  short events;
  int wanted;
  while ((wanted = fc_wire_shake(wire, &why)) > 0) {
    if (!wait_for(exchange, wire->file, (short)wanted, &events)) {
      return lost_errno(exchange, errno);
    }
  }
  if (wanted == FC_WIRE_NO_TLS) {
    why = exchange->server->is_grpc ? "the port speaks no TLS: try grpc://"
                                    : "the port speaks no TLS: try http://";
  }
  return wanted < 0 ? lost(exchange, why, (fc_str_t){0}) : FC_OK;
}

static fc_status_t open_server(const fc_client_exchange_t *exchange,
                               fc_wire_t *out_wire) {
  const fc_remote_t *server = exchange->server;
  *out_wire = FC_WIRE_CLOSED;
  FC_TRY(open_socket(exchange, &out_wire->file));
  if (!server->is_https) return FC_OK;
  fc_status_t status = fc_wire_secure(out_wire, &server->rules, exchange->err);
  if (status == FC_OK) status = shake(exchange, out_wire);
  if (status != FC_OK) fc_wire_close(out_wire);
  return status;
}

static void start_clock(fc_client_exchange_t *exchange) {
  const uint64_t timeout_ms = exchange->server->timeout_ms;
  if (timeout_ms) exchange->deadline_ns = fc_clock_ns() + timeout_ms * 1000000;
}

fc_status_t fc_server_connect(const fc_remote_t *server, fc_wire_t *out_wire,
                              fc_error_t *err) {
  fc_client_exchange_t exchange = {.server = server, .err = err};
  start_clock(&exchange);
  return open_server(&exchange, out_wire);
}

// Sends `data`. False: not everything was sent, because the server has closed, accepted
// nothing until the deadline, or answered before it read the whole body (413). The caller
// then reads the answer, which gives the reason.
static bool send_all(const fc_client_exchange_t *exchange, fc_wire_t *wire,
                     fc_str_t data) {
  short events;
  while (data.size) {
    if (!wait_for(exchange, wire->file, POLLIN | POLLOUT, &events))
      return false;
    if (events & POLLIN && fc_wire_is_answered(wire)) return false;
    ssize_t sent = fc_wire_send(wire, data.data, data.size);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent < 0) return false;
    data.data += sent;
    data.size -= (size_t)sent;
  }
  return true;
}

// ---------------------------------------------------------------------------
// The answer

// Appends to `text`, which keeps only its first TYPE_SIZE bytes; *size counts all bytes.
static void append(char *text, size_t *size, const char *data, size_t more) {
  for (size_t i = 0; i < more; i++, ++*size) {
    if (*size < TYPE_SIZE) text[*size] = data[i];
  }
}

// True for application/json and application/problem+json, with any parameters.
static bool is_json(const fc_client_exchange_t *exchange) {
  return is_word(exchange->type, exchange->type_size, "application/json") ||
         is_word(exchange->type, exchange->type_size,
                 "application/problem+json");
}

static bool is_plain(const fc_client_exchange_t *exchange) {
  return is_word(exchange->type, exchange->type_size, "text/plain") ||
         is_word(exchange->type, exchange->type_size,
                 "application/schema+json");
}

// Must the whole body be read, however long it is?
static bool is_whole(const fc_client_exchange_t *exchange) {
  const char *type = exchange->server->type;
  return is_json(exchange) ||
         (type && is_word(exchange->type, exchange->type_size, type));
}

static int on_begin(llhttp_t *parser) {
  fc_client_exchange_t *exchange = (fc_client_exchange_t *)parser;
  exchange->name_size = exchange->type_size = 0;
  return 0;
}

static int on_name(llhttp_t *parser, const char *data, size_t size) {
  fc_client_exchange_t *exchange = (fc_client_exchange_t *)parser;
  append(exchange->name, &exchange->name_size, data, size);
  return 0;
}

static int on_value(llhttp_t *parser, const char *data, size_t size) {
  static const char kType[] = "content-type";
  fc_client_exchange_t *exchange = (fc_client_exchange_t *)parser;
  bool is_type = exchange->name_size == strlen(kType) &&
                 is_word(exchange->name, exchange->name_size, kType);
  if (is_type) append(exchange->type, &exchange->type_size, data, size);
  return 0;
}

static int on_value_end(llhttp_t *parser) {
  fc_client_exchange_t *exchange = (fc_client_exchange_t *)parser;
  exchange->name_size = 0;
  return 0;
}

static int on_head(llhttp_t *parser) {
  fc_client_exchange_t *exchange = (fc_client_exchange_t *)parser;
  if (!is_whole(exchange) || parser->content_length <= JSON_LIMIT) return 0;
  char text[80];
  snprintf(text, sizeof text, "its body has %" PRIu64 " bytes",
           parser->content_length);
  lost(exchange, text, (fc_str_t){0});
  exchange->refused = true;
  return -1;
}

static int lost_large(fc_client_exchange_t *exchange, const char *what) {
  char text[80];
  snprintf(text, sizeof text, "%s has more than %zu MiB", what,
           JSON_LIMIT >> 20);
  lost(exchange, text, fc_text_str(&exchange->body));
  exchange->refused = true;
  return -1;
}

// Passes complete lines on, and keeps the beginning of the next line.
static int give_lines(fc_client_exchange_t *exchange, fc_str_t data) {
  fc_text_t *kept = &exchange->body;
  size_t whole = data.size;
  if (data.size > JSON_LIMIT - fc_text_str(kept).size) {
    return lost_large(exchange, "a line of it");
  }
  while (whole && data.data[whole - 1] != '\n') whole--;
  fc_status_t status =
      fc_sink_put(&kept->sink, fc_str_make(data.data, whole), exchange->err);
  if (status == FC_OK && whole) {
    status = exchange->lines->show(exchange->lines->context, fc_text_str(kept),
                                   exchange->err);
    fc_text_reset(kept);
  }
  if (status == FC_OK) {
    status = fc_sink_put(&kept->sink,
                         fc_str_make(data.data + whole, data.size - whole),
                         exchange->err);
  }
  exchange->refused = status;
  return status ? -1 : 0;
}

static int on_body(llhttp_t *parser, const char *data, size_t size) {
  fc_client_exchange_t *exchange = (fc_client_exchange_t *)parser;
  size_t limit = is_whole(exchange) ? JSON_LIMIT : OTHER_LIMIT;
  exchange->of_body += size;
  if (is_lines(exchange)) return give_lines(exchange, fc_str_make(data, size));
  if (exchange->of_body > limit && is_whole(exchange)) {
    return lost_large(exchange, "its body");
  }
  if (exchange->of_body > limit) {
    exchange->done = exchange->cut = true;
    return HPE_PAUSED;
  }
  fc_str_t text = {data, size};
  exchange->refused = fc_sink_put(&exchange->body.sink, text, exchange->err);
  return exchange->refused ? -1 : 0;
}

static int on_complete(llhttp_t *parser) {
  fc_client_exchange_t *exchange = (fc_client_exchange_t *)parser;
  if (parser->status_code < 200) return 0;  // 100 Continue and the like
  exchange->done = true;
  return HPE_PAUSED;
}

// Gives the parser one block from the socket.
static fc_status_t receive_block(fc_client_exchange_t *exchange,
                                 const char *block, size_t size) {
  for (size_t i = 0; i < size && exchange->begin_size < SHOWN; i++) {
    exchange->begin[exchange->begin_size++] = block[i];
  }
  exchange->received += size;
  llhttp_errno_t code = size ? llhttp_execute(&exchange->parser, block, size)
                             : llhttp_finish(&exchange->parser);
  if (exchange->done) return FC_OK;
  if (exchange->refused) return FC_UNAVAILABLE;  // a callback wrote the error
  if (!size) return lost_begin(exchange, "the connection was closed");
  if (code != HPE_OK) return lost_begin(exchange, "that is not HTTP");
  // Heads, trailer fields and chunk sizes together may exceed HEAD_LIMIT only by the size
  // of the body.
  if (exchange->received - exchange->of_body > HEAD_LIMIT + exchange->of_body) {
    return lost_begin(exchange, "the head of the answer is larger than 64 KiB");
  }
  return FC_OK;
}

static fc_status_t receive(fc_client_exchange_t *exchange, fc_wire_t *wire) {
  char block[16384];
  short events;
  while (!exchange->done) {
    if (!fc_wire_has(wire) &&
        !wait_for(exchange, wire->file, POLLIN, &events)) {
      return lost_errno(exchange, errno);
    }
    ssize_t got = fc_wire_recv(wire, block, sizeof block);
    if (exchange->lines) start_clock(exchange);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0 && errno == EPROTO) return lost_begin(exchange, fc_wire_why());
    if (got < 0) return lost_errno(exchange, errno);
    FC_TRY(receive_block(exchange, block, (size_t)got));
  }
  return FC_OK;
}

static fc_status_t ask(fc_client_exchange_t *exchange, fc_str_t head,
                       fc_str_t body) {
  fc_wire_t wire;
  FC_TRY(open_server(exchange, &wire));
  if (send_all(exchange, &wire, head)) (void)send_all(exchange, &wire, body);
  fc_status_t status = receive(exchange, &wire);
  fc_wire_close(&wire);
  return status;
}

static fc_status_t make_head(fc_arena_t *arena, const fc_remote_t *server,
                             const char *target, fc_str_t body,
                             const char *accept, fc_str_t *out_head,
                             fc_error_t *err) {
  char length[96] = "";
  if (body.data) {
    snprintf(length, sizeof length,
             "Content-Type: %s\r\nContent-Length: %zu\r\n",
             server->type ? server->type : "application/json", body.size);
  }
  const char *head =
      fc_print(arena,
               "%s %s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: farcall/%s\r\n"
               "Accept: %s\r\nConnection: close\r\n%s%s%s\r\n",
               server->method ? server->method
               : body.data    ? "POST"
                              : "GET",
               server->prefix, target, server->authority, fc_version(), accept,
               server->authorization ? server->authorization : "",
               server->session ? server->session : "", length);
  if (!head) return fc_fail_memory(err);
  *out_head = fc_str(head);
  return FC_OK;
}

fc_status_t fc_server_stream(fc_arena_t *arena, const fc_remote_t *server,
                             const char *target, fc_str_t body,
                             const fc_on_lines_t *lines, fc_reply_t *out_answer,
                             fc_error_t *err) {
  static const llhttp_settings_t kSettings = {
      .on_message_begin = on_begin,
      .on_header_field = on_name,
      .on_header_value = on_value,
      .on_header_value_complete = on_value_end,
      .on_headers_complete = on_head,
      .on_body = on_body,
      .on_message_complete = on_complete};
  fc_str_t head;
  fc_client_exchange_t exchange = {
      .server = server, .lines = lines, .err = err};
  if (server->is_grpc) {
    return refuse_url(
        err, server->url,
        "only bench, call and ls speak gRPC: http:// for all else");
  }
  const char *accept = lines                        ? "application/x-ndjson"
                       : server->type && !body.data ? server->type
                                                    : "application/json";
  FC_TRY(make_head(arena, server, target, body, accept, &head, err));
  start_clock(&exchange);
  llhttp_init(&exchange.parser, HTTP_RESPONSE, &kSettings);
  fc_text_init(&exchange.body, fc_allocator_system(), JSON_LIMIT);
  fc_status_t status = ask(&exchange, head, body);
  if (status == FC_OK) {
    out_answer->url = server->url;
    out_answer->status = exchange.parser.status_code;
    out_answer->is_json = is_json(&exchange);
    out_answer->is_plain = is_plain(&exchange);
    out_answer->cut = exchange.cut;
    out_answer->body = fc_arena_copy(arena, fc_text_str(&exchange.body));
    if (!out_answer->body.data) status = fc_fail_memory(err);
  }
  fc_text_deinit(&exchange.body);
  return status;
}

fc_status_t fc_server_ask(fc_arena_t *arena, const fc_remote_t *server,
                          const char *target, fc_str_t body,
                          fc_reply_t *out_answer, fc_error_t *err) {
  return fc_server_stream(arena, server, target, body, NULL, out_answer, err);
}
