// SPDX-License-Identifier: Apache-2.0
//
// farcalld as a process: exit codes, output, signals.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/test.h"

typedef struct daemon_t {
  pid_t pid;
  int out;  // its stdout and stderr
  char text[1u << 16];
  size_t size;
  int port;
} daemon_t;

// A server without modules that keeps running.
#define EMPTY "--allow-empty", "/nowhere.so"

static void start(daemon_t *daemon, const char *const *arguments,
                  const char *const *variables) {
  memset(daemon, 0, sizeof *daemon);
  const char *argv[16] = {"farcalld"};
  for (int i = 0; arguments[i]; i++) argv[i + 1] = arguments[i];
  static const char *const kNone[] = {NULL};
  int ends[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  assert_int_equal(
      posix_spawn(&daemon->pid, FARCALLD, &actions, NULL,
                  (char *const *)(uintptr_t)argv,
                  (char *const *)(uintptr_t)(variables ? variables : kNone)),
      0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  daemon->out = ends[0];
}

// Reads the output until it contains `text`; NULL: to its end. False: the end came
// first.
static bool listen_for(daemon_t *daemon, const char *text) {
  while (!text || !strstr(daemon->text, text)) {
    ssize_t size = read(daemon->out, daemon->text + daemon->size,
                        sizeof daemon->text - 1 - daemon->size);
    if (size <= 0) return false;
    daemon->size += (size_t)size;
  }
  return true;
}

static void wait_ready(daemon_t *daemon) {
  if (!listen_for(daemon, "listening on http://127.0.0.1:")) {
    fail_msg("%s", daemon->text);
  }
  const char *at = strstr(daemon->text, "http://127.0.0.1:");
  daemon->port = (int)strtol(at + strlen("http://127.0.0.1:"), NULL, 10);
}

static int end(daemon_t *daemon) {
  listen_for(daemon, NULL);
  close(daemon->out);
  int status;
  assert_int_equal(waitpid(daemon->pid, &status, 0), daemon->pid);
  if (WIFSIGNALED(status)) fail_msg("signal %d", WTERMSIG(status));
  return WEXITSTATUS(status);
}

static int connect_to(const daemon_t *daemon) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)daemon->port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
  return fd;
}

static void say(int fd, const char *text) {
  assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

// Reads the server's answers until it closes the connection.
static void hear(int fd, char *out, size_t capacity) {
  size_t size = 0;
  ssize_t part;
  while ((part = recv(fd, out + size, capacity - 1 - size, 0)) > 0) {
    size += (size_t)part;
  }
  out[size] = '\0';
}

static bool answers(const daemon_t *daemon) {
  char answer[1024];
  int fd = connect_to(daemon);
  say(fd, "GET /livez HTTP/1.0\r\n\r\n");
  hear(fd, answer, sizeof answer);
  close(fd);
  return strstr(answer, "200 OK") != NULL;
}

static void mistakes_exit_64_with_the_message_last(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *arguments[4];
    int code;
    const char *says;
  } rows[] = {
      {"no module", {NULL}, 64, "farcalld: no module given"},
      {"a slip", {"--lisen=x", "a.so"}, 64, "did you mean --listen?\n"},
      {"a bad address",
       {"--listen=here", "a.so"},
       64,
       "'here' is no address to listen on"},
      {"a name to resolve",
       {"--listen=example.org:80", "a.so"},
       64,
       "is no address to listen on"},
      {"a large port",
       {"--listen=127.0.0.1:65536", "a.so"},
       64,
       "is no address to listen on"},
      {"a scheme too many",
       {"--listen=http://http://127.0.0.1:0", "a.so"},
       64,
       "is no address to listen on"},
      {"TLS",
       {"--listen=https://127.0.0.1:0", "a.so"},
       64,
       "'https://127.0.0.1:0': TLS needs --tls-cert and --tls-key"},
      {"a Unix socket without a path",
       {"--listen=unix:", "a.so"},
       64,
       "'unix:': the path of a Unix socket has 1 to 107 bytes"},
      {"a second address that is none",
       {"--listen=127.0.0.1:0", "--listen=here", "a.so"},
       64,
       "'here' is no address to listen on"},
      {"a Unix socket where a file is",
       {"--listen=unix:/etc/passwd", "a.so"},
       69,
       "cannot listen on unix:/etc/passwd: file already exists"},
      {"a host that is none",
       {"--listen=127.0.0.1:0", "--allow-host=a:80", "a.so"},
       64,
       "--allow-host: 'a:80' is no host name"},
      {"a proxy that is none",
       {"--listen=127.0.0.1:0", "--trusted-proxy=me", "a.so"},
       64,
       "--trusted-proxy: 'me' is no network"},
      {"everybody",
       {"--listen=0.0.0.0:0", "a.so"},
       64,
       "set --token-file or --client-ca, or add --allow-insecure-bind"},
      {"everybody, tried",
       {"-t", "--listen=0.0.0.0:0", "a.so"},
       64,
       "add --allow-insecure-bind"},
      {"too many crashes",
       {"--crash-limit=65", "a.so"},
       64,
       "'65' is no value for --crash-limit: a whole number, at most 64"},
      {"too many tiles",
       {"-t", "--tiles=65"},
       64,
       "'65' is no value for --tiles: a whole number from 1 to 64"},
      {"too many workers",
       {"-t", "--workers=1025"},
       64,
       "'1025' is no value for --workers: a whole number, at most 1024"},
      {"no connections",
       {"-t", "--connections=0"},
       64,
       "'0' is no value for --connections: a whole number from 1 to 1000000"},
      {"no bodies",
       {"-t", "--max-body=0"},
       64,
       "'0' is no value for --max-body: bytes, not 0, as 65536"},
      {"not ours",
       {"--listen=192.0.2.1:0", "--allow-insecure-bind", "a.so"},
       69,
       "cannot listen on 192.0.2.1:0"},
      {"a file that is not there",
       {"--config=/nosuch.conf", "a.so"},
       64,
       "cannot read /nosuch.conf: No such file or directory"},
      {"a file with a mistake",
       {"-t", "-c", FARCALL_SOURCE_DIR "/tests/corpus/config/slip"},
       64,
       "config/slip:1:2: unknown key 'max-bdy': did you mean 'max-body'?"},
      {"a file with an address that is none",
       {"-t", "-c", FARCALL_SOURCE_DIR "/tests/corpus/config/all"},
       64,
       "config/all:1:21: "},
      {"nothing there",
       {"--listen=127.0.0.1:0", "--strict-load", "/nowhere.so"},
       65,
       "nowhere.so"},
      {"source",
       {"--listen=127.0.0.1:0", "--strict-load", "/nowhere.mlir"},
       65,
       "nowhere.mlir"},
      {"nothing there, at the end",
       {"--listen=127.0.0.1:0", "--strict-load", "/nowhere.so"},
       65,
       "ending with status 65: --strict-load"},
      {"no PATH is a module",
       {"--listen=127.0.0.1:0", "/nowhere.so", FARCALL_SOURCE_DIR "/docs"},
       65,
       "ending with status 65: no PATH is a module"},
      {"a default that is said is not asked for",
       {"--listen=127.0.0.1:0", "--admin=off", "/nowhere.so"},
       65,
       "ending with status 65: no PATH is a module"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static daemon_t daemon;
    start(&daemon, row->arguments, NULL);
    assert_int_equal(end(&daemon), row->code);
    if (!strstr(daemon.text, row->says)) fail_msg("%s", daemon.text);
    if (row->code == 64) {
      // The message is one line: its line feed is the last byte.
      assert_ptr_equal(strchr(daemon.text, '\n'),
                       daemon.text + strlen(daemon.text) - 1);
    }
  }
}

static void help_and_version_exit_0(void **state) {
  (void)state;
  static daemon_t daemon;
  const char *help[] = {"--help", NULL}, *version[] = {"-V", NULL};
  const char *test[] = {"-t", "-c", FARCALL_SOURCE_DIR "/config/farcalld.conf",
                        NULL};
  const char *print[] = {"-T", "--workers=3", NULL};
  start(&daemon, test, NULL);
  assert_int_equal(end(&daemon), 0);
  assert_string_equal(daemon.text,
                      "farcalld: the options are right; to start, a PATH has "
                      "to be given too\n");
  start(&daemon, print, NULL);
  assert_int_equal(end(&daemon), 0);
  assert_non_null(strstr(daemon.text, "  // flag\n  \"workers\": 3,\n"));
  start(&daemon, help, NULL);
  assert_int_equal(end(&daemon), 0);
  assert_non_null(strstr(daemon.text, "--allow-insecure-bind"));
  start(&daemon, version, NULL);
  assert_int_equal(end(&daemon), 0);
  assert_non_null(strstr(daemon.text, "libuv 1."));
  assert_non_null(strstr(daemon.text, "llhttp "));
}

static void a_port_in_use_is_one_clear_line(void **state) {
  (void)state;
  static daemon_t one, two;
  const char *any[] = {"--listen=127.0.0.1:0", EMPTY, NULL};
  start(&one, any, NULL);
  wait_ready(&one);
  char listen[64];
  snprintf(listen, sizeof listen, "--listen=127.0.0.1:%d", one.port);
  const char *same[] = {listen, EMPTY, NULL};
  start(&two, same, NULL);
  assert_int_equal(end(&two), 69);
  char wanted[128];
  snprintf(
      wanted, sizeof wanted,
      "farcalld: 127.0.0.1:%d is in use by another program: choose another "
      "port with --listen\n",
      one.port);
  assert_string_equal(two.text, wanted);
  kill(one.pid, SIGTERM);
  assert_int_equal(end(&one), 0);
}

static void variables_are_read(void **state) {
  (void)state;
  static daemon_t daemon;
  const char *arguments[] = {EMPTY, NULL};
  const char *variables[] = {"FARCALL_LISTEN=127.0.0.1:0",
                             "FARCALL_LOG_FORMAT=text", NULL};
  start(&daemon, arguments, variables);
  wait_ready(&daemon);
  assert_non_null(strstr(daemon.text, "Z info listening on"));
  assert_true(answers(&daemon));
  kill(daemon.pid, SIGINT);
  assert_int_equal(end(&daemon), 0);
}

static void an_unknown_variable_exits_64(void **state) {
  (void)state;
  static daemon_t daemon;
  const char *arguments[] = {EMPTY, NULL};
  const char *variables[] = {"FARCALL_LSTEN=127.0.0.1:0", NULL};
  start(&daemon, arguments, variables);
  assert_int_equal(end(&daemon), 64);
  assert_string_equal(daemon.text,
                      "farcalld: unknown variable FARCALL_LSTEN: did you mean "
                      "FARCALL_LISTEN?\n");
}

static void an_address_may_be_a_url(void **state) {
  (void)state;
  static daemon_t daemon;
  const char *arguments[] = {"--listen=http://127.0.0.1:0", EMPTY, NULL};
  start(&daemon, arguments, NULL);
  wait_ready(&daemon);
  assert_true(answers(&daemon));
  kill(daemon.pid, SIGTERM);
  assert_int_equal(end(&daemon), 0);
}

static void expect_answer(const daemon_t *daemon, const char *path,
                          const char *status, const char *text) {
  static char answer[1u << 16];
  char request[256];
  snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
  int fd = connect_to(daemon);
  say(fd, request);
  hear(fd, answer, sizeof answer);
  close(fd);
  if (!strstr(answer, status) || !strstr(answer, text)) {
    fail_msg("%s: wanted %s %s, got %s", path, status, text, answer);
  }
}

#define SCALARS FARCALL_MODULES "/scalars.so"

static void a_failed_module_does_not_stop_the_others(void **state) {
  (void)state;
  static daemon_t daemon;
  const char *arguments[] = {"--listen=127.0.0.1:0", EMPTY, SCALARS, "/nosuch",
                             NULL};
  start(&daemon, arguments, NULL);
  wait_ready(&daemon);
  assert_non_null(strstr(daemon.text, "\"level\":\"error\""));
  expect_answer(
      &daemon, "/api/v1/modules", "200 OK",
      "{\"name\":\"nowhere\",\"kind\":\"native\",\"state\":\"failed\"");
  static const char *const kMetrics[] = {
      "\nfarcall_modules 1\n",
      "\nfarcall_modules_failed 2\n",
      "\nfarcall_module_ready{module=\"nowhere\"} 0\n",
      "\nfarcall_module_ready{module=\"scalars\"} 1\n",
      "\nfarcall_calls_waiting{module=\"scalars\"} 0\n",
      "\nfarcall_ready 1\n",
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kMetrics); i++) {
    expect_answer(&daemon, "/metrics", "200 OK", kMetrics[i]);
  }
  kill(daemon.pid, SIGTERM);
  assert_int_equal(end(&daemon), 0);
}

// If a series occurs twice, Prometheus discards the whole scrape.
static void one_name_is_in_the_metrics_once(void **state) {
  (void)state;
  static daemon_t daemon;
  const char *arguments[] = {"--listen=127.0.0.1:0", "--allow-empty",
                             "/a/scalars.so",        SCALARS,
                             "/b/scalars.so",        NULL};
  start(&daemon, arguments, NULL);
  wait_ready(&daemon);
  static char answer[1u << 16];
  int fd = connect_to(&daemon);
  say(fd, "GET /metrics HTTP/1.0\r\n\r\n");
  hear(fd, answer, sizeof answer);
  close(fd);
  const char *series = "\nfarcall_module_ready{module=\"scalars\"} ";
  const char *at = strstr(answer, series);
  assert_non_null(at);
  assert_null(strstr(at + 1, series));
  kill(daemon.pid, SIGTERM);
  assert_int_equal(end(&daemon), 0);
}

static void ready_is_what_can_be_called(void **state) {
  (void)state;
  char empty[] = "/tmp/farcall-empty-XXXXXX";
  assert_non_null(mkdtemp(empty));
  const struct {
    const char *name;
    const char *arguments[4];
    const char *status;
    const char *text;
    const char *metric;
  } rows[] = {
      {"one module",
       {SCALARS},
       "200 OK",
       "{\"status\":\"ready\",\"modules\":1,\"failed\":0}",
       "\nfarcall_ready 1\n"},
      {"one of two",
       {SCALARS, "/nowhere.so"},
       "200 OK",
       "{\"status\":\"ready\",\"modules\":1,\"failed\":1}",
       "\nfarcall_ready 1\n"},
      {"a module that is not there",
       {EMPTY},
       "503",
       "\"code\":\"not_ready\",\"detail\":\"no module is served: 1 failed\"",
       "\nfarcall_ready 0\n"},
      {"a folder that is not there",
       {"--allow-empty", "/nosuch"},
       "503",
       "\"detail\":\"no module is served: 1 failed\"",
       "\nfarcall_modules_failed 1\n"},
      {"an empty folder",
       {"--allow-empty", empty},
       "503",
       "\"detail\":\"no module is served: 1 failed\"",
       "\nfarcall_ready 0\n"},
      {"all are wanted, one failed",
       {"--ready=all", SCALARS, "/nosuch"},
       "503",
       "\"detail\":\"1 failed to load and 1 are served; --ready=all wants all\"",
       "\nfarcall_ready 0\n"},
      {"all are wanted, and there",
       {"--ready=all", SCALARS},
       "200 OK",
       "{\"status\":\"ready\",\"modules\":1,\"failed\":0}",
       "\nfarcall_ready 1\n"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static daemon_t daemon;
    const char *arguments[6] = {"--listen=127.0.0.1:0"};
    memcpy(arguments + 1, row->arguments, sizeof row->arguments);
    start(&daemon, arguments, NULL);
    wait_ready(&daemon);
    expect_answer(&daemon, "/readyz", row->status, row->text);
    expect_answer(&daemon, "/metrics", "200 OK", row->metric);
    expect_answer(&daemon, "/startupz", "200 OK", "started");
    expect_answer(&daemon, "/livez", "200 OK", "live");
    kill(daemon.pid, SIGTERM);
    assert_int_equal(end(&daemon), 0);
  }
  rmdir(empty);
}

// Each of these options allows for modules that come later. But a module that is there
// and cannot be loaded is an error with any of them.
static void a_server_waits_for_modules_if_it_was_asked_to(void **state) {
  (void)state;
  static const struct {
    const char *name;
    const char *arguments[2];
  } rows[] = {
      {"--allow-empty", {"--allow-empty", "/nowhere.so"}},
      {"--watch", {"--watch", FARCALL_SOURCE_DIR "/docs"}},
      {"--watch-interval", {"--watch-interval=1m", "/nowhere.so"}},
      {"--load", {"--load=demand", "/nowhere.so"}},
      {"--admin", {"--admin=loopback", "/nowhere.so"}},
      {"a Unix socket", {"--listen=unix:@farcall-empty", "/nowhere.so"}},
      {"a module that is broken",
       {"--access-log=on", FARCALL_MODULES "/needy.so"}},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    static daemon_t daemon;
    const char *arguments[4] = {"--listen=127.0.0.1:0"};
    memcpy(arguments + 1, row->arguments, sizeof row->arguments);
    // When the server ends, it does not wait for a thread that is reading a folder.
    static const char *const kAlone[] = {"TSAN_OPTIONS=report_thread_leaks=0",
                                         NULL};
    start(&daemon, arguments, kAlone);
    wait_ready(&daemon);
    kill(daemon.pid, SIGTERM);
    if (end(&daemon)) fail_msg("%s", daemon.text);
  }
}

static void other_signals_end_nothing(void **state) {
  (void)state;
  static daemon_t daemon;
  const char *arguments[] = {"--listen=127.0.0.1:0", EMPTY, NULL};
  start(&daemon, arguments, NULL);
  wait_ready(&daemon);
  kill(daemon.pid, SIGUSR1);
  kill(daemon.pid, SIGUSR2);
  kill(daemon.pid, SIGHUP);
  if (!listen_for(&daemon, "\"act\":\"reload\",\"by\":\"SIGHUP\"")) {
    fail_msg("%s", daemon.text);
  }
  assert_true(answers(&daemon));
  kill(daemon.pid, SIGTERM);
  assert_int_equal(end(&daemon), 0);
}

// During --pre-drain a load balancer sees in /readyz that the server is leaving, and
// has time to stop sending requests.
static void before_it_drains_new_connections_are_answered(void **state) {
  (void)state;
  static daemon_t daemon;
  const char *arguments[] = {"--listen=127.0.0.1:0", "--pre-drain=60m", SCALARS,
                             NULL};
  start(&daemon, arguments, NULL);
  wait_ready(&daemon);
  int fd = connect_to(&daemon);
  kill(daemon.pid, SIGTERM);
  assert_true(listen_for(&daemon, "leaving: "));
  expect_answer(&daemon, "/readyz", "503", "\"code\":\"shutting_down\"");
  expect_answer(&daemon, "/metrics", "200 OK", "\nfarcall_ready 0\n");
  expect_answer(&daemon, "/livez", "200 OK", "live");
  expect_answer(&daemon, "/api/v1/modules/scalars", "200 OK",
                "\"state\":\"ready\"");
  // A connection that was open before the signal still works.
  char answer[4096];
  say(fd, "POST /api/v1/functions/scalars/add HTTP/1.1\r\nHost: localhost\r\n"
          "Content-Length: 2\r\nConnection: close\r\n\r\n[]");
  hear(fd, answer, sizeof answer);
  close(fd);
  if (!strstr(answer, "HTTP/1.1 4")) fail_msg("%s", answer);
  assert_null(strstr(daemon.text, "draining"));
  kill(daemon.pid, SIGTERM);
  assert_int_equal(end(&daemon), 128 + SIGTERM);
  assert_non_null(strstr(daemon.text, "ending now"));
}

static void then_it_drains(void **state) {
  (void)state;
  static daemon_t daemon;
  const char *arguments[] = {"--listen=127.0.0.1:0", "--pre-drain=50ms",
                             SCALARS, NULL};
  start(&daemon, arguments, NULL);
  wait_ready(&daemon);
  kill(daemon.pid, SIGTERM);
  assert_int_equal(end(&daemon), 0);
  const char *leaving = strstr(daemon.text, "leaving: ");
  assert_non_null(leaving);
  assert_non_null(strstr(leaving, "draining"));
  // SIGINT comes from a keyboard, so the server does not wait for --pre-drain.
  arguments[1] = "--pre-drain=60m";
  start(&daemon, arguments, NULL);
  wait_ready(&daemon);
  kill(daemon.pid, SIGINT);
  assert_int_equal(end(&daemon), 0);
  assert_null(strstr(daemon.text, "leaving: "));
}

static void a_client_that_resets_does_not_stop_the_server(void **state) {
  (void)state;
  static daemon_t daemon;
  const char *arguments[] = {"--listen=127.0.0.1:0", "--access-log=off", EMPTY,
                             NULL};
  start(&daemon, arguments, NULL);
  wait_ready(&daemon);
  for (int i = 0; i < 50; i++) {
    int fd = connect_to(&daemon);
    for (int k = 0; k < 20; k++) {
      say(fd, "GET /api/v1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
  }
  assert_true(answers(&daemon));
  kill(daemon.pid, SIGTERM);
  assert_int_equal(end(&daemon), 0);
}

static void a_second_signal_ends_at_once(void **state) {
  (void)state;
  static daemon_t daemon;
  const char *arguments[] = {"--listen=127.0.0.1:0", EMPTY, NULL};
  start(&daemon, arguments, NULL);
  wait_ready(&daemon);
  // The server is in the middle of a request, so draining waits for it.
  int fd = connect_to(&daemon);
  say(fd, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\nGET /li");
  char byte;
  assert_int_equal(recv(fd, &byte, 1, 0), 1);
  kill(daemon.pid, SIGTERM);
  assert_true(listen_for(&daemon, "draining"));
  kill(daemon.pid, SIGTERM);
  assert_int_equal(end(&daemon), 128 + SIGTERM);
  assert_non_null(strstr(daemon.text, "ending now"));
  close(fd);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(mistakes_exit_64_with_the_message_last),
      FC_TEST(help_and_version_exit_0),
      FC_TEST(a_port_in_use_is_one_clear_line),
      FC_TEST(variables_are_read),
      FC_TEST(an_unknown_variable_exits_64),
      FC_TEST(an_address_may_be_a_url),
      FC_TEST(a_failed_module_does_not_stop_the_others),
      FC_TEST(one_name_is_in_the_metrics_once),
      FC_TEST(ready_is_what_can_be_called),
      FC_TEST(a_server_waits_for_modules_if_it_was_asked_to),
      FC_TEST(other_signals_end_nothing),
      FC_TEST(before_it_drains_new_connections_are_answered),
      FC_TEST(then_it_drains),
      FC_TEST(a_client_that_resets_does_not_stop_the_server),
      FC_TEST(a_second_signal_ends_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
