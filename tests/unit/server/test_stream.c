// SPDX-License-Identifier: Apache-2.0
//
// The contract of stream.h, for each class that is a socket: bytes both ways, each
// end of a stream, and a closed one that tells nothing more.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "helpers/test.h"
#include "stream/socket.h"

#define LARGE \
  (8u << 20)  // more than a socket keeps for a client that does not read

typedef struct user_t {
  fc_stream_t *stream;
  uv_loop_t loop;
  int client;
  char room[16];
  char got[64];
  size_t size;
  int ended;    // 1: orderly, 2: broken
  int written;  // 1: sent, 2: never
  bool closed;
} user_t;

static fc_span_t room(void *context) {
  user_t *user = context;
  return (fc_span_t){(uint8_t *)user->room, sizeof user->room};
}

static void on_read(void *context, fc_str_t bytes) {
  user_t *user = context;
  assert_ptr_equal(bytes.data, user->room);
  assert_true(user->size + bytes.size <= sizeof user->got);
  memcpy(user->got + user->size, bytes.data, bytes.size);
  user->size += bytes.size;
}

static void on_ended(void *context, bool orderly) {
  user_t *user = context;
  user->ended = orderly ? 1 : 2;
}

static void on_written(void *context, bool sent) {
  user_t *user = context;
  user->written = sent ? 1 : 2;
}

static void on_closed(void *context) {
  user_t *user = context;
  user->closed = true;
}

static const fc_stream_events_t kEvents = {room, on_read, on_ended, on_written,
                                           on_closed};

// A connected pair of sockets.
static void make_pair(bool local, int out_sockets[2]) {
  if (local) {
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, out_sockets), 0);
    return;
  }
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
  assert_int_equal(listen(listener, 1), 0);
  assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size),
                   0);
  out_sockets[1] = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(out_sockets[1], (struct sockaddr *)&address, size),
                   0);
  out_sockets[0] = accept(listener, NULL, NULL);
  assert_true(out_sockets[0] >= 0);
  close(listener);
}

static void enter(user_t *user, bool local) {
  const fc_stream_class_t *class = local ? &fc_stream_unix : &fc_stream_tcp;
  int sockets[2];
  memset(user, 0, sizeof *user);
  fc_test_row(local ? "unix" : "tcp");
  make_pair(local, sockets);
  user->client = sockets[1];
  assert_int_equal(uv_loop_init(&user->loop), 0);
  user->stream = test_calloc(1, class->size);
  const fc_socket_source_t source = {&user->loop, sockets[0]};
  assert_int_equal(fc_stream_open(user->stream, class, &source, &kEvents, user),
                   0);
}

static void leave(user_t *user, bool reset) {
  user->stream->class->close(user->stream, reset);
  assert_false(user->closed);
  uv_run(&user->loop, UV_RUN_DEFAULT);
  assert_true(user->closed);
  assert_int_equal(uv_loop_close(&user->loop), 0);
  test_free(user->stream);
  close(user->client);
}

static void bytes_go_both_ways(void **state) {
  (void)state;
  for (int local = 0; local < 2; local++) {
    static user_t user;
    char got[8];
    enter(&user, local);
    const fc_stream_class_t *class = user.stream->class;
    assert_int_equal(class->read_start(user.stream), 0);
    assert_int_equal(send(user.client, "0123456789abcdefgh", 18, 0), 18);
    while (user.size < 18) uv_run(&user.loop, UV_RUN_ONCE);
    assert_memory_equal(user.got, "0123456789abcdefgh", 18);
    const fc_span_t spans[] = {{(uint8_t *)(uintptr_t) "ab", 2},
                               {(uint8_t *)(uintptr_t) "cd", 2}};
    assert_int_equal(class->try_write(user.stream, spans, 2), 4);
    assert_int_equal(recv(user.client, got, sizeof got, 0), 4);
    assert_memory_equal(got, "abcd", 4);
    // While reading is stopped, nothing is delivered.
    class->read_stop(user.stream);
    assert_int_equal(send(user.client, "x", 1, 0), 1);
    uv_run(&user.loop, UV_RUN_NOWAIT);
    assert_int_equal(user.size, 18);
    leave(&user, false);
  }
  fc_test_row(NULL);
}

static void each_side_may_end_first(void **state) {
  (void)state;
  for (int local = 0; local < 2; local++) {
    static user_t user;
    char got[8];
    enter(&user, local);
    assert_int_equal(user.stream->class->read_start(user.stream), 0);
    assert_int_equal(user.stream->class->shutdown(user.stream), 0);
    uv_run(&user.loop, UV_RUN_NOWAIT);
    assert_int_equal(recv(user.client, got, sizeof got, 0), 0);
    assert_int_equal(shutdown(user.client, SHUT_WR), 0);
    while (!user.ended) uv_run(&user.loop, UV_RUN_ONCE);
    assert_int_equal(user.ended, 1);
    leave(&user, false);
  }
  fc_test_row(NULL);
}

static void what_a_client_does_not_take_is_counted_and_thrown_away(
    void **state) {
  (void)state;
  for (int local = 0; local < 2; local++) {
    static user_t user;
    static uint8_t bytes[LARGE];
    enter(&user, local);
    const fc_stream_class_t *class = user.stream->class;
    fc_span_t span = {bytes, sizeof bytes};
    const int64_t sent = class->try_write(user.stream, &span, 1);
    assert_true(sent > 0 && sent < LARGE);
    span = (fc_span_t){bytes + sent, sizeof bytes - (size_t)sent};
    assert_int_equal(class->write(user.stream, &span, 1), 0);
    uv_run(&user.loop, UV_RUN_NOWAIT);
    assert_int_equal(user.written, 0);
    assert_true(class->unsent(user.stream) > LARGE / 2);
    leave(&user, true);
    assert_int_equal(user.written, 2);
  }
  fc_test_row(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(bytes_go_both_ways),
      FC_TEST(each_side_may_end_first),
      FC_TEST(what_a_client_does_not_take_is_counted_and_thrown_away),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
