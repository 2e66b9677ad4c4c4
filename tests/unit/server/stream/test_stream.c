// SPDX-License-Identifier: Apache-2.0
//
// The contract of stream.h, for each class: bytes in both directions, each way in which
// a stream ends, and that a closed stream reports nothing more.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config/limits.h"
#include "helpers/test.h"
#include "stream/socket.h"
#include "stream/tls.h"
#if FARCALL_TLS
#include "helpers/secure.h"
#endif

#define LARGE \
  (8u << 20)  // more than a socket keeps for a client that does not read

typedef enum kind_t {
  KIND_TCP,
  KIND_UNIX,
  KIND_TLS,
  KINDS = KIND_TLS + FARCALL_TLS,
} kind_t;

typedef struct user_t {
  fc_stream_t *stream;
  fc_tls_t tls;
  fc_tls_keys_t *keys;
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

// Makes a connected pair of sockets.
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

#if FARCALL_TLS
static void on_failed(void *context, const fc_peer_t *address,
                      fc_tls_failure_t why, const char *text) {
  (void)context;
  (void)address;
  fail_msg("failure %d: %s", (int)why, text);
}

// Opens a TLS stream. When this returns, the handshake is over.
static void open_tls(user_t *user, const fc_socket_source_t *socket) {
  char name[] = "/tmp/farcall-stream-XXXXXX";
  fc_error_t error;
  const int file = mkstemp(name);
  assert_true(file >= 0);
  close(file);
  secure_make_file(name);
  const fc_tls_files_t files = {name, name, ""};
  assert_int_equal(
      fc_tls_keys_open(&files, fc_allocator_system(), &user->keys, &error),
      FC_OK);
  unlink(name);
  user->tls.on_failed = on_failed;
  user->tls.handshake_ms = 60000;
  user->tls.handshake_max = 2;
  assert_int_equal(
      fc_tls_init(&user->tls, &user->loop, fc_allocator_system(), &error),
      FC_OK);
  const fc_tls_source_t source = {.socket = *socket,
                                  .below = &fc_stream_tcp,
                                  .tls = &user->tls,
                                  .keys = user->keys};
  user->client = secure_wrap(user->client);
  assert_int_equal(
      fc_stream_open(user->stream, &fc_stream_tls, &source, &kEvents, user), 0);
  while (!user->tls.counts.full) uv_run(&user->loop, UV_RUN_ONCE);
}
#else
static void open_tls(user_t *user, const fc_socket_source_t *socket) {
  (void)user;
  (void)socket;
}
#endif

static void enter(user_t *user, int kind) {
  static const char *const kNames[] = {"tcp", "unix", "tls"};
  static const fc_stream_class_t *const kClasses[] = {
      &fc_stream_tcp, &fc_stream_unix, &fc_stream_tls};
  int sockets[2];
  memset(user, 0, sizeof *user);
  fc_test_row(kNames[kind]);
  make_pair(kind == KIND_UNIX, sockets);
  user->client = sockets[1];
  assert_int_equal(uv_loop_init(&user->loop), 0);
  user->stream = test_calloc(1, kClasses[kind]->size);
  const fc_socket_source_t source = {&user->loop, sockets[0]};
  if (kind == KIND_TLS) {
    open_tls(user, &source);
    return;
  }
  assert_int_equal(
      fc_stream_open(user->stream, kClasses[kind], &source, &kEvents, user), 0);
}

static void leave(user_t *user, bool reset) {
  user->stream->class->close(user->stream, reset);
  assert_false(user->closed);
  if (user->keys) {
    uv_close((uv_handle_t *)&user->tls.turn, NULL);
    uv_close((uv_handle_t *)&user->tls.timer, NULL);
  }
  uv_run(&user->loop, UV_RUN_DEFAULT);
  assert_true(user->closed);
  fc_tls_keys_close(user->keys);
  fc_tls_deinit(&user->tls);
  assert_int_equal(uv_loop_close(&user->loop), 0);
  test_free(user->stream);
  close(user->client);
}

static void bytes_go_both_ways(void **state) {
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) {
    static user_t user;
    char got[8];
    enter(&user, kind);
    const fc_stream_class_t *class = user.stream->class;
    assert_int_equal(class->read_start(user.stream), 0);
    assert_int_equal(send(user.client, "0123456789abcdefgh", 18, 0), 18);
    while (user.size < 18) uv_run(&user.loop, UV_RUN_ONCE);
    assert_memory_equal(user.got, "0123456789abcdefgh", 18);
    const fc_span_t spans[] = {{(uint8_t *)(uintptr_t) "ab", 2},
                               {(uint8_t *)(uintptr_t) "cd", 2}};
    assert_int_equal(class->try_write(user.stream, spans, 2), 4);
    assert_int_equal(recv(user.client, got, 4, MSG_WAITALL), 4);
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

// A client that never stops sending.
typedef struct flood_t {
  int client;
  size_t size;        // bytes that were read
  uint64_t takes_ns;  // how long each read takes
} flood_t;

static uint8_t flood_bytes[64 << 10];

static fc_span_t flood_room(void *context) {
  (void)context;
  return (fc_span_t){flood_bytes, sizeof flood_bytes};
}

static void flood_read(void *context, fc_str_t bytes) {
  flood_t *flood = context;
  const uint64_t until_ns = fc_clock_ns() + flood->takes_ns;
  while (flood->takes_ns && fc_clock_ns() <= until_ns) continue;
  flood->size += bytes.size;
  assert_int_equal(send(flood->client, flood_bytes, bytes.size, MSG_DONTWAIT),
                   bytes.size);
}

static void a_turn_is_not_one_clients_alone(void **state) {
  (void)state;
  static user_t user;
  enter(&user, KIND_UNIX);
  flood_t flood = {.client = user.client};
  const fc_stream_events_t events = {flood_room, flood_read, on_ended,
                                     on_written, on_closed};
  user.stream->events = &events;
  user.stream->context = &flood;
  flood_read(&flood, (fc_str_t){(char *)flood_bytes, sizeof flood_bytes});
  flood.size = 0;
  assert_int_equal(user.stream->class->read_start(user.stream), 0);
  for (int turn = 0; turn < 3; turn++) {
    flood.size = 0;
    uv_run(&user.loop, UV_RUN_NOWAIT);
    assert_in_range(flood.size, sizeof flood_bytes, FC_LIMIT_READ_TURN);
  }
  flood.takes_ns = FC_LIMIT_READ_TURN_NS / 2;
  for (int turn = 0; turn < 3; turn++) {
    flood.size = 0;
    uv_run(&user.loop, UV_RUN_NOWAIT);
    assert_in_range(flood.size, sizeof flood_bytes, 2 * sizeof flood_bytes);
  }
  user.stream->events = &kEvents;
  user.stream->context = &user;
  assert_int_equal(user.ended, 0);
  leave(&user, true);
  fc_test_row(NULL);
}

// A body of known length: the stream is told how many bytes are still to come.
typedef struct known_t {
  fc_stream_t *stream;
  uint64_t left;
} known_t;

static void known_read(void *context, fc_str_t bytes) {
  known_t *known = context;
  assert_true(bytes.size <= known->left);
  known->left -= bytes.size;
  known->stream->class->expect(known->stream, known->left);
}

// Bytes that are announced are reported in large parts, and none is lost.
static void known_bytes_come_in_large_parts(void **state) {
  (void)state;
  enum { SIZE = 3 * FC_LIMIT_READ_BODY, STEP = 16 << 10 };
  static user_t user;
  enter(&user, KIND_TCP);
  known_t known = {user.stream, SIZE};
  const fc_stream_class_t *class = user.stream->class;
  const fc_stream_events_t events = {flood_room, known_read, on_ended,
                                     on_written, on_closed};
  user.stream->events = &events;
  user.stream->context = &known;
  assert_int_equal(class->read_start(user.stream), 0);
  class->expect(user.stream, SIZE);
  unsigned turns = 0;
  for (size_t sent = 0; known.left;) {
    const uint64_t before = known.left;
    const size_t step = sent < SIZE ? STEP : 0;
    const ssize_t more =
        step ? send(user.client, flood_bytes, step, MSG_DONTWAIT) : 0;
    if (more > 0) sent += (size_t)more;
    uv_run(&user.loop, UV_RUN_NOWAIT);
    turns += known.left < before;
    // The bytes that wait are counted. Bytes that were just sent may arrive a moment
    // later.
    assert_true(class->unread(user.stream) + SIZE - known.left <= sent);
    if (known.left == SIZE && sent == STEP) {
      while (class->unread(user.stream) < STEP) continue;
      uv_run(&user.loop, UV_RUN_NOWAIT);
      assert_int_equal(known.left, SIZE);
    }
  }
  assert_in_range(turns, 1, SIZE / STEP / 2);
  // The next bytes are reported as they arrive.
  known.left = 1;
  assert_int_equal(send(user.client, "x", 1, 0), 1);
  while (known.left) uv_run(&user.loop, UV_RUN_ONCE);
  // The same holds for bytes that have arrived when no more are announced.
  class->expect(user.stream, SIZE);
  known.left = 2;
  assert_int_equal(send(user.client, "yz", 2, 0), 2);
  while (class->unread(user.stream) < 2) continue;
  uv_run(&user.loop, UV_RUN_NOWAIT);
  assert_int_equal(known.left, 2);
  class->expect(user.stream, 0);
  while (known.left) uv_run(&user.loop, UV_RUN_ONCE);
  user.stream->events = &kEvents;
  user.stream->context = &user;
  leave(&user, true);
  fc_test_row(NULL);
}

static void each_side_may_end_first(void **state) {
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) {
    static user_t user;
    char got[8];
    enter(&user, kind);
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
  for (int kind = 0; kind < KINDS; kind++) {
    static user_t user;
    static uint8_t bytes[LARGE];
    enter(&user, kind);
    const fc_stream_class_t *class = user.stream->class;
    fc_span_t span = {bytes, sizeof bytes};
    const int64_t sent = class->try_write(user.stream, &span, 1);
    assert_true(sent >= (kind == KIND_TLS ? 0 : 1) && sent < LARGE);
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
      FC_TEST(a_turn_is_not_one_clients_alone),
      FC_TEST(known_bytes_come_in_large_parts),
      FC_TEST(each_side_may_end_first),
      FC_TEST(what_a_client_does_not_take_is_counted_and_thrown_away),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
