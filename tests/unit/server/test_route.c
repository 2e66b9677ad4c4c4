// SPDX-License-Identifier: Apache-2.0
//
// Percent-decoding and the guards. Which path is what is written in
// tests/http/cases/30-routes.http.
#include "api/route.h"

#include "helpers/test.h"

static void percent_encoding_is_decoded_once(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *expected;  // NULL: malformed
    size_t size;
  } rows[] = {
      {"", "", 0},      {"abc", "abc", 3}, {"%41%62", "Ab", 2},
      {"%2F", "/", 1},  {"%2f", "/", 1},   {"%2541", "%41", 3},
      {"%00", "\0", 1}, {"a+b", "a+b", 3}, {"%c3%A4", "\xc3\xa4", 2},
      {"%", NULL, 0},   {"a%4", NULL, 0},  {"%4g", NULL, 0},
      {"%g4", NULL, 0}, {"%%41", NULL, 0}, {"% 1", NULL, 0},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    char out[16];
    size_t size = 0;
    bool good = fc_percent_decode(fc_str(row->name), out, &size);
    assert_int_equal(good, row->expected != NULL);
    if (!good) continue;
    assert_int_equal(size, row->size);
    if (size) assert_memory_equal(out, row->expected, size);
  }
}

static void routes_know_their_methods(void **state) {
  (void)state;
  assert_string_equal(fc_route_path(FC_ROUTE_LIVE), "/livez");
  assert_string_equal(fc_route_path(FC_ROUTE_NONE), "");
  assert_string_equal(fc_route_allow(FC_ROUTE_LIVE), "GET, HEAD");
  assert_string_equal(fc_route_allow(FC_ROUTE_FUNCTION), "GET, HEAD, POST");
}

static void guards_look_at_host_and_origin(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *host;    // NULL: none
    const char *origin;  // NULL: none
    bool loopback;
    fc_code_t code;
  } rows[] = {
      {"no host", NULL, NULL, true, FC_CODE_NONE},
      {"localhost", "localhost:1", NULL, true, FC_CODE_NONE},
      {"the address it listens on", "127.0.0.5:80", NULL, true, FC_CODE_NONE},
      {"another name", "a.example", NULL, true, FC_CODE_HOST_NOT_ALLOWED},
      {"a longer name", "localhost.evil", NULL, true, FC_CODE_HOST_NOT_ALLOWED},
      {"another address", "127.0.0.2", NULL, true, FC_CODE_HOST_NOT_ALLOWED},
      {"not loopback", "a.example", NULL, false, FC_CODE_NONE},
      {"own origin", "localhost:1", "http://localhost:1", true, FC_CODE_NONE},
      {"own origin elsewhere", "a.b", "http://a.b", false, FC_CODE_NONE},
      {"another port", "localhost:1", "http://localhost:2", true,
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"another scheme", "localhost:1", "https://localhost:1", true,
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"foreign, not loopback", "a.b", "http://evil", false,
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"no origin to speak of", "localhost", "", true,
       FC_CODE_ORIGIN_NOT_ALLOWED},
      {"origin without host", NULL, "http://", true,
       FC_CODE_ORIGIN_NOT_ALLOWED},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_request_t request = {.authority = FC_STR("")};
    fc_error_t error;
    fc_error_reset(&error);
    if (row->host) request.fields[FC_FIELD_HOST] = fc_str(row->host);
    if (row->origin) request.fields[FC_FIELD_ORIGIN] = fc_str(row->origin);
    (void)fc_route_guard(&request, row->loopback, FC_STR("127.0.0.5"), &error);
    assert_int_equal(error.code, row->code);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(percent_encoding_is_decoded_once),
      FC_TEST(routes_know_their_methods),
      FC_TEST(guards_look_at_host_and_origin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
