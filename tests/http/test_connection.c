// SPDX-License-Identifier: Apache-2.0
//
// One connection: requests that are sent ahead, in pieces of any size; early answers;
// and closing without losing the last answer.
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "expect.h"
#include "stream/socket.h"
#include "helpers/shortage.h"
#include "http1/connection.h"

#define BLOCK "/api/v1/functions/t/block"
#define ADD "/api/v1/functions/t/add"
#define UNTIL "/api/v1/functions/t/until"

// Waits until the server has read this many bytes. Fails if the server resets the
// connection instead.
static void wait_read(const fixture_server_t *server, int fd, uint64_t count) {
  while (fixture_bytes(server) < count) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error) fail_msg("instead of reading on: %s", strerror(error));
    sched_yield();
  }
}

static void send_zeros(int fd, size_t size) {
  char *zeros = calloc(1, size);
  assert_non_null(zeros);
  assert_true(fixture_send(fd, zeros, size));
  free(zeros);
}

// ---------------------------------------------------------------------------
// How a connection begins

static void expect_refusal(int fd, const char *text) {
  expect(fd, 503, text);
  assert_true(fixture_closed(fd));
}

static void expect_service(const fixture_server_t *server) {
  int fd = fixture_connect(server);
  call(fd, ADD, "[1,2]", 200, "[3]");
  close(fd);
}

static void without_memory_for_a_connection_the_next_is_served(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "");
  fixture_refuse_memory(sizeof(fc_connection_t) + fc_stream_tcp.size);
  for (int i = 0; i < 3; i++) {
    int fd = fixture_connect(&server);
    expect_refusal(fd, "\"code\":\"out_of_memory\"");
    close(fd);
  }
  fixture_refuse_memory(0);
  expect_service(&server);
  end(&server);
}

static void without_descriptors_clients_wait(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "");
  const int before = fixture_connect(&server), fd = fixture_socket();
  fc_test_shortage_t shortage;
  call(before, ADD, "[1,2]", 200, "[3]");  // a worker process needs descriptors
  fc_test_shortage_begin(&shortage, 256);
  fixture_connect_socket(&server, fd);
  // After the second call at the latest, the loop has noticed the client.
  call(before, ADD, "[1,2]", 200, "[3]");
  call(before, ADD, "[1,2]", 200, "[3]");
  fc_test_shortage_end(&shortage);
  call(fd, ADD, "[1,2]", 200, "[3]");
  close(before);
  close(fd);
  fixture_stop(&server);
  assert_int_equal(server.exit_code, 0);
  assert_non_null(strstr(server.log_text, "too many open files"));
  fixture_forget(&server);
}

// If set, the kernel has no room to watch another descriptor.
static atomic_bool no_room;

int __wrap_epoll_ctl(int poll, int action, int file, struct epoll_event *event);
int __real_epoll_ctl(int poll, int action, int file, struct epoll_event *event);
int __wrap_epoll_ctl(int poll, int action, int file,
                     struct epoll_event *event) {
  if (!no_room) return __real_epoll_ctl(poll, action, file, event);
  errno = ENOSPC;
  return -1;
}

static void without_room_to_watch_clients_are_told(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "");
  const int before = fixture_connect(&server);
  call(before, ADD, "[1,2]", 200, "[3]");
  no_room = true;
  for (int i = 0; i < 3; i++) {
    const int fd = fixture_connect(&server);
    expect_refusal(fd, "\"code\":\"overloaded\"");
    close(fd);
  }
  call(before, ADD, "[1,2]", 200, "[3]");  // the loop goes on
  fixture_send_text(before, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(before, 200, "\nfarcall_connections_refused_total 3\n");
  close(before);
  no_room = false;
  expect_service(&server);
  fixture_stop(&server);
  assert_int_equal(server.exit_code, 0);
  assert_non_null(strstr(server.log_text, "no room to watch a connection"));
  fixture_forget(&server);
}

// ---------------------------------------------------------------------------
// Large answers

// The answer is larger than the sockets' buffers, so the server must stop in the middle
// and continue there.
static void a_large_answer_arrives_whole(void **state) {
  (void)state;
  enum { COUNT = 1000000, EACH = 8, SMALL = 1 << 16 };
  char *body = malloc(COUNT * EACH + 8);
  assert_non_null(body);
  size_t size = (size_t)sprintf(body, "[[0");
  for (int i = 1; i < COUNT; i++) {
    size += (size_t)sprintf(body + size, ",%d", i);
  }
  memcpy(body + size, "]]", 3);
  fixture_server_t server;
  fixture_start(&server, "");
  int fd = fixture_socket(), small = SMALL;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  fixture_connect_socket(&server, fd);
  fixture_post(fd, "/api/v1/functions/t/echo", body);
  fixture_response_t response;
  assert_true(fixture_receive(fd, false, &response));
  assert_int_equal(response.status, 200);
  char *at = strstr(response.body, "[[");
  assert_non_null(at);
  at++;
  for (int i = 0; i < COUNT; i++) {
    if (strtod(at + 1, &at) != i) fail_msg("element %d is wrong", i);
  }
  assert_string_equal(at, "]]}");
  fixture_response_free(&response);
  free(body);
  close(fd);
  end(&server);
}

// ---------------------------------------------------------------------------
// Requests that are sent ahead

// Writes a POST of `add` whose body is padded to `size` bytes.
static size_t print_add(char *out, size_t capacity, int a, int b, int size) {
  char body[32];
  snprintf(body, sizeof body, "[%d,%d]", a, b);
  int used = snprintf(out, capacity,
                      "POST " ADD " HTTP/1.1\r\nHost: localhost\r\n"
                      "Content-Length: %d\r\n\r\n%-*s",
                      size, size, body);
  assert_true(used > 0 && (size_t)used < capacity);
  return (size_t)used;
}

static void expect_sum(int fd, int sum) {
  char text[48];
  snprintf(text, sizeof text, "{\"results\":[%d]}", sum);
  expect(fd, 200, text);
}

// Kept bytes are at the end of their block. The next piece fits into the block, but not
// after them, so they must be moved to its beginning.
static void what_is_kept_makes_room_for_more(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--lane=never");
  int fd = fixture_connect(&server);
  char large[4096], next[4096];
  size_t large_size = print_add(large, sizeof large, 1, 2, 3800);
  size_t next_size = print_add(next, sizeof next, 3, 4, 3800);
  fixture_post(fd, BLOCK, "[]");
  fixture_wait_blocked(1);
  memcpy(large + large_size, next, 10);
  uint64_t bytes = fixture_bytes(&server);
  fixture_send(fd, large, large_size + 10);
  fixture_wait_bytes(&server, bytes + large_size + 10);
  fixture_release(1);
  expect(fd, 200, "[]");
  expect_sum(fd, 3);
  fixture_send(fd, next + 10, next_size - 10);
  expect_sum(fd, 7);
  close(fd);
  end(&server);
}

static void pipelined_calls_may_come_in_any_pieces(void **state) {
  (void)state;
  enum { CALLS = 120, ROUNDS = 8 };
  fixture_server_t server;
  fixture_start(&server, "--lane=never --access-log=off");
  uint32_t random = 1;
  for (int round = 0; round < ROUNDS; round++) {
    static char stream[CALLS * 256];
    size_t size = 0, sent = 0;
    for (int i = 0; i < CALLS; i++) {
      size +=
          print_add(stream + size, sizeof stream - size, i, round, 16 + i % 30);
    }
    int fd = fixture_connect(&server);
    uint64_t bytes = fixture_bytes(&server);
    while (sent < size) {
      random = random * 1664525 + 1013904223;
      size_t piece = (random >> 16) % 1500 + 1;
      if (piece > size - sent) piece = size - sent;
      fixture_send(fd, stream + sent, piece);
      sent += piece;
      fixture_wait_bytes(&server, bytes + sent);
    }
    for (int i = 0; i < CALLS; i++) expect_sum(fd, i + round);
    close(fd);
  }
  end(&server);
}

// One client has sent thousands of calls at once; another one then asks how many were
// made.
static void who_sends_much_ahead_keeps_nobody_waiting(void **state) {
  (void)state;
  enum { CALLS = 2000 };
  static char stream[CALLS * 100];
  fixture_server_t server;
  fixture_response_t response;
  size_t size = 0;
  fixture_start(&server, "--lane=always --isolation=thread --access-log=off");
  const int one = fixture_connect(&server), other = fixture_connect(&server);
  const int blocked = fixture_connect(&server);
  for (int i = 0; i < CALLS; i++) {
    size += (size_t)snprintf(stream + size, sizeof stream - size,
                             "POST " ADD " HTTP/1.1\r\nHost: localhost\r\n"
                             "Content-Length: 5\r\n\r\n[1,2]");
  }
  call(one, ADD, "[1,2]", 200, "[3]");
  call(other, ADD, "[1,2]", 200, "[3]");
  // A call keeps the loop waiting until both clients have sent everything.
  fixture_post(blocked, BLOCK, "[]");
  fixture_wait_blocked(1);
  assert_true(fixture_send(one, stream, size));
  fixture_send_text(other, "GET /api/v1/modules/t?memory=1 HTTP/1.1\r\n"
                           "Host: localhost\r\n\r\n");
  fixture_release(1);
  expect(blocked, 200, "[]");
  assert_true(fixture_receive(other, false, &response));
  const char *made = strstr(response.body, "\"calls\":");
  assert_non_null(made);
  assert_in_range(strtoul(made + strlen("\"calls\":"), NULL, 10), 3, CALLS / 2);
  fixture_response_free(&response);
  for (int i = 0; i < CALLS; i++) expect(one, 200, "[3]");
  close(one);
  close(other);
  close(blocked);
  end(&server);
}

static void a_head_may_be_larger_than_what_is_kept(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--lane=never --head-timeout=20s");
  int fd = fixture_connect(&server);
  fixture_post(fd, BLOCK, "[]");
  fixture_wait_blocked(1);
  static char head[32000];
  int size = snprintf(head, sizeof head,
                      "GET /livez HTTP/1.1\r\nHost: localhost\r\n"
                      "A: %010000d\r\nB: %010000d\r\nC: %010000d\r\n\r\n",
                      1, 2, 3);
  uint64_t bytes = fixture_bytes(&server);
  fixture_send(fd, head, 20000);
  fixture_wait_bytes(&server, bytes + FC_LIMIT_PIPELINED);
  fixture_release(1);
  expect(fd, 200, "[]");
  fixture_send(fd, head + 20000, (size_t)size - 20000);
  expect(fd, 200, "live");
  close(fd);
  end(&server);
}

// ---------------------------------------------------------------------------
// Answers

static void a_body_that_does_not_come_after_its_answer(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--body-timeout=30ms");
  int fd = fixture_connect(&server);
  fixture_send_text(fd, "POST /nowhere HTTP/1.1\r\nHost: localhost\r\n"
                        "Content-Length: 6\r\n\r\n");
  expect(fd, 404, "not_found");
  // No 408 is sent, because the request already has its answer.
  assert_true(fixture_closed(fd));
  close(fd);
  end(&server);
}

// If a header could raise the deadline, the call would run longer than any read of this
// test waits.
static void a_header_cannot_raise_the_deadline(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--timeout=1s --lane=never");
  int fd = fixture_connect(&server);
  fixture_send_text(fd, "POST " UNTIL " HTTP/1.1\r\nHost: localhost\r\n"
                        "Farcall-Timeout-Ms: 600000\r\n"
                        "Content-Length: 2\r\n\r\n[]");
  expect(fd, 504, "deadline_exceeded");
  close(fd);
  end(&server);
}

// ---------------------------------------------------------------------------
// How a connection ends

static void a_large_upload_reads_why_it_is_refused(void **state) {
  (void)state;
  enum { SENT = 1 << 20 };
  fixture_server_t server;
  fixture_start(&server, "");
  int fd = fixture_connect(&server);
  uint64_t bytes = fixture_bytes(&server);
  fixture_send_text(fd, "POST " ADD " HTTP/1.1\r\nHost: localhost\r\n"
                        "Content-Length: 100000000\r\n\r\n");
  send_zeros(fd, SENT);
  wait_read(&server, fd, bytes + SENT);
  expect(fd, 413, "body_too_large");
  assert_true(fixture_closed(fd));
  close(fd);
  end(&server);
}

static void what_was_held_back_is_read_before_closing(void **state) {
  (void)state;
  enum { FIRST = 32 << 10, MORE = 64 << 10, BUFFER = 200 << 10 };
  fixture_server_t server;
  fixture_start(&server, "--lane=never");
  int fd = fixture_connect(&server), buffer = BUFFER;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  fixture_send_text(fd, "POST " BLOCK " HTTP/1.1\r\nHost: localhost\r\n"
                        "Connection: close\r\nContent-Length: 2\r\n\r\n[]");
  fixture_wait_blocked(1);
  uint64_t bytes = fixture_bytes(&server);
  send_zeros(fd, FIRST);
  fixture_wait_bytes(&server, bytes + FC_LIMIT_PIPELINED);
  send_zeros(fd, MORE);
  fixture_release(1);
  expect(fd, 200, "[]");
  wait_read(&server, fd, bytes + FIRST + MORE);
  close(fd);
  end(&server);
}

int main(int argc, char **argv) {
  fixture_worker(argc, argv);
  const struct CMUnitTest tests[] = {
      FC_TEST(without_memory_for_a_connection_the_next_is_served),
      FC_TEST(without_descriptors_clients_wait),
      FC_TEST(without_room_to_watch_clients_are_told),
      FC_TEST(a_large_answer_arrives_whole),
      FC_TEST(what_is_kept_makes_room_for_more),
      FC_TEST(pipelined_calls_may_come_in_any_pieces),
      FC_TEST(who_sends_much_ahead_keeps_nobody_waiting),
      FC_TEST(a_head_may_be_larger_than_what_is_kept),
      FC_TEST(a_body_that_does_not_come_after_its_answer),
      FC_TEST(a_header_cannot_raise_the_deadline),
      FC_TEST(a_large_upload_reads_why_it_is_refused),
      FC_TEST(what_was_held_back_is_read_before_closing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
