// SPDX-License-Identifier: Apache-2.0
//
// HTTP/2 heads that nghttp2 has accepted mean the same as those of HTTP/1.
#include "helpers/test.h"
#include "http2/connection.h"

#define GET ":method: GET\r\n:scheme: http\r\n"

typedef struct head_row_t {
  const char *name;
  const char *head;
  const char *method;
  const char *path;
  const char *query;
  const char *host;
  const char *lines;  // what follows the pseudo fields
  int64_t length;     // -1: none was said
} head_row_t;

static head_row_t heads[] = {
    {"plain", GET ":authority: h:1\r\n:path: /a?b=c\r\n", "GET", "/a", "b=c",
     "h:1", "", -1},
    {"any order",
     ":path: /\r\n:authority: h\r\n:scheme: https\r\n:method: HEAD\r\n", "HEAD",
     "/", "", "h", "", -1},
    {"host alone", GET ":path: /\r\nhost: h\r\n", "GET", "/", "", "h",
     "host: h\r\n", -1},
    {"authority and host", GET ":authority: h\r\n:path: /\r\nhost: h\r\n",
     "GET", "/", "", "h", "host: h\r\n", -1},
    {"length",
     ":method: POST\r\n:authority: h\r\n:path: /\r\ncontent-length: 7\r\n",
     "POST", "/", "", "h", "content-length: 7\r\n", 7},
    {"blanks, an empty value, and colons",
     GET ":authority: h\r\n:path: /\r\na:  b:c \r\nd: \r\n", "GET", "/", "",
     "h", "a:  b:c \r\nd: \r\n", -1},
    {"all of a server", ":method: OPTIONS\r\n:authority: h\r\n:path: *\r\n",
     "OPTIONS", "*", "", "h", "", -1},
    {"a tunnel", ":method: CONNECT\r\n:authority: h:1\r\n", "CONNECT", "h:1",
     "", "h:1", "", -1},
};

static void heads_mean_what_they_say(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(head_row_t, row, heads) {
    fc_head_t head;
    fc_error_t error;
    if (fc_http2_read_head(fc_str(row->head), &head, &error) != FC_OK) {
      fail_msg("%s", error.message);
    }
    const fc_request_t *request = &head.request;
    assert_string_equal(request->method_name, row->method);
    assert_true(fc_str_equal(request->path, fc_str(row->path)));
    assert_true(fc_str_equal(request->query, fc_str(row->query)));
    assert_true(
        fc_str_equal(request->fields[FC_FIELD_HOST], fc_str(row->host)));
    assert_true(fc_str_equal(request->lines, fc_str(row->lines)));
    assert_int_equal(head.has_length, row->length >= 0);
    if (row->length >= 0) assert_int_equal(request->length, row->length);
    assert_true(request->has_trailers && head.keep_alive);
  }
}

static void what_http1_refuses_is_refused(void **state) {
  (void)state;
  static struct {
    const char *name;
    const char *head;
    fc_code_t code;
  } rows[] = {
      {"method", ":method: BREW\r\n:authority: h\r\n:path: /\r\n",
       FC_CODE_HTTP_SYNTAX},
      {"path", GET ":authority: h\r\n:path: a\r\n", FC_CODE_HTTP_SYNTAX},
      {"an absolute path", GET ":authority: h\r\n:path: http://h/\r\n",
       FC_CODE_HTTP_SYNTAX},
      {"no host", GET ":path: /\r\n", FC_CODE_HTTP_SYNTAX},
      {"two hosts", GET ":path: /\r\nhost: a\r\nhost: b\r\n",
       FC_CODE_HTTP_SYNTAX},
      {"an expectation", GET ":authority: h\r\n:path: /\r\nexpect: tea\r\n",
       FC_CODE_EXPECTATION_FAILED},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_head_t head;
    fc_error_t error;
    fc_test_row(rows[i].name);
    assert_int_not_equal(
        fc_http2_read_head(fc_str(rows[i].head), &head, &error), FC_OK);
    assert_int_equal(error.code, rows[i].code);
  }
  fc_test_row(NULL);
}

// The fields after the error are read, too: the answer needs the request's id.
static void what_is_behind_an_error_is_read(void **state) {
  (void)state;
  fc_head_t head;
  fc_error_t error;
  assert_int_not_equal(
      fc_http2_read_head(FC_STR(":method: BREW\r\n:authority: h\r\n:path: /\r\n"
                                "host: a\r\nhost: b\r\nx-request-id: me\r\n"),
                         &head, &error),
      FC_OK);
  assert_string_equal(error.message, "no method that is known");
  assert_true(
      fc_str_equal(head.request.fields[FC_FIELD_REQUEST_ID], FC_STR("me")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(heads_mean_what_they_say),
      FC_TEST(what_http1_refuses_is_refused),
      FC_TEST(what_is_behind_an_error_is_read),
  };
  return fc_test_exit(cmocka_run_group_tests(tests, NULL, NULL));
}
