// SPDX-License-Identifier: Apache-2.0
//
// The server with more calls than it can take, and calls that run on workers and on the
// loop in every order: each answer is compared with the expected one.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "expect.h"

#define BLOCK "/api/v1/functions/t/block"
#define ADD "/api/v1/functions/t/add"

static void a_full_queue_is_503_at_once(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--workers=1 --queue=2 --lane=never");
  // One call runs, one has a slot, and two wait: then the queue is full.
  int busy[4], more = fixture_connect(&server);
  for (int i = 0; i < 4; i++) {
    busy[i] = fixture_connect(&server);
    fixture_post_handled(&server, busy[i], BLOCK, "[]");
  }
  fixture_wait_blocked(1);
  fixture_response_t response;
  char value[16];
  fixture_post(more, ADD, "[1,2]");
  assert_true(fixture_receive(more, false, &response));
  assert_int_equal(response.status, 503);
  assert_non_null(strstr(response.body, "\"code\":\"overloaded\""));
  assert_non_null(strstr(response.body, "\"stop\":\"admit\""));
  assert_non_null(
      fixture_header(&response, "Retry-After", value, sizeof value));
  fixture_response_free(&response);
  // A health request does not queue.
  fixture_send_text(more, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(more, 200, "ready");
  fixture_release(4);
  for (int i = 0; i < 4; i++) {
    expect(busy[i], 200, "[]");
    close(busy[i]);
  }
  call(more, ADD, "[1,2]", 200, "[3]");
  close(more);
  end(&server);
}

static void connections_beyond_the_limit_are_503(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--connections=2 --client-connections=2");
  int one = fixture_connect(&server), two = fixture_connect(&server);
  call(one, ADD, "[1,2]", 200, "[3]");
  call(two, ADD, "[1,2]", 200, "[3]");
  int three = fixture_connect(&server);
  expect(three, 503, "2 connections are open, the limit");
  assert_true(fixture_closed(three));
  close(three);
  close(two);
  // The connection's place becomes free once the server has noticed that the client
  // left.
  for (;;) {
    int again = fixture_connect(&server);
    fixture_post(again, ADD, "[1,2]");
    fixture_response_t response;
    bool got = fixture_receive(again, false, &response);
    bool served = got && response.status == 200;
    if (got) fixture_response_free(&response);
    close(again);
    if (served) break;
  }
  close(one);
  end(&server);
}

static void a_large_answer_arrives_whole(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "");
  int fd = fixture_connect(&server);
  for (int i = 0; i < 2; i++) {
    fixture_post(fd, "/api/v1/functions/t/grow", "[10000000]");
    fixture_response_t response;
    assert_true(fixture_receive(fd, false, &response));
    assert_int_equal(response.status, 200);
    assert_int_equal(response.size, strlen("{\"results\":[[]]}") + 19999999);
    assert_memory_equal(response.body, "{\"results\":[[0,0,", 16);
    size_t zeros = 0;
    for (size_t at = 0; at < response.size; at++) {
      zeros += response.body[at] == '0';
    }
    assert_int_equal(zeros, 10000000);
    fixture_response_free(&response);
  }
  close(fd);
  end(&server);
}

static void a_large_body_arrives_whole(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "");
  enum { COUNT = 500000 };
  char *body = malloc(COUNT * 2 + 16);
  size_t size = 0;
  body[size++] = '[';
  for (int i = 0; i < COUNT; i++) {
    body[size++] = i ? ',' : '[';
    body[size++] = (char)('0' + i % 10);
  }
  memcpy(body + size, "]]", 3);
  int fd = fixture_connect(&server);
  fixture_post(fd, "/api/v1/functions/t/echo", body);
  fixture_response_t response;
  assert_true(fixture_receive(fd, false, &response));
  assert_int_equal(response.status, 200);
  const char *at = response.body + strlen("{\"results\":[[");
  for (int i = 0; i < COUNT; i++, at += 4) {
    assert_true(at[0] == '0' + i % 10 && at[1] == '.' && at[2] == '0');
  }
  fixture_response_free(&response);
  free(body);
  close(fd);
  end(&server);
}

// Many connections at once; each checks its own sums.
#define CLIENTS 8
#define ROUNDS 60
#define PIPELINED 4

typedef struct client_t {
  const fixture_server_t *server;
  const char *path;
  int id;
  int failures;
} client_t;

static void *run_client(void *context) {
  client_t *client = context;
  int fd = fixture_connect(client->server);
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < PIPELINED; i++) {
      char body[64];
      snprintf(body, sizeof body, "[%d,%d]", client->id * 100000,
               round * PIPELINED + i);
      fixture_post(fd, client->path, body);
    }
    for (int i = 0; i < PIPELINED; i++) {
      char wanted[64];
      snprintf(wanted, sizeof wanted, "{\"results\":[%d]}",
               client->id * 100000 + round * PIPELINED + i);
      fixture_response_t response;
      if (!fixture_receive(fd, false, &response)) {
        client->failures++;
        break;
      }
      client->failures += strcmp(response.body, wanted) != 0;
      fixture_response_free(&response);
    }
  }
  close(fd);
  return NULL;
}

static void every_caller_gets_its_own_answers(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *flags;
    const char *path;
  } rows[] = {
      {"workers", "--lane=never --access-log=off", ADD},
      {"both lanes", "--lane=auto --access-log=off", ADD},
      {"the loop", "--lane=always --access-log=off", ADD},
      {"a serial module", "--lane=auto", "/api/v1/functions/serial/add"},
      {"one worker", "--workers=1 --lane=never", ADD},
  };
  for (size_t row = 0; row < FC_ARRAY_COUNT(rows); row++) {
    fc_test_row(rows[row].name);
    fixture_server_t server;
    fixture_start(&server, rows[row].flags);
    pthread_t threads[CLIENTS];
    client_t clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
      clients[i] = (client_t){&server, rows[row].path, i, 0};
      assert_int_equal(
          pthread_create(&threads[i], NULL, run_client, &clients[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
      pthread_join(threads[i], NULL);
      assert_int_equal(clients[i].failures, 0);
    }
    end(&server);
  }
  fc_test_row(NULL);
}

static void clients_that_vanish_leave_nothing_behind(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--lane=never --access-log=off");
  for (int i = 0; i < 300; i++) {
    int fd = fixture_connect(&server);
    fixture_post(fd, ADD, "[1,2]");
    if (i % 3 == 0) fixture_post(fd, "/api/v1/functions/t/grow", "[100000]");
    if (i % 3 == 1) fixture_send_text(fd, "POST / HT");
    close(fd);
  }
  for (;;) {
    fixture_response_t info = fixture_request(&server, "GET", "/api/v1", "");
    bool quiet = strstr(info.body, "\"in_flight\":{\"connections\":1,"
                                   "\"waiting\":0,\"running\":0,") != NULL;
    fixture_response_free(&info);
    if (quiet) break;
  }
  end(&server);
}

#define SERIAL "/api/v1/functions/serial/"

// Calls that a single thread makes, in the order in which they arrive.
typedef struct line_t {
  fixture_server_t server;
  unsigned before;
  unsigned count;
  int fds[8];
} line_t;

static void stand_in_line(line_t *line, const char *const *paths,
                          unsigned count) {
  fixture_start(&line->server, "--isolation=thread --workers=1 --lane=never");
  line->before = fixture_calls();
  line->count = count;
  for (unsigned i = 0; i < count; i++) {
    const bool blocks = strstr(paths[i], "block");
    line->fds[i] = fixture_connect(&line->server);
    fixture_post_handled(&line->server, line->fds[i], paths[i],
                         blocks ? "[]" : "[1,2]");
  }
  fixture_wait_blocked(1);
}

// Releases call `index`, which is running, and expects its answer. When the next call
// blocks, `begun` calls must have begun.
static void expect_next(line_t *line, unsigned index, unsigned begun) {
  fixture_release(1);
  expect(line->fds[index], 200, "[]");
  fixture_wait_blocked(1);
  assert_int_equal(fixture_calls() - line->before, begun);
}

static void end_line(line_t *line, unsigned last) {
  fixture_release(1);
  expect(line->fds[last], 200, "[]");
  for (unsigned i = 0; i < line->count; i++) close(line->fds[i]);
  end(&line->server);
}

// The thread gets one call to run and one to continue with. After these, modules take
// turns, so the call that came last is begun as the fourth.
static void modules_take_turns(void **state) {
  (void)state;
  static const char *const kPaths[] = {BLOCK, BLOCK, BLOCK, BLOCK,
                                       SERIAL "add"};
  line_t line;
  stand_in_line(&line, kPaths, FC_ARRAY_COUNT(kPaths));
  expect_next(&line, 0, 2);
  expect_next(&line, 1, 3);
  expect_next(&line, 2, 5);
  expect(line.fds[4], 200, "[3]");
  end_line(&line, 3);
}

// The thread gets no second call of a serial module to continue with, so a call of
// another module overtakes it.
static void calls_of_a_serial_module_take_turns(void **state) {
  (void)state;
  static const char *const kPaths[] = {SERIAL "block", SERIAL "block", ADD};
  line_t line;
  stand_in_line(&line, kPaths, FC_ARRAY_COUNT(kPaths));
  expect_next(&line, 0, 3);
  expect(line.fds[2], 200, "[3]");
  end_line(&line, 1);
}

int main(int argc, char **argv) {
  fixture_worker(argc, argv);
  const struct CMUnitTest tests[] = {
      FC_TEST(a_full_queue_is_503_at_once),
      FC_TEST(connections_beyond_the_limit_are_503),
      FC_TEST(a_large_answer_arrives_whole),
      FC_TEST(a_large_body_arrives_whole),
      FC_TEST(every_caller_gets_its_own_answers),
      FC_TEST(clients_that_vanish_leave_nothing_behind),
      FC_TEST(modules_take_turns),
      FC_TEST(calls_of_a_serial_module_take_turns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
