// SPDX-License-Identifier: Apache-2.0
//
// Addresses and networks: which texts are valid, and which address is in which network.
#include "config/peer.h"

#include <arpa/inet.h>

#include "helpers/test.h"

static void addresses_are_read_and_nothing_else(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *same_as;  // NULL: no address
  } rows[] = {
      {"10.1.2.3", "::ffff:10.1.2.3"},
      {"::ffff:10.1.2.3", "10.1.2.3"},
      {"2001:DB8::1", "2001:db8:0:0:0:0:0:1"},
      {"::", "0:0:0:0:0:0:0:0"},
      {"", NULL},
      {"10.1.2", NULL},
      {"010.1.2.3", NULL},
      {"10.1.2.256", NULL},
      {"10.1.2.3:80", NULL},
      {"[::1]", NULL},
      {"fe80::1%eth0", NULL},
      {"localhost", NULL},
      {" ::1", NULL},
      {"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb", NULL},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_peer_t peer, other;
    assert_int_equal(fc_peer_parse(fc_str(row->name), &peer),
                     row->same_as != NULL);
    if (!row->same_as) continue;
    assert_true(fc_peer_parse(fc_str(row->same_as), &other));
    assert_true(fc_peer_equal(&peer, &other));
  }
  fc_peer_t peer;
  assert_false(fc_peer_parse(fc_str_make("::1\0", 4), &peer));
}

static void sockets_say_the_same_as_texts(void **state) {
  (void)state;
  fc_peer_t text, peer;
  struct sockaddr_in v4 = {.sin_family = AF_INET,
                           .sin_addr.s_addr = htonl(0x0A010203)};
  peer = fc_peer_of_socket_address((const struct sockaddr *)&v4);
  assert_true(fc_peer_parse(FC_STR("10.1.2.3"), &text));
  assert_true(fc_peer_equal(&peer, &text));
  struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                            .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  peer = fc_peer_of_socket_address((const struct sockaddr *)&v6);
  assert_true(fc_peer_parse(FC_STR("::1"), &text));
  assert_true(fc_peer_equal(&peer, &text));
  struct sockaddr local = {.sa_family = AF_UNIX};
  peer = fc_peer_of_socket_address(&local);
  assert_true(fc_peer_equal(&peer, &(fc_peer_t){0}));
}

static void one_subscriber_is_one_share(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *other;
    bool same;
  } rows[] = {
      {"10.1.2.3", "10.1.2.3", true},
      {"10.1.2.3", "10.1.2.4", false},
      {"2001:db8:1:2::3", "2001:db8:1:2:ffff::4", true},
      {"2001:db8:1:2::3", "2001:db8:1:3::3", false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_peer_t one, other;
    assert_true(fc_peer_parse(fc_str(row->name), &one));
    assert_true(fc_peer_parse(fc_str(row->other), &other));
    one = fc_peer_share(&one);
    other = fc_peer_share(&other);
    assert_int_equal(fc_peer_equal(&one, &other), row->same);
  }
}

static void networks_hold_their_addresses(void **state) {
  (void)state;
  static const struct {
    const char *name;  // a list of networks
    const char *address;
    bool has;
  } rows[] = {
      {"", "10.1.2.3", false},
      {"10.0.0.0/8", "10.1.2.3", true},
      {"10.9.9.9/8", "10.1.2.3", true},
      {"10.0.0.0/8", "11.1.2.3", false},
      {"10.0.0.0/8", "::ffff:10.1.2.3", true},
      {"::ffff:10.0.0.0/104", "10.1.2.3", true},
      {"10.1.2.3", "10.1.2.3", true},
      {"10.1.2.3", "10.1.2.2", false},
      {"10.1.2.2/31", "10.1.2.3", true},
      {"10.1.2.2/31", "10.1.2.4", false},
      {"0.0.0.0/0", "255.1.2.3", true},
      {"0.0.0.0/0", "2001:db8::1", false},
      {"::/0", "10.1.2.3", true},
      {"2001:db8::/33", "2001:db8:7fff::1", true},
      {"2001:db8::/33", "2001:db8:8000::1", false},
      {"192.0.2.1,2001:db8::/32", "2001:db8::9", true},
      {"192.0.2.1,2001:db8::/32", "192.0.2.1", true},
      {"192.0.2.1,2001:db8::/32", "192.0.2.2", false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_networks_t networks;
    fc_peer_t peer;
    assert_int_equal(fc_networks_parse(fc_str(row->name), &networks, NULL),
                     FC_OK);
    assert_true(fc_peer_parse(fc_str(row->address), &peer));
    assert_int_equal(fc_networks_have(&networks, &peer), row->has);
  }
}

static void networks_that_are_none_are_named(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *says;
  } rows[] = {
      {"10.0.0.0/33", "'10.0.0.0/33' is no network: ADDR or ADDR/BITS, such as "
                      "10.0.0.0/8 or ::1"},
      {"::/129", "'::/129' is no network"},
      {"10.0.0.0/", "'10.0.0.0/' is no network"},
      {"10.0.0.0/+8", "'10.0.0.0/+8' is no network"},
      {"10.0.0.0/4294967304", "'10.0.0.0/4294967304' is no network"},
      {"10/8", "'10/8' is no network"},
      {"proxy.example", "'proxy.example' is no network"},
      {"10.0.0.1,,10.0.0.2", "'' is no network"},
      {"10.0.0.1, 10.0.0.2", "' 10.0.0.2' is no network"},
      {"::1\n\x1b", "'::1\\x0a\\x1b' is no network"},
      {"::,::,::,::,::,::,::,::,::,::,::,::,::,::,::,::,::,::,::,::,::,::,::,"
       "::,::,::,::,::,::,::,::,::,::",
       "more than 32 networks are named"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_networks_t networks;
    fc_error_t error;
    assert_int_not_equal(
        fc_networks_parse(fc_str(row->name), &networks, &error), FC_OK);
    assert_int_equal(error.code, FC_CODE_NOT_ACCEPTABLE);
    if (strncmp(error.message, row->says, strlen(row->says)) != 0) {
      fail_msg("%s", error.message);
    }
  }
}

static void this_machine_has_its_addresses(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool loopback;
  } rows[] = {
      {"127.0.0.1", true},
      {"127.255.255.255", true},
      {"126.255.255.255", false},
      {"128.0.0.0", false},
      {"255.0.0.1", false},
      {"10.0.0.1", false},
      {"::1", true},
      {"::ffff:127.0.0.1", true},
      {"::2", false},
      {"::", false},
      {"::7f00:1", false},
      {"2001:db8::1", false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_peer_t peer;
    assert_true(fc_peer_parse(fc_str(row->name), &peer));
    assert_int_equal(fc_peer_is_loopback(&peer), row->loopback);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(addresses_are_read_and_nothing_else),
      FC_TEST(sockets_say_the_same_as_texts),
      FC_TEST(one_subscriber_is_one_share),
      FC_TEST(networks_hold_their_addresses),
      FC_TEST(networks_that_are_none_are_named),
      FC_TEST(this_machine_has_its_addresses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
