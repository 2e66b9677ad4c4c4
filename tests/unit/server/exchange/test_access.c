// SPDX-License-Identifier: Apache-2.0
//
// Which requests are answered: tables of fields that browsers, proxies and other
// programs send, and how they are understood.
#include "exchange/access.h"

#include <stdio.h>

#include "exchange/privilege.h"
#include "helpers/test.h"
#include "http1/parser.h"

// A request with these field lines, parsed as a connection would parse them.
static fc_request_t request_of(fc_parser_t *parser, const char *lines,
                               char *head, size_t capacity) {
  llhttp_t llhttp;
  fc_head_t parsed;
  fc_error_t error;
  const int size = snprintf(head, capacity, "GET / HTTP/1.%c\r\n%s\r\n",
                            strstr(lines, "Host:") ? '1' : '0', lines);
  assert_true(size > 0 && (size_t)size < capacity);
  fc_parser_init(parser);
  if (fc_parser_read_head(parser, &llhttp, fc_str_make(head, (size_t)size),
                          &parsed, &error) != FC_OK) {
    fail_msg("%s", error.message);
  }
  return parsed.request;
}

static fc_code_t check(const char *hosts, const char *proxies, bool loopback,
                       const char *lines, fc_peer_t *peer, fc_error_t *error) {
  fc_policy_t policy;
  fc_parser_t parser;
  char head[1024];
  assert_int_equal(
      fc_policy_init(&policy, fc_str(hosts), fc_str(proxies), error), FC_OK);
  policy.loopback = loopback;
  policy.bind = loopback ? FC_STR("127.0.0.5") : FC_STR("0.0.0.0");
  const fc_request_t request = request_of(&parser, lines, head, sizeof head);
  fc_error_reset(error);
  return fc_access_check(&policy, &request, peer, error) == FC_OK ? FC_CODE_NONE
                                                                  : error->code;
}

static void host_and_origin_are_looked_at(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *hosts;
    bool loopback;
    const char *lines;
    fc_code_t code;
  } rows[] = {
      {"no host", "", true, "", FC_CODE_NONE},
      {"localhost", "", true, "Host: LocalHost:1\r\n", FC_CODE_NONE},
      {"what it listens on", "", true, "Host: 127.0.0.5:80\r\n", FC_CODE_NONE},
      {"another name", "", true, "Host: a.example\r\n",
       FC_CODE_HOST_NOT_ALLOWED},
      {"a longer name", "", true, "Host: localhost.evil\r\n",
       FC_CODE_HOST_NOT_ALLOWED},
      {"another address", "", true, "Host: 127.0.0.2\r\n",
       FC_CODE_HOST_NOT_ALLOWED},
      {"an allowed name", "b.example,a.example", true,
       "Host: A.example:8000\r\n", FC_CODE_NONE},
      {"the first of two", "b.example,a.example", true, "Host: b.example\r\n",
       FC_CODE_NONE},
      {"a part of an allowed name", "a.example", true, "Host: example\r\n",
       FC_CODE_HOST_NOT_ALLOWED},
      {"not loopback", "", false, "Host: a.example\r\n", FC_CODE_NONE},
      {"not loopback, names are given", "b.example", false,
       "Host: a.example\r\n", FC_CODE_HOST_NOT_ALLOWED},
      {"an address", "b.example", false, "Host: 192.0.2.1:8000\r\n",
       FC_CODE_NONE},
      {"an address of IPv6", "b.example", false, "Host: [2001:db8::1]\r\n",
       FC_CODE_NONE},
      {"nearly an address", "b.example", false, "Host: 192.0.2.1.nip.io\r\n",
       FC_CODE_HOST_NOT_ALLOWED},

      {"own origin", "", true,
       "Host: localhost:1\r\nOrigin: http://localhost:1", FC_CODE_NONE},
      {"own address", "", false,
       "Host: 192.0.2.1:1\r\nOrigin: http://192.0.2.1:1", FC_CODE_NONE},
      {"own address of IPv6", "", false,
       "Host: [2001:db8::1]:1\r\nOrigin: http://[2001:db8::1]:1", FC_CODE_NONE},
      {"a name that was rebound", "", false,
       "Host: evil.example\r\nOrigin: http://evil.example",
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"a name that is allowed", "a.example", false,
       "Host: a.example\r\nOrigin: http://a.example", FC_CODE_NONE},
      {"an allowed name is no allowed origin", "a.example", false,
       "Host: localhost\r\nOrigin: http://a.example",
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"the port of http", "", true,
       "Host: localhost:80\r\nOrigin: http://localhost", FC_CODE_NONE},
      {"the port of https", "", true,
       "Host: localhost:443\r\nOrigin: http://localhost",
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"another port", "", true,
       "Host: localhost:1\r\nOrigin: http://localhost:2",
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"another scheme", "", true,
       "Host: localhost:1\r\nOrigin: https://localhost:1",
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"a scheme of its own", "", true,
       "Host: localhost:1\r\nOrigin: httpx://localhost:1",
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"foreign", "", false, "Host: 192.0.2.1\r\nOrigin: http://evil",
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"a file, a sandbox", "", true, "Host: localhost\r\nOrigin: null",
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"no origin to speak of", "", true,
       "Host: localhost\r\nOrigin: ", FC_CODE_ORIGIN_NOT_ALLOWED},
      {"origin without host", "", true, "Origin: http://",
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"nobody is trusted", "", true,
       "Host: localhost\r\nX-Forwarded-Host: a.example\r\n"
       "X-Forwarded-Proto: https\r\nOrigin: https://localhost",
       FC_CODE_ORIGIN_NOT_ALLOWED},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    char lines[256];
    snprintf(lines, sizeof lines, "%s%s", row->lines,
             !*row->lines || fc_str_ends(fc_str(row->lines), FC_STR("\r\n"))
                 ? ""
                 : "\r\n");
    fc_error_t error;
    assert_int_equal(check(row->hosts, "", row->loopback, lines, NULL, &error),
                     row->code);
  }
}

// 10.0.0.0/8 is a trusted proxy, "a.example" is an allowed host, and the listener is on
// loopback.
static void a_trusted_proxy_says_what_was_asked_for(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *from;
    const char *lines;
    fc_code_t code;
  } rows[] = {
      {"a host", "10.1.1.1", "Host: backend\r\nX-Forwarded-Host: a.example\r\n",
       FC_CODE_NONE},
      {"a host, with a port", "10.1.1.1",
       "Host: backend\r\nX-FORWARDED-HOST:a.example:8443\r\n", FC_CODE_NONE},
      {"an address", "10.1.1.1",
       "Host: backend\r\nX-Forwarded-Host: 192.0.2.1\r\n", FC_CODE_NONE},
      {"from elsewhere", "192.0.2.9",
       "Host: backend\r\nX-Forwarded-Host: a.example\r\n",
       FC_CODE_HOST_NOT_ALLOWED},
      {"nothing", "10.1.1.1", "Host: backend\r\n", FC_CODE_HOST_NOT_ALLOWED},
      {"a foreign host", "10.1.1.1",
       "Host: localhost\r\nX-Forwarded-Host: evil.example\r\n",
       FC_CODE_HOST_NOT_ALLOWED},
      {"no host", "10.1.1.1", "Host: localhost\r\nX-Forwarded-Host: ,\r\n",
       FC_CODE_HOST_NOT_ALLOWED},
      {"an empty field", "10.1.1.1", "Host: localhost\r\nX-Forwarded-Host:\r\n",
       FC_CODE_NONE},
      {"what the client made up stands first", "10.1.1.1",
       "Host: localhost\r\nX-Forwarded-Host: a.example, evil.example\r\n",
       FC_CODE_HOST_NOT_ALLOWED},
      {"also in a field of its own", "10.1.1.1",
       "Host: localhost\r\nX-Forwarded-Host: a.example\r\n"
       "X-Forwarded-Host: evil.example\r\n",
       FC_CODE_HOST_NOT_ALLOWED},
      {"the name of another field", "10.1.1.1",
       "Host: localhost\r\nX-Forwarded-Host-Name: evil.example\r\n",
       FC_CODE_NONE},
      {"an origin behind TLS", "10.1.1.1",
       "Host: a.example\r\nX-Forwarded-Proto: https\r\n"
       "Origin: https://a.example\r\n",
       FC_CODE_NONE},
      {"TLS, the host forwarded", "10.1.1.1",
       "Host: backend\r\nX-Forwarded-Proto: HTTPS\r\n"
       "X-Forwarded-Host: a.example:443\r\nOrigin: https://a.example\r\n",
       FC_CODE_NONE},
      {"without TLS", "10.1.1.1",
       "Host: a.example\r\nX-Forwarded-Proto: https\r\n"
       "Origin: http://a.example\r\n",
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"TLS nobody told of", "10.1.1.1",
       "Host: a.example\r\nOrigin: https://a.example\r\n",
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"a scheme nobody knows", "10.1.1.1",
       "Host: a.example\r\nX-Forwarded-Proto: gopher\r\n"
       "Origin: http://a.example\r\n",
       FC_CODE_NONE},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_peer_t peer;
    fc_error_t error;
    assert_true(fc_peer_parse(fc_str(row->from), &peer));
    assert_int_equal(
        check("a.example", "10.0.0.0/8", true, row->lines, &peer, &error),
        row->code);
  }
}

static void the_client_is_the_first_that_is_no_proxy(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *from;
    const char *lines;
    const char *client;
  } rows[] = {
      {"one proxy", "10.1.1.1", "X-Forwarded-For: 192.0.2.7\r\n", "192.0.2.7"},
      {"not believed", "192.0.2.9", "X-Forwarded-For: 192.0.2.7\r\n",
       "192.0.2.9"},
      {"nothing said", "10.1.1.1", "", "10.1.1.1"},
      {"two proxies", "10.1.1.1", "X-Forwarded-For: 192.0.2.7,10.2.2.2\r\n",
       "192.0.2.7"},
      {"two fields", "10.1.1.1",
       "X-Forwarded-For: 192.0.2.7\r\nx-forwarded-for: 10.2.2.2\r\n",
       "192.0.2.7"},
      {"what the client made up", "10.1.1.1",
       "X-Forwarded-For: 198.51.100.1, 192.0.2.7\r\n", "192.0.2.7"},
      {"made up in a field of its own", "10.1.1.1",
       "X-Forwarded-For: 198.51.100.1\r\nAccept: */*\r\n"
       "X-Forwarded-For: 192.0.2.7\r\n",
       "192.0.2.7"},
      {"made up as if by a proxy", "10.1.1.1",
       "X-Forwarded-For: 198.51.100.1, 10.3.3.3, 192.0.2.7\r\n", "192.0.2.7"},
      {"all are proxies", "10.1.1.1", "X-Forwarded-For: 10.3.3.3, 10.2.2.2\r\n",
       "10.3.3.3"},
      {"a port", "10.1.1.1", "X-Forwarded-For: 192.0.2.7:4711\r\n",
       "192.0.2.7"},
      {"IPv6", "10.1.1.1", "X-Forwarded-For: 2001:db8::7\r\n", "2001:db8::7"},
      {"IPv6 and a port", "10.1.1.1", "X-Forwarded-For: [2001:db8::7]:4711\r\n",
       "2001:db8::7"},
      {"not an address", "10.1.1.1", "X-Forwarded-For: unknown\r\n",
       "10.1.1.1"},
      {"nor behind a proxy", "10.1.1.1",
       "X-Forwarded-For: 192.0.2.7, _hidden, 10.2.2.2\r\n", "10.2.2.2"},
      {"an empty item", "10.1.1.1", "X-Forwarded-For: 192.0.2.7,\r\n",
       "10.1.1.1"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_peer_t peer, client;
    fc_error_t error;
    char lines[256];
    snprintf(lines, sizeof lines, "Host: localhost\r\n%s", row->lines);
    assert_true(fc_peer_parse(fc_str(row->from), &peer));
    assert_true(fc_peer_parse(fc_str(row->client), &client));
    assert_int_equal(check("", "10.0.0.0/8", true, lines, &peer, &error),
                     FC_CODE_NONE);
    assert_true(fc_peer_equal(&peer, &client));
  }
}

static void a_refusal_names_what_would_help(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *lines;
    const char *says;
  } rows[] = {
      {"a host", "Host: a%25.example:80\r\n",
       "the server does not answer as 'a%25.example': --allow-host=NAME lets "
       "names in"},
      {"TLS", "Host: localhost\r\nOrigin: https://localhost\r\n",
       "the page came by https and its request by http: --trusted-proxy=ADDR "
       "names a proxy in between"},
      {"a stranger", "Host: localhost\r\nOrigin: http://evil.example\r\n",
       "requests from pages of other origins are not answered"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_error_t error;
    (void)check("", "", true, row->lines, NULL, &error);
    assert_string_equal(error.message, row->says);
  }
  fc_error_t error;
  (void)check("", "", false, "Host: a.example\r\nOrigin: http://a.example\r\n",
              NULL, &error);
  assert_string_equal(error.message,
                      "pages of 'a.example' are not answered, since any site "
                      "can have its name point here: --allow-host=NAME lets "
                      "names in");
}

static void options_are_checked(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *hosts;
    const char *proxies;
    const char *says;  // NULL: fine
  } rows[] = {
      {"names", "a.example,b_1,10.0.0.1,[::1]", "", NULL},
      {"networks", "", "10.0.0.0/8,::1", NULL},
      {"a port", "a.example:80", "",
       "--allow-host: 'a.example:80' is no host name (no port, no scheme)"},
      {"a scheme", "http://a.example", "",
       "--allow-host: 'http://a.example' is no host name (no port, no scheme)"},
      {"a space", "a.example, b.example", "",
       "--allow-host: ' b.example' is no host name (no port, no scheme)"},
      {"nothing between commas", "a.example,,b.example", "",
       "--allow-host: '' is no host name (no port, no scheme)"},
      {"any name", "*", "",
       "--allow-host: '*' is no host name (no port, no scheme)"},
      {"no network", "", "proxy",
       "--trusted-proxy: 'proxy' is no network: ADDR or ADDR/BITS, such as "
       "10.0.0.0/8 or ::1"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_policy_t policy;
    fc_error_t error;
    fc_error_reset(&error);
    const fc_status_t status = fc_policy_init(&policy, fc_str(row->hosts),
                                              fc_str(row->proxies), &error);
    assert_int_equal(status == FC_OK, row->says == NULL);
    if (!row->says) continue;
    assert_int_equal(error.code, FC_CODE_NOT_ACCEPTABLE);
    assert_string_equal(error.message, row->says);
  }
}

// A Unix socket has no host name, so any Host is accepted. A page of another origin
// that comes through a proxy is still refused.
static void a_unix_socket_has_no_host(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *lines;
    fc_code_t code;
  } rows[] = {
      {"any name", "Host: any.name\r\n", FC_CODE_NONE},
      {"the name of curl's manual", "Host: localhost\r\n", FC_CODE_NONE},
      {"another origin", "Host: a.example\r\nOrigin: http://b.example\r\n",
       FC_CODE_ORIGIN_NOT_ALLOWED},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_policy_t policy = {.any_host = true, .hosts = FC_STR("b.example")};
    fc_parser_t parser;
    fc_error_t error;
    char head[1024];
    const fc_request_t request =
        request_of(&parser, row->lines, head, sizeof head);
    fc_error_reset(&error);
    const fc_status_t status = fc_access_check(&policy, &request, NULL, &error);
    assert_int_equal(status == FC_OK, row->code == FC_CODE_NONE);
    assert_int_equal(error.code, row->code);
  }
}

static void modules_are_changed_by_whom_the_policy_lets(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *lines;
    const char *address;
    bool local;  // a Unix socket, whose clients have no address
    uint8_t admin;
    const char *message;  // "": it may
    fc_privilege_t what;
  } rows[] = {
      {"a Unix socket", "", "::", true, FC_ADMIN_SOCKET, "",
       FC_PRIVILEGE_CHANGE},
      {"TCP, nobody said so", "", "127.0.0.1", false, FC_ADMIN_SOCKET,
       "the server is changed over a Unix socket (--listen=unix:PATH), or from "
       "this machine with --admin=loopback",
       FC_PRIVILEGE_CHANGE},
      {"TCP, from this machine", "", "127.0.0.1", false, FC_ADMIN_LOOPBACK, "",
       FC_PRIVILEGE_CHANGE},
      {"from another one", "", "10.0.0.1", false, FC_ADMIN_LOOPBACK,
       "the server is changed from its own machine only", FC_PRIVILEGE_CHANGE},
      {"no address", "", "::", false, FC_ADMIN_LOOPBACK,
       "the server is changed from its own machine only", FC_PRIVILEGE_CHANGE},
      {"through a proxy", "Via: 1.1 p\r\n", "127.0.0.1", false,
       FC_ADMIN_LOOPBACK,
       "nothing is changed for a request that a proxy passed on",
       FC_PRIVILEGE_CHANGE},
      {"through a proxy to a socket", "X-Forwarded-Anything: 1\r\n", "::", true,
       FC_ADMIN_LOOPBACK,
       "nothing is changed for a request that a proxy passed on",
       FC_PRIVILEGE_CHANGE},
      {"a socket, but nobody may", "", "::", true, FC_ADMIN_OFF,
       "--admin=off: nothing is changed over HTTP", FC_PRIVILEGE_CHANGE},
      {"a profile", "", "::", true, FC_ADMIN_SOCKET, "", FC_PRIVILEGE_PROFILE},
      {"over TCP, nobody said so", "", "127.0.0.1", false, FC_ADMIN_SOCKET,
       "the server's calls are profiled over a Unix socket "
       "(--listen=unix:PATH), or from this machine with --admin=loopback",
       FC_PRIVILEGE_PROFILE},
      {"from this machine", "", "::1", false, FC_ADMIN_LOOPBACK, "",
       FC_PRIVILEGE_PROFILE},
      {"from there", "", "10.0.0.1", false, FC_ADMIN_LOOPBACK,
       "the server's calls are profiled from its own machine only",
       FC_PRIVILEGE_PROFILE},
      {"passed on", "Via: 1.1 p\r\n", "127.0.0.1", false, FC_ADMIN_LOOPBACK,
       "no call is profiled for a request that a proxy passed on",
       FC_PRIVILEGE_PROFILE},
      {"nobody has one", "", "::", true, FC_ADMIN_OFF,
       "--admin=off: no call is profiled over HTTP", FC_PRIVILEGE_PROFILE},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const fc_policy_t policy = {.local = row->local, .admin = row->admin};
    fc_parser_t parser;
    fc_error_t error;
    fc_peer_t address;
    char head[1024], lines[256];
    assert_true(fc_peer_parse(fc_str(row->address), &address));
    snprintf(lines, sizeof lines, "Host: localhost\r\n%s", row->lines);
    const fc_request_t request = request_of(&parser, lines, head, sizeof head);
    fc_error_reset(&error);
    const fc_status_t status =
        fc_privilege_check(&policy, row->what, &request, &address, &error);
    assert_string_equal(error.message, row->message);
    assert_int_equal(status == FC_OK, row->message[0] == '\0');
  }
}

static void pages_of_a_listener_with_tls_come_by_https(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *proxies;
    const char *lines;
    fc_code_t code;
  } rows[] = {
      {"https", "", "Host: localhost:1\r\nOrigin: https://localhost:1\r\n",
       FC_CODE_NONE},
      {"its port", "", "Host: localhost\r\nOrigin: https://localhost:443\r\n",
       FC_CODE_NONE},
      {"http", "", "Host: localhost:1\r\nOrigin: http://localhost:1\r\n",
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"a proxy that speaks http to browsers", "192.0.2.1",
       "Host: localhost\r\nX-Forwarded-Proto: http\r\n"
       "Origin: http://localhost\r\n",
       FC_CODE_NONE},
      {"a stranger that says so", "192.0.2.2",
       "Host: localhost\r\nX-Forwarded-Proto: http\r\n"
       "Origin: http://localhost\r\n",
       FC_CODE_ORIGIN_NOT_ALLOWED},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_policy_t policy;
    fc_parser_t parser;
    fc_peer_t peer;
    fc_error_t error;
    char head[1024];
    assert_int_equal(
        fc_policy_init(&policy, FC_STR(""), fc_str(row->proxies), &error),
        FC_OK);
    policy.loopback = policy.tls = true;
    assert_true(fc_peer_parse(FC_STR("192.0.2.1"), &peer));
    const fc_request_t request =
        request_of(&parser, row->lines, head, sizeof head);
    const fc_status_t status =
        fc_access_check(&policy, &request, &peer, &error);
    assert_int_equal(status == FC_OK ? FC_CODE_NONE : error.code, row->code);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(host_and_origin_are_looked_at),
      FC_TEST(pages_of_a_listener_with_tls_come_by_https),
      FC_TEST(a_trusted_proxy_says_what_was_asked_for),
      FC_TEST(the_client_is_the_first_that_is_no_proxy),
      FC_TEST(a_refusal_names_what_would_help),
      FC_TEST(a_unix_socket_has_no_host),
      FC_TEST(modules_are_changed_by_whom_the_policy_lets),
      FC_TEST(options_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
