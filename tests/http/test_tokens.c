// SPDX-License-Identifier: Apache-2.0
//
// Permissions: every route with every scope, on listeners with and without tokens, from
// the table of routes. Also Authorization headers that are malformed.
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "fixture.h"
#include "helpers/test.h"

typedef struct route_t {
  const char *name;
  const char *path;
  unsigned methods;
  unsigned scope;
} route_t;

static const route_t kRoutes[] = {
#define FC_ROUTE(name, path, methods, scope, dialect) \
  {#name, path, methods, FC_SCOPE_##scope},
// These are no routes over HTTP/1 (e2e/grpc tests them).
#define FC_GRPC_ROUTE(name, path, methods, scope, document)
#define FC_GRPC_DIALECT_ROUTE(name, path, methods, scope, dialect)
#include "dialect/route.def"
};

// All paths that need no token.
static const char *const kOpen[] = {"/",
                                    "/livez",
                                    "/readyz",
                                    "/startupz",
                                    "/explorer.js",
                                    "/explorer.css",
                                    "/explorer.svg",
                                    "/v2/health/live",
                                    "/v2/health/ready"};

static const char *const kScopes[] = {
#define FC_SCOPE(name, text) text,
#include "config/scope.def"
#undef FC_SCOPE
};

static char token_file[64];

// Writes one token for each scope; the scope is its name and its secret. Five more
// tokens have all scopes: "all" for all modules, "only_t" for s and t*, "only_x" for x,
// "just_t" for t, "dot_x" for t.x.
static void write_tokens(void) {
  static const char *const kAll = "call,read,admin,metrics,profile";
  char hash[65];
  snprintf(token_file, sizeof token_file, "/tmp/farcall-tokens-%d", getpid());
  FILE *file = fopen(token_file, "w");
  assert_non_null(file);
  assert_int_equal(fchmod(fileno(file), 0600), 0);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kScopes); i++) {
    fc_sha256_hex(kScopes[i], strlen(kScopes[i]), hash);
    fprintf(file, "%s %s %s\n", kScopes[i], kScopes[i], hash);
  }
  fc_sha256_hex("all", 3, hash);
  fprintf(file, "all %s %s # of the operator\n", kAll, hash);
  fc_sha256_hex("only_t", 6, hash);
  fprintf(file, "only_t %s %s s,t*\n", kAll, hash);
  fc_sha256_hex("only_x", 6, hash);
  fprintf(file, "only_x %s %s x\n", kAll, hash);
  fc_sha256_hex("just_t", 6, hash);
  fprintf(file, "just_t %s %s t\n", kAll, hash);
  fc_sha256_hex("dot_x", 5, hash);
  fprintf(file, "dot_x %s %s t.x\n", kAll, hash);
  assert_int_equal(fclose(file), 0);
}

static void start(fixture_server_t *server, const char *more) {
  char flags[200];
  snprintf(flags, sizeof flags, "--token-file=%s %s", token_file, more);
  fixture_start(server, flags);
}

static void end(fixture_server_t *server) {
  fixture_stop(server);
  fixture_forget(server);
}

// Writes the path of a route, with names that exist.
static void fill(const char *pattern, char out[128]) {
  static const struct {
    const char *mark, *text;
  } kNames[] = {{"{module}", "t"},  {"{function}", "add"}, {"{model}", "t.add"},
                {"{version}", "1"}, {"{session}", "0"},    {"{value}", "kv"}};
  size_t size = 0;
  while (*pattern) {
    size_t i = 0;
    while (i < FC_ARRAY_COUNT(kNames) &&
           strncmp(pattern, kNames[i].mark, strlen(kNames[i].mark))) {
      i++;
    }
    if (i == FC_ARRAY_COUNT(kNames)) {
      out[size++] = *pattern++;
      continue;
    }
    size += (size_t)snprintf(out + size, 128 - size, "%s", kNames[i].text);
    pattern += strlen(kNames[i].mark);
  }
  out[size] = '\0';
}

// Uses another address for every eight connections: if too many wrong tokens come from
// one address, its answers wait (FC_LIMIT_GUESSES).
static int connect_anew(const fixture_server_t *server) {
  static unsigned count;
  const int fd = fixture_socket();
  fixture_bind(fd, 2 + count++ / 8 % 250);
  fixture_connect_socket(server, fd);
  return fd;
}

// Sends a body that is not JSON, so that a request that is allowed changes nothing.
static fixture_response_t ask(const fixture_server_t *server,
                              const char *method, const char *path,
                              const char *authorization) {
  char head[2048];
  fixture_response_t response;
  const int fd = connect_anew(server);
  snprintf(head, sizeof head,
           "%s %s HTTP/1.1\r\nHost: localhost\r\n%s%s%sConnection: close\r\n"
           "Content-Length: %d\r\n\r\n%s",
           method, path, authorization ? "Authorization: " : "",
           authorization ? authorization : "", authorization ? "\r\n" : "",
           *method == 'P', *method == 'P' ? "}" : "");
  assert_true(fixture_send_text(fd, head));
  assert_true(fixture_receive(fd, false, &response));
  close(fd);
  return response;
}

static void expect(const fixture_server_t *server, const char *method,
                   const char *path, const char *secret, int status,
                   const char *says) {
  char authorization[300], got[64];
  if (secret) {
    snprintf(authorization, sizeof authorization, "Bearer %s", secret);
  }
  fixture_response_t response =
      ask(server, method, path, secret ? authorization : NULL);
  const bool refused = response.status == 401 || response.status == 403;
  if (status ? response.status != status : refused) {
    fail_msg("%s %s with %s: %d, not %d: %s", method, path,
             secret ? secret : "nothing", response.status, status,
             response.body);
  }
  const char *challenge =
      fixture_header(&response, "WWW-Authenticate", got, 64);
  assert_int_equal(challenge != NULL, status == 401);
  if (challenge) assert_string_equal(challenge, "Bearer");
  if (says && !strstr(response.body, says)) {
    fail_msg("%s %s: %s", method, path, response.body);
  }
  // A refusal reveals nothing about modules.
  if (refused) assert_null(strstr(response.body, "\"module\""));
  if (secret && strlen(secret) > 20) {
    assert_null(strstr(response.body, secret));
  }
  fixture_response_free(&response);
}

#define POSTS (FC_ROUTE_CALL | FC_ROUTE_POST | FC_ROUTE_ACT | FC_ROUTE_ADMIN)

static unsigned needed_of(const route_t *route, const char *method) {
  if (*method != 'P') return route->scope;
  if (route->methods & (FC_ROUTE_ACT | FC_ROUTE_ADMIN)) return FC_SCOPE_ADMIN;
  return route->methods & FC_ROUTE_CALL ? FC_SCOPE_CALL : route->scope;
}

// With tokens. Status 0 stands for any except 401 and 403.
static void check_method(const fixture_server_t *server, const route_t *route,
                         const char *method) {
  const unsigned needed = needed_of(route, method);
  const bool open = needed == FC_SCOPE_OPEN;
  const bool of_one = strchr(route->path, '{') != NULL;
  char path[128], says[64];
  fill(route->path, path);
  expect(server, method, path, NULL, open ? 0 : 401,
         open ? NULL : "\"a token is needed: 'Authorization: Bearer TOKEN'\"");
  expect(server, method, path, "unknown-and-rather-long", open ? 0 : 401, NULL);
  for (unsigned i = 0; i < FC_ARRAY_COUNT(kScopes); i++) {
    const bool may = open || needed == FC_SCOPE_ANY || needed == 1u << i;
    snprintf(says, sizeof says, "token '%s' has not the scope '%s'", kScopes[i],
             may ? "" : fc_scope_name((uint8_t)needed));
    expect(server, method, path, kScopes[i], may ? 0 : 403, may ? NULL : says);
  }
  expect(server, method, path, "all", 0, NULL);
  const bool any = open || needed == FC_SCOPE_ANY;
  expect(server, method, path, "only_t", any || of_one ? 0 : 403, NULL);
  expect(server, method, path, "only_x", any ? 0 : 403, NULL);
}

static void every_route_with_every_scope(void **state) {
  (void)state;
  fixture_server_t server, plain;
  start(&server, "");
  fixture_start(&plain, "");
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRoutes); i++) {
    const route_t *route = &kRoutes[i];
    char path[128];
    fill(route->path, path);
    if (route->methods & FC_ROUTE_GET) {
      check_method(&server, route, "GET");
      expect(&plain, "GET", path, NULL, 0, NULL);
      expect(&plain, "GET", path, "unknown-and-rather-long", 0, NULL);
    }
    if (route->methods & FC_ROUTE_DELETE)
      check_method(&server, route, "DELETE");
    if (route->methods & FC_ROUTE_PUT) check_method(&server, route, "PUT");
    if (!(route->methods & POSTS)) continue;
    check_method(&server, route, "POST");
    // Without tokens: over TCP no act is allowed, and every call is.
    const bool act = route->methods & (FC_ROUTE_ACT | FC_ROUTE_ADMIN);
    expect(&plain, "POST", path, NULL, act ? 403 : 0, NULL);
  }
  end(&plain);
  end(&server);
}

static void what_is_open_is_listed(void **state) {
  (void)state;
  size_t count = 0;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRoutes); i++) {
    const route_t *route = &kRoutes[i];
    bool listed = false;
    for (size_t k = 0; k < FC_ARRAY_COUNT(kOpen); k++) {
      listed |= !strcmp(kOpen[k], route->path);
    }
    count += listed;
    assert_int_equal(listed, route->scope == FC_SCOPE_OPEN);
    // If a row has no GET, its scope is the one that POST needs.
    if (!(route->methods & FC_ROUTE_GET) && route->methods & POSTS) {
      assert_int_equal(route->scope, needed_of(route, "POST"));
    }
  }
  assert_int_equal(count, FC_ARRAY_COUNT(kOpen));
}

static void names_are_not_told(void **state) {
  (void)state;
  static const struct {
    const char *name, *method, *path, *secret;
    int status;
  } rows[] = {
      {"no such module", "GET", "/api/v1/modules/nope", NULL, 401},
      {"one that there is", "GET", "/api/v1/modules/t", NULL, 401},
      {"one that is broken", "GET", "/api/v1/functions/broken/f", NULL, 401},
      {"no such model", "POST", "/v2/models/nope/infer", NULL, 401},
      {"another's", "GET", "/api/v1/modules/t", "only_x", 403},
      {"another's, there is none", "GET", "/api/v1/modules/u", "only_x", 403},
      {"an act of another's", "POST", "/api/v1/modules/u/load", "only_t", 403},
      {"an act of one's own", "POST", "/api/v1/modules/tt@2/load", "only_t",
       400},
      {"an act of another's model", "POST", "/v2/repository/models/t.x/unload",
       "dot_x", 403},
      {"an act of one's own model", "POST", "/v2/repository/models/t.add/load",
       "just_t", 400},
      {"a profile", "POST", "/api/v1/functions/t/add?profile=1", "call", 403},
      {"no profile", "POST", "/api/v1/functions/t/add?profile=0", "call", 400},
      {"another method", "PUT", "/api/v1", NULL, 401},
      {"another method, known", "PUT", "/api/v1", "read", 405},
      {"no such path", "GET", "/nope", NULL, 404},
  };
  fixture_server_t server;
  start(&server, "");
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    expect(&server, row->method, row->path, row->secret, row->status, NULL);
  }
  expect(&server, "GET", "/api/v1", "call", 200, "\"profile\":false,");
  expect(&server, "GET", "/api/v1", "profile", 200, "\"profile\":true,");
  end(&server);
}

static void malformed_values_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *name, *value;
    int status;
  } rows[] = {
      {"as it should be", "Bearer read", 200},
      {"another case", "bEARER read", 200},
      {"blanks", "Bearer   read \t", 200},
      {"nothing", "", 401},
      {"the scheme", "Bearer", 401},
      {"the scheme and a blank", "Bearer ", 401},
      {"no scheme", "read", 401},
      {"another scheme", "Basic read", 401},
      {"a longer scheme", "Bearerx read", 401},
      {"a tab between", "Bearer\tread", 401},
      {"two words", "Bearer read read", 401},
      {"a comma", "Bearer read,", 401},
      {"quotes", "Bearer \"read\"", 401},
      {"its hash",
       "Bearer "
       "3316348dbadfb7b11c7c2ea235949419e23f9fa898ad2c198f999617912a9925",
       401},
      {"a name and a secret", "Bearer read:read", 401},
      {"another's case", "Bearer READ", 401},
      {"bytes above ASCII",
       "Bearer r\xc3\xa9"
       "ad",
       401},
  };
  fixture_server_t server;
  char text[1200] = "Bearer ";
  start(&server, "");
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fixture_response_t response =
        ask(&server, "GET", "/api/v1/modules", row->value);
    assert_int_equal(response.status, row->status);
    fixture_response_free(&response);
  }
  memset(text + 7, 'x', 1000);
  fixture_response_t response = ask(&server, "GET", "/api/v1/modules", text);
  assert_int_equal(response.status, 401);
  assert_null(strstr(response.body, "xxxx"));
  fixture_response_free(&response);
  // Two Authorization headers are refused, because it is unclear which one counts.
  response = ask(&server, "GET", "/api/v1/modules",
                 "Bearer read\r\nAuthorization: Bearer read");
  assert_int_equal(response.status, 400);
  fixture_response_free(&response);
  end(&server);
}

// Origin is checked before the token. A page of an allowed origin still needs a token,
// and may read the answer that says so. Its preflight needs none.
static void pages_need_tokens_too(void **state) {
  (void)state;
  static const struct {
    const char *name, *method, *origin, *secret;
    int status;
    bool told;  // Access-Control-Allow-Origin has the origin
  } rows[] = {
      {"no page", "GET", NULL, "read", 200, false},
      {"no page, no token", "GET", NULL, NULL, 401, false},
      {"the page", "GET", "https://a.example", "read", 200, true},
      {"the page without a token", "GET", "https://a.example", NULL, 401, true},
      {"the page, unknown", "GET", "https://a.example", "nope", 401, true},
      {"the page, another scope", "GET", "https://a.example", "call", 403,
       true},
      {"another page", "GET", "https://b.example", "read", 403, false},
      {"another page, no token", "GET", "https://b.example", NULL, 403, false},
      {"its own page", "GET", "http://localhost", "read", 200, false},
      {"its own page, no token", "GET", "http://localhost", NULL, 401, false},
      {"may it?", "OPTIONS", "https://a.example", NULL, 204, true},
      {"may another?", "OPTIONS", "https://b.example", NULL, 403, false},
      {"an act of a page", "POST", "https://a.example", "admin", 400, true},
      {"an act of a page, another scope", "POST", "https://a.example", "read",
       403, true},
  };
  fixture_server_t server;
  start(&server, "--allow-origin=https://a.example");
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    char head[800], got[80];
    fixture_response_t response;
    const int fd = fixture_connect(&server);
    const bool act = *row->method == 'P';
    snprintf(
        head, sizeof head,
        "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        "%s%s%s%s%s%s%sContent-Length: %d\r\n\r\n%s",
        row->method, act ? "/api/v1/modules/t/load" : "/api/v1/modules",
        row->origin ? "Origin: " : "", row->origin ? row->origin : "",
        row->origin ? "\r\n" : "", row->secret ? "Authorization: Bearer " : "",
        row->secret ? row->secret : "", row->secret ? "\r\n" : "",
        *row->method == 'O' ? "Access-Control-Request-Method: GET\r\n" : "",
        act, act ? "}" : "");
    assert_true(fixture_send_text(fd, head));
    assert_true(fixture_receive(fd, false, &response));
    close(fd);
    if (response.status != row->status) fail_msg("%s", response.body);
    const char *told = fixture_header(&response, "Access-Control-Allow-Origin",
                                      got, sizeof got);
    assert_int_equal(told != NULL, row->told);
    if (told) assert_string_equal(told, row->origin);
    assert_int_equal(
        fixture_header(&response, "WWW-Authenticate", got, sizeof got) != NULL,
        row->status == 401);
    fixture_response_free(&response);
  }
  end(&server);
}

static void the_log_has_the_name(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--log-format=json");
  expect(&server, "GET", "/api/v1/modules", "all", 200, NULL);
  expect(&server, "GET", "/api/v1/modules", "call", 403, NULL);
  expect(&server, "GET", "/api/v1", "a-secret-that-nobody-knows", 401, NULL);
  expect(&server, "GET", "/livez", "a-secret-that-nobody-knows", 200, NULL);
  fixture_stop(&server);
  assert_non_null(strstr(server.log_text, "\"token\":\"all\""));
  assert_non_null(strstr(server.log_text, "\"token\":\"call\""));
  assert_null(strstr(server.log_text, "a-secret"));
  fixture_forget(&server);
}

static void admin_off_is_off(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--admin=off");
  expect(&server, "POST", "/api/v1/reload", "all", 403, "--admin=off");
  end(&server);
}

// Sends the requests byte by byte on one connection; each request has its own token.
static void each_request_is_checked(void **state) {
  (void)state;
  static const char kRequests[] =
      "GET /api/v1/modules HTTP/1.1\r\nHost: localhost\r\n"
      "Authorization: Bearer read\r\n\r\n"
      "GET /api/v1/modules HTTP/1.1\r\nHost: localhost\r\n\r\n"
      "GET /api/v1/modules HTTP/1.1\r\nHost: localhost\r\n"
      "Authorization: Bearer call\r\n\r\n"
      "GET /api/v1/modules HTTP/1.1\r\nHost: localhost\r\n"
      "Authorization: Bearer all\r\n\r\n";
  static const int kStatus[] = {200, 401, 403, 200};
  fixture_server_t server;
  start(&server, "");
  const int fd = fixture_connect(&server);
  for (size_t i = 0; i + 1 < sizeof kRequests; i++) {
    assert_true(fixture_send(fd, kRequests + i, 1));
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(kStatus); i++) {
    fixture_response_t response;
    assert_true(fixture_receive(fd, false, &response));
    assert_int_equal(response.status, kStatus[i]);
    fixture_response_free(&response);
  }
  close(fd);
  end(&server);
}

static void receive_status(int fd, int status) {
  fixture_response_t response;
  assert_true(fixture_receive(fd, false, &response));
  assert_int_equal(response.status, status);
  fixture_response_free(&response);
}

#define GUESS                                           \
  "GET /api/v1/modules HTTP/1.1\r\nHost: localhost\r\n" \
  "Authorization: Bearer guess\r\n"

// The answer to the eleventh wrong token is delayed, together with the request that
// follows on the connection. If the client leaves meanwhile, or the server ends, the
// wait ends.
static void a_guess_too_many_waits_for_its_answer(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--log-format=json");
  const int fd = fixture_connect(&server);
  for (int i = 0; i < FC_LIMIT_GUESSES; i++) {
    assert_true(fixture_send_text(fd, GUESS "\r\n"));
    receive_status(fd, 401);
  }
  const int gone = fixture_connect(&server);
  assert_true(fixture_send_text(gone, GUESS "\r\n"));
  close(gone);
  assert_true(fixture_send_text(
      fd, "POST /api/v1/functions/t/add HTTP/1.1\r\nHost: localhost\r\n"
          "Authorization: Bearer guess\r\nX-Request-Id: slow\r\n"
          "Content-Length: 5\r\n\r\n[1,2]"
          "GET /api/v1/modules HTTP/1.1\r\nHost: localhost\r\n"
          "Authorization: Bearer read\r\n\r\n"));
  receive_status(fd, 401);
  receive_status(fd, 200);
  const uint64_t seen = fixture_bytes(&server);
  assert_true(fixture_send_text(fd, GUESS "\r\n"));
  fixture_wait_bytes(&server, seen + sizeof GUESS + 1);
  fixture_stop(&server);
  close(fd);
  const char *line = strstr(server.log_text, "\"slow\"");
  const char *spent = line ? strstr(line, "\"us\":") : NULL;
  assert_non_null(spent);
  assert_true(strtoull(spent + 5, NULL, 10) > 900000);
  fixture_forget(&server);
}

int main(int argc, char **argv) {
  fixture_worker(argc, argv);
  const struct CMUnitTest tests[] = {
      FC_TEST(every_route_with_every_scope),
      FC_TEST(what_is_open_is_listed),
      FC_TEST(names_are_not_told),
      FC_TEST(malformed_values_are_refused),
      FC_TEST(the_log_has_the_name),
      FC_TEST(pages_need_tokens_too),
      FC_TEST(admin_off_is_off),
      FC_TEST(each_request_is_checked),
      FC_TEST(a_guess_too_many_waits_for_its_answer),
  };
  write_tokens();
  const int status = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(token_file);
  return status;
}
