// SPDX-License-Identifier: Apache-2.0
//
// Heads understood: targets, lengths, persistence, and the small readers of
// field values. Refusals have their transcripts in tests/http.
#include "http1/request.h"

#include <stdio.h>

#include "helpers/test.h"

typedef struct head_row_t {
  const char *name;
  const char *head;
  const char *path;
  const char *query;
  const char *authority;
  uint8_t method;
  bool keep_alive;
  bool chunked;
  bool has_length;
  uint64_t length;
} head_row_t;

static const head_row_t kHeads[] = {
    {"plain", "GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n", "/a", "b=c", "",
     HTTP_GET, true, false, false, 0},
    {"close", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "/", "",
     "", HTTP_GET, false, false, false, 0},
    {"1.0", "GET / HTTP/1.0\r\n\r\n", "/", "", "", HTTP_GET, false, false,
     false, 0},
    {"1.0 kept", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "/", "",
     "", HTTP_GET, true, false, false, 0},
    {"length", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 007\r\n\r\n", "/",
     "", "", HTTP_POST, true, false, true, 7},
    {"no body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", "/",
     "", "", HTTP_POST, true, false, true, 0},
    {"chunked",
     "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\t chunked \r\n\r\n", "/",
     "", "", HTTP_POST, true, true, false, 0},
    {"absolute", "GET HTTP://h:1/a?b?c HTTP/1.1\r\nHost: H:1\r\n\r\n", "/a",
     "b?c", "h:1", HTTP_GET, true, false, false, 0},
    {"absolute, query alone", "GET http://h?q HTTP/1.1\r\nHost: h\r\n\r\n", "/",
     "q", "h", HTTP_GET, true, false, false, 0},
    {"upgrade",
     "GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
     "/", "", "", HTTP_GET, false, false, false, 0},
};

static void heads_mean_what_they_say(void **state) {
  (void)state;
  fc_request_parser_t parser;
  fc_request_parser_init(&parser);
  FC_TEST_EACH_ROW(const head_row_t, row, kHeads) {
    llhttp_t llhttp;
    fc_request_t request;
    fc_error_t error;
    fc_status_t status =
        fc_request_parse(&parser, &llhttp, fc_str(row->head), &request, &error);
    if (status != FC_OK) fail_msg("%s", error.message);
    assert_true(fc_str_equal(request.path, fc_str(row->path)));
    assert_true(fc_str_equal(request.query, fc_str(row->query)));
    assert_true(fc_str_equal(request.authority, fc_str(row->authority)));
    assert_int_equal(request.method, row->method);
    assert_int_equal(request.keep_alive, row->keep_alive);
    assert_int_equal(request.chunked, row->chunked);
    assert_int_equal(request.has_length, row->has_length);
    assert_int_equal(request.length, row->length);
  }
}

static void fields_are_trimmed_and_the_first_one_counts(void **state) {
  (void)state;
  fc_request_parser_t parser;
  fc_request_parser_init(&parser);
  llhttp_t llhttp;
  fc_request_t request;
  fc_error_t error;
  fc_str_t head = FC_STR(
      "GET / HTTP/1.1\r\nHOST: \t h \t\r\nAccept:\r\nx-REQUEST-id: one\r\n"
      "X-Request-Id: two\r\nX-Request-Idx: three\r\n\r\n");
  assert_int_equal(fc_request_parse(&parser, &llhttp, head, &request, &error),
                   FC_OK);
  assert_true(fc_str_equal(request.fields[FC_FIELD_HOST], FC_STR("h")));
  assert_non_null(request.fields[FC_FIELD_ACCEPT].data);
  assert_int_equal(request.fields[FC_FIELD_ACCEPT].size, 0);
  assert_true(fc_str_equal(request.fields[FC_FIELD_REQUEST_ID], FC_STR("one")));
  assert_null(request.fields[FC_FIELD_ORIGIN].data);
}

typedef struct text_row_t {
  const char *name;
  const char *expected;
} text_row_t;

static void host_names_are_cut_out(void **state) {
  (void)state;
  static const text_row_t rows[] = {
      {"localhost", "localhost"},
      {"localhost:80", "localhost"},
      {"localhost:", "localhost"},
      {"[::1]", "[::1]"},
      {"[::1]:80", "[::1]"},
      {"[::1", ""},
      {"[::1]x", ""},
      {"a:b", ""},
      {"a:80:90", ""},
      {":80", ""},
      {"", ""},
  };
  FC_TEST_EACH_ROW(const text_row_t, row, rows) {
    assert_true(fc_str_equal(fc_request_host_name(fc_str(row->name)),
                             fc_str(row->expected)));
  }
}

static void accept_is_understood(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool accepted;
  } rows[] = {
      {"", true},
      {"*/*", true},
      {"application/*", true},
      {"application/json", true},
      {"Application/JSON", true},
      {"text/html, */*;q=0.1", true},
      {"text/html , application/json ; q=0.5", true},
      {"application/json;q=0", false},
      {"application/json; charset=x; q=0.000", false},
      {"application/json;q=0.001", true},
      {"application/json;q=0, */*", false},
      {"*/*, application/json;q=0", false},
      {"application/json;q=0, application/*", false},
      {"application/*;q=0, */*", false},
      {"application/*;q=0, application/json", true},
      {"*/*;q=0, application/json;q=0.1", true},
      {"text/html;q=0, */*", true},
      {"application/json;q=0, application/json", true},
      {"application/json, application/json;q=0", true},
      {"text/html", false},
      {"application/jsonx", false},
      {"*", false},
      {",", false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_int_equal(fc_request_accepts(fc_str(row->name),
                                        FC_STR("application"), FC_STR("json")),
                     row->accepted);
  }
}

static void query_members_are_found(void **state) {
  (void)state;
  static const text_row_t rows[] = {
      {"k=v", "v"}, {"a=b&k=v", "v"}, {"k", ""},
      {"k=", ""},   {"kk=v", NULL},   {"a=k", NULL},
      {"", NULL},   {"k=1&k=2", "1"}, {"&&k=v&", "v"},
  };
  FC_TEST_EACH_ROW(const text_row_t, row, rows) {
    fc_str_t value = fc_request_query(fc_str(row->name), FC_STR("k"));
    assert_int_equal(value.data != NULL, row->expected != NULL);
    if (row->expected) {
      assert_true(fc_str_equal(value, fc_str(row->expected)));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(heads_mean_what_they_say),
      FC_TEST(fields_are_trimmed_and_the_first_one_counts),
      FC_TEST(host_names_are_cut_out),
      FC_TEST(accept_is_understood),
      FC_TEST(query_members_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
