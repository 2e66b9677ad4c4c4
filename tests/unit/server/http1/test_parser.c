// SPDX-License-Identifier: Apache-2.0
//
// How heads are understood: targets, lengths, persistence. The heads that are refused
// are in the transcripts of tests/http.
#include "http1/parser.h"

#include <stdio.h>

#include "helpers/test.h"

typedef struct head_row_t {
  const char *name;
  const char *head;
  const char *path;
  const char *query;
  const char *authority;
  fc_method_t method;
  bool keep_alive;
  bool chunked;
  bool has_length;
  uint64_t length;
} head_row_t;

static const head_row_t kHeads[] = {
    {"plain", "GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n", "/a", "b=c", "",
     FC_METHOD_GET, true, false, false, 0},
    {"close", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "/", "",
     "", FC_METHOD_GET, false, false, false, 0},
    {"1.0", "GET / HTTP/1.0\r\n\r\n", "/", "", "", FC_METHOD_GET, false, false,
     false, 0},
    {"1.0 kept", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "/", "",
     "", FC_METHOD_GET, true, false, false, 0},
    {"length", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 007\r\n\r\n", "/",
     "", "", FC_METHOD_POST, true, false, true, 7},
    {"no body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", "/",
     "", "", FC_METHOD_POST, true, false, true, 0},
    {"chunked",
     "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\t chunked \r\n\r\n", "/",
     "", "", FC_METHOD_POST, true, true, false, 0},
    {"absolute", "GET HTTP://h:1/a?b?c HTTP/1.1\r\nHost: H:1\r\n\r\n", "/a",
     "b?c", "h:1", FC_METHOD_GET, true, false, false, 0},
    {"absolute, query alone", "GET http://h?q HTTP/1.1\r\nHost: h\r\n\r\n", "/",
     "q", "h", FC_METHOD_GET, true, false, false, 0},
    {"upgrade",
     "GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
     "/", "", "", FC_METHOD_GET, false, false, false, 0},
};

static void heads_mean_what_they_say(void **state) {
  (void)state;
  fc_parser_t parser;
  fc_parser_init(&parser);
  FC_TEST_EACH_ROW(const head_row_t, row, kHeads) {
    llhttp_t llhttp;
    fc_head_t head;
    fc_error_t error;
    fc_status_t status =
        fc_parser_read_head(&parser, &llhttp, fc_str(row->head), &head, &error);
    if (status != FC_OK) fail_msg("%s", error.message);
    assert_true(fc_str_equal(head.request.path, fc_str(row->path)));
    assert_true(fc_str_equal(head.request.query, fc_str(row->query)));
    assert_true(fc_str_equal(head.request.authority, fc_str(row->authority)));
    assert_int_equal(head.request.method, row->method);
    assert_true(
        fc_str_starts(fc_str(row->head), fc_str(head.request.method_name)));
    assert_int_equal(head.keep_alive, row->keep_alive);
    assert_int_equal(head.chunked, row->chunked);
    assert_int_equal(head.has_length, row->has_length);
    assert_int_equal(head.request.has_body, row->has_length || row->chunked);
    assert_int_equal(head.request.length, row->length);
  }
}

static void fields_are_trimmed_and_the_first_one_counts(void **state) {
  (void)state;
  fc_parser_t parser;
  fc_parser_init(&parser);
  llhttp_t llhttp;
  fc_head_t head;
  const fc_request_t *request = &head.request;
  fc_error_t error;
  fc_str_t bytes = FC_STR(
      "GET / HTTP/1.1\r\nHOST: \t h \t\r\nAccept:\r\nx-REQUEST-id: one\r\n"
      "X-Request-Id: two\r\nX-Request-Idx: three\r\n\r\n");
  assert_int_equal(fc_parser_read_head(&parser, &llhttp, bytes, &head, &error),
                   FC_OK);
  assert_true(fc_str_equal(request->fields[FC_FIELD_HOST], FC_STR("h")));
  assert_non_null(request->fields[FC_FIELD_ACCEPT].data);
  assert_int_equal(request->fields[FC_FIELD_ACCEPT].size, 0);
  assert_true(
      fc_str_equal(request->fields[FC_FIELD_REQUEST_ID], FC_STR("one")));
  assert_null(request->fields[FC_FIELD_ORIGIN].data);
  assert_true(fc_str_starts(request->lines, FC_STR("HOST: \t h")));
  assert_true(fc_str_ends(request->lines, FC_STR("three\r\n\r\n")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(heads_mean_what_they_say),
      FC_TEST(fields_are_trimmed_and_the_first_one_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
