// SPDX-License-Identifier: Apache-2.0
//
// nghttp2's memory: its limit, and that an nghttp2 session which runs out of memory
// leaks nothing.
#include "base/sanitize.h"
#include "helpers/test.h"
#include "http2/connection.h"

#define MOST ((size_t)512 << 10)  // as memory.c has it
_Static_assert(_Alignof(max_align_t) <= 16, "blocks are aligned for anything");

static void one_connection_has_its_share(void **state) {
  (void)state;
  fc_test_allocator_t counting;
  fc_http2_kept_t kept = {0};
  fc_http2_memory_t memory = {.allocator = fc_test_allocator_init(&counting, 0),
                              .kept = &kept};
  nghttp2_mem mem;
  fc_http2_memory_hooks(&memory, &mem);
  void *const user = mem.mem_user_data;
  assert_null(mem.malloc(MOST + 1, user));
  assert_null(mem.malloc(SIZE_MAX, user));
  assert_null(mem.calloc(SIZE_MAX, SIZE_MAX, user));
  assert_null(mem.calloc(2, SIZE_MAX / 2 + 1, user));
  char *some = mem.malloc(MOST - 100, user), *rest = mem.calloc(4, 25, user);
  assert_non_null(some);
  assert_non_null(rest);
  assert_int_equal((uintptr_t)some % 16, 0);
  for (int i = 0; i < 100; i++) assert_int_equal(rest[i], 0);
  assert_null(mem.malloc(1, user));
  assert_null(mem.realloc(rest, 101, user));
  mem.free(some, user);
  memset(rest, 7, 100);
  rest = mem.realloc(rest, 1000, user);
  for (int i = 0; i < 100; i++) assert_int_equal(rest[i], 7);
  rest = mem.realloc(rest, 10, user);
  assert_int_equal(memory.taken, 10);
  mem.free(rest, user);
  mem.free(NULL, user);
  mem.free(mem.realloc(NULL, 5, user), user);
  assert_int_equal(memory.taken, 0);
  fc_http2_kept_deinit(&kept, memory.allocator);
  assert_int_equal(atomic_load(&counting.live), 0);
}

static void small_blocks_are_used_again(void **state) {
  (void)state;
  static const struct {
    size_t size;
    size_t other;  // size that the same block is used for afterwards
    bool again;
  } rows[] = {{1, 32, true},      {32, 1, true},       {33, 64, true},
              {64, 32, false},    {100, 128, true},    {128, 129, false},
              {1024, 513, true},  {1025, 1025, false}, {1025, 1024, false},
              {4096, 1024, false}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_allocator_t counting;
    fc_http2_kept_t kept = {0};
    // Blocks go from one connection to another.
    fc_http2_memory_t one = {.allocator = fc_test_allocator_init(&counting, 0),
                             .kept = &kept};
    fc_http2_memory_t two = one;
    nghttp2_mem from, to;
    fc_http2_memory_hooks(&one, &from);
    fc_http2_memory_hooks(&two, &to);
    uint8_t *const before = from.malloc(rows[i].size, &one);
    memset(before, 7, rows[i].size);
    from.free(before, &one);
    const size_t allocated = atomic_load(&counting.allocated);
    uint8_t *const after = to.calloc(1, rows[i].other, &two);
    for (size_t k = 0; k < rows[i].other; k++) assert_int_equal(after[k], 0);
    if ((atomic_load(&counting.allocated) == allocated) != rows[i].again) {
      fail_msg("%zu, then %zu", rows[i].size, rows[i].other);
    }
    assert_int_equal(one.taken, 0);
    assert_int_equal(two.taken, rows[i].other);
    to.free(after, &two);
    fc_http2_kept_deinit(&kept, one.allocator);
    assert_int_equal(atomic_load(&counting.live), 0);
  }
}

static void few_blocks_are_kept(void **state) {
  (void)state;
  fc_test_allocator_t counting;
  fc_http2_kept_t kept = {0};
  fc_http2_memory_t memory = {.allocator = fc_test_allocator_init(&counting, 0),
                              .kept = &kept};
  nghttp2_mem mem;
  void *blocks[100];
  fc_http2_memory_hooks(&memory, &mem);
  for (int i = 0; i < 100; i++) blocks[i] = mem.malloc(50, &memory);
  for (int i = 0; i < 100; i++) mem.free(blocks[i], &memory);
  assert_int_equal(atomic_load(&counting.live), 64);
  assert_int_equal(FC_IS_POISONED((uint8_t *)blocks[0]), FC_ASAN);
  fc_http2_kept_deinit(&kept, memory.allocator);
  assert_int_equal(atomic_load(&counting.live), 0);
}

// ---------------------------------------------------------------------------
// An nghttp2 session reads what another session, a client, has written.

static int open_stream(nghttp2_session *session, const nghttp2_frame *frame,
                       void *context) {
  int32_t *id = context;
  (void)session;
  if (frame->hd.type == NGHTTP2_HEADERS) *id = frame->hd.stream_id;
  return 0;
}

#define FIELD(name, value)                                        \
  {                                                               \
    (uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value),  \
        sizeof(name) - 1, sizeof(value) - 1, NGHTTP2_NV_FLAG_NONE \
  }

// Moves everything that one session has to send to the other. Not 0: nghttp2's error.
static ssize_t move_all(nghttp2_session *from, nghttp2_session *to) {
  const uint8_t *data;
  ssize_t size;
  while ((size = nghttp2_session_mem_send(from, &data)) > 0) {
    const ssize_t read = nghttp2_session_mem_recv(to, data, (size_t)size);
    if (read < 0) return read;
  }
  return size;
}

static ssize_t talk(nghttp2_session *client, nghttp2_session *server,
                    const int32_t *id) {
  static const nghttp2_nv asked[] = {
      FIELD(":method", "GET"), FIELD(":scheme", "http"),
      FIELD(":authority", "localhost"), FIELD(":path", "/livez"),
      FIELD("x-a-field-of-its-own", "which goes into both tables")};
  static const nghttp2_nv answered[] = {FIELD(":status", "204"),
                                        FIELD("server", "farcall")};
  if (nghttp2_submit_settings(client, NGHTTP2_FLAG_NONE, NULL, 0) ||
      nghttp2_submit_request(client, NULL, asked, FC_ARRAY_COUNT(asked), NULL,
                             NULL) < 0) {
    fail_msg("the client cannot ask");
  }
  ssize_t failed = move_all(client, server);
  if (!failed && !*id) fail_msg("the request did not come");
  if (!failed) {
    failed = nghttp2_submit_response(server, *id, answered,
                                     FC_ARRAY_COUNT(answered), NULL);
  }
  return failed ? failed : move_all(server, client);
}

static ssize_t hold_session(fc_allocator_t allocator) {
  fc_http2_kept_t kept = {0};
  fc_http2_memory_t memory = {.allocator = allocator, .kept = &kept};
  nghttp2_session_callbacks *callbacks;
  nghttp2_session *client, *server = NULL;
  nghttp2_mem mem;
  int32_t id = 0;
  fc_http2_memory_hooks(&memory, &mem);
  assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
  assert_int_equal(nghttp2_session_client_new(&client, callbacks, NULL), 0);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, open_stream);
  ssize_t failed =
      nghttp2_session_server_new3(&server, callbacks, &id, NULL, &mem);
  if (!failed) {
    failed = nghttp2_submit_settings(server, NGHTTP2_FLAG_NONE, NULL, 0);
  }
  if (!failed) failed = talk(client, server, &id);
  nghttp2_session_del(server);
  nghttp2_session_del(client);
  nghttp2_session_callbacks_del(callbacks);
  assert_int_equal(memory.taken, 0);
  fc_http2_kept_deinit(&kept, allocator);
  return failed;
}

// nghttp2 can do without some allocations, so the session may work although one failed.
static void a_session_survives_every_failing_allocation(void **state) {
  (void)state;
  for (size_t number = 1;; number++) {
    fc_test_allocator_t counting;
    const ssize_t failed =
        hold_session(fc_test_allocator_init(&counting, number));
    assert_int_equal(atomic_load(&counting.live), 0);
    if (atomic_load(&counting.allocated) < number) {
      assert_int_equal(failed, 0);
      assert_true(number > 10);
      return;
    }
    if (failed && failed != NGHTTP2_ERR_NOMEM) {
      fail_msg("%zu: %s", number, nghttp2_strerror((int)failed));
    }
  }
}

// Makes what all connections share.
static fc_status_t attempt_init(fc_allocator_t allocator, void *context,
                                fc_error_t *err) {
  fc_server_t server = {0};
  fc_http1_t http1 = {.allocator = allocator, .server = &server};
  fc_http2_t http2;
  (void)context;
  const fc_status_t status = fc_http2_init(&http2, &http1, err);
  assert_int_equal(http1.http2 != NULL, status == FC_OK);
  fc_http2_deinit(&http2);
  fc_http2_deinit(&http2);
  return status;
}

static void init_survives_every_failing_allocation(void **state) {
  (void)state;
  assert_int_equal(fc_test_allocation_sweep(attempt_init, NULL), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(one_connection_has_its_share),
      FC_TEST(small_blocks_are_used_again),
      FC_TEST(few_blocks_are_kept),
      FC_TEST(a_session_survives_every_failing_allocation),
      FC_TEST(init_survives_every_failing_allocation),
  };
  return fc_test_exit(cmocka_run_group_tests(tests, NULL, NULL));
}
