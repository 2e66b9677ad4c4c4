// SPDX-License-Identifier: Apache-2.0
//
// Feeds HTTP/1 and HTTP/2 connections with arbitrary bytes, whole and cut into pieces.
// Both must be answered alike, and leave no memory behind. The stream below and the
// clock are this file's; everything else is the real server's code, with pool and
// worker. The input's first byte chooses the cuts and how the stream behaves. Calls use
// a dialect of this file, which accepts any body and answers its hash, so that bodies
// are compared, too. Finally one allocation of the connection fails, chosen by the
// input's first bytes; with FARCALL_SWEEP, each one in turn.
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dialect/native.h"
#include "fixture.h"
#include "http1/connection.h"
#include "http2/http2.h"

#define BODY_MAX 4096
#define OUTPUT_MAX (4u << 20)

static void check(bool condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

// ---------------------------------------------------------------------------
// The stream

typedef struct memory_stream_t {
  fc_stream_t base;
  struct client_t *client;
} memory_stream_t;

// The client's end, and how the stream behaves.
typedef struct client_t {
  fc_stream_t *stream;
  bool reading;  // the server wants to read
  bool shut;     // the server will send no more
  bool closing;
  bool closed;
  bool writing;          // the server waits for the written event
  size_t taken_at_once;  // bytes that try_write takes
  size_t size;
  char output[OUTPUT_MAX];
} client_t;

static client_t *client_of(fc_stream_t *stream) {
  return ((memory_stream_t *)(void *)stream)->client;
}

static int open_memory(fc_stream_t *stream, const void *source) {
  // `source` is the client: this file's streams have no other source.
  client_t *client = (client_t *)(uintptr_t)source;
  ((memory_stream_t *)(void *)stream)->client = client;
  client->stream = stream;
  return 0;
}

static int read_start(fc_stream_t *stream) {
  check(!client_of(stream)->closing, "a closed stream is read");
  client_of(stream)->reading = true;
  return 0;
}

static void read_stop(fc_stream_t *stream) {
  client_of(stream)->reading = false;
}

static size_t take(client_t *client, const fc_span_t *spans, uint32_t count,
                   size_t most) {
  size_t done = 0;
  for (uint32_t i = 0; i < count && done < most; i++) {
    size_t size = spans[i].size < most - done ? spans[i].size : most - done;
    check(client->size + size <= OUTPUT_MAX, "the answers are too long");
    memcpy(client->output + client->size, spans[i].data, size);
    client->size += size;
    done += size;
  }
  return done;
}

static int64_t try_write(fc_stream_t *stream, const fc_span_t *spans,
                         uint32_t count) {
  client_t *client = client_of(stream);
  check(!client->closing && !client->shut && !client->writing,
        "bytes are written out of turn");
  return (int64_t)take(client, spans, count, client->taken_at_once);
}

static int write_all(fc_stream_t *stream, const fc_span_t *spans,
                     uint32_t count) {
  client_t *client = client_of(stream);
  check(!client->closing && !client->shut && !client->writing,
        "bytes are written out of turn");
  client->writing = true;
  take(client, spans, count, SIZE_MAX);
  return 0;
}

static int shut(fc_stream_t *stream) {
  client_of(stream)->shut = true;
  return 0;
}

static void expect_more(fc_stream_t *stream, uint64_t size) {
  (void)stream;
  (void)size;
}

static uint64_t none(fc_stream_t *stream) {
  (void)stream;
  return 0;
}

static void close_memory(fc_stream_t *stream, bool reset) {
  (void)reset;
  check(!client_of(stream)->closing, "a stream is closed twice");
  client_of(stream)->closing = true;
}

static const fc_stream_class_t kMemory = {.size = sizeof(memory_stream_t),
                                          .open = open_memory,
                                          .read_start = read_start,
                                          .read_stop = read_stop,
                                          .try_write = try_write,
                                          .write = write_all,
                                          .shutdown = shut,
                                          .expect = expect_more,
                                          .unread = none,
                                          .unsent = none,
                                          .close = close_memory};

// ---------------------------------------------------------------------------
// The dialect

static uint64_t body_hash;  // of the one call there is at a time

static fc_status_t decode(fc_frame_t *frame, fc_str_t body,
                          const uint8_t *parameters, fc_error_t *err) {
  (void)parameters;
  body_hash = body.size;
  for (size_t i = 0; i < body.size; i++) {
    body_hash = (body_hash ^ (uint8_t)body.data[i]) * 0x100000001B3u;
  }
  return fc_frame_decode(frame, FC_STR("[1,2]"), err);
}

static fc_status_t encode(fc_frame_t *frame, const fc_function_t *function,
                          const uint8_t *parameters, fc_sink_t *sink,
                          uint64_t *out_document, fc_error_t *err) {
  (void)frame;
  (void)function;
  (void)parameters;
  (void)out_document;
  char text[17];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)body_hash);
  return fc_sink_put(sink, fc_str(text), err);
}

static fc_status_t admit(const fc_server_t *server, const fc_request_t *request,
                         const fc_place_t *place, fc_admission_t *out_admission,
                         fc_error_t *err) {
  (void)place;
  (void)out_admission;
  if (request->length <= server->options->max_body) return FC_OK;
  return fc_fail(err, FC_CODE_BODY_TOO_LARGE, "too long");
}

static const fc_dialect_worker_t kWorker = {.decode = decode, .encode = encode};
static fc_dialect_t any_body;
static const fc_dialect_t *dialects[FC_DIALECT_COUNT + 1];
static fc_route_row_t rows[FC_ROUTE_COUNT];
static const fc_routes_t kRoutes = {.rows = rows,
                                    .count = FC_ROUTE_COUNT,
                                    .dialects = dialects,
                                    .dialect_count = FC_DIALECT_COUNT + 1};

static void init_routes(void) {
  any_body = fc_dialect_native;
  any_body.admit = admit;
  any_body.worker = &kWorker;
  for (size_t i = 0; i < FC_DIALECT_COUNT; i++)
    dialects[i] = fc_routes.dialects[i];
  dialects[FC_DIALECT_COUNT] = &any_body;
  memcpy(rows, fc_routes.rows, sizeof rows);
  rows[FC_ROUTE_FUNCTION].dialect = FC_DIALECT_COUNT;
}

// ---------------------------------------------------------------------------
// The server: everything but sockets and their loop

typedef struct house_t {
  fc_server_options_t options;
  fc_log_t log;
  fc_blocks_t *blocks;
  fc_modules_t modules;
  fc_pool_t pool;
  fc_jail_facts_t jail;
  fc_groups_t groups;
  fc_sessions_t sessions;  // none is ever made
  fc_server_t server;
  fc_http1_t http1;
  fc_http2_t http2;
  fc_policy_t policy;
  const fc_dialect_worker_t *workers[FC_DIALECTS_MAX];
  uint64_t now_ms;
  bool added;
  _Atomic size_t until_failure;  // allocations; 0: none fails
} house_t;

// Memory of connections, streams, nghttp2 and blocks. A worker uses some of it, too.
static void *allocate(void *context, size_t size, size_t alignment) {
  house_t *house = context;
  const fc_allocator_t system = fc_allocator_system();
  if (atomic_fetch_sub(&house->until_failure, 1) == 1) return NULL;
  return system.allocate(system.context, size, alignment);
}

static void release(void *context, void *memory) {
  const fc_allocator_t system = fc_allocator_system();
  (void)context;
  system.release(system.context, memory);
}

static void wake(void *context) { (void)context; }

static void on_added(void *context, uint32_t generation,
                     const fc_error_t *error) {
  house_t *house = context;
  (void)generation;
  check(!error, "the module has no instance");
  house->added = true;
}

static uint64_t now_ms(void *context) {
  return ((const house_t *)context)->now_ms;
}

// Hands over, runs and answers all calls that wait.
static void run_calls(house_t *house) {
  do {
    fc_pool_flush(&house->pool);
    while (fc_pool_running(&house->pool)) {
      sched_yield();
      fc_pool_collect(&house->pool, true);
    }
  } while (house->pool.waiting);
}

static fc_module_t *load_module(fc_error_t *error) {
  static const fc_backend_t *const kBackends[] = {&fixture_backend, NULL};
  char path[] = "/tmp/farcall-fuzz-XXXXXX.fixture";
  fixture_hold_loading(false);
  int fd = mkstemps(path, 8);
  check(fd >= 0 && write(fd, "fixture", 7) == 7, "no file for a module");
  close(fd);
  fc_module_t *module = NULL;
  const fc_status_t status = fc_module_load(
      kBackends, fc_str(path), NULL, fc_allocator_system(), &module, error);
  unlink(path);
  check(status == FC_OK, error->message);
  return module;
}

static void act(void *context, fc_generation_t *generation,
                fc_step_action_t action, const fc_error_t *error) {
  (void)context, (void)generation, (void)action, (void)error;
}

// Publishes module 't', as the server does after loading a file.
static void add_module(house_t *house) {
  fc_error_t error;
  fc_generations_t *generations = &house->modules.generations;
  fc_generation_t *generation;
  generations->allocator = fc_allocator_system();
  generations->act = act;
  check(fc_generations_enter(generations, FC_STR("t.fixture"), "fixture",
                             &generation, &error) == FC_OK,
        error.message);
  generation->module = load_module(&error);
  fc_generations_raise(generations, generation, FC_ON_ROOM, NULL);
  fc_generations_raise(generations, generation, FC_ON_OPENED, NULL);
  fc_generations_raise(generations, generation, FC_ON_HOSTED, NULL);
  check(fc_generations_publish(generations, generation, &error) == FC_OK &&
            fc_pool_add(&house->pool, generation->index, generation->module,
                        &(fc_hosting_t){0}, &error) == FC_OK,
        error.message);
  run_calls(house);
  check(house->added, "the module is not ready");
  house->modules.started = true;
}

static void init_house(house_t *house) {
  const fc_allocator_t allocator = fc_allocator_system();
  const fc_allocator_t failing = {house, allocate, release};
  fc_error_t error;
  fc_server_options_init(&house->options);
  house->options.max_body = BODY_MAX;
  house->options.timeout = 0;
  init_routes();
  fc_dialect_workers(&kRoutes, house->workers);
  const fc_pool_options_t pool = {
      .workers = 1, .queue_limit = 8, .load_ms = 60000};
  const fc_pool_events_t events = {.wake = wake,
                                   .on_done = fc_exchange_on_done,
                                   .on_expired = fc_exchange_on_expired,
                                   .on_added = on_added,
                                   .context = house};
  check(fc_log_init(&house->log, allocator, -1, false, &error) == FC_OK &&
            fc_blocks_create(failing, 64u << 20, 1u << 20, &house->blocks,
                             &error) == FC_OK &&
            fc_policy_init(&house->policy, FC_STR("localhost"), FC_STR(""),
                           &error) == FC_OK &&
            fc_pool_init(&house->pool, allocator, &pool, house->blocks,
                         house->workers, &events, &error) == FC_OK,
        error.message);
  house->jail.known = true;
  house->policy.loopback = true;
  house->policy.bind = FC_STR("127.0.0.1");
  house->server = (fc_server_t){.routes = &kRoutes,
                                .options = &house->options,
                                .modules = &house->modules,
                                .pool = &house->pool,
                                .sessions = &house->sessions,
                                .blocks = house->blocks,
                                .log = &house->log,
                                .groups = &house->groups,
                                .jail = &house->jail,
                                .client_calls = {.allocator = failing},
                                .client_connections = {.allocator = failing}};
  check(fc_http1_init(&house->http1, failing, &house->server, now_ms, house,
                      &error) == FC_OK &&
            fc_http2_init(&house->http2, &house->http1, &error) == FC_OK,
        error.message);
  house->server.connection_max = 100;
  add_module(house);
}

// ---------------------------------------------------------------------------
// One connection

typedef struct manner_t {
  size_t step;           // bytes that come at once
  size_t taken_at_once;  // bytes of an answer, by the stream
  fc_lane_t lane;        // calls run at once, or in a thread meanwhile
  bool breaks_off;       // the client breaks the stream off
  bool has_events;       // bytes have time run out, and the server end
  size_t fails;          // this allocation; 0: none
} manner_t;

// Does what a turn of the server's loop does.
static void turn(house_t *house, client_t *client) {
  fc_exchange_tell_watchers(&house->server);
  run_calls(house);
  while (fc_http1_go_on(&house->http1)) run_calls(house);
  while (fc_http2_is_unsent(&house->http2)) {
    fc_http2_send_all(&house->http2);
    run_calls(house);
  }
  while (client->writing && !client->closing) {
    client->writing = false;
    client->stream->events->written(client->stream->context, true);
  }
  if (house->log.size) house->log.size = 0;
  house->now_ms++;
}

static void send_bytes(house_t *house, client_t *client, fc_str_t bytes) {
  const fc_stream_t *stream = client->stream;
  while (bytes.size && !client->closing) {
    if (!client->reading) {
      turn(house, client);
      check(client->reading || client->closing, "nobody reads any more");
      continue;
    }
    const fc_span_t room = stream->events->room(stream->context);
    check(room.size > 0, "there is no room");
    const size_t size = bytes.size < room.size ? bytes.size : room.size;
    memcpy(room.data, bytes.data, size);
    bytes = fc_str_make(bytes.data + size, bytes.size - size);
    stream->events->read(stream->context,
                         fc_str_make((const char *)room.data, size));
  }
}

// Lets an event happen after a piece of the input; the piece's last byte chooses it:
// time runs out, or the server drains or ends. HTTP/2 input can be valid without these
// bytes.
static void happen(house_t *house, client_t *client, uint8_t byte) {
  if (client->closing) return;
  if (byte == 0xF5) {
    house->now_ms += 1u << 20;
    fc_http1_expire(&house->http1);
  } else if (byte == 0xF6) {
    house->server.draining = true;
    fc_http1_drain(&house->http1);
  } else if (byte == 0xF7) {
    fc_http1_abandon(&house->http1);
  }
  turn(house, client);
}

static void end_stream(house_t *house, client_t *client, bool orderly) {
  const fc_stream_t *stream = client->stream;
  if (orderly) turn(house, client);
  if (!client->closing) stream->events->ended(stream->context, orderly);
  turn(house, client);
  while (!client->closing) {  // nothing comes: its time runs out
    house->now_ms += 1u << 20;
    fc_http1_expire(&house->http1);
    turn(house, client);
  }
  if (client->writing) stream->events->written(stream->context, false);
  stream->events->closed(stream->context);
  client->closed = true;
}

static void serve(house_t *house, client_t *client, fc_str_t bytes,
                  manner_t manner) {
  memset(client, 0, offsetof(client_t, output));
  client->taken_at_once = manner.taken_at_once;
  house->server.id_state = 0;
  house->server.draining = false;
  house->pool.options.lane = manner.lane;
  const fc_client_t from = {
      .streams = &kMemory, .source = client, .policy = &house->policy};
  house->until_failure = manner.fails;
  const bool accepted = fc_http1_accept(&house->http1, &from);
  check(accepted || manner.fails, "no connection");
  if (!accepted) return;
  while (bytes.size && !client->closing) {
    const size_t size = bytes.size < manner.step ? bytes.size : manner.step;
    send_bytes(house, client, fc_str_make(bytes.data, size));
    const uint8_t last = (uint8_t)bytes.data[size - 1];
    bytes = fc_str_make(bytes.data + size, bytes.size - size);
    if (!manner.breaks_off) turn(house, client);
    if (manner.has_events) happen(house, client, last);
  }
  end_stream(house, client, !manner.breaks_off);
  check(house->server.connections == 0 && house->server.streams == 0 &&
            house->http2.counts.open == 0,
        "a connection is left");
  check(fc_blocks_usage(house->blocks).taken == 0, "memory is left");
  const fc_generation_t *generation =
      fc_generations_find(&house->modules.generations, FC_STR("t"));
  check(generation && generation->holds == 0, "the module is held");
}

// ---------------------------------------------------------------------------
// Comparing the outputs

static bool varies(fc_str_t line) {
  return fc_str_starts(line, FC_STR("Date: ")) ||
         fc_str_starts(line, FC_STR("Server-Timing: "));
}

// The output without the lines that differ each time.
static size_t normalise(const client_t *client, char *out) {
  fc_str_t rest = fc_str_make(client->output, client->size);
  size_t size = 0;
  while (rest.size) {
    const char *end = memchr(rest.data, '\n', rest.size);
    const size_t length = end ? (size_t)(end - rest.data) + 1 : rest.size;
    const fc_str_t line = fc_str_make(rest.data, length);
    if (!varies(line)) {
      memcpy(out + size, line.data, length);
      size += length;
    }
    rest = fc_str_make(rest.data + length, rest.size - length);
  }
  return size;
}

static bool has(const client_t *client, fc_str_t text) {
  return memmem(client->output, client->size, text.data, text.size) != NULL;
}

// However memory runs out, every connection must end, and nothing may be leaked.
static void serve_poorly(house_t *house, fc_str_t bytes, manner_t manner,
                         size_t choice) {
  static client_t client;
#ifdef FARCALL_SWEEP
  size_t left;  // until the failure; it was met if there are none, or more
  (void)choice;
  do {
    manner.fails++;
    serve(house, &client, bytes, manner);
    left = house->until_failure;
  } while (left == 0 || left > manner.fails);
#else
  manner.fails = choice % 64 + 1;
  serve(house, &client, bytes, manner);
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static house_t house;
  static client_t whole, cut;
  static char expected[OUTPUT_MAX], got[OUTPUT_MAX];
  if (size < 1) return 0;
  if (!house.added) init_house(&house);
  const fc_str_t bytes = fc_str_make((const char *)data + 1, size - 1);
  const unsigned choice = data[0] / 31u;
  const bool is_http2 = fc_str_starts(bytes, FC_STR(FC_HTTP2_PREFACE));
  const manner_t at_once = {
      .step = SIZE_MAX, .taken_at_once = SIZE_MAX, .lane = FC_LANE_ALWAYS};
  const manner_t in_pieces = {
      .step = data[0] % 31u + 1,
      .taken_at_once = choice & 1 ? 100 : SIZE_MAX,
      .lane = choice & 2 ? FC_LANE_NEVER : FC_LANE_ALWAYS,
      .breaks_off = (choice & 4) != 0,
      .has_events = is_http2};
  serve(&house, &whole, bytes, at_once);
  serve(&house, &cut, bytes, in_pieces);
  serve_poorly(&house, bytes, in_pieces, data[0] * 7u + size);
  // How HTTP/2 combines its frames depends on when bytes arrive.
  if (is_http2) return 0;
  // The framing validator and llhttp must agree where a body ends. Other errors may repeat
  // this text from a client's bytes, but not with the member's name.
  check(!has(&whole, FC_STR("\"detail\":\"malformed chunked body\"")),
        "they disagree");
  // Documents that contain the time differ each time.
  if (in_pieces.breaks_off || has(&whole, FC_STR("uptime"))) return 0;
  const size_t wanted = normalise(&whole, expected);
  const size_t had = normalise(&cut, got);
  if (wanted != had || memcmp(expected, got, wanted) != 0) {
    fprintf(stderr, "whole:\n%.*s\ncut:\n%.*s\n", (int)wanted, expected,
            (int)had, got);
    abort();
  }
  return 0;
}
