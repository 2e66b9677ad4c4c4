// SPDX-License-Identifier: Apache-2.0
//
// Pages of other sites: every origin with every policy, as one table; the headers for
// the browser, and when it asks first (preflight).
#include <stdio.h>
#include <unistd.h>

#include "fixture.h"
#include "helpers/test.h"

enum { POLICIES = 3 };
static const struct {
  const char *flags;
  bool varies;
} kPolicies[POLICIES] = {
    {"", false},
    {"--allow-origin=https://a.example,http://b.example:8080", true},
    {"--allow-origin=*", false},
};

// The value of Access-Control-Allow-Origin under each policy. NULL: the page is
// refused. "": the page is the server's own and needs no such header.
static const struct {
  const char *name, *origin;
  const char *allowed[POLICIES];
} kOrigins[] = {
    {"none", NULL, {"", "", ""}},
    {"its own", "http://localhost", {"", "", "*"}},
    {"the first", "https://a.example", {NULL, "https://a.example", "*"}},
    {"the second",
     "http://b.example:8080",
     {NULL, "http://b.example:8080", "*"}},
    {"another scheme", "http://a.example", {NULL, NULL, "*"}},
    {"another port", "http://b.example", {NULL, NULL, "*"}},
    {"a longer host", "https://a.example.evil", {NULL, NULL, "*"}},
    {"a part of it", "https://a", {NULL, NULL, "*"}},
    {"another case", "https://A.example", {NULL, NULL, "*"}},
    {"both", "https://a.example,http://b.example:8080", {NULL, NULL, "*"}},
    {"a file, a sandbox", "null", {NULL, NULL, "*"}},
    {"nothing", "", {NULL, NULL, NULL}},
};

static fixture_response_t ask(const fixture_server_t *server, const char *line,
                              const char *origin, const char *more) {
  char head[1024];
  fixture_response_t response;
  const int fd = fixture_connect(server);
  snprintf(
      head, sizeof head,
      "%s HTTP/1.1\r\nHost: localhost\r\n%s%s%s%sConnection: close\r\n\r\n",
      line, origin ? "Origin: " : "", origin ? origin : "",
      origin ? "\r\n" : "", more);
  assert_true(fixture_send_text(fd, head));
  assert_true(fixture_receive(fd, false, &response));
  close(fd);
  return response;
}

static void has(const fixture_response_t *response, const char *field,
                const char *value) {
  char got[400];
  const char *text = fixture_header(response, field, got, sizeof got);
  if (!value) {
    assert_null(text);
    return;
  }
  if (!text) fail_msg("no %s in %s", field, response->head);
  assert_string_equal(text, value);
}

static void check_answer(const fixture_server_t *server, const char *origin,
                         const char *allowed, bool varies) {
  fixture_response_t response =
      ask(server, "GET /api/v1/modules/nope", origin, "");
  const bool told = allowed && *allowed;
  // The page may read errors, too.
  assert_int_equal(response.status, allowed ? 404 : 403);
  has(&response, "Access-Control-Allow-Origin", told ? allowed : NULL);
  has(&response, "Access-Control-Allow-Methods", NULL);
  has(&response, "Access-Control-Allow-Credentials", NULL);
  has(&response, "Access-Control-Expose-Headers",
      told
          ? "X-Request-Id, ETag, traceresponse, Server-Timing, Farcall-Session, "
            "Farcall-Error-Code, Inference-Header-Content-Length, Retry-After"
          : NULL);
  has(&response, "Vary", varies ? "Origin" : NULL);
  fixture_response_free(&response);
}

static void check_preflight(const fixture_server_t *server, const char *origin,
                            const char *allowed, bool varies) {
  fixture_response_t response =
      ask(server, "OPTIONS /api/v1/functions/t/add", origin,
          "Access-Control-Request-Method: POST\r\n"
          "Access-Control-Request-Headers: authorization,content-type\r\n");
  const bool told = allowed && *allowed;
  assert_int_equal(response.status, told ? 204 : allowed ? 405 : 403);
  has(&response, "Access-Control-Allow-Origin", told ? allowed : NULL);
  has(&response, "Access-Control-Allow-Methods",
      told ? "GET, HEAD, POST, PUT, DELETE" : NULL);
  has(&response, "Access-Control-Allow-Headers",
      told
          ? "Authorization, Content-Type, Content-Encoding, "
            "Farcall-Session, Farcall-Session-Step, Farcall-Timeout-Ms, If-Match, If-None-Match, "
            "Inference-Header-Content-Length, traceparent, X-Request-Id"
          : NULL);
  has(&response, "Access-Control-Max-Age", told ? "7200" : NULL);
  has(&response, "Vary", varies ? "Origin" : NULL);
  fixture_response_free(&response);
  // An OPTIONS request that is not a browser's preflight gets no such headers.
  response = ask(server, "OPTIONS /api/v1/functions/t/add", origin, "");
  assert_int_equal(response.status, allowed ? 405 : 403);
  fixture_response_free(&response);
}

static void every_origin_with_every_policy(void **state) {
  (void)state;
  for (size_t i = 0; i < POLICIES; i++) {
    fixture_server_t server;
    fixture_start(&server, kPolicies[i].flags);
    FC_TEST_EACH_ROW(const __typeof__(kOrigins[0]), row, kOrigins) {
      check_answer(&server, row->origin, row->allowed[i], kPolicies[i].varies);
      check_preflight(&server, row->origin, row->allowed[i],
                      kPolicies[i].varies);
    }
    fixture_stop(&server);
    fixture_forget(&server);
  }
}

static void calls_of_pages_are_answered(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, kPolicies[1].flags);
  const int fd = fixture_connect(&server);
  assert_true(fixture_send_text(
      fd, "POST /api/v1/functions/t/add HTTP/1.1\r\nHost: localhost\r\n"
          "Origin: https://a.example\r\nContent-Length: 5\r\n\r\n[3,4]"
          "POST /api/v1/functions/t/add HTTP/1.1\r\nHost: localhost\r\n"
          "Content-Length: 5\r\n\r\n[3,5]"));
  fixture_response_t response;
  assert_true(fixture_receive(fd, false, &response));
  assert_string_equal(response.body, "{\"results\":[7]}");
  has(&response, "Access-Control-Allow-Origin", "https://a.example");
  fixture_response_free(&response);
  // The next request of the connection comes from no page.
  assert_true(fixture_receive(fd, false, &response));
  assert_string_equal(response.body, "{\"results\":[8]}");
  has(&response, "Access-Control-Allow-Origin", NULL);
  fixture_response_free(&response);
  close(fd);
  fixture_stop(&server);
  fixture_forget(&server);
}

// A page must not be able to change the server of a person who visits the page.
static void pages_change_nothing_without_a_token(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--admin=loopback --allow-origin=https://a.example");
  fixture_response_t response =
      ask(&server, "POST /api/v1/reload", "https://a.example",
          "Content-Length: 0\r\n");
  assert_int_equal(response.status, 403);
  fixture_response_free(&response);
  response = ask(&server, "POST /api/v1/reload", NULL, "Content-Length: 0\r\n");
  assert_int_equal(response.status, 422);  // done; "broken" is still broken
  fixture_response_free(&response);
  fixture_stop(&server);
  fixture_forget(&server);
}

int main(int argc, char **argv) {
  fixture_worker(argc, argv);
  const struct CMUnitTest tests[] = {
      FC_TEST(every_origin_with_every_policy),
      FC_TEST(calls_of_pages_are_answered),
      FC_TEST(pages_change_nothing_without_a_token),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
