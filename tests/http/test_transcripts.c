// SPDX-License-Identifier: Apache-2.0
//
// Replays cases/*.http: bytes to send and responses to expect. Requests of up to 2 KiB
// are also cut in two at every byte; the second part is sent only after the server has
// handled the first. The answers must be the same. The cases run in every host, and on
// the loop (--lane=always). At the end, every code of error.def must have been
// answered, or be listed as unreachable with a reason.
//
//   # text           a comment
//   %% flags         options of the server from here on
//   == name          begins a case
//   > text           sends the text with CRLF; \r \n \t \\ \xNN are escapes
//   >| text          sends the text without CRLF
//   >* N text        sends the text N times
//   <shut            the client sends FIN now
//   < HTTP/1.1 …     status line of the next response (`<- ` if it has no body)
//   < Name: value    the response has this header; `*` stands for anything
//   <! Name          the response does not have this header
//   <! Name: value   the response has this header with another value
//   <= text          the body; `*` stands for anything, other escapes as above
//   <close           the server closes the connection after that
//   <open            the connection serves another request after that
// After the last line nothing more may come: the client sends FIN, and must then read
// the end of the stream.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fixture.h"
#include "helpers/test.h"

#define SPLIT_MAX 2048
#define EXPECT_MAX 64

typedef struct case_t {
  char name[128];
  char file[128];
  int line;
  char *request;
  size_t size;
  char *expect[EXPECT_MAX];  // lines, marks included
  size_t expect_count;
} case_t;

static bool seen[FC_CODE_COUNT];
static unsigned case_count, connection_count;
static fixture_server_t server;
static bool serving;
static const char *flags_of_calls;
static bool cut;  // also send every request in two parts

static int report(const case_t *test, const char *what, const char *wanted,
                  const char *got) {
  fprintf(stderr, "%s:%d: %s: %s\n  wanted: %s\n  got:    %s\n", test->file,
          test->line, test->name, what, wanted, got);
  return -1;
}

// Compares the text with a pattern, in which `*` stands for any bytes.
static bool matches(const char *pattern, const char *text) {
  const char *star = NULL, *retry = NULL;
  while (*text) {
    if (*pattern == '*') {
      star = ++pattern;
      retry = text;
    } else if (*pattern == *text) {
      pattern++;
      text++;
    } else if (star) {
      pattern = star;
      text = ++retry;
    } else {
      return false;
    }
  }
  while (*pattern == '*') pattern++;
  return !*pattern;
}

static void append(case_t *test, const char *data, size_t size) {
  test->request = realloc(test->request, test->size + size + 1);
  assert_non_null(test->request);
  memcpy(test->request + test->size, data, size);
  test->size += size;
}

// Replaces escapes in place. Returns the new size.
static size_t unescape(char *text) {
  char *out = text;
  for (const char *p = text; *p; p++) {
    if (*p != '\\') {
      *out++ = *p;
      continue;
    }
    p++;
    if (*p == 'r') *out++ = '\r';
    else if (*p == 'n') *out++ = '\n';
    else if (*p == 't') *out++ = '\t';
    else if (*p == 'x') {
      char digits[3] = {p[1], p[2], '\0'};
      *out++ = (char)strtoul(digits, NULL, 16);
      p += 2;
    } else {
      *out++ = *p;
    }
  }
  *out = '\0';
  return (size_t)(out - text);
}

static void note_code(const char *body) {
  const char *at = strstr(body, "\"code\":\"");
  if (!at) return;
  at += strlen("\"code\":\"");
  size_t size = strcspn(at, "\"");
  for (int i = 0; i < FC_CODE_COUNT; i++) {
    fc_str_t text = fc_str(fc_code_info((fc_code_t)i)->text);
    if (fc_str_equal(text, fc_str_make(at, size))) seen[i] = true;
  }
}

// Checks one expectation about `response`.
static int check_line(const case_t *test, const char *line,
                      const fixture_response_t *response) {
  if (!strncmp(line, "<= ", 3)) {
    if (matches(line + 3, response->body)) return 0;
    return report(test, "body", line + 3, response->body);
  }
  char value[1024], name[128];
  const bool other = !strncmp(line, "<! ", 3);
  const char *colon = strchr(line, ':');
  if (other && !colon) {
    if (!fixture_header(response, line + 3, value, sizeof value)) return 0;
    return report(test, "a header that should not be there", line + 3, value);
  }
  assert_non_null(colon);
  const char *begin = line + (other ? 3 : 2);
  snprintf(name, sizeof name, "%.*s", (int)(colon - begin), begin);
  if (!fixture_header(response, name, value, sizeof value)) {
    return report(test, "a header is missing", begin, response->head);
  }
  if (matches(colon + 2, value) != other) return 0;
  return report(test, name, colon + 2, value);
}

static bool is_status(const char *line) {
  return !strncmp(line, "< HTTP/", 7) || !strncmp(line, "<- HTTP/", 8);
}

static int check_response(const case_t *test, int fd, size_t *at) {
  const char *line = test->expect[(*at)++];
  bool no_body = line[1] == '-';
  fixture_response_t response;
  if (!fixture_receive(fd, no_body, &response)) {
    return report(test, "no response", line, "the end of the stream");
  }
  int failed = 0;
  char status[128];
  snprintf(status, sizeof status, "%.*s", (int)strcspn(response.head, "\r"),
           response.head);
  const char *wanted = line + (no_body ? 3 : 2);
  if (!matches(wanted, status)) {
    failed = report(test, response.body, wanted, status);
  }
  note_code(response.body);
  while (*at < test->expect_count && !is_status(test->expect[*at]) &&
         strcmp(test->expect[*at], "<close") &&
         strcmp(test->expect[*at], "<open")) {
    const char *next = test->expect[(*at)++];
    if (!failed) failed = check_line(test, next, &response);
  }
  fixture_response_free(&response);
  return failed;
}

// Checks that the stream ends here with FIN, not with a reset.
static int check_end(const case_t *test, int fd) {
  char rest[1024];
  ssize_t size;
  do size = recv(fd, rest, sizeof rest - 1, 0);
  while (size < 0 && errno == EINTR);
  if (size < 0) return report(test, "the end", "FIN", strerror(errno));
  rest[size] = '\0';
  return size ? report(test, "the end", "no more bytes", rest) : 0;
}

// Checks that the connection serves another request. The answer must be to this
// request, not a second one to an earlier request.
static int check_open(const case_t *test, int fd) {
  fixture_response_t response;
  if (!fixture_send_text(fd, "GET /livez HTTP/1.1\r\nHost: localhost\r\n"
                             "X-Request-Id: afterwards\r\n\r\n") ||
      !fixture_receive(fd, false, &response)) {
    return report(test, "the connection", "open", "closed");
  }
  int failed = check_line(test, "< X-Request-Id: afterwards", &response);
  if (!failed && response.status != 200) {
    failed = report(test, "after it", "200", response.head);
  }
  fixture_response_free(&response);
  return failed;
}

static int check_answers(const case_t *test, int fd) {
  size_t at = 0;
  while (at < test->expect_count) {
    const char *line = test->expect[at];
    int failed;
    if (!strcmp(line, "<close")) {
      assert_int_equal(at + 1, test->expect_count);
      return check_end(test, fd);
    }
    if (!strcmp(line, "<open")) {
      failed = check_open(test, fd);
      at++;
    } else {
      failed = check_response(test, fd, &at);
    }
    if (failed) return failed;
  }
  shutdown(fd, SHUT_WR);
  return check_end(test, fd);
}

// Sends the request and checks the answers. Unless `split` is 0, the request is cut in
// two there. The second part is sent when the server has handled the first, or has
// answered without needing more.
static int run_once(const case_t *test, size_t split) {
  int fd = fixture_connect(&server);
  connection_count++;
  if (split) {
    uint64_t before = fixture_bytes(&server);
    fixture_send(fd, test->request, split);
    fixture_wait_bytes(&server, before + split);
  }
  fixture_send(fd, test->request + split, test->size - split);
  size_t shut = test->expect_count && !strcmp(test->expect[0], "<shut");
  case_t rest = *test;
  if (shut) {
    shutdown(fd, SHUT_WR);
    memmove(rest.expect, rest.expect + 1,
            --rest.expect_count * sizeof *rest.expect);
  }
  int failed = check_answers(&rest, fd);
  close(fd);
  if (failed && split) fprintf(stderr, "  when cut at byte %zu\n", split);
  return failed;
}

static int run_case(const case_t *test) {
  int failed = run_once(test, 0);
  if (!cut || test->size > SPLIT_MAX) return failed;
  for (size_t i = 1; i < test->size && !failed; i++) {
    failed = run_once(test, i);
  }
  return failed;
}

static void restart(const char *more) {
  char flags[256];
  snprintf(flags, sizeof flags, "--access-log=off %s %s", flags_of_calls, more);
  if (serving) {
    fixture_stop(&server);
    fixture_forget(&server);
  }
  fixture_start(&server, flags);
  serving = true;
}

static int end_case(case_t *test) {
  int failed = 0;
  if (test->name[0]) {
    case_count++;
    failed = run_case(test);
  }
  free(test->request);
  for (size_t i = 0; i < test->expect_count; i++) free(test->expect[i]);
  test->request = NULL;
  test->size = test->expect_count = 0;
  test->name[0] = '\0';
  return failed;
}

static void read_request_line(case_t *test, char *line) {
  if (line[1] == '*') {
    char *text;
    unsigned long count = strtoul(line + 2, &text, 10);
    size_t size = unescape(++text);
    while (count-- > 0) append(test, text, size);
    return;
  }
  bool raw = line[1] == '|';
  char *text = line + (raw ? 2 : 1);
  if (*text == ' ') text++;
  append(test, text, unescape(text));
  if (!raw) append(test, "\r\n", 2);
}

static int run_file(const char *path) {
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  case_t test = {0};
  const char *name = strrchr(path, '/') + 1;
  restart("");
  int failed = 0, number = 0;
  char *line = NULL;
  size_t capacity = 0;
  ssize_t size;
  // The analyzer does not know that getline reuses its buffer.
  // NOLINTNEXTLINE(clang-analyzer-unix.Malloc)
  while ((size = getline(&line, &capacity, file)) > 0) {
    number++;
    if (line[size - 1] == '\n') line[size - 1] = '\0';
    if (!strncmp(line, "%% ", 3)) {
      failed |= end_case(&test);
      restart(line + 3);
    } else if (!strncmp(line, "== ", 3)) {
      failed |= end_case(&test);
      snprintf(test.name, sizeof test.name, "%s", line + 3);
      snprintf(test.file, sizeof test.file, "%s", name);
      test.line = number;
    } else if (line[0] == '>') {
      read_request_line(&test, line);
    } else if (line[0] == '<') {
      assert_true(test.expect_count < EXPECT_MAX);
      test.expect[test.expect_count++] = strdup(line);
    } else {
      assert_true(line[0] == '#' || line[0] == '\0');
    }
  }
  failed |= end_case(&test);
  free(line);
  fclose(file);
  return failed;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void run_all(const char *flags, bool cut_requests) {
  flags_of_calls = flags;
  cut = cut_requests;
  DIR *folder = opendir(FARCALL_CASES);
  assert_non_null(folder);
  char *paths[64];
  size_t count = 0;
  struct dirent *entry;
  while ((entry = readdir(folder))) {
    if (!strstr(entry->d_name, ".http")) continue;
    assert_true(count < FC_ARRAY_COUNT(paths));
    char path[512];
    snprintf(path, sizeof path, "%s/%s", FARCALL_CASES, entry->d_name);
    paths[count++] = strdup(path);
  }
  closedir(folder);
  assert_true(count > 0);
  qsort(paths, count, sizeof *paths, by_name);
  int failed = 0;
  for (size_t i = 0; i < count; i++) {
    failed |= run_file(paths[i]);
    free(paths[i]);
  }
  fixture_stop(&server);
  fixture_forget(&server);
  serving = false;
  printf("%u cases on %u connections\n", case_count, connection_count);
  assert_int_equal(failed, 0);
}

static bool in_processes(void) {
  const char *host = getenv("FARCALL_ISOLATION");
  return host && !strcmp(host, "process");
}

// Requests are cut in one host only: where calls run does not change how requests are
// read.
static void transcripts_are_answered_as_written(void **state) {
  (void)state;
  run_all("--lane=never", !in_processes());
}

static void also_when_calls_run_on_the_loop(void **state) {
  (void)state;
  if (in_processes()) return;  // no calls run on the loop
  run_all("--lane=always", false);
}

// Codes that no transcript answers: the test that does, or the reason why none can.
static const struct {
  fc_code_t code;
  const char *reason;
} kElsewhere[] = {
#define ELSEWHERE(name, reason) {FC_CODE_##name, reason},
#include "elsewhere.def"
#undef ELSEWHERE
};

static void every_code_is_answered_somewhere(void **state) {
  (void)state;
  bool elsewhere[FC_CODE_COUNT] = {[FC_CODE_NONE] = true};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kElsewhere); i++) {
    elsewhere[kElsewhere[i].code] = true;
    if (seen[kElsewhere[i].code]) {
      fail_msg("elsewhere.def lists %s, but a transcript answers it",
               fc_code_info(kElsewhere[i].code)->text);
    }
  }
  for (int i = 0; i < FC_CODE_COUNT; i++) {
    if (!seen[i] && !elsewhere[i]) {
      fail_msg("no transcript answers %s", fc_code_info((fc_code_t)i)->text);
    }
  }
}

int main(int argc, char **argv) {
  fixture_worker(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(transcripts_are_answered_as_written),
      cmocka_unit_test(also_when_calls_run_on_the_loop),
      cmocka_unit_test(every_code_is_answered_somewhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
