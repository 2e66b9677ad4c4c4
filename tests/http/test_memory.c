// SPDX-License-Identifier: Apache-2.0
//
// The memory of bodies: a length that is announced costs nothing, bytes that arrive are
// counted, and one client cannot use all of it.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "expect.h"

#define ADD "/api/v1/functions/t/add"
#define MIB ((size_t)1 << 20)

// Connects a client that has the address 127.0.0.N.
static int connect_as(const fixture_server_t *server, unsigned n) {
  int fd = fixture_socket();
  fixture_bind(fd, n);
  fixture_connect_socket(server, fd);
  return fd;
}

// Sends the head of a call of `add`; `fields` are further header lines.
static void send_head(int fd, size_t length, const char *fields) {
  char head[256];
  snprintf(head, sizeof head,
           "POST " ADD " HTTP/1.1\r\nHost: localhost\r\n%s"
           "Content-Length: %zu\r\n\r\n",
           fields, length);
  assert_true(fixture_send_text(fd, head));
}

// A body [1,2] that is padded to `length` bytes with blanks between. Its sum is right
// only if the last bytes arrived.
static char *make_body(size_t length) {
  char *body = malloc(length);
  assert_non_null(body);
  memset(body, ' ', length);
  memcpy(body, "[1,", 3);
  memcpy(body + length - 2, "2]", 2);
  return body;
}

static void send_body(int fd, size_t length, size_t from, size_t to) {
  char *body = make_body(length);
  assert_true(fixture_send(fd, body + from, to - from));
  free(body);
}

// Sends all but the last byte, and waits until the server has read that.
static void begin_body(const fixture_server_t *server, int fd, size_t length,
                       const char *fields) {
  uint64_t bytes = fixture_bytes(server);
  send_head(fd, length, fields);
  send_body(fd, length, 0, length - 1);
  fixture_wait_bytes(server, bytes + length);
}

static void end_body(int fd, size_t length) {
  send_body(fd, length, length - 1, length);
  expect(fd, 200, "[3]");
}

static void post_body(int fd, size_t length) {
  send_head(fd, length, "");
  send_body(fd, length, 0, length - 1);
  end_body(fd, length);
}

static void what_is_announced_costs_nothing(void **state) {
  (void)state;
  enum { ANNOUNCERS = 32 };
  fixture_server_t server;
  fixture_start(&server, "--max-memory=512M");
  int announcers[ANNOUNCERS], fd = fixture_connect(&server);
  for (int i = 0; i < ANNOUNCERS; i++) {
    announcers[i] = fixture_connect(&server);
    uint64_t bytes = fixture_bytes(&server);
    send_head(announcers[i], 64 * MIB, "");
    fixture_send_text(announcers[i], "[1");
    fixture_wait_bytes(&server, bytes + 2);
  }
  post_body(fd, 10 * MIB);
  for (int i = 0; i < ANNOUNCERS; i++) close(announcers[i]);
  close(fd);
  end(&server);
}

static void bodies_of_every_size_arrive_whole(void **state) {
  (void)state;
  static const size_t kSizes[] = {4096,          65536,         131072,
                                  262144,        1 << 20,       3 << 20,
                                  (1 << 22) - 1, (1 << 22) + 1, 5000001};
  fixture_server_t server;
  fixture_start(&server, "");
  int fd = fixture_connect(&server);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSizes); i++) {
    for (size_t size = kSizes[i] - 1; size <= kSizes[i] + 1; size++) {
      post_body(fd, size);
    }
  }
  close(fd);
  end(&server);
}

static void bodies_beyond_the_memory_are_503(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--max-memory=2M");
  enum { LENGTH = 600000 };  // counts as 1 MiB
  int one = connect_as(&server, 2), two = connect_as(&server, 3);
  int three = connect_as(&server, 4);
  begin_body(&server, one, LENGTH, "");
  begin_body(&server, two, LENGTH, "");
  send_head(three, LENGTH, "Expect: 100-continue\r\n");
  expect(three, 503, "calls in flight hold all of");
  end_body(one, LENGTH);
  end_body(two, LENGTH);
  post_body(one, LENGTH);
  close(one);
  close(two);
  close(three);
  end(&server);
}

static void memory_may_run_out_while_a_body_arrives(void **state) {
  (void)state;
  // Two bodies count as 2 MiB; the third counts as 64 KiB before it grows.
  enum { LENGTH = 600000 };
  fixture_server_t server;
  fixture_start(&server, "--max-memory=2200k");
  int fds[3];
  for (unsigned i = 0; i < 3; i++) {
    fds[i] = connect_as(&server, 2 + i);
    uint64_t bytes = fixture_bytes(&server);
    send_head(fds[i], LENGTH, "");
    fixture_send_text(fds[i], "[1,");
    fixture_wait_bytes(&server, bytes + 3);
  }
  uint64_t bytes = fixture_bytes(&server);
  for (int i = 0; i < 2; i++) send_body(fds[i], LENGTH, 3, LENGTH - 1);
  fixture_wait_bytes(&server, bytes + 2 * (LENGTH - 4));
  send_body(fds[2], LENGTH, 3, LENGTH);
  expect(fds[2], 503, "calls in flight hold all of");
  assert_true(fixture_closed(fds[2]));
  for (int i = 0; i < 2; i++) end_body(fds[i], LENGTH);
  for (int i = 0; i < 3; i++) close(fds[i]);
  end(&server);
}

static void chunked_bodies_beyond_the_memory_are_503(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--max-memory=2M");
  int fd = fixture_connect(&server);
  fixture_send_text(fd, "POST " ADD " HTTP/1.1\r\nHost: localhost\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n280000\r\n");
  char *chunk = calloc(1, 0x280000);
  assert_non_null(chunk);
  memset(chunk, ' ', 0x280000);
  fixture_send(fd, chunk, 0x280000);
  free(chunk);
  expect(fd, 503, "exceed the memory for calls in flight");
  close(fd);
  end(&server);
}

static void expect_429(int fd) {
  fixture_response_t response;
  char value[16];
  assert_true(fixture_receive(fd, false, &response));
  assert_int_equal(response.status, 429);
  assert_non_null(strstr(response.head, "429 Too Many Requests\r\n"));
  assert_non_null(strstr(response.body, "\"code\":\"too_many_requests\""));
  assert_non_null(
      fixture_header(&response, "Retry-After", value, sizeof value));
  fixture_response_free(&response);
}

static void one_client_has_its_share(void **state) {
  (void)state;
  enum { LENGTH = 1000000 };
  fixture_server_t server;
  fixture_start(&server, "--max-memory=64M --client-memory=2M");
  int greedy[3], other = connect_as(&server, 3);
  for (int i = 0; i < 2; i++) {
    greedy[i] = connect_as(&server, 2);
    begin_body(&server, greedy[i], LENGTH, "");
  }
  greedy[2] = connect_as(&server, 2);
  send_head(greedy[2], LENGTH, "Expect: 100-continue\r\n");
  expect_429(greedy[2]);
  assert_true(fixture_closed(greedy[2]));
  // Small requests are always possible, and other clients have their own shares.
  close(greedy[2]);
  greedy[2] = connect_as(&server, 2);
  call(greedy[2], ADD, "[1,2]", 200, "[3]");
  post_body(other, LENGTH);
  // Chunks are counted as they arrive.
  fixture_send_text(greedy[2], "POST " ADD " HTTP/1.1\r\nHost: localhost\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n2000\r\n");
  send_body(greedy[2], 0x2000, 0, 0x2000);
  expect_429(greedy[2]);
  assert_true(fixture_closed(greedy[2]));
  for (int i = 0; i < 2; i++) {
    end_body(greedy[i], LENGTH);
    post_body(greedy[i], LENGTH);
  }
  // The client holds nothing any more, so one of its requests may exceed the share.
  post_body(greedy[0], 3 * MIB);
  for (int i = 0; i < 3; i++) close(greedy[i]);
  close(other);
  end(&server);
}

static void a_trusted_proxy_says_whose_share_it_is(void **state) {
  (void)state;
  enum { LENGTH = 1000000 };
  fixture_server_t server;
  fixture_start(&server, "--max-memory=64M --client-memory=1M "
                         "--trusted-proxy=127.0.0.1");
  int one = fixture_connect(&server), two = fixture_connect(&server),
      again = fixture_connect(&server);
  begin_body(&server, one, LENGTH, "X-Forwarded-For: 192.0.2.1\r\n");
  begin_body(&server, two, LENGTH, "X-Forwarded-For: 192.0.2.2\r\n");
  send_head(again, LENGTH, "X-Forwarded-For: 192.0.2.1\r\n");
  expect_429(again);
  end_body(one, LENGTH);
  end_body(two, LENGTH);
  close(one);
  close(two);
  close(again);
  end(&server);
}

int main(int argc, char **argv) {
  fixture_worker(argc, argv);
  const struct CMUnitTest tests[] = {
      FC_TEST(what_is_announced_costs_nothing),
      FC_TEST(bodies_of_every_size_arrive_whole),
      FC_TEST(bodies_beyond_the_memory_are_503),
      FC_TEST(memory_may_run_out_while_a_body_arrives),
      FC_TEST(chunked_bodies_beyond_the_memory_are_503),
      FC_TEST(one_client_has_its_share),
      FC_TEST(a_trusted_proxy_says_whose_share_it_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
