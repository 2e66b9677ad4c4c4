// SPDX-License-Identifier: Apache-2.0
//
// Server URLs, path segments, and answers from a socket that sends what the row says:
// whole, cut off, in pieces, or not HTTP.
#include "helpers/test.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

typedef struct url_row_t {
  const char *name;
  const char *url;
  const char *parts[4];  // host, port, authority, prefix; NULL host: refused
} url_row_t;

static const url_row_t urls[] = {
    {"plain",
     "http://127.0.0.1:8000",
     {"127.0.0.1", "8000", "127.0.0.1:8000", ""}},
    {"no scheme", "localhost:9", {"localhost", "9", "localhost:9", ""}},
    {"no port", "http://example.org", {"example.org", "80", "example.org", ""}},
    {"slash at the end", "http://h:1/", {"h", "1", "h:1", ""}},
    {"prefix", "http://h:1/a/b/", {"h", "1", "h:1", "/a/b"}},
    {"IPv6", "http://[::1]:8000", {"::1", "8000", "[::1]:8000", ""}},
    {"IPv6 without port", "http://[::1]", {"::1", "80", "[::1]", ""}},
    {"https", "https://h/p", {"h", "443", "h", "/p"}},
    {"https with a port", "https://[::1]:9", {"::1", "9", "[::1]:9", ""}},
    {"another scheme", "ftp://h", {NULL}},
    {"user", "http://u@h", {NULL}},
    {"no host", "http://:80", {NULL}},
    {"empty", "", {NULL}},
    {"port is a word", "http://h:http", {NULL}},
    {"port is empty", "http://h:", {NULL}},
    {"port is long", "http://h:123456", {NULL}},
    {"query", "http://h/?a", {NULL}},
    {"a Unix socket", "unix:/run/f.sock", {"", "", "localhost", ""}},
    {"of no name", "unix:", {NULL}},
};

static void urls_are_taken_apart(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const url_row_t, row, urls) {
    fc_arena_t arena;
    fc_remote_t server;
    fc_error_t err = {0};
    fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
    fc_status_t status = fc_server_parse(&arena, row->url, &server, &err);
    assert_int_equal(status == FC_OK, row->parts[0] != NULL);
    if (status == FC_OK) {
      assert_string_equal(server.host, row->parts[0]);
      assert_string_equal(server.port, row->parts[1]);
      assert_string_equal(server.authority, row->parts[2]);
      assert_string_equal(server.prefix, row->parts[3]);
    }
    fc_arena_deinit(&arena);
  }
}

static void segments_are_encoded(void **state) {
  (void)state;
  fc_arena_t arena;
  fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
  fc_str_t text = FC_STR("a-Z_0.~/ %\"\xc3\xa4\0");
  assert_string_equal(fc_url_segment(&arena, text),
                      "a-Z_0.~%2F%20%25%22%C3%A4%00");
  fc_arena_deinit(&arena);
}

typedef struct answer_row_t {
  const char *name;
  const char *pieces[4];  // sent one by one
  int status;             // 0: no whole answer
  const char *body;
  const char *kind;  // "json", "plain" or NULL: neither
} answer_row_t;

static const answer_row_t answers[] = {
    {"length",
     {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"},
     200,
     "hi",
     NULL},
    {"in pieces",
     {"HTTP/1.1 40", "4 No\r\nContent-", "Length: 3\r\n\r", "\nabc"},
     404,
     "abc",
     NULL},
    {"chunked",
     {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
      "c\r\n2\r\nde\r\n0\r\n\r\n"},
     200,
     "abcde",
     NULL},
    {"until the end",
     {"HTTP/1.0 200 OK\r\n\r\nto the end"},
     200,
     "to the end",
     NULL},
    {"continue first",
     {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n"
      "\r\nx"},
     200,
     "x",
     NULL},
    {"JSON, of the last head only",
     {"HTTP/1.1 103 x\r\nContent-Type: text/plain\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-TYPE: applica",
      "tion/JSON; charset=utf-8\r\nX-Content-Type: text/html\r\n\r\n{}"},
     200,
     "{}",
     "json"},
    {"an error",
     {"HTTP/1.1 404 No\r\nContent-Type: application/problem+json\r\n"
      "Content-Length: 2\r\n\r\n{}"},
     404,
     "{}",
     "json"},
    {"a form of a signature",
     {"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
      "Content-Length: 1\r\n\r\nx"},
     200,
     "x",
     "plain"},
    {"neither",
     {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1\r\n",
      "\r\nx"},
     200,
     "x",
     NULL},
    {"no content", {"HTTP/1.1 204 No Content\r\n\r\n"}, 204, "", NULL},
    {"cut off",
     {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi"},
     0,
     NULL,
     NULL},
    {"nothing", {""}, 0, NULL, NULL},
    {"not HTTP", {"SSH-2.0-OpenSSH\r\n"}, 0, NULL, NULL},
};

typedef struct stage_t {
  const answer_row_t *row;
  int listener;
} stage_t;

static void *play(void *context) {
  stage_t *stage = context;
  int file = accept(stage->listener, NULL, NULL);
  // Reads the whole request, which ends with its body: if a socket is closed with
  // unread bytes, the connection is reset and the answer is lost.
  char request[4096];
  size_t size = 0;
  while (size < 2 || memcmp(request + size - 2, "[]", 2) != 0) {
    ssize_t got = recv(file, request + size, sizeof request - size, 0);
    if (got <= 0) break;
    size += (size_t)got;
  }
  for (size_t i = 0; i < 4 && stage->row->pieces[i]; i++) {
    const char *piece = stage->row->pieces[i];
    ssize_t sent = send(file, piece, strlen(piece), MSG_NOSIGNAL);
    (void)sent;
  }
  close(file);
  return NULL;
}

static int listen_somewhere(char *url, size_t capacity) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  int file = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(file, (struct sockaddr *)&address, size), 0);
  assert_int_equal(listen(file, 1), 0);
  assert_int_equal(getsockname(file, (struct sockaddr *)&address, &size), 0);
  snprintf(url, capacity, "http://127.0.0.1:%u", ntohs(address.sin_port));
  return file;
}

static void answers_are_read_or_missed(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const answer_row_t, row, answers) {
    char url[64];
    stage_t stage = {row, listen_somewhere(url, sizeof url)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, play, &stage), 0);
    fc_arena_t arena;
    fc_remote_t server;
    fc_reply_t answer;
    fc_error_t err = {0};
    fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
    assert_int_equal(fc_server_parse(&arena, url, &server, &err), FC_OK);
    server.timeout_ms = 30000;
    fc_status_t status =
        fc_server_ask(&arena, &server, "/x", FC_STR("[]"), &answer, &err);
    pthread_join(thread, NULL);
    close(stage.listener);
    if (row->status) {
      assert_int_equal(status, FC_OK);
      assert_int_equal(answer.status, row->status);
      const char *kind = answer.is_json    ? "json"
                         : answer.is_plain ? "plain"
                                           : "";
      assert_string_equal(kind, row->kind ? row->kind : "");
      assert_false(answer.cut);
      assert_int_equal(answer.body.size, strlen(row->body));
      assert_memory_equal(answer.body.data, row->body, answer.body.size);
    } else {
      assert_int_equal(status, FC_UNAVAILABLE);
      assert_non_null(strstr(err.message, url));
    }
    fc_arena_deinit(&arena);
  }
}

// A server that accepts the connection and never answers.
static void a_time_out_is_as_long_as_it_says(void **state) {
  (void)state;
  char url[64];
  const int listener = listen_somewhere(url, sizeof url);
  fc_arena_t arena;
  fc_remote_t server;
  fc_reply_t answer;
  fc_error_t err = {0};
  fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
  assert_int_equal(fc_server_parse(&arena, url, &server, &err), FC_OK);
  server.timeout_ms = 50;
  const uint64_t before_ns = fc_clock_ns();
  assert_int_equal(
      fc_server_ask(&arena, &server, "/x", FC_STR("[]"), &answer, &err),
      FC_UNAVAILABLE);
  assert_true(fc_clock_ns() - before_ns >= 50000000);
  close(listener);
  fc_arena_deinit(&arena);
}

static void nobody_listening_is_unavailable(void **state) {
  (void)state;
  char url[64];
  close(listen_somewhere(url, sizeof url));
  fc_arena_t arena;
  fc_remote_t server;
  fc_reply_t answer;
  fc_error_t err = {0};
  fc_str_t none = {0};
  fc_arena_init(&arena, fc_allocator_system(), 4096, 1u << 20);
  assert_int_equal(fc_server_parse(&arena, url, &server, &err), FC_OK);
  assert_int_equal(fc_server_ask(&arena, &server, "/", none, &answer, &err),
                   FC_UNAVAILABLE);
  assert_non_null(strstr(err.message, "refused"));
  fc_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(urls_are_taken_apart),
      FC_TEST(segments_are_encoded),
      FC_TEST(answers_are_read_or_missed),
      FC_TEST(a_time_out_is_as_long_as_it_says),
      FC_TEST(nobody_listening_is_unavailable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
