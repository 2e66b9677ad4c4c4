// SPDX-License-Identifier: Apache-2.0
//
// Behaviour that depends on time: time-outs, deadlines, clients that leave, loading,
// draining. The time-outs are short options of the server. The tests wait for their
// effects, never for the time itself.
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dialect/ready.h"
#include "expect.h"

static void expect_request(const fixture_server_t *server, const char *method,
                           const char *path, const char *body, int status,
                           const char *text) {
  fixture_response_t response = fixture_request(server, method, path, body);
  if (response.status != status || (text && !strstr(response.body, text))) {
    fail_msg("%s %s: wanted %d %s, got %d %s", method, path, status,
             text ? text : "", response.status, response.body);
  }
  fixture_response_free(&response);
}

#define BLOCK "/api/v1/functions/t/block"
#define ADD "/api/v1/functions/t/add"
#define UNTIL "/api/v1/functions/t/until"
// A time-out that a test waits for. It is long enough to connect and send within it,
// even on a busy machine.
#define SHORT "500ms"

static void a_slow_head_is_408(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--head-timeout=30ms");
  int fd = fixture_connect(&server);
  fixture_send_text(fd, "GET /livez HT");
  expect(fd, 408, "request_timeout");
  assert_true(fixture_closed(fd));
  close(fd);
  end(&server);
}

static void a_slow_head_after_a_request_is_408(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--head-timeout=" SHORT);
  int fd = fixture_connect(&server);
  fixture_send_text(fd, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\nGET");
  expect(fd, 200, NULL);
  expect(fd, 408, "request_timeout");
  assert_true(fixture_closed(fd));
  close(fd);
  end(&server);
}

static void no_patience_with_bodies_is_no_endless_loop(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--body-timeout=0 --lane=never");
  int fd = fixture_connect(&server);
  // The body comes faster than the least rate for some milliseconds, then slower.
  fixture_send_text(fd, "POST " ADD " HTTP/1.1\r\nHost: localhost\r\n"
                        "Content-Length: 90\r\n\r\n[1,2]     "
                        "                                        ");
  expect(fd, 408, "request_timeout");
  close(fd);
  end(&server);
}

static void a_slow_body_is_408(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--body-timeout=30ms");
  int fd = fixture_connect(&server);
  fixture_send_text(fd, "POST " ADD " HTTP/1.1\r\nHost: localhost\r\n"
                        "Content-Length: 6\r\n\r\n");
  expect(fd, 408, "request_timeout");
  assert_true(fixture_closed(fd));
  close(fd);
  end(&server);
}

static void a_slow_chunked_body_is_408(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--body-timeout=30ms");
  int fd = fixture_connect(&server);
  fixture_send_text(fd, "POST " ADD " HTTP/1.1\r\nHost: localhost\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n6\r\n[1");
  expect(fd, 408, "request_timeout");
  assert_true(fixture_closed(fd));
  close(fd);
  end(&server);
}

static void an_idle_connection_is_closed(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--idle-timeout=" SHORT);
  int fd = fixture_connect(&server);
  fixture_send_text(fd, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(fd, 200, NULL);
  assert_true(fixture_closed(fd));
  close(fd);
  end(&server);
}

static void a_call_may_take_longer_than_any_time_out(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--idle-timeout=" SHORT " --head-timeout=" SHORT
                         " --body-timeout=" SHORT " --lane=never");
  int fd = fixture_connect(&server), idle = fixture_connect(&server);
  fixture_post(fd, BLOCK, "[]");
  fixture_wait_blocked(1);
  // The call has run for longer than the time-outs. Meanwhile the idle connection was
  // closed.
  assert_true(fixture_closed(idle));
  fixture_release(1);
  expect(fd, 200, "[]");
  close(idle);
  close(fd);
  end(&server);
}

static void a_client_that_takes_no_answer_is_reset(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--write-timeout=50ms");
  int fd = fixture_connect(&server);
  int small = 4096;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  fixture_post(fd, "/api/v1/functions/t/grow", "[20000000]");
  // The event to wait for is that the server closes the connection of a client that
  // does not read.
  for (;;) {
    fixture_response_t info = fixture_request(&server, "GET", "/api/v1", "");
    bool gone = strstr(info.body, "\"connections\":1,") != NULL;
    fixture_response_free(&info);
    if (gone) break;
  }
  close(fd);
  end(&server);
}

// Reading the whole answer takes much longer than a client may pause its reading.
static void a_client_that_takes_its_time_gets_its_answer(void **state) {
  (void)state;
  enum { ELEMENTS = 20000000, PIECE = 1 << 16 };
  const uint64_t duration_ns = 2500000000u;
  fixture_server_t server;
  fixture_start(&server, "--write-timeout=1s");
  int fd = fixture_socket(), small = PIECE;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  fixture_connect_socket(&server, fd);
  fixture_post(fd, "/api/v1/functions/t/grow", "[20000000]");
  static char bytes[PIECE];
  uint64_t begin_ns = 0, size = 0;
  ssize_t got = 1;
  while (got > 0) {
    if (!begin_ns) begin_ns = fc_clock_ns();
    // At two bytes for each element, this much should have been read by now.
    uint64_t due = (fc_clock_ns() - begin_ns) * 2 / (duration_ns / ELEMENTS);
    if (size > due) {
      sched_yield();
      continue;
    }
    got = recv(fd, bytes, sizeof bytes, 0);
    if (got > 0) size += (uint64_t)got;
    if (size >= 2u * ELEMENTS) break;
  }
  if (got < 0) fail_msg("after %llu bytes: reset", (unsigned long long)size);
  close(fd);
  end(&server);
}

// With one call in front, the late calls were already given to the worker; with three
// they were not.
static void a_deadline_passes_behind(int calls) {
  fixture_server_t server;
  fixture_start(&server, "--workers=1 --lane=never");
  int busy[3], late = fixture_connect(&server);
  for (int i = 0; i < calls; i++) {
    busy[i] = fixture_connect(&server);
    fixture_post(busy[i], BLOCK, "[]");
  }
  fixture_wait_blocked(1);
  unsigned before = fixture_calls();
  // The second call is queued while the first is taken out of the queue.
  for (int i = 0; i < 2; i++) {
    fixture_send_text(late,
                      "POST " ADD " HTTP/1.1\r\nHost: localhost\r\n"
                      "Farcall-Timeout-Ms: 30\r\nContent-Length: 5\r\n\r\n"
                      "[1,2]");
  }
  expect(late, 504, "\"stop\":\"queue\"");
  expect(late, 504, "\"stop\":\"queue\"");
  assert_int_equal(fixture_calls(), before);
  // The connection still works: it serves another call.
  fixture_release((unsigned)calls);
  for (int i = 0; i < calls; i++) expect(busy[i], 200, NULL);
  fixture_post(late, ADD, "[1,2]");
  expect(late, 200, "[3]");
  fixture_send_text(late, "GET /v2/models/t.add/stats HTTP/1.1\r\n"
                          "Host: localhost\r\n\r\n");
  expect(late, 200, "\"fail\":{\"count\":2,");
  for (int i = 0; i < calls; i++) close(busy[i]);
  close(late);
  end(&server);
}

static void a_deadline_in_the_queue_is_504(void **state) {
  (void)state;
  a_deadline_passes_behind(1);
  a_deadline_passes_behind(3);
}

static void a_deadline_reaches_the_running_call(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--timeout=1s --lane=never");
  expect_request(&server, "POST", UNTIL, "[]", 504, "\"stop\":\"call\"");
  end(&server);
}

// With one call in front, the dropped call was already given to the worker; with three
// it was not.
static void a_reset_drops_a_waiting_call(int calls) {
  fixture_server_t server;
  fixture_start(&server, "--workers=1 --lane=never");
  int busy[3], gone = fixture_connect(&server);
  for (int i = 0; i < calls; i++) {
    busy[i] = fixture_connect(&server);
    fixture_post_handled(&server, busy[i], BLOCK, "[]");
  }
  fixture_wait_blocked(1);
  unsigned before = fixture_calls();
  uint64_t bytes = fixture_bytes(&server);
  const char *request = "POST " ADD " HTTP/1.1\r\nHost: localhost\r\n"
                        "Content-Length: 5\r\n\r\n[1,2]";
  fixture_send_text(gone, request);
  fixture_wait_bytes(&server, bytes + strlen(request));
  const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(gone, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(gone);
  // The call has left the queue and the connection is closed while the worker is still
  // busy.
  char wanted[32];
  snprintf(wanted, sizeof wanted, "\"connections\":%d,", calls + 1);
  for (;;) {
    fixture_response_t info = fixture_request(&server, "GET", "/api/v1", "");
    bool dropped = strstr(info.body, wanted) != NULL;
    fixture_response_free(&info);
    if (dropped) break;
  }
  fixture_release((unsigned)calls);
  for (int i = 0; i < calls; i++) {
    expect(busy[i], 200, NULL);
    close(busy[i]);
  }
  // If the worker already has the dropped call, it is counted only when the worker
  // returns it, which may be later.
  if (calls > 1) {
    fixture_response_t metrics =
        fixture_request(&server, "GET", "/metrics", "");
    assert_non_null(
        strstr(metrics.body, "\nfarcall_requests_total{status=\"499\"} 1\n"));
    fixture_response_free(&metrics);
  }
  end(&server);
  // The other waiting calls have run; the dropped one has not.
  assert_int_equal(fixture_calls(), before + (unsigned)calls - 1);
}

static void a_client_that_resets_drops_its_queued_call(void **state) {
  (void)state;
  a_reset_drops_a_waiting_call(3);
}

static void a_client_that_resets_drops_its_call_that_has_not_begun(
    void **state) {
  (void)state;
  a_reset_drops_a_waiting_call(1);
}

static void a_reset_cancels_a_running_call(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--workers=1 --lane=never");
  unsigned before = fixture_cancelled();
  int fd = fixture_connect(&server);
  fixture_post(fd, UNTIL, "[]");
  fixture_wait_blocked(1);
  struct linger now = {.l_onoff = 1, .l_linger = 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(fd);
  fixture_wait_blocked(0);
  assert_int_equal(fixture_cancelled(), before + 1);
  expect_request(&server, "POST", ADD, "[1,2]", 200, "[3]");
  end(&server);
}

static void a_half_closed_client_gets_its_running_call(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--workers=1 --lane=never");
  int fd = fixture_connect(&server);
  fixture_post(fd, BLOCK, "[]");
  fixture_wait_blocked(1);
  shutdown(fd, SHUT_WR);
  fixture_release(1);
  expect(fd, 200, NULL);
  assert_true(fixture_closed(fd));
  close(fd);
  end(&server);
}

static void what_is_loaded_holds_nobody_up(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *method;
    int status;
    const char *says;
  } rows[] = {
      {"/livez", "GET", 200, "live"},
      {"/readyz", "GET", 503, "not_ready"},
      {"/startupz", "GET", 503, "not_ready"},
      {"/api/v1/modules", "GET", 200, "\"state\":\"loading\""},
      {"/api/v1/modules/t", "GET", 200, "\"functions\":[]"},
      {"/api/v1/functions", "GET", 200, "{\"functions\":[]}"},
      {"/api/v1/functions/t/add", "GET", 503, "module 't' is being loaded"},
      {"/api/v1/functions/t/add", "POST", 503, "not_ready"},
      {"/api/v1/functions/x/add", "POST", 503, "not_ready"},
  };
  fixture_server_t server;
  fixture_hold_loading(true);
  fixture_start(&server, "");
  // Waits until the files of the directory are listed.
  for (bool known = false; !known;) {
    fixture_response_t list =
        fixture_request(&server, "GET", "/api/v1/modules", "");
    known = strstr(list.body, "serial");
    fixture_response_free(&list);
  }
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fixture_response_t response =
        fixture_request(&server, row->method, row->name,
                        strcmp(row->method, "POST") ? "" : "[1,2]");
    assert_int_equal(response.status, row->status);
    assert_non_null(strstr(response.body, row->says));
    fixture_response_free(&response);
  }
  fixture_hold_loading(false);
  end(&server);
}

static unsigned count_generations(const fixture_server_t *server,
                                  const char *state) {
  fixture_response_t list =
      fixture_request(server, "GET", "/api/v1/modules", "");
  char wanted[80];
  unsigned count = 0;
  snprintf(wanted, sizeof wanted,
           "\"name\":\"t\",\"version\":\"1\",\"kind\":\"fixture\","
           "\"state\":\"%s\"",
           state);
  for (const char *at = list.body; (at = strstr(at, wanted)); at++) count++;
  fixture_response_free(&list);
  return count;
}

// A request keeps the generation that it was routed to. That generation ends when the
// answer is sent or, if the client has left, when the call has ended.
static void generations_answer_side_by_side(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool leaves;
  } rows[] = {{"its client waits", false}, {"its client has left", true}};
  fixture_server_t server;
  fixture_start(&server, "--workers=2 --lane=never");
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    int old = fixture_connect(&server);
    fixture_post(old, BLOCK, "[]");
    fixture_wait_blocked(1);
    fixture_reload(&server);
    while (!count_generations(&server, "draining")) continue;
    assert_int_equal(count_generations(&server, "ready"), 1);
    fixture_response_t response =
        fixture_request(&server, "POST", "/api/v1/functions/t/add", "[1,2]");
    assert_int_equal(response.status, 200);
    fixture_response_free(&response);
    if (row->leaves) close(old);
    assert_int_equal(count_generations(&server, "draining"), 1);
    fixture_release(1);
    if (!row->leaves) expect(old, 200, NULL);
    while (count_generations(&server, "draining")) continue;
    assert_int_equal(count_generations(&server, "ready"), 1);
    if (!row->leaves) close(old);
  }
  end(&server);
}

static void not_ready_until_every_path_was_tried(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "");
  // A server that has not yet tried all of its PATHs.
  fc_modules_t modules = {.started = false};
  fc_server_t half = {.modules = &modules};
  fc_error_t error;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 4096);
  assert_int_not_equal(fc_ready_write(&half, &text.sink, &error), FC_OK);
  assert_int_equal(error.code, FC_CODE_NOT_READY);
  modules.started = half.leaving = true;
  assert_int_not_equal(fc_ready_write(&half, &text.sink, &error), FC_OK);
  assert_int_equal(error.code, FC_CODE_SHUTTING_DOWN);
  fc_text_deinit(&text);
  end(&server);
}

static void draining_finishes_what_is_in_flight(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--workers=1 --lane=never");
  int busy[3], idle = fixture_connect(&server);
  for (int i = 0; i < 3; i++) {
    busy[i] = fixture_connect(&server);
    fixture_post_handled(&server, busy[i], BLOCK, "[]");
  }
  fixture_send_text(idle, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(idle, 200, NULL);
  fixture_wait_blocked(1);
  fc_loop_stop(server.loop);
  // An idle connection is closed at once. One with a running or waiting call is not.
  assert_true(fixture_closed(idle));
  fixture_release(3);
  for (int i = 0; i < 3; i++) {
    fixture_response_t response;
    char value[32];
    assert_true(fixture_receive(busy[i], false, &response));
    assert_int_equal(response.status, 200);
    assert_string_equal(
        fixture_header(&response, "Connection", value, sizeof value), "close");
    fixture_response_free(&response);
    assert_true(fixture_closed(busy[i]));
    close(busy[i]);
  }
  close(idle);
  fixture_join(&server);
  assert_int_equal(server.exit_code, 0);
  fixture_forget(&server);
}

static void a_drain_that_takes_too_long_answers_503(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--workers=1 --lane=never --drain=30ms");
  int busy[4];
  for (int i = 0; i < 4; i++) {
    busy[i] = fixture_connect(&server);
    fixture_post_handled(&server, busy[i], BLOCK, "[]");
  }
  fixture_wait_blocked(1);
  fc_loop_stop(server.loop);
  for (int i = 0; i < 4; i++) {
    expect(busy[i], 503, "shutting_down");
    close(busy[i]);
  }
  fixture_release(4);
  fixture_join(&server);
  // The log says that calls were still running at the end of the drain time.
  fixture_release(0);
  assert_non_null(strstr(server.log_text, "after the drain time"));
  fixture_forget(&server);
}

static void strict_load_ends_with_65(void **state) {
  (void)state;
  fixture_server_t server;
  memset(&server, 0, sizeof server);
  fixture_hold_loading(true);  // so that starting does not wait for "listening"
  fixture_start(&server, "--strict-load");
  fixture_hold_loading(false);
  fixture_join(&server);
  assert_int_equal(server.exit_code, 65);
  assert_non_null(strstr(server.log_text, "it was made that way"));
  fixture_forget(&server);
}

int main(int argc, char **argv) {
  fixture_worker(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_slow_head_is_408),
      cmocka_unit_test(a_slow_head_after_a_request_is_408),
      cmocka_unit_test(a_slow_body_is_408),
      cmocka_unit_test(no_patience_with_bodies_is_no_endless_loop),
      cmocka_unit_test(a_slow_chunked_body_is_408),
      cmocka_unit_test(an_idle_connection_is_closed),
      cmocka_unit_test(a_call_may_take_longer_than_any_time_out),
      cmocka_unit_test(a_client_that_takes_no_answer_is_reset),
      cmocka_unit_test(a_client_that_takes_its_time_gets_its_answer),
      cmocka_unit_test(a_deadline_in_the_queue_is_504),
      cmocka_unit_test(a_deadline_reaches_the_running_call),
      cmocka_unit_test(a_client_that_resets_drops_its_queued_call),
      FC_TEST(a_client_that_resets_drops_its_call_that_has_not_begun),
      cmocka_unit_test(a_reset_cancels_a_running_call),
      cmocka_unit_test(a_half_closed_client_gets_its_running_call),
      FC_TEST(what_is_loaded_holds_nobody_up),
      FC_TEST(generations_answer_side_by_side),
      cmocka_unit_test(not_ready_until_every_path_was_tried),
      cmocka_unit_test(draining_finishes_what_is_in_flight),
      cmocka_unit_test(a_drain_that_takes_too_long_answers_503),
      cmocka_unit_test(strict_load_ends_with_65),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
