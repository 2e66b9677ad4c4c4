// SPDX-License-Identifier: Apache-2.0
//
// Modules in worker processes: where their functions run, what is answered when they
// end their process, what happens to other calls at that time, and that nothing of a
// process is left behind.
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "expect.h"
#include "helpers/files.h"

#define CRASH "/api/v1/functions/crash/"
#define CRASH_SO FARCALL_MODULES "/crash.so"
#define ADD "/api/v1/functions/t/add"

static void start(fixture_server_t *server, const char *flags) {
  char words[512];
  snprintf(words, sizeof words, "%s --access-log=off " CRASH_SO, flags);
  fixture_start(server, words);
}

// Sends a call with a deadline `ms` milliseconds from now.
static void post_timed(int fd, const char *path, const char *body, int ms) {
  char head[256];
  snprintf(head, sizeof head,
           "POST %s HTTP/1.1\r\nHost: localhost\r\nFarcall-Timeout-Ms: %d\r\n"
           "Content-Length: %zu\r\n\r\n%s",
           path, ms, strlen(body), body);
  assert_true(fixture_send_text(fd, head));
}

static int worker_pid(int fd) {
  fixture_response_t response;
  fixture_post(fd, CRASH "pid", "[]");
  assert_true(fixture_receive(fd, false, &response));
  assert_int_equal(response.status, 200);
  int pid = atoi(response.body + strlen("{\"results\":["));
  fixture_response_free(&response);
  return pid;
}

// How many ticks of processor time a process has used.
static unsigned long used_ticks(int pid) {
  char path[64], line[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_non_null(fgets(line, sizeof line, file));
  fclose(file);
  unsigned long ticks = 0;
  assert_int_equal(sscanf(strrchr(line, ')'),
                          ") %*c %*d %*d %*d %*d %*d %*u %*u "
                          "%*u %*u %*u %lu",
                          &ticks),
                   1);
  return ticks;
}

// Waits until the process uses processor time: nothing else shows that its call has
// begun.
static void wait_until_it_runs(int pid) {
  unsigned long ticks = used_ticks(pid);
  while (used_ticks(pid) < ticks + 2) usleep(1000);
}

static void stop_process(int pid) {
  siginfo_t info;
  assert_int_equal(kill(pid, SIGSTOP), 0);
  assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT), 0);
}

// Starts a server with a configuration file that has the policy `crash` for the module
// of this name.
static void start_with(fixture_server_t *server, const char *flags,
                       const char *crash) {
  char path[FIXTURE_CONFIG], all[160];
  fixture_write_config(path, "{\"modules\":{\"crash\":{%s}}}", crash);
  snprintf(all, sizeof all, "%s --config=%s", flags, path);
  start(server, all);
  unlink(path);
}

static void machine_code_runs_where_it_is_told(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *crash;  // of the module alone
    bool here;
  } rows[] = {
      {"--isolation=auto", "", false},
      {"--isolation=process", "", false},
      {"--isolation=thread", "", true},
      {"--isolation=process", "\"isolation\":\"thread\"", true},
      {"--isolation=thread", "\"isolation\":\"process\"", false},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fixture_server_t server;
    start_with(&server, row->name, row->crash);
    int fd = fixture_connect(&server);
    assert_int_equal(worker_pid(fd) == getpid(), row->here);
    call(fd, CRASH "add", "[40,2]", 200, "{\"results\":[42]}");
    close(fd);
    end(&server);
  }
}

static void every_end_is_told_and_the_next_call_works(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *function;
    const char *body;
    const char *says;
  } rows[] = {
      {"a division", CRASH "divide", "[1,0]",
       "function 'divide' was stopped by signal 8 (SIGFPE) at offset 0x"},
      {"a null pointer", CRASH "peek", "[0]",
       "stopped by signal 11 (SIGSEGV) at offset 0x"},
      {"a wild pointer", CRASH "peek", "[123456789012345]", "(SIGSEGV) at"},
      {"an endless stack", CRASH "recurse", "[1000000]",
       "near the stack's end"},
      {"a signal", CRASH "stop", "[6]", "stopped by signal 6 (SIGABRT)\""},
      {"one nobody catches", CRASH "stop", "[15]", "signal 15 (SIGTERM)\""},
      {"the kernel's", CRASH "stop", "[9]", "\"worker_out_of_memory\""},
      // With a sanitizer the exit status differs: its report changes it.
      {"exit", CRASH "leave", "[3]", "ended its process: exit("},
      {"_exit", CRASH "leave_at_once", "[0]", "ended its process: exit(0)"},
      {"zeros over the region", CRASH "scribble", "[0]", "wrote over"},
      {"ones", CRASH "scribble", "[255]", "wrote over"},
      {"twos", CRASH "scribble", "[2]", "wrote over"},
      {"threes", CRASH "scribble", "[3]", "wrote over"},
      {"letters", CRASH "scribble", "[65]", "wrote over"},
  };
  fixture_server_t server;
  start(&server, "--crash-limit=0");
  int fd = fixture_connect(&server);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    call(fd, row->function, row->body, 502, row->says);
    call(fd, CRASH "add", "[1,2]", 200, "{\"results\":[3]}");
    call(fd, ADD, "[1,2]", 200, "{\"results\":[3]}");
  }
  close(fd);
  end(&server);
}

static void an_error_is_the_same_as_in_a_thread(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *path;
    const char *body;
  } rows[] = {
      {"syntax", CRASH "add", "[1,"},
      {"a type", CRASH "add", "[1,\"x\"]"},
      {"a range", CRASH "divide", "[1,3000000000]"},
      {"missing", CRASH "add", "[1]"},
      {"extra", CRASH "add", "[1,2,3]"},
      {"an option", CRASH "add", "{\"args\":[1,2],\"options\":{\"x\":1}}"},
      {"validated", CRASH "add?validate=only", "[1,2]"},
      {"validated and wrong", CRASH "add?validate=only", "[1,null]"},
  };
  fixture_server_t process, thread;
  start(&process, "--isolation=process");
  start(&thread, "--isolation=thread");
  int one = fixture_connect(&process), two = fixture_connect(&thread);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fixture_response_t a, b;
    fixture_post(one, row->path, row->body);
    fixture_post(two, row->path, row->body);
    assert_true(fixture_receive(one, false, &a));
    assert_true(fixture_receive(two, false, &b));
    assert_int_equal(a.status, b.status);
    // The request ids differ, so they are made equal.
    char *id = strstr(a.body, "request_id"),
         *other = strstr(b.body, "request_id");
    if (id && other) memcpy(id, other, strlen("request_id\":\"") + 16);
    assert_string_equal(a.body, b.body);
    fixture_response_free(&a);
    fixture_response_free(&b);
  }
  close(one);
  close(two);
  end(&process);
  end(&thread);
}

static void a_deadline_ends_the_process_and_nothing_else(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--workers=1");
  int busy = fixture_connect(&server), other = fixture_connect(&server);
  int pid = worker_pid(other);
  uint64_t began_ns = fc_clock_ns();
  post_timed(busy, CRASH "spin", "[0]", 200);
  // This call waits behind the one whose process is killed. The next process makes it.
  fixture_post(other, CRASH "add", "[3,4]");
  expect(busy, 504, "the deadline passed while it ran");
  uint64_t spent_ms = (fc_clock_ns() - began_ns) / 1000000u;
  assert_true(spent_ms >= 200);
  assert_true(spent_ms < 20000);  // no other time-out is so short
  expect(other, 200, "{\"results\":[7]}");
  assert_int_not_equal(worker_pid(other), pid);
  // A call whose deadline passes in the queue does not end the process.
  fixture_post_handled(&server, busy, CRASH "spin", "[1000]");
  post_timed(other, CRASH "add", "[1,1]", 100);
  expect(other, 504, "the deadline passed in the queue");
  expect(busy, 200, "results");
  close(busy);
  close(other);
  end(&server);
}

// Makes `count` calls that succeed. The calls of crash() below end their process; no
// two of these are equal.
static void call_well(int fd, unsigned count) {
  while (count--) call(fd, CRASH "add", "[1,2]", 200, "[3]");
}

static void crash(int fd, unsigned count) {
  static unsigned number;
  while (count--) {
    char body[32];
    snprintf(body, sizeof body, "[%u,0]", ++number);
    call(fd, CRASH "divide", body, 502, "SIGFPE");
  }
}

static void a_module_that_keeps_crashing_is_quarantined_alone(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--crash-limit=5 --quarantine=1s");
  int fd = fixture_connect(&server);
  call_well(fd, 15);
  crash(fd, 5);
  fixture_response_t response;
  char value[16];
  fixture_post(fd, CRASH "add", "[1,2]");
  assert_true(fixture_receive(fd, false, &response));
  assert_int_equal(response.status, 503);
  assert_non_null(strstr(response.body, "\"module_quarantined\""));
  assert_non_null(strstr(response.body, "crashed 5 times"));
  assert_non_null(
      fixture_header(&response, "Retry-After", value, sizeof value));
  fixture_response_free(&response);
  call(fd, ADD, "[1,2]", 200, "[3]");
  // After the quarantine the module is tried again. One more crash then starts a
  // quarantine that is twice as long.
  for (int round = 0; round < 2; round++) {
    int status;
    do {
      fixture_post(fd, CRASH "add", "[1,2]");
      assert_true(fixture_receive(fd, false, &response));
      status = response.status;
      fixture_response_free(&response);
    } while (status == 503);
    assert_int_equal(status, 200);
    crash(fd, 1);
    call(fd, CRASH "add", "[1,2]", 503, "module_quarantined");
  }
  close(fd);
  fixture_stop(&server);
  assert_non_null(strstr(server.log_text, "\"for_ms\":1000"));
  assert_non_null(strstr(server.log_text, "\"for_ms\":4000"));
  fixture_forget(&server);
}

// A module in which nearly all calls succeed is not quarantined, however many crashes
// there are.
static void one_client_does_not_end_a_module_for_all(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--crash-limit=2");
  int fd = fixture_connect(&server);
  call_well(fd, 30);
  for (int i = 0; i < 5; i++) {
    crash(fd, 1);
    call_well(fd, 5);
  }
  close(fd);
  end(&server);
}

static void expect_document(int fd, const char *path, const char *text) {
  char request[256];
  snprintf(request, sizeof request,
           "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
  fixture_send_text(fd, request);
  expect(fd, 200, text);
}

// Fails unless the metric `name` of the module has this value.
static void expect_metric(int fd, const char *name, const char *module,
                          unsigned value) {
  char text[128];
  snprintf(text, sizeof text, "\nfarcall_%s{module=\"%s\"} %u\n", name, module,
           value);
  expect_document(fd, "/metrics", text);
}

static void who_waits_is_told_when_a_quarantine_ends(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--workers=1 --crash-limit=1 --quarantine=40s");
  int busy = fixture_connect(&server), waits = fixture_connect(&server);
  call_well(busy, 14);
  crash(busy, 4);
  int pid = worker_pid(busy);
  fixture_post_handled(&server, busy, CRASH "spin", "[0]");
  fixture_post_handled(&server, waits, CRASH "add", "[1,2]");
  wait_until_it_runs(pid);
  assert_int_equal(kill(pid, SIGKILL), 0);
  expect(busy, 502, "worker_out_of_memory");
  for (int i = 0; i < 2; i++) {
    fixture_response_t response;
    char value[16];
    assert_true(fixture_receive(waits, false, &response));
    assert_int_equal(response.status, 503);
    assert_non_null(strstr(response.body, "module_quarantined"));
    assert_non_null(
        fixture_header(&response, "Retry-After", value, sizeof value));
    assert_in_range(atoi(value), 38, 40);
    fixture_response_free(&response);
    // This call is in the queue when the module is quarantined again.
    fixture_post(waits, CRASH "add", "[1,2]");
  }
  expect(waits, 503, "module_quarantined");
  close(busy);
  close(waits);
  end(&server);
}

static void what_waits_again_in_a_quarantine_is_told(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--workers=2 --crash-limit=1 --quarantine=40s");
  int busy = fixture_connect(&server), waits = fixture_connect(&server);
  call_well(busy, 14);
  crash(busy, 4);
  int first = worker_pid(busy);
  fixture_post_handled(&server, busy, CRASH "spin", "[0]");
  int second = worker_pid(waits);
  assert_int_not_equal(first, second);
  stop_process(second);
  fixture_post_handled(&server, waits, CRASH "add", "[1,2]");
  wait_until_it_runs(first);
  assert_int_equal(kill(first, SIGKILL), 0);
  expect(busy, 502, "worker_out_of_memory");
  // The second process still has its call, so it was not ended with the first.
  assert_int_equal(kill(second, SIGKILL), 0);
  expect(waits, 503, "module_quarantined");
  close(busy);
  close(waits);
  end(&server);
}

// Resets the connection, so that the server notices at once that the client has left.
static void reset(int fd) {
  const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
  assert_int_equal(
      setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
  close(fd);
}

// Waits until the connections of clients that have left are closed.
static void wait_for_connections(int fd, unsigned count) {
  char text[64];
  snprintf(text, sizeof text, "\"connections\":%u,", count);
  for (bool reached = false; !reached;) {
    fixture_response_t info;
    fixture_send_text(fd, "GET /api/v1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_true(fixture_receive(fd, false, &info));
    reached = strstr(info.body, text) != NULL;
    fixture_response_free(&info);
  }
}

static void what_crashed_a_module_is_refused_and_others_are_not(void **state) {
  (void)state;
  static const char *const kWords =
      "\"call_quarantined\",\"detail\":\"this very "
      "call crashed module 'crash' ";
  fixture_server_t server;
  start(&server, "--workers=1");
  int fd = fixture_connect(&server), other = fixture_connect(&server);
  call(fd, CRASH "divide", "[1,0]", 502, "SIGFPE");
  call(fd, CRASH "divide", "[1,0]", 422, kWords);
  call(other, CRASH "divide", "[1,0]", 422, kWords);
  // Another body is served, and so is the same body for another function.
  call(fd, CRASH "divide", "[1,1]", 200, "[1]");
  call(fd, CRASH "add", "[1,0]", 200, "[1]");
  expect_metric(fd, "worker_crashes_total", "crash", 1);
  // A waiting call is not made if an equal call has crashed since.
  int busy = fixture_connect(&server);
  fixture_post_handled(&server, busy, CRASH "spin", "[100]");
  fixture_post_handled(&server, fd, CRASH "divide", "[2,0]");
  fixture_post_handled(&server, other, CRASH "divide", "[2,0]");
  expect(busy, 200, "results");
  expect(fd, 502, "SIGFPE");
  expect(other, 422, kWords);
  expect_metric(fd, "worker_crashes_total", "crash", 2);
  // A call is refused even if the client of the equal one had left before the crash.
  int pid = worker_pid(other);
  fixture_post_handled(&server, busy, CRASH "spin", "[0]");
  wait_until_it_runs(pid);
  reset(busy);
  wait_for_connections(other, 2);
  assert_int_equal(kill(pid, SIGSEGV), 0);
  call(fd, CRASH "add", "[1,2]", 200, "[3]");
  call(fd, CRASH "spin", "[0]", 422, kWords);
  expect_metric(fd, "worker_crashes_total", "crash", 3);
  close(fd);
  close(other);
  end(&server);
}

#define MODULES 4

// Adds MODULES more modules to those of the server, or removes them.
static void put_modules(const fixture_server_t *server, bool there) {
  char path[128];
  for (int i = 0; i < MODULES; i++) {
    snprintf(path, sizeof path, "%s/u%d.fixture", server->directory, i);
    if (!there) {
      assert_int_equal(unlink(path), 0);
      continue;
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("fixture", file) > 0 && fclose(file) == 0);
  }
  if (!there) return;
  fixture_response_t response =
      fixture_request(server, "POST", "/api/v1/reload", "{}");
  assert_non_null(strstr(response.body, "broken"));  // nothing else fails
  fixture_response_free(&response);
}

// A refused call is answered when calls are handed over. By then the loop has written
// this turn's part of each document. The document after the refused call begins only
// now, and the loop must not wait for events before writing its second part: the next
// event may be the timer by which it checks processes. It is enough that the loop does
// not wait in one of many rounds; a busy machine may need many.
static void a_document_behind_a_refused_call_is_written(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_response_t response;
  const uint64_t waits_ns = FC_LIMIT_LOOK_MS * 1000000u * 3 / 4;
  uint64_t shortest_ns = UINT64_MAX;
  start_with(&server, "--admin=loopback --isolation=thread",
             "\"isolation\":\"process\"");
  put_modules(&server, true);
  int fd = fixture_connect(&server);
  call(fd, CRASH "divide", "[1,0]", 502, "SIGFPE");
  call(fd, CRASH "add", "[1,2]", 200, "[3]");
  for (int i = 0; i < 300 && shortest_ns >= waits_ns; i++) {
    const uint64_t begin_ns = fc_clock_ns();
    fixture_send_text(fd,
                      "POST " CRASH "divide HTTP/1.1\r\nHost: localhost\r\n"
                      "Content-Type: application/json\r\n"
                      "Content-Length: 5\r\n\r\n[1,0]"
                      "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(fd, 422, "call_quarantined");
    assert_true(fixture_receive(fd, false, &response));
    assert_int_equal(response.status, 200);
    assert_true(response.size > 2 * FC_LIMIT_PART);
    fixture_response_free(&response);
    const uint64_t took_ns = fc_clock_ns() - begin_ns;
    if (took_ns < shortest_ns) shortest_ns = took_ns;
  }
  assert_true(shortest_ns < waits_ns);
  close(fd);
  put_modules(&server, false);
  end(&server);
}

static void what_was_ended_from_outside_is_not_refused(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--workers=1");
  int fd = fixture_connect(&server), other = fixture_connect(&server);
  int pid = worker_pid(other);
  fixture_post_handled(&server, fd, CRASH "spin", "[0]");
  wait_until_it_runs(pid);
  assert_int_equal(kill(pid, SIGKILL), 0);
  expect(fd, 502, "worker_out_of_memory");
  // A call that was ended by its deadline is not refused the next time.
  for (int i = 0; i < 2; i++) {
    (void)worker_pid(other);
    post_timed(fd, CRASH "spin", "[0]", 500);
    expect(fd, 504, "while it ran");
  }
  close(fd);
  close(other);
  end(&server);
  // Without a crash limit no call is refused.
  start(&server, "--crash-limit=0");
  fd = fixture_connect(&server);
  for (int i = 0; i < 3; i++) {
    call(fd, CRASH "divide", "[1,0]", 502, "SIGFPE");
  }
  close(fd);
  end(&server);
}

static void a_process_more_is_no_restart(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--workers=2 --drain=100ms");
  int busy = fixture_connect(&server), other = fixture_connect(&server);
  int pid = worker_pid(busy);
  fixture_post_handled(&server, busy, CRASH "spin", "[0]");
  // A call is waiting, so a second process is started.
  int second = worker_pid(other);
  assert_int_not_equal(second, pid);
  expect_metric(other, "worker_processes", "crash", 2);
  expect_metric(other, "worker_restarts_total", "crash", 0);
  wait_until_it_runs(pid);
  assert_int_equal(kill(pid, SIGKILL), 0);
  expect(busy, 502, "worker_out_of_memory");
  expect_metric(other, "worker_restarts_total", "crash", 0);
  fixture_post_handled(&server, busy, CRASH "spin", "[0]");
  assert_int_not_equal(worker_pid(other), second);
  expect_metric(other, "worker_restarts_total", "crash", 1);
  expect_metric(other, "worker_crashes_total", "crash", 1);
  close(other);
  close(busy);
  fixture_stop(&server);
  fixture_forget(&server);
}

static void a_deadline_counts_once_wherever_it_strikes(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *flags;
    const char *module;
    const char *path;
    const char *body;
  } rows[] = {
      {"a process is killed", "--isolation=process", "crash", CRASH "spin",
       "[0]"},
      {"bytecode ends itself", "--lane=never", "t", "/api/v1/functions/t/until",
       "[]"},
      {"on the loop", "--lane=always", "t", "/api/v1/functions/t/until", "[]"},
      {"a thread is lost", "--isolation=thread --lane=never", "crash",
       CRASH "spin", "[600]"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fixture_server_t server;
    start(&server, row->flags);
    int fd = fixture_connect(&server);
    post_timed(fd, row->path, row->body, 100);
    expect(fd, 504, "deadline_exceeded");
    expect_metric(fd, "call_timeouts_total", row->module, 1);
    expect_metric(fd, "call_cancels_total", row->module, 0);
    close(fd);
    fixture_stop(&server);
    fixture_forget(&server);
  }
}

static void what_waits_behind_a_slow_call_goes_elsewhere(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--workers=2 --crash-limit=0");
  int slow = fixture_connect(&server), quick = fixture_connect(&server);
  for (int i = 0; i < 20; i++) {
    int pid = worker_pid(quick);
    // Both calls are sent so quickly that one process gets both.
    stop_process(pid);
    fixture_post_handled(&server, slow, CRASH "add", "[1,1]");
    assert_int_not_equal(worker_pid(quick), pid);
    assert_int_equal(kill(pid, SIGKILL), 0);
    expect(slow, 200, "[2]");
  }
  expect_metric(quick, "worker_crashes_total", "crash", 20);
  close(slow);
  close(quick);
  end(&server);
}

static void who_is_given_to_a_stopped_process_goes_elsewhere(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--workers=2 --timeout=0");
  int fd = fixture_connect(&server);
  int stopped = worker_pid(fd);
  stop_process(stopped);
  int pid = worker_pid(fd);
  assert_int_not_equal(pid, stopped);
  // The stopped process continues and finds nothing to do: its call was taken back, and
  // the other process has answered it.
  assert_int_equal(kill(stopped, SIGCONT), 0);
  stop_process(pid);
  assert_int_equal(worker_pid(fd), stopped);
  assert_int_equal(kill(pid, SIGCONT), 0);
  expect_metric(fd, "worker_crashes_total", "crash", 0);
  expect_metric(fd, "worker_restarts_total", "crash", 0);
  close(fd);
  end(&server);
}

// Ends the process to which this call was given, before it can begin the call.
static void kill_before_it_begins(fixture_server_t *server, int fd, int pid,
                                  int ms) {
  stop_process(pid);
  uint64_t bytes = fixture_bytes(server);
  post_timed(fd, CRASH "add", "[1,2]", ms);
  fixture_wait_bytes(server, bytes + 1);
  assert_int_equal(kill(pid, SIGKILL), 0);
}

static void processes_that_end_are_counted_for_each_call(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--workers=1 --crash-limit=50");
  int fd = fixture_connect(&server), other = fixture_connect(&server);
  call(fd, CRASH "divide", "[1,0]", 502, "SIGFPE");
  // The next process starts so late that the deadline of the waiting call passes.
  for (int i = 0; i < 2; i++) {
    kill_before_it_begins(&server, fd, worker_pid(other), 50);
    expect(fd, 504, "the deadline passed in the queue");
  }
  // Another call of the same connection starts without failed attempts.
  kill_before_it_begins(&server, fd, worker_pid(other), 30000);
  expect(fd, 200, "[3]");
  close(fd);
  close(other);
  end(&server);
}

// The process id of a module with one process, which is listed once it has been made.
static int pid_of(int fd, const char *module) {
  char request[128];
  snprintf(request, sizeof request,
           "GET /api/v1/modules/%s HTTP/1.1\r\nHost: localhost\r\n\r\n",
           module);
  for (int number = 0;;) {
    fixture_send_text(fd, request);
    fixture_response_t response;
    assert_true(fixture_receive(fd, false, &response));
    const char *pid = strstr(response.body, "\"pid\":");
    if (pid) number = atoi(pid + strlen("\"pid\":"));
    fixture_response_free(&response);
    if (number) return number;
  }
}

// Calls a function until it counts as quick, so that a process is given many of its
// calls at once.
static void prove_quick(int fd, const char *path, const char *body,
                        unsigned released) {
  for (int in_a_row = 0; in_a_row < 40;) {
    fixture_response_t response;
    char value[256];
    fixture_release(released);
    fixture_post(fd, path, body);
    assert_true(fixture_receive(fd, false, &response));
    const char *times =
        fixture_header(&response, "Server-Timing", value, sizeof value);
    assert_non_null(times);
    const char *of_call = strstr(times, "call;dur=");
    assert_non_null(of_call);
    double ms = strtod(of_call + strlen("call;dur="), NULL);
    in_a_row = ms < 0.05 ? in_a_row + 1 : 0;
    fixture_response_free(&response);
  }
}

// Each of three calls ends its process, while a fourth call waits behind them.
static void only_crashes_count_against_a_call_that_waits(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool crash;
    int status;
    const char *says;
  } rows[] = {
      {"nobody waits for what runs", false, 200, "[3]"},
      {"what runs is killed", true, 502,
       "not begun: its process ended before its turn, 3 times"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    const char *const block = "/api/v1/functions/t/block";
    fixture_server_t server;
    start(&server,
          "--isolation=process --workers=1 --crash-limit=0 --cancel=kill");
    int last = fixture_connect(&server), three[3];
    prove_quick(last, block, "[]", 1);
    prove_quick(last, ADD, "[1,2]", 0);
    // All four calls wait for the next process, which gets them all at once.
    fixture_hold_loading(true);
    const int idle = pid_of(last, "t");
    assert_int_equal(kill(idle, SIGKILL), 0);
    while (pid_of(last, "t") == idle) continue;
    for (int i = 0; i < 3; i++) {
      three[i] = fixture_connect(&server);
      fixture_post_handled(&server, three[i], block, "[]");
    }
    fixture_post_handled(&server, last, ADD, "[1,2]");
    fixture_hold_loading(false);
    int other = fixture_connect(&server);
    for (unsigned i = 0; i < 3; i++) {
      fixture_wait_blocked(i + 1);  // those in killed processes still count as
                                    // inside
      if (row->crash) kill(pid_of(other, "t"), SIGKILL);
      else close(three[i]);
      if (row->crash) expect(three[i], 502, "worker_out_of_memory");
      if (row->crash) close(three[i]);
    }
    expect(last, row->status, row->says);
    close(last);
    close(other);
    end(&server);
  }
}

static void what_cannot_be_loaded_fails_alone(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, FARCALL_MODULES "/undefined.so");
  int fd = fixture_connect(&server);
  call(fd, CRASH "add", "[1,2]", 200, "[3]");
  fixture_send_text(fd, "GET /api/v1/modules/undefined HTTP/1.1\r\n"
                        "Host: localhost\r\n\r\n");
  expect(fd, 200,
         "\"state\":\"failed\",\"generation\":1,\"reason\":\"undefined.so: "
         "undefined symbol");
  call(fd, "/api/v1/functions/undefined/f", "[]", 503, "module_unavailable");
  close(fd);
  end(&server);
}

static void the_host_tells_how_it_is(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--workers=1 --crash-limit=2");
  int fd = fixture_connect(&server);
  char text[128];
  const char *path = "/api/v1/modules/crash";
  snprintf(text, sizeof text,
           "\"workers\":[{\"pid\":%d,\"state\":\"idle\",\"calls\":1}],"
           "\"crashes\":0,",
           worker_pid(fd));
  expect_document(fd, path, text);
  expect_document(fd, path, "\"host\":{\"isolation\":\"process\",");
  expect_document(fd, path, "\"quarantined_until\":null}");
  expect_document(fd, "/api/v1/modules/t",
                  "\"host\":{\"isolation\":\"thread\",");
  call_well(fd, 14);
  crash(fd, 5);
  expect_document(fd, path,
                  "\"workers\":[],\"crashes\":5,\"restarts\":4,"
                  "\"quarantines\":1,\"quarantined_until\":\"20");
  static const char *const kMetrics[] = {
      "\nfarcall_worker_crashes_total{module=\"crash\"} 5\n",
      "\nfarcall_worker_crashes_total{module=\"t\"} 0\n",
      "\nfarcall_worker_restarts_total{module=\"crash\"} 4\n",
      "\nfarcall_module_quarantined{module=\"crash\"} 1\n",
      "\nfarcall_requests_total{status=\"502\"} 5\n",
      "\n# TYPE farcall_worker_crashes_total counter\n",
      "\nfarcall_ready 1\n",
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kMetrics); i++) {
    expect_document(fd, "/metrics", kMetrics[i]);
  }
  close(fd);
  end(&server);
}

// Pipes for calls of `hold`, which run in threads of this process: by the first pipe
// they report that they have begun, by the second they are told to end.
typedef struct held_t {
  int begun[2];
  int end[2];
} held_t;

static void begin_held(held_t *held) {
  assert_int_equal(pipe(held->begun), 0);
  assert_int_equal(pipe(held->end), 0);
}

// Makes a call with a deadline of one second, and waits until it has begun.
static void post_held(const held_t *held, int fd) {
  char body[32], byte;
  snprintf(body, sizeof body, "[%d,%d]", held->begun[1], held->end[0]);
  post_timed(fd, CRASH "hold", body, 1000);
  assert_int_equal(read(held->begun[0], &byte, 1), 1);
}

static void end_held(held_t *held, unsigned count) {
  assert_int_equal(write(held->end[1], "...", count), count);
}

static void close_held(held_t *held) {
  for (int i = 0; i < 2; i++) {
    close(held->begun[i]);
    close(held->end[i]);
  }
}

static void a_thread_in_native_code_is_lost_and_replaced(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--isolation=thread --workers=1 --lane=never");
  int fd = fixture_connect(&server), other = fixture_connect(&server);
  held_t held;
  begin_held(&held);
  // Two lost threads are replaced; the third is not, so the call behind it does not
  // begin.
  for (int i = 0; i < 3; i++) {
    post_held(&held, fd);
    expect(fd, 504, "the deadline passed while it ran");
    if (i < 2) call(other, CRASH "add", "[1,2]", 200, "[3]");
  }
  fixture_send_text(fd, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(fd, 503, "all worker threads are lost");
  post_timed(other, CRASH "add", "[1,2]", 50);
  expect(other, 504, "the deadline passed in the queue");
  expect_document(fd, "/metrics", "\nfarcall_lost_threads 3\n");
  end_held(&held, 3);
  // In the end the lost threads return.
  call(other, CRASH "add", "[1,2]", 200, "[3]");
  expect_document(fd, "/readyz", "ready");
  close(fd);
  close(other);
  fixture_stop(&server);
  close_held(&held);
  assert_non_null(strstr(server.log_text, "a thread is lost"));
  fixture_forget(&server);
}

// A module may run one call at a time. A thread that is lost in a call is replaced, and
// the next call may use the new thread.
static void a_lost_thread_takes_no_place_of_its_module(void **state) {
  (void)state;
  fixture_server_t server;
  start_with(&server, "--isolation=thread --workers=2 --lane=never",
             "\"workers\":1");
  int fd = fixture_connect(&server);
  held_t held;
  begin_held(&held);
  post_held(&held, fd);
  expect(fd, 504, "the deadline passed while it ran");
  post_timed(fd, CRASH "add", "[1,2]", 30000);
  expect(fd, 200, "[3]");
  // After the lost thread has returned, the module still runs one call at a time.
  end_held(&held, 1);
  call(fd, CRASH "add", "[1,2]", 200, "[3]");
  close(fd);
  fixture_stop(&server);
  close_held(&held);
  fixture_forget(&server);
}

static void a_thread_is_replaced_though_nobody_waits(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--isolation=thread --workers=1 --lane=never");
  int gone = fixture_connect(&server), other = fixture_connect(&server);
  held_t held;
  begin_held(&held);
  // If the call had not begun, it would be dropped without losing a thread.
  post_held(&held, gone);
  reset(gone);
  call(other, CRASH "add", "[1,2]", 200, "[3]");
  expect_document(other, "/metrics", "\nfarcall_lost_threads 1\n");
  end_held(&held, 1);
  close(other);
  fixture_stop(&server);
  close_held(&held);
  fixture_forget(&server);
}

static void copy_file(const char *from, const char *to) {
  char bytes[4096];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  assert_non_null(in);
  assert_non_null(out);
  for (size_t size; (size = fread(bytes, 1, sizeof bytes, in));) {
    assert_int_equal(fwrite(bytes, 1, size, out), size);
  }
  fclose(in);
  assert_int_equal(fclose(out), 0);
}

// Each process of a module loads the same bytes that the first process loaded.
static void a_file_may_be_overwritten(void **state) {
  (void)state;
  char folder[] = "/tmp/farcall-host-XXXXXX", module[64], sidecar[64];
  assert_non_null(mkdtemp(folder));
  snprintf(module, sizeof module, "%s/own.so", folder);
  snprintf(sidecar, sizeof sidecar, "%s/own.farcall.json", folder);
  copy_file(CRASH_SO, module);
  copy_file(FARCALL_MODULES "/crash.farcall.json", sidecar);
  char flags[128];
  snprintf(flags, sizeof flags, "--crash-limit=0 %s", module);
  fixture_server_t server;
  start(&server, flags);
  int fd = fixture_connect(&server);
  const char *const own = "/api/v1/functions/own/";
  char add[64], divide[64];
  snprintf(add, sizeof add, "%sadd", own);
  snprintf(divide, sizeof divide, "%sdivide", own);
  call(fd, add, "[1,2]", 200, "[3]");
  copy_file(FARCALL_MODULES "/scalars.so", module);
  unlink(sidecar);
  call(fd, divide, "[1,0]", 502, "SIGFPE");
  call(fd, add, "[1,2]", 200, "[3]");
  unlink(module);
  call(fd, divide, "[1,0]", 502, "SIGFPE");
  call(fd, add, "[1,2]", 200, "[3]");
  rmdir(folder);
  close(fd);
  end(&server);
}

static void words_of_a_module_are_logged(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--crash-limit=0");
  int fd = fixture_connect(&server);
  call(fd, CRASH "say", "[2]", 200, "[2]");
  call(fd, CRASH "last_words", "[11]", 502, "SIGSEGV");
  call(fd, CRASH "say", "[100000]", 200, "[100000]");
  call(fd, CRASH "stop", "[6]", 502, "SIGABRT");
  close(fd);
  fixture_stop(&server);
  const char *log = server.log_text;
  assert_non_null(strstr(log, "\"text\":\"line 1 of the module\""));
  assert_non_null(strstr(log, "\"said\":\"these are my last words\""));
  assert_non_null(strstr(log, "the module prints too much"));
  // Of the hundred thousand lines only a limited number for each second is logged.
  unsigned lines = 0;
  for (const char *at = log; (at = strstr(at, "module output")); at++) lines++;
  assert_true(lines < 500);
  fixture_forget(&server);
}

static void a_client_that_goes_takes_nobody_along(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--workers=1");
  int gone = fixture_connect(&server), other = fixture_connect(&server);
  int pid = worker_pid(other);
  fixture_post(gone, CRASH "spin", "[100]");
  int waits = fixture_connect(&server);
  fixture_post_handled(&server, waits, CRASH "add", "[5,6]");
  close(gone);
  close(waits);
  call(other, CRASH "add", "[1,2]", 200, "[3]");
  assert_int_equal(worker_pid(other), pid);
  close(other);
  end(&server);
}

static void nobody_waits_for_what_is_killed(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--workers=1 --timeout=0 --cancel=kill");
  int gone = fixture_connect(&server), waits = fixture_connect(&server);
  int other = fixture_connect(&server);
  for (unsigned round = 1; round <= 4; round++) {
    int pid = worker_pid(other);
    fixture_post_handled(&server, gone, CRASH "spin", "[0]");
    fixture_post_handled(&server, waits, CRASH "add", "[5,6]");
    wait_until_it_runs(pid);
    // A client that closes its sending side counts as gone, too.
    if (round % 2) shutdown(gone, SHUT_WR);
    else close(gone);
    expect(waits, 200, "[11]");
    expect_metric(other, "call_cancels_total", "crash", round);
    if (round % 2) close(gone);
    gone = fixture_connect(&server);
  }
  expect_metric(other, "worker_crashes_total", "crash", 0);
  expect_metric(other, "worker_restarts_total", "crash", 4);
  expect_metric(other, "call_timeouts_total", "crash", 0);
  close(gone);
  close(waits);
  close(other);
  fixture_stop(&server);
  assert_non_null(
      strstr(server.log_text, "worker killed: nobody waits for its call"));
  assert_null(strstr(server.log_text, "crashed"));
  fixture_forget(&server);
}

static void half_a_client_is_answered_unless_told_otherwise(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--workers=1");
  int fd = fixture_connect(&server), other = fixture_connect(&server);
  fixture_post_handled(&server, fd, CRASH "spin", "[100]");
  shutdown(fd, SHUT_WR);
  expect(fd, 200, "results");
  expect_metric(other, "call_cancels_total", "crash", 0);
  close(fd);
  close(other);
  end(&server);
}

static void a_server_that_ends_leaves_no_process(void **state) {
  (void)state;
  fixture_server_t server;
  start(&server, "--drain=100ms --workers=1");
  int fd = fixture_connect(&server), busy = fixture_connect(&server);
  int pid = worker_pid(fd);
  post_timed(busy, CRASH "spin", "[0]", 60000);
  fixture_stop(&server);
  expect(busy, 503, "shutting_down");
  assert_int_equal(kill(pid, 0), -1);
  close(fd);
  close(busy);
  fixture_forget(&server);
}

// ---------------------------------------------------------------------------
// Nothing is left behind

// Counts the children of this process, including dead ones.
static unsigned children(void) {
  unsigned count = 0;
  DIR *directory = opendir("/proc");
  assert_non_null(directory);
  for (const struct dirent *entry; (entry = readdir(directory));) {
    char path[300], line[512] = "";
    snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
    FILE *file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9'
                     ? fopen(path, "r")
                     : NULL;
    if (!file) continue;
    int parent = 0;
    const char *close_ =
        fgets(line, sizeof line, file) ? strrchr(line, ')') : 0;
    if (close_ && sscanf(close_, ") %*c %d", &parent) == 1) {
      count += parent == getpid();
    }
    fclose(file);
  }
  closedir(directory);
  return count;
}

// Waits until the count is right: a process that has ended, and its descriptors, may
// still be there for a moment.
static void assert_settles(unsigned (*count)(void), unsigned wanted) {
  for (int i = 0; i < 1000 && count() != wanted; i++) usleep(10000);
  assert_int_equal(count(), wanted);
}

static long resident_kib(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%*d %ld", &pages), 1);
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

// The variable FARCALL_CRASHES is the number of crashes; the default is 60. The long
// form of the test sets it, and runs nothing else.
static void crashes_leave_nothing_behind(void **state) {
  (void)state;
  const char *wanted = getenv("FARCALL_CRASHES");
  int crashes = wanted ? atoi(wanted) : 60;
  fixture_server_t server;
  start(&server, "--crash-limit=0 --workers=1");
  int fd = fixture_connect(&server);
  for (int i = 0; i < 20; i++) {
    call(fd, CRASH "divide", "[1,0]", 502, "SIGFPE");
    call(fd, CRASH "add", "[1,2]", 200, "[3]");
  }
  assert_settles(children, 1);
  unsigned files = fc_test_open_files();
  long kib = resident_kib();
  for (int i = 0; i < crashes; i++) {
    call(fd, CRASH "divide", "[1,0]", 502, "SIGFPE");
    call(fd, CRASH "add", "[1,2]", 200, "[3]");
  }
  assert_settles(children, 1);
  assert_settles(fc_test_open_files, files);
  long grown_kib = resident_kib() - kib;
  print_message("%d crashes: %u files, %+ld KiB\n", crashes, files, grown_kib);
  // Sanitizers keep memory that was freed.
  if (!FC_SANITIZED) assert_true(grown_kib < 1024);
  close(fd);
  end(&server);
  assert_int_equal(children(), 0);
}

// ---------------------------------------------------------------------------
// Other clients during a large call

// The processor time that the server's loop has used so far.
static uint64_t loop_cpu_ns(const fixture_server_t *server) {
  clockid_t clock;
  struct timespec now;
  assert_int_equal(pthread_getcpuclockid(server->thread, &clock), 0);
  assert_int_equal(clock_gettime(clock, &now), 0);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *receive_all(void *context) {
  const int *fd = context;
  fixture_response_t response;
  assert_true(fixture_receive(*fd, false, &response));
  assert_int_equal(response.status, 200);
  assert_true(response.size > 80000000);
  fixture_response_free(&response);
  return NULL;
}

// While a large answer comes out of a process, other requests are made. Prints the most
// processor time that the loop used for one of them, and checks that it is limited.
static void a_large_answer_holds_nobody_up(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--isolation=process --access-log=off");
  int large = fixture_connect(&server), small = fixture_connect(&server);
  fixture_post(large, "/api/v1/functions/t/grow", "[42000000]");
  pthread_t reader;
  assert_int_equal(pthread_create(&reader, NULL, receive_all, &large), 0);
  uint64_t most_ns = 0;
  unsigned asked = 0;
  while (pthread_tryjoin_np(reader, NULL)) {
    const uint64_t began_ns = loop_cpu_ns(&server);
    assert_true(fixture_send_text(
        small, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    expect(small, 200, "");
    const uint64_t spent_ns = loop_cpu_ns(&server) - began_ns;
    if (spent_ns > most_ns) most_ns = spent_ns;
    asked++;
    usleep(200);
  }
  print_message("%u asked, at most %.2f ms of the loop's time\n", asked,
                (double)most_ns / 1e6);
  assert_true(asked > 0);
  assert_true(most_ns < (FC_SANITIZED ? 200u : 20u) * 1000000u);
  close(large);
  close(small);
  end(&server);
}

// The body of a call of `echo`. Body and answer have 4 MB.
static char *make_large(void) {
  enum { COUNT = 1000000 };
  char *body = malloc(4 * COUNT + 4), *at = body;
  assert_non_null(body);
  *at++ = '[';
  for (int i = 0; i < COUNT; i++) {
    memcpy(at, i ? ",0.5" : "[0.5", 4);
    at[1] = (char)('1' + i % 9);
    at += 4;
  }
  memcpy(at, "]]", 3);
  return body;
}

static void echo_large(int fd, const char *body) {
  fixture_response_t response;
  fixture_post(fd, "/api/v1/functions/t/echo", body);
  assert_true(fixture_receive(fd, false, &response));
  assert_int_equal(response.status, 200);
  // {"results":[…]} is 12 bytes longer than [[…]].
  assert_int_equal(response.size, strlen(body) + 12);
  assert_memory_equal(response.body + 12, body + 1, strlen(body) - 1);
  fixture_response_free(&response);
}

// The usage of blocks after the server has given back those of the last answer. That
// may be some time after the client has received it.
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

// No byte of a large body is copied, and only the beginning of a large answer. That
// holds for the first such call of a server, and for later ones.
static void large_bodies_and_answers_are_not_copied(void **state) {
  (void)state;
  char *body = make_large();
  fixture_server_t server;
  fixture_start(&server, "--isolation=process --access-log=off");
  int fd = fixture_connect(&server);
  for (int i = 0; i < 3; i++) {
    const uint64_t before = fc_blocks_usage(server.loop->blocks).copied;
    echo_large(fd, body);
    const fc_blocks_usage_t usage = settled(&server);
    assert_in_range(usage.copied - before, 1, FC_RING_FIRST);
    // The next call uses the files of both again; they are still mapped.
    assert_int_equal(usage.files, 2);
    assert_in_range(usage.kept, 2 * strlen(body), 4 * strlen(body));
  }
  free(body);
  close(fd);
  end(&server);
}

// Calls `echo` with a .npy file of a million f32. The answer must be the same file.
static void echo_npy(int fd, const char *file, size_t size) {
  char head[256];
  fixture_response_t response;
  snprintf(head, sizeof head,
           "POST /api/v1/functions/t/echo HTTP/1.1\r\nHost: localhost\r\n"
           "Content-Type: application/x-npy\r\nAccept: application/x-npy\r\n"
           "Content-Length: %zu\r\n\r\n",
           size);
  assert_true(fixture_send_text(fd, head));
  assert_true(fixture_send(fd, file, size));
  assert_true(fixture_receive(fd, false, &response));
  assert_int_equal(response.status, 200);
  assert_int_equal(response.size, size);
  assert_memory_equal(response.body, file, size);
  fixture_response_free(&response);
}

#define NPY_SIZE (128u + 4000000u)

// Makes a .npy file that differs for each seed.
static void fill_npy(char *file, unsigned seed) {
  memset(file, ' ', 128);
  memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
  static const char kHead[] =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000,), }";
  memcpy(file + 10, kHead, sizeof kHead - 1);
  file[127] = '\n';
  for (size_t i = 0; i < 1000000; i++) {
    const float number = (float)(i * 7 + seed);
    memcpy(file + 128 + 4 * i, &number, sizeof number);
  }
}

// A result that lies in the body is sent from there: it is neither copied nor given
// memory of its own. In a process this works only if the call had no page fault. Any
// call may have one, so one success in many tries is enough.
static void results_that_lie_in_the_body_are_not_copied(void **state) {
  (void)state;
  static const struct {
    const char *name;
    uint32_t files;
  } rows[] = {{"--isolation=thread", 0}, {"--isolation=process", 2}};
  char *file = malloc(NPY_SIZE);
  assert_non_null(file);
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    char flags[128];
    snprintf(flags, sizeof flags, "%s --access-log=off", row->name);
    fixture_server_t server;
    fixture_start(&server, flags);
    int fd = fixture_connect(&server);
    unsigned kept = 0;
    for (unsigned i = 0; i < 20; i++) {
      const uint64_t before = fc_blocks_usage(server.loop->blocks).copied;
      fill_npy(file, i);
      echo_npy(fd, file, NPY_SIZE);
      const fc_blocks_usage_t usage = settled(&server);
      assert_int_equal(usage.files, row->files);
      // The file of an answer that was copied once is kept.
      kept += usage.copied - before < FC_BLOCK_SMALLEST &&
              (row->files || usage.kept < NPY_SIZE + NPY_SIZE / 2);
    }
    if (!FC_SANITIZED || !row->files) assert_true(kept > 0);
    close(fd);
    end(&server);
  }
  free(file);
}

// Waits until the server keeps at most this many bytes.
static void wait_kept(const fixture_server_t *server, uint64_t most,
                      unsigned most_ms) {
  while (fc_blocks_usage(server->loop->blocks).kept > most) {
    assert_true(most_ms-- > 0);
    usleep(1000);
  }
}

// The file of an answer is released when its process ends, the file of a body when it
// was not used for long. The connection stays open.
static void kept_files_go(void **state) {
  (void)state;
  char *body = make_large();
  const uint64_t size = strlen(body);
  fixture_server_t server;
  fixture_start(&server, "--isolation=process --workers=1 --access-log=off");
  int fd = fixture_connect(&server);
  const int pid = pid_of(fd, "t");
  echo_large(fd, body);
  assert_in_range(settled(&server).kept, 2 * size, 4 * size);
  assert_int_equal(kill(pid, SIGKILL), 0);
  wait_kept(&server, size + size / 2, 5000);
  assert_in_range(fc_blocks_usage(server.loop->blocks).kept, size, 2 * size);
  wait_kept(&server, size / 2, FC_LIMIT_KEPT_MS + 10000);
  echo_large(fd, body);
  free(body);
  close(fd);
  end(&server);
}

// Processes of different modules never get the same file.
static void each_module_has_its_own_files(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool process;
  } rows[] = {{"--isolation=process", true}, {"--isolation=thread", false}};
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fixture_server_t server;
    start(&server, row->name);
    int fd = fixture_connect(&server);
    call(fd, ADD, "[1,2]", 200, "[3]");
    call(fd, CRASH "add", "[1,2]", 200, "[3]");
    close(fd);
    const fc_pool_t *pool = &server.loop->pool;
    unsigned hosts = 0;
    for (uint32_t i = 0; i < pool->queue_count; i++) {
      const uint64_t audience = fc_pool_audience(pool, i);
      if (!fc_pool_host(pool, i)) continue;
      hosts++;
      assert_int_equal(audience != FC_AUDIENCE_NONE, row->process);
      for (uint32_t j = 0; j < i && row->process; j++) {
        assert_int_not_equal(fc_pool_audience(pool, j), audience);
      }
    }
    assert_true(hosts >= 2);
    end(&server);
  }
}

// A process is killed after it has finished a large answer, but before the loop has
// sent all of it.
static void an_answer_outlives_its_process(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--isolation=process --workers=1 --access-log=off");
  int large = fixture_connect(&server), second = fixture_connect(&server),
      other = fixture_connect(&server);
  const int pid = pid_of(other, "t");
  fixture_post(large, "/api/v1/functions/t/grow", "[42000000]");
  fixture_post(second, "/api/v1/functions/t/block", "[]");
  fixture_wait_blocked(1);
  assert_int_equal(kill(pid, SIGKILL), 0);
  receive_all(&large);
  fixture_response_t response;
  assert_true(fixture_receive(second, false, &response));
  assert_int_equal(response.status, 502);
  fixture_response_free(&response);
  call(other, ADD, "[1,2]", 200, "[3]");
  close(large);
  close(second);
  close(other);
  end(&server);
}

int main(int argc, char **argv) {
  fixture_worker(argc, argv);
  const struct CMUnitTest tests[] = {
      FC_TEST(a_large_answer_holds_nobody_up),
      FC_TEST(large_bodies_and_answers_are_not_copied),
      FC_TEST(results_that_lie_in_the_body_are_not_copied),
      FC_TEST(kept_files_go),
      FC_TEST(each_module_has_its_own_files),
      FC_TEST(an_answer_outlives_its_process),
      FC_TEST(machine_code_runs_where_it_is_told),
      FC_TEST(every_end_is_told_and_the_next_call_works),
      FC_TEST(an_error_is_the_same_as_in_a_thread),
      FC_TEST(a_deadline_ends_the_process_and_nothing_else),
      FC_TEST(a_module_that_keeps_crashing_is_quarantined_alone),
      FC_TEST(one_client_does_not_end_a_module_for_all),
      FC_TEST(who_waits_is_told_when_a_quarantine_ends),
      FC_TEST(what_waits_again_in_a_quarantine_is_told),
      FC_TEST(what_crashed_a_module_is_refused_and_others_are_not),
      FC_TEST(a_document_behind_a_refused_call_is_written),
      FC_TEST(what_was_ended_from_outside_is_not_refused),
      FC_TEST(a_process_more_is_no_restart),
      FC_TEST(a_deadline_counts_once_wherever_it_strikes),
      FC_TEST(what_waits_behind_a_slow_call_goes_elsewhere),
      FC_TEST(who_is_given_to_a_stopped_process_goes_elsewhere),
      FC_TEST(processes_that_end_are_counted_for_each_call),
      FC_TEST(only_crashes_count_against_a_call_that_waits),
      FC_TEST(what_cannot_be_loaded_fails_alone),
      FC_TEST(the_host_tells_how_it_is),
      FC_TEST(a_thread_in_native_code_is_lost_and_replaced),
      FC_TEST(a_lost_thread_takes_no_place_of_its_module),
      FC_TEST(a_thread_is_replaced_though_nobody_waits),
      FC_TEST(a_file_may_be_overwritten),
      FC_TEST(words_of_a_module_are_logged),
      FC_TEST(a_client_that_goes_takes_nobody_along),
      FC_TEST(nobody_waits_for_what_is_killed),
      FC_TEST(half_a_client_is_answered_unless_told_otherwise),
      FC_TEST(a_server_that_ends_leaves_no_process),
      FC_TEST(crashes_leave_nothing_behind),
  };
  if (getenv("FARCALL_CRASHES")) {
    cmocka_set_test_filter("crashes_leave_nothing_behind");
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
