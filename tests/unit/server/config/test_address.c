// SPDX-License-Identifier: Apache-2.0
//
// Which values of --listen are accepted.
#include "config/address.h"

#include <stdio.h>

#include "helpers/test.h"

static void addresses_are_read(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *host;
    int port;
    bool loopback;
  } rows[] = {
      {"127.0.0.1:8000", "127.0.0.1", 8000, true},
      {"http://127.0.0.1:8000", "127.0.0.1", 8000, true},
      {"127.9.9.9:0", "127.9.9.9", 0, true},
      {"localhost:65535", "127.0.0.1", 65535, true},
      {":8000", "0.0.0.0", 8000, false},
      {"0.0.0.0:1", "0.0.0.0", 1, false},
      {"192.0.2.1:8000", "192.0.2.1", 8000, false},
      {"[::1]:8000", "[::1]", 8000, true},
      {"http://[::1]:8000", "[::1]", 8000, true},
      {"https://127.0.0.1:8000", "127.0.0.1", 8000, true},
      {"[::]:8000", "[::]", 8000, false},
      {"[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]", 1, true},
      {"[::ffff:192.0.2.1]:1", "[::ffff:192.0.2.1]", 1, false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_address_t address;
    fc_error_t error;
    char host[64];
    if (fc_address_parse(fc_str(row->name), &address, &error) != FC_OK) {
      fail_msg("%s", error.message);
    }
    assert_int_equal(fc_address_is_loopback(&address), row->loopback);
    assert_int_equal(fc_address_print(&address, host, sizeof host), row->port);
    assert_string_equal(host, row->host);
  }
}

static void paths_of_unix_sockets_are_read(void **state) {
  (void)state;
  fc_address_t address;
  char path[108];
  assert_int_equal(
      fc_address_parse(FC_STR("unix:/run/farcall.sock"), &address, NULL),
      FC_OK);
  assert_true(fc_address_is_unix(&address));
  assert_int_equal(fc_address_print(&address, path, sizeof path), 0);
  assert_string_equal(path, "/run/farcall.sock");
  assert_int_equal(fc_address_parse(FC_STR("[::1]:1"), &address, NULL), FC_OK);
  assert_false(fc_address_is_unix(&address));
}

static void what_is_no_address_is_refused(void **state) {
  (void)state;
  static const char kNone[] = " is no address to listen on: ADDR:PORT, such as "
                              "127.0.0.1:8000 or [::1]:8000, or unix:PATH";
  static const struct {
    const char *name;
    const char *says;
  } rows[] = {
      {"here", kNone},
      {"127.0.0.1", kNone},
      {"127.0.0.1:", kNone},
      {"127.0.0.1:65536", kNone},
      {"127.0.0.1:+1", kNone},
      {"127.0.0.1:8000/", kNone},
      {"127.0.0.256:1", kNone},
      {"127.0.0.1.example:1", kNone},
      {"example.org:80", kNone},
      {"::1:8000", kNone},
      {"[::1]", kNone},
      {"[127.0.0.1]:1", kNone},
      {"http://http://127.0.0.1:1", kNone},
      {"HTTPS://127.0.0.1:1", kNone},
      {"https://http://127.0.0.1:1", kNone},
      {"unix:", ": the path of a Unix socket has 1 to 107 bytes"},
      {"unix:/run/0123456789012345678901234567890123456789012345678901234567890"
       "12345678901234567890123456789012345678901234567",
       ": the path of a Unix socket has 1 to 107 bytes"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_address_t address;
    fc_error_t error;
    assert_int_not_equal(fc_address_parse(fc_str(row->name), &address, &error),
                         FC_OK);
    assert_int_equal(error.code, FC_CODE_NOT_ACCEPTABLE);
    char wanted[256];
    snprintf(wanted, sizeof wanted, "'%s'%s", row->name, row->says);
    assert_string_equal(error.message, wanted);
  }
}

static void host_names_are_cut_out(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *expected;
  } rows[] = {
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
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    assert_true(fc_str_equal(fc_address_host_name(fc_str(row->name)),
                             fc_str(row->expected)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(addresses_are_read),
      FC_TEST(paths_of_unix_sockets_are_read),
      FC_TEST(what_is_no_address_is_refused),
      FC_TEST(host_names_are_cut_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
