// SPDX-License-Identifier: Apache-2.0
//
// Modules that are loaded on demand: which requests wait, how they end, and which
// modules are unloaded again.
#include <stdlib.h>
#include <sys/socket.h>

#include "files.h"

static void post(int fd, const char *path, const char *fields) {
  char text[256];
  snprintf(text, sizeof text,
           "POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: 5\r\n\r\n"
           "[1,2]",
           path, fields);
  const uint64_t before = fixture_bytes(&server);
  assert_true(fixture_send_text(fd, text));
  fixture_wait_bytes(&server, before + strlen(text));
}

static void two_callers_cause_one_load_and_others_do_not_wait(void **state) {
  (void)state;
  enter("--load=demand");
  expect_request("POST", "/api/v1/functions/serial/add", 422, NULL);
  fixture_hold_loading(true);
  int callers[3];
  for (int i = 0; i < 3; i++) {
    callers[i] = fixture_connect(&server);
    post(callers[i], ADD, "");
  }
  expect_request("POST", "/api/v1/functions/serial/add", 422, NULL);
  expect_request("GET", "/api/v1/modules", 200, "\"state\":\"loading\"");
  fixture_hold_loading(false);
  for (int i = 0; i < 3; i++) {
    expect(callers[i], 200, "{\"results\":[3]}");
    post(callers[i], ADD, "");
    expect(callers[i], 200, "{\"results\":[3]}");
    close(callers[i]);
  }
  put("broken.fixture", "fixture");
  fixture_stop(&server);
  assert_int_equal(
      count_of(server.log_text, "\"module loaded\",\"module\":\"t\""), 1);
  fixture_forget(&server);
}

static void who_waits_has_a_deadline(void **state) {
  (void)state;
  enter("--load=demand");
  fixture_hold_loading(true);
  const int fd = fixture_connect(&server);
  post(fd, ADD, "Farcall-Timeout-Ms: 20\r\n");
  expect(
      fd, 504,
      "\"code\":\"deadline_exceeded\",\"detail\":\"the deadline passed while "
      "module 't' was loaded\"");
  fixture_hold_loading(false);
  close(fd);
  expect_sum(200);
  leave();
}

static void who_waits_may_leave(void **state) {
  (void)state;
  enter("--load=demand");
  fixture_hold_loading(true);
  const int left = fixture_connect(&server), stays = fixture_connect(&server);
  post(left, ADD, "");
  post(stays, ADD, "");
  close(left);
  fixture_hold_loading(false);
  expect(stays, 200, "[3]");
  close(stays);
  leave();
}

// The request is for a function that the described file has, but the file that is then
// loaded does not: "fixture few" has only one function, and its worker starts when a
// call is released.
static void who_leaves_may_have_waited_for_a_function_that_is_gone(
    void **state) {
  (void)state;
  fc_test_skip_emulated("the emulator has no seccomp");
  enter("--load=demand --isolation=process");
  expect_request("GET", MODULES "t", 200, "\"block\"");
  put("t.fixture", "fixture few");
  const int fd = fixture_connect(&server);
  post(fd, "/api/v1/functions/t/block", "");
  fixture_wait_blocked(1);
  close(fd);
  wait_until_listed("\"state\":\"loading\"");
  fixture_release(1);
  expect_sum(200);
  fixture_stop(&server);
  assert_non_null(strstr(server.log_text, "\"status\":499"));
  fixture_forget(&server);
}

static void all_who_wait_are_told_of_a_failure(void **state) {
  (void)state;
  enter("--load=demand");
  put("t.fixture", "nonsense");
  fixture_hold_loading(true);
  int callers[2];
  for (int i = 0; i < 2; i++) {
    callers[i] = fixture_connect(&server);
    post(callers[i], ADD, "");
  }
  fixture_hold_loading(false);
  for (int i = 0; i < 2; i++) {
    expect(callers[i], 503, "module 't' could not be loaded: t.fixture: ");
    close(callers[i]);
  }
  expect_request("GET", MODULES "t", 200, "\"state\":\"failed\"");
  expect_request("GET", "/metrics", 200, "\nfarcall_module_bytes 0\n");
  // The file that is loaded is the one that is there when a request needs it.
  put("t.fixture", "fixture");
  expect_request("POST", "/api/v1/reload", 200, "\"described\":1");
  expect_sum(200);
  leave();
}

static void who_waits_is_told_of_the_end(void **state) {
  (void)state;
  enter("--load=demand");
  fixture_hold_loading(true);
  const int fd = fixture_connect(&server);
  post(fd, ADD, "");
  fc_loop_stop(server.loop);
  expect(fd, 503, "shutting_down");
  close(fd);
  fixture_hold_loading(false);
  put("broken.fixture", "fixture");
  fixture_join(&server);
  assert_int_equal(server.exit_code, 0);
  fixture_forget(&server);
}

// The unload takes the name from a generation that is still being loaded, so the caller
// that waits for it finds no such module.
static void a_module_is_unloaded_while_it_is_loaded(void **state) {
  (void)state;
  enter("--load=demand");
  fixture_hold_loading(true);
  const int fd = fixture_connect(&server);
  post(fd, ADD, "");
  expect_request("POST", MODULES "t/unload", 200, "unloaded");
  fixture_hold_loading(false);
  expect(fd, 404, "module_not_found");
  close(fd);
  expect_request("POST", MODULES "t/load", 200, "\"state\":\"ready\"");
  expect_sum(200);
  leave();
}

// The module is unloaded while one client waits for its description and another for an
// answer. The loader still describes and opens the file, for nobody.
static void a_module_is_unloaded_while_it_is_described_and_loaded(
    void **state) {
  (void)state;
  enter("--load=demand");
  for (int i = 0; i < 2; i++) {
    fixture_hold_loading(true);
    const int reader = fixture_connect(&server);
    const int caller = fixture_connect(&server);
    static const char kRead[] =
        "GET " MODULES "t HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const uint64_t before = fixture_bytes(&server);
    assert_true(fixture_send_text(reader, kRead));
    fixture_wait_bytes(&server, before + sizeof kRead - 1);
    post(caller, ADD, "");
    expect_request("POST", MODULES "t/unload", 200, "unloaded");
    expect(reader, 404, "module_not_found");
    expect(caller, 404, "module_not_found");
    fixture_hold_loading(false);
    close(reader);
    close(caller);
    expect_request("POST", "/api/v1/reload", 200, "\"described\":1");
    expect_sum(200);
    expect_request("POST", MODULES "t/unload", 200, "unloaded");
    expect_request("POST", "/api/v1/reload", 200, "\"described\":1");
  }
  leave();
}

static void a_reload_beyond_the_memory_leaves_what_serves(void **state) {
  (void)state;
  char path[128];
  enter("--module-memory=1G");  // a worker under a sanitizer is large
  expect_sum(200);
  put("t.fixture", "fixture");
  path_of("t.fixture", path);
  assert_int_equal(truncate(path, 2ll << 30), 0);  // of which nothing is read
  expect_request("POST", "/api/v1/reload", 503, "memory_budget");
  expect_request("GET", MODULES "t", 200, "\"state\":\"ready\"");
  expect_request("GET", MODULES "t", 200,
                 "\"refused\":{\"code\":\"memory_budget\"");
  expect_sum(200);
  leave();
}

// A large file is served. A newer file would fit only if the first were unloaded, but
// the first one serves the name.
static void what_serves_makes_no_room_for_its_own_file(void **state) {
  (void)state;
  char path[128];
  enter("--isolation=thread --module-memory=64M");
  path_of("t.fixture", path);
  for (int i = 0; i < 2; i++) {
    put("t.fixture", "fixture");
    assert_int_equal(truncate(path, 40 << 20), 0);
    expect_request("POST", "/api/v1/reload", i ? 503 : 200,
                   i ? "memory_budget" : "\"loaded\":1");
  }
  expect_request("GET", MODULES "t", 200, "\"state\":\"ready\"");
  expect_sum(200);
  leave();
}

// The size of all modules in MiB, from the metrics.
static unsigned long long module_mib(void) {
  fixture_response_t response = fixture_request(&server, "GET", "/metrics", "");
  const char *line = strstr(response.body, "\nfarcall_module_bytes ");
  assert_non_null(line);
  const unsigned long long bytes = strtoull(strchr(line + 1, ' '), NULL, 10);
  fixture_response_free(&response);
  return bytes >> 20;
}

// With "rollback" an older file is kept, which needs memory. That memory is given back
// before any module is unloaded.
static void what_is_kept_to_go_back_to_makes_room(void **state) {
  (void)state;
  static const char *const kFiles[] = {"t.fixture", "t.fixture", "u.fixture"};
  char config[FIXTURE_CONFIG], flags[96], path[128];
  fixture_write_config(config,
                       "{\"modules\":{\"t\":{\"rollback\":\"on-crash\"}}}");
  snprintf(flags, sizeof flags, "--module-memory=1G --config=%s", config);
  enter(flags);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kFiles); i++) {
    path_of(kFiles[i], path);
    put(kFiles[i], "fixture");
    assert_int_equal(truncate(path, 250 << 20), 0);
    expect_request("POST", "/api/v1/reload", 200, "\"loaded\":1");
    wait_until_gone("\"state\":\"draining\"");
    assert_int_equal(module_mib() >= 500, i > 0);
  }
  put("u.fixture", "fixture");
  path_of("u.fixture", path);
  assert_int_equal(truncate(path, 250 << 20), 0);
  expect_request("POST", "/api/v1/reload", 200, "\"loaded\":1");
  expect_request("GET", MODULES "t", 200, "\"state\":\"ready\"");
  wait_until_gone("\"state\":\"draining\"");
  assert_true(module_mib() < 700);
  drop("u.fixture");
  unlink(config);
  leave();
}

static void the_signature_is_that_of_the_file(void **state) {
  (void)state;
  enter("--load=demand");
  expect_request("GET", MODULES "t", 200, "f16d05ec6b29248d");
  put("t.fixture", "fixture 2");
  expect_request("POST", "/api/v1/reload", 200, "\"unchanged\":2");
  fixture_response_t response =
      fixture_request(&server, "GET", MODULES "t", "");
  assert_null(strstr(response.body, "f16d05ec6b29248d"));
  assert_non_null(strstr(response.body, "\"state\":\"described\""));
  fixture_response_free(&response);
  put("t.fixture", "fixture");  // nobody has told the server
  expect_sum(200);
  expect_request("GET", MODULES "t", 200, "f16d05ec6b29248d");
  leave();
}

static void what_nobody_asks_for_is_unloaded(void **state) {
  (void)state;
  char config[FIXTURE_CONFIG], flags[96];
  fixture_write_config(config, "{\"modules\":{\"serial\":{\"pin\":true}}}");
  snprintf(flags, sizeof flags, "--load=demand --idle-unload=1ms --config=%s",
           config);
  enter(flags);
  unlink(config);
  expect_request("POST", "/api/v1/functions/serial/add", 422, NULL);
  for (int i = 0; i < 3; i++) {
    expect_sum(200);
    wait_until_listed(
        "\"name\":\"t\",\"kind\":\"fixture\",\"state\":\"described\"");
  }
  expect_request("GET", MODULES "serial", 200, "\"state\":\"ready\"");
  expect_request("GET", MODULES "t?memory=1", 200, "\"calls\":3");
  wait_until_gone("\"state\":\"draining\"");
  assert_int_equal(server.loop->modules.generations.used, 2);
  assert_int_equal(server.loop->modules.generations.leaving, 0);
  leave();
}

// Counts of calls continue when the module is loaded again, in /v2 and in its own
// document.
static void what_was_counted_outlives_an_unload(void **state) {
  (void)state;
  enter("--load=demand --idle-unload=1ms");
  for (int i = 1; i <= 3; i++) {
    char counted[64];
    expect_sum(200);
    wait_until_listed(
        "\"name\":\"t\",\"kind\":\"fixture\",\"state\":\"described\"");
    snprintf(counted, sizeof counted, "\"inference_count\":%d,", i);
    expect_request("GET", "/v2/models/t.add/stats", 200, counted);
  }
  assert_int_equal(server.loop->modules.generations.series.count, 0);
  leave();
}

// A module with a running call stays loaded, while others that were used later are
// unloaded.
static void what_is_called_stays(void **state) {
  (void)state;
  enter("--load=demand --idle-unload=1ms");
  const int fd = fixture_connect(&server);
  fixture_post(fd, "/api/v1/functions/t/block", "[]");
  fixture_wait_blocked(1);
  expect_request("POST", "/api/v1/functions/serial/add", 422, NULL);
  wait_until_listed(
      "\"name\":\"serial\",\"kind\":\"fixture\",\"state\":\"described\"");
  expect_request("GET", MODULES "t", 200, "\"state\":\"ready\"");
  fixture_release(1);
  expect(fd, 200, "[]");
  close(fd);
  leave();
}

// Modules that were loaded at the start are also unloaded when they get no requests. A
// call loads them again.
static void they_come_back(void **state) {
  (void)state;
  enter("--idle-unload=1ms");
  wait_until_listed(
      "\"name\":\"t\",\"kind\":\"fixture\",\"state\":\"described\"");
  expect_sum(200);
  leave();
}

int main(int argc, char **argv) {
  fixture_worker(argc, argv);
  const struct CMUnitTest tests[] = {
      FC_TEST(two_callers_cause_one_load_and_others_do_not_wait),
      FC_TEST(who_waits_has_a_deadline),
      FC_TEST(who_waits_may_leave),
      FC_TEST(who_leaves_may_have_waited_for_a_function_that_is_gone),
      FC_TEST(all_who_wait_are_told_of_a_failure),
      FC_TEST(who_waits_is_told_of_the_end),
      FC_TEST(a_module_is_unloaded_while_it_is_loaded),
      FC_TEST(a_module_is_unloaded_while_it_is_described_and_loaded),
      FC_TEST(a_reload_beyond_the_memory_leaves_what_serves),
      FC_TEST(what_serves_makes_no_room_for_its_own_file),
      FC_TEST(what_is_kept_to_go_back_to_makes_room),
      FC_TEST(the_signature_is_that_of_the_file),
      FC_TEST(what_nobody_asks_for_is_unloaded),
      FC_TEST(what_was_counted_outlives_an_unload),
      FC_TEST(what_is_called_stays),
      FC_TEST(they_come_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
