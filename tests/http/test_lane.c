// SPDX-License-Identifier: Apache-2.0
//
// The lane: which calls the loop makes itself, and what happens when such a call takes
// longer than the loop may spend.
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "expect.h"

#define ADD "/api/v1/functions/t/add"
#define BLOCK "/api/v1/functions/t/block"
#define INFER "/v2/models/t.echo/infer"
#define FACT "/api/v1/functions/bounds/fact"
#define GROW "/api/v1/functions/t/grow"
#define SPIN "/api/v1/functions/t/spin"
#define BOUNDS FARCALL_SOURCE_DIR "/tests/corpus/vm/bounds.vmfb"

static bool ran_on_loop(const fixture_server_t *server) {
  return pthread_equal(fixture_last_thread(), server->thread);
}

// Makes calls until one runs on the loop. A function enters the lane after sixteen
// quick calls; on a noisy machine after more.
static void enter_lane(const fixture_server_t *server, int fd, const char *path,
                       const char *body) {
  unsigned calls = 0;
  do {
    call(fd, path, body, 200, NULL);
    assert_true(++calls < 100000);
  } while (!ran_on_loop(server));
}

typedef struct attempt_row_t {
  const char *name;
  const char *path;
  const char *quick;
  const char *slow;  // what the loop gives up
  const char *answer;
} attempt_row_t;

// A call that takes too long on the loop is given up, and a worker makes it again with
// the same answer. After that the function must prove again that it is quick.
static void attempts_that_take_long_are_made_again(void **state) {
  (void)state;
  static char spin[24];
  snprintf(spin, sizeof spin, "[%u]", 3 * FC_LIMIT_INLINE_WORST_NS / 1000000u);
  const attempt_row_t rows[] = {
      {"the function takes long", SPIN, "[0]", spin, "[]"},
      {"the result is large", GROW, "[1]", "[20000]", "0,0,0,0"},
  };
  FC_TEST_EACH_ROW(const attempt_row_t, row, rows) {
    fixture_server_t server;
    fixture_start(&server, "--isolation=thread --lane=auto");
    const int fd = fixture_connect(&server);
    call(fd, row->path, row->quick, 200, NULL);
    assert_false(ran_on_loop(&server));
    unsigned made;
    do {
      enter_lane(&server, fd, row->path, row->quick);
      const unsigned before = fixture_calls();
      call(fd, row->path, row->slow, 200, row->answer);
      made = fixture_calls() - before;
      assert_false(ran_on_loop(&server));
    } while (made == 1);  // the machine was busy, and the loop did not try
    assert_int_equal(made, 2);
    call(fd, row->path, row->quick, 200, NULL);
    assert_false(ran_on_loop(&server));
    close(fd);
    end(&server);
  }
}

// Sends {x, 13} as raw floats after a document. The document's size keeps the floats
// aligned, so that the function may use them in the body.
static void post_floats(int fd, float x) {
  char body[136];
  const float floats[] = {x, 13};
  memset(body, ' ', 128);
  static const char kDocument[] =
      "{\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":\"FP32\","
      "\"parameters\":{\"binary_data_size\":8}}]}";
  memcpy(body, kDocument, sizeof kDocument - 1);
  memcpy(body + 128, floats, sizeof floats);
  fixture_send_text(fd, "POST " INFER " HTTP/1.1\r\nHost: localhost\r\n"
                        "Inference-Header-Content-Length: 128\r\n"
                        "Content-Length: 136\r\n\r\n");
  fixture_send(fd, body, sizeof body);
}

// What an attempt writes into the call's tensors does not reach the worker.
static void an_attempt_leaves_the_body_as_it_came(void **state) {
  (void)state;
  static const char kQuick[] =
      "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\","
      "\"data\":[1]}]}";
  fixture_server_t server;
  fixture_start(&server, "--isolation=thread --lane=auto");
  const int fd = fixture_connect(&server);
  unsigned made;
  do {
    enter_lane(&server, fd, INFER, kQuick);
    const unsigned before = fixture_calls();
    post_floats(fd, 2.5f);
    expect(fd, 200, "\"data\":[2.5,13.0]");
    made = fixture_calls() - before;
  } while (made == 1);
  assert_int_equal(made, 2);
  close(fd);
  end(&server);
}

// The loop must not wait until a call's deadline. It answers others while the call
// runs, however quick the function was before.
static void a_quick_function_that_turns_slow_keeps_nobody_waiting(
    void **state) {
  (void)state;
  static const char *const kModules[] = {
      BOUNDS,  // without state
      FARCALL_SOURCE_DIR "/tests/corpus/iree/releases/scalars-3.13.0.vmfb"};
  static const char *const kPaths[] = {FACT,
                                       "/api/v1/functions/scalars-3.13.0/fact"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kModules); i++) {
    fixture_server_t server;
    char flags[400];
    snprintf(flags, sizeof flags, "--isolation=thread --lane=auto %s",
             kModules[i]);
    fixture_start(&server, flags);
    const int quick = fixture_connect(&server);
    for (int j = 0; j < 200; j++) call(quick, kPaths[i], "[5]", 200, "[120]");
    const int slow = fixture_connect(&server);
    char request[256];
    snprintf(request, sizeof request,
             "POST %s HTTP/1.1\r\nHost: localhost\r\n"
             "Farcall-Timeout-Ms: 5000\r\nContent-Length: 15\r\n\r\n"
             "[1000000000000]",
             kPaths[i]);
    fixture_send_text(slow, request);
    for (int j = 0; j < 20; j++) {
      fixture_send_text(quick,
                        "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
      expect(quick, 200, NULL);
    }
    struct pollfd answered = {.fd = slow, .events = POLLIN};
    assert_int_equal(poll(&answered, 1, 0), 0);
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    setsockopt(slow, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(slow);
    call(quick, kPaths[i], "[20]", 200, "[2432902008176640000]");
    close(quick);
    end(&server);
  }
}

// Checking the arguments of a call is quick, whatever the function does. So that does
// not show that the function is quick.
static void what_was_only_checked_stays_off_the_loop(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--isolation=thread --lane=auto");
  int fd = fixture_connect(&server);
  for (int i = 0; i < 500; i++) {
    call(fd, SPIN "?validate=only", "[0]", 204, NULL);
  }
  call(fd, SPIN, "[0]", 200, "[]");
  assert_false(ran_on_loop(&server));
  close(fd);
  end(&server);
}

static void what_has_state_of_its_own_stays_off_the_loop(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--isolation=thread --lane=auto --vm-state=private");
  int fd = fixture_connect(&server);
  for (int i = 0; i < 200; i++) {
    call(fd, SPIN, "[0]", 200, "[]");
    assert_false(ran_on_loop(&server));
  }
  close(fd);
  end(&server);
}

// Only functions that run in threads may run on the loop.
static void lanes_can_be_chosen(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--isolation=thread --lane=never");
  int fd = fixture_connect(&server);
  for (int i = 0; i < 40; i++) {
    call(fd, ADD, "[1,2]", 200, "[3]");
    assert_false(ran_on_loop(&server));
  }
  close(fd);
  end(&server);
  fixture_start(&server, "--isolation=thread --lane=always");
  fd = fixture_connect(&server);
  call(fd, SPIN, "[2]", 200, "[]");
  assert_true(ran_on_loop(&server));
  close(fd);
  end(&server);
}

// A quick call that could run on the loop waits behind other calls of its module.
static void a_quick_call_does_not_overtake(void **state) {
  (void)state;
  fixture_server_t server;
  int busy[3];
  fixture_start(&server, "--isolation=thread --workers=1 --lane=auto");
  const int fd = fixture_connect(&server);
  unsigned calls = 0;
  do {
    // The loop may send the answer before it counts the request's bytes as handled.
    fixture_post_handled(&server, fd, ADD, "[1,2]");
    expect(fd, 200, "[3]");
    assert_true(++calls < 100000);
  } while (!ran_on_loop(&server));
  for (int i = 0; i < 3; i++) {
    busy[i] = fixture_connect(&server);
    fixture_post_handled(&server, busy[i], BLOCK, "[]");
  }
  fixture_wait_blocked(1);
  const unsigned before = fixture_calls();
  fixture_post_handled(&server, fd, ADD, "[1,2]");
  assert_int_equal(fixture_calls(), before);
  fixture_release(3);
  expect(fd, 200, "[3]");
  for (int i = 0; i < 3; i++) {
    expect(busy[i], 200, "[]");
    close(busy[i]);
  }
  close(fd);
  end(&server);
}

int main(int argc, char **argv) {
  fixture_worker(argc, argv);
  const struct CMUnitTest tests[] = {
      FC_TEST(attempts_that_take_long_are_made_again),
      FC_TEST(an_attempt_leaves_the_body_as_it_came),
      FC_TEST(a_quick_function_that_turns_slow_keeps_nobody_waiting),
      FC_TEST(what_was_only_checked_stays_off_the_loop),
      FC_TEST(what_has_state_of_its_own_stays_off_the_loop),
      FC_TEST(lanes_can_be_chosen),
      FC_TEST(a_quick_call_does_not_overtake),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
