// SPDX-License-Identifier: Apache-2.0
//
// Raw tensors of gRPC lie where they came: how many bytes of them are copied, in either
// host. The client writes frames by hand, and reads as many as it needs.
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "expect.h"

#define COUNT 1000000u  // elements of the tensor
#define RAW (4u * COUNT)
#define ROOM (RAW + 4096u)
#define FRAME_MAX 16384u
enum { DATA, HEADERS, RST_STREAM = 3, SETTINGS, GOAWAY = 7, WINDOW_UPDATE = 8 };
enum { END_STREAM = 1, END_HEADERS = 4 };

typedef struct client_t {
  int fd;
  int64_t left;     // of the connection's window
  uint32_t stream;  // the newest one
} client_t;

static char *put(char *at, const void *bytes, size_t size) {
  memcpy(at, bytes, size);
  return at + size;
}

static char *put_big(char *at, uint32_t value, int bytes) {
  while (bytes--) *at++ = (char)(value >> 8 * bytes);
  return at;
}

static void send_frame(const client_t *client, int kind, int flags,
                       uint32_t stream, const void *payload, size_t size) {
  char head[9];
  char *at = put_big(head, (uint32_t)size, 3);
  at = put_big(at, (uint32_t)(kind << 8 | flags), 2);
  put_big(at, stream, 4);
  assert_true(fixture_send(client->fd, head, sizeof head));
  assert_true(fixture_send(client->fd, payload, size));
}

static void receive(int fd, void *out, size_t size) {
  if (size) assert_int_equal(recv(fd, out, size, MSG_WAITALL), size);
}

static uint32_t big(const uint8_t *bytes, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; i++) value = value << 8 | bytes[i];
  return value;
}

// Reads a frame. Appends data of an answer to `out`, and adds what opens a window to it.
// Returns the flags of a frame of the answer, else 0.
static int read_frame(client_t *client, int64_t *window, char *out,
                      size_t *out_size) {
  uint8_t head[9], small[FRAME_MAX];
  receive(client->fd, head, sizeof head);
  const uint32_t size = big(head, 3), stream = big(head + 5, 4);
  if (head[3] == DATA) {
    assert_true(*out_size + size <= ROOM);
    receive(client->fd, out + *out_size, size);
    *out_size += size;
    return head[4];
  }
  assert_true(size <= sizeof small);
  receive(client->fd, small, size);
  assert_true(head[3] != RST_STREAM && head[3] != GOAWAY);
  if (head[3] == WINDOW_UPDATE) {
    *(stream ? window : &client->left) += big(small, 4);
  }
  return head[3] == HEADERS ? head[4] : 0;
}

static void connect_client(const fixture_server_t *server, client_t *client) {
  static const char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  char setting[6], window[4];
  *client = (client_t){.fd = fixture_connect(server), .left = 65535};
  assert_true(fixture_send_text(client->fd, kPreface));
  put_big(put_big(setting, 4, 2), INT32_MAX, 4);
  send_frame(client, SETTINGS, 0, 0, setting, sizeof setting);
  put_big(window, 1u << 30, 4);
  send_frame(client, WINDOW_UPDATE, 0, 0, window, sizeof window);
}

static void send_head(const client_t *client) {
  static const char *const kFields[][2] = {
      {":method", "POST"},
      {":scheme", "http"},
      {":authority", "localhost"},
      {":path", "/inference.GRPCInferenceService/ModelInfer"},
      {"content-type", "application/grpc"},
      {"te", "trailers"}};
  char head[512], *at = head;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFields); i++) {
    *at++ = 0;  // a literal that is in no table
    for (int k = 0; k < 2; k++) {
      *at++ = (char)strlen(kFields[i][k]);
      at = put(at, kFields[i][k], strlen(kFields[i][k]));
    }
  }
  send_frame(client, HEADERS, END_HEADERS, client->stream, head,
             (size_t)(at - head));
}

static char *put_size(char *at, uint32_t size) {
  for (; size >= 128; size >>= 7) *at++ = (char)(size | 128);
  *at++ = (char)size;
  return at;
}

// Writes a ModelInferRequest for t.echo in its frame. Returns its size.
static size_t make_request(char *out, const char *raw) {
  static const char kInput[] = "\x0a\x01"
                               "0"
                               "\x12\x04"
                               "FP32"
                               "\x1a\x03";
  char shape[3], *at = out + 5;
  put_size(shape, COUNT);
  at = put(at, "\x0a\x06t.echo", 8);
  at = put_size(put(at, "\x2a", 1), sizeof kInput - 1 + sizeof shape);
  at = put(put(at, kInput, sizeof kInput - 1), shape, sizeof shape);
  at = put(put_size(put(at, "\x3a", 1), RAW), raw, RAW);
  *out = 0;
  put_big(out + 1, (uint32_t)(at - out - 5), 4);
  return (size_t)(at - out);
}

// Sends the request as the windows are opened. The answer must have the same tensor.
static void echo(client_t *client, const char *request, size_t size,
                 char *answer) {
  int64_t window = 65535;
  size_t sent = 0, got = 0;
  int flags = 0;
  client->stream += client->stream ? 2 : 1;
  send_head(client);
  while (sent < size) {
    size_t step = size - sent < FRAME_MAX ? size - sent : FRAME_MAX;
    while (window < (int64_t)step || client->left < (int64_t)step) {
      (void)read_frame(client, &window, answer, &got);
    }
    send_frame(client, DATA, sent + step == size ? END_STREAM : 0,
               client->stream, request + sent, step);
    window -= (int64_t)step;
    client->left -= (int64_t)step;
    sent += step;
  }
  while (!(flags & END_STREAM))
    flags = read_frame(client, &window, answer, &got);
  assert_true(got > RAW);
  assert_memory_equal(answer + got - RAW, request + size - RAW, RAW);
}

static fc_blocks_usage_t settled(const fixture_server_t *server) {
  fc_blocks_usage_t usage;
  for (unsigned i = 0; i < 5000; i++) {
    usage = fc_blocks_usage(server->loop->blocks);
    if (usage.taken == 0) return usage;
    usleep(1000);
  }
  fail_msg("%llu bytes are still taken", (unsigned long long)usage.taken);
  return usage;
}

// The same holds for /v2 (http/host): a result that lies in the body is sent from there.
// A thread then takes no memory for the answer, which it would if the tensor were not
// aligned. In a process this works only if the call had no page fault, so one success in
// many tries is enough, and the files of earlier answers are kept.
static void raw_tensors_are_not_copied(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint64_t most;  // bytes of memory that are kept after a call
  } rows[] = {{"--isolation=thread", RAW + RAW / 2},
              {"--isolation=process", UINT64_MAX}};
  char *raw = malloc(RAW), *request = malloc(ROOM), *answer = malloc(ROOM);
  assert_true(raw && request && answer);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    char flags[128];
    fixture_server_t server;
    client_t client;
    unsigned kept = 0;
    snprintf(flags, sizeof flags, "%s --access-log=off", row->name);
    fixture_start(&server, flags);
    connect_client(&server, &client);
    for (unsigned i = 0; i < 20; i++) {
      for (uint32_t k = 0; k < COUNT; k++) {
        const float number = (float)(k * 7 + i);
        memcpy(raw + 4 * k, &number, sizeof number);
      }
      const uint64_t before = fc_blocks_usage(server.loop->blocks).copied;
      echo(&client, request, make_request(request, raw), answer);
      const fc_blocks_usage_t usage = settled(&server);
      assert_true(usage.copied - before < RAW);
      kept +=
          usage.copied - before < FC_BLOCK_SMALLEST && usage.kept < row->most;
    }
    assert_true(kept > 0);
    close(client.fd);
    end(&server);
  }
  free(raw);
  free(request);
  free(answer);
}

int main(int argc, char **argv) {
  fixture_worker(argc, argv);
  const struct CMUnitTest tests[] = {FC_TEST(raw_tensors_are_not_copied)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
