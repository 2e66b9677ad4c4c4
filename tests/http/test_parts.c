// SPDX-License-Identifier: Apache-2.0
//
// Answers in parts through the real server: how HTTP/1.1 and 1.0 frame them, and what
// happens when their source fails, their reader stops or leaves, or the server ends. A
// dialect of this file makes such answers, of any length.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "config/limits.h"
#include "dialect/parts.h"
#include "expect.h"
#include "dialect/admission.h"
#include "obs/code.h"
#include "pool/turn.h"

// ---------------------------------------------------------------------------
// GET /parts?passes=N&size=K&fail=F: each of N passes has an entry of K KiB for each
// function. Entry number F of a pass fails.

enum { ROUTE_PARTS = FC_ROUTE_COUNT, ROUTE_TURNS };

static fc_status_t put_begin(const fc_server_t *server, fc_sink_t *sink,
                             fc_error_t *err) {
  (void)server;
  return fc_sink_put(sink, FC_STR("["), err);
}

static fc_status_t put_pass(fc_parts_t *parts, bool *out_more, fc_sink_t *sink,
                            fc_error_t *err) {
  (void)sink;
  (void)err;
  parts->shown = 0;
  *out_more = parts->pass < (parts->flags & 0xffff);
  return FC_OK;
}

static fc_status_t put_function(fc_parts_t *parts,
                                const fc_generation_t *generation, size_t index,
                                fc_sink_t *sink, fc_error_t *err) {
  char line[1024];
  (void)generation;
  (void)index;
  if (++parts->shown == parts->flags >> 24) {
    return fc_fail(err, FC_CODE_OUT_OF_MEMORY, "made to fail");
  }
  memset(line, 'a' + (int)((parts->shown - 1) % 26), sizeof line);
  for (uint32_t i = 0; i < (parts->flags >> 16 & 0xff); i++) {
    FC_TRY(fc_sink_put(sink, fc_str_make(line, sizeof line), err));
  }
  return FC_OK;
}

static const fc_parts_form_t kForm = {
    .begin = put_begin, .pass = put_pass, .function = put_function, .end = "]"};

static uint32_t number_of(fc_str_t query, fc_str_t name) {
  uint32_t number = 0;
  const fc_str_t text = fc_request_query(query, name);
  for (size_t i = 0; i < text.size; i++) {
    number = number * 10 + (uint32_t)(text.data[i] - '0');
  }
  return number;
}

static fc_status_t document(const fc_server_t *server,
                            const fc_request_t *request,
                            const fc_place_t *place,
                            fc_document_t *out_document, fc_sink_t *sink,
                            fc_error_t *err) {
  (void)place;
  (void)sink;
  *out_document = (fc_document_t){.content_type = FC_STR("text/plain"),
                                  .digest = FC_STR("0123")};
  const uint32_t flags = number_of(request->query, FC_STR("passes")) |
                         number_of(request->query, FC_STR("size")) << 16 |
                         number_of(request->query, FC_STR("fail")) << 24;
  return fc_parts_create(server, &kForm, flags, &out_document->parts, err);
}

static int status_of(const fc_error_t *error) {
  (void)error;
  return 507;
}

static fc_status_t put_error(const fc_problem_t *problem, fc_sink_t *sink,
                             fc_error_t *err) {
  char text[32];
  const int size =
      snprintf(text, sizeof text, "%llu: ", (unsigned long long)problem->step);
  if (problem->step) {
    FC_TRY(fc_sink_put(sink, fc_str_make(text, (size_t)size), err));
  }
  return fc_sink_put(sink, fc_str(problem->error->message), err);
}

// ---------------------------------------------------------------------------
// POST /turns/MODULE/FUNCTION with
// "times=N&per=P&keep=K&crash=C&fail=F&wait=W&late=L&mute=M&pad=B&slow=S&until=U":
// N steps, P in each turn (0: as many as there is time for), K KiB kept between turns.
// Step C ends the process, step F fails, step W waits until the call is ended, step L
// reports that the deadline of the previous turn has passed. The first M steps write
// nothing, the others B more bytes than needed. Up to step U, every S-th takes the time
// of five turns. The function is not called.
// must. Up to step U every S-th takes five turns' time. The function is not called.

typedef struct steps_t {
  uint64_t next, times, per, keep, crash, fail, wait, late, mute, pad;
  uint64_t slow, until;
  uint64_t sum;
} steps_t;

static fc_status_t admit(const fc_server_t *server, const fc_request_t *request,
                         const fc_place_t *place, fc_admission_t *out_admission,
                         fc_error_t *err) {
  (void)place;
  FC_TRY(fc_admission_body(server, request, out_admission, err));
  return fc_admission_parts(request, out_admission, err);
}

static fc_status_t begin_steps(fc_turn_t *turn, fc_error_t *err) {
  const steps_t steps = {.next = 1,
                         .times = number_of(turn->body, FC_STR("times")),
                         .per = number_of(turn->body, FC_STR("per")),
                         .keep = number_of(turn->body, FC_STR("keep")) << 10,
                         .crash = number_of(turn->body, FC_STR("crash")),
                         .fail = number_of(turn->body, FC_STR("fail")),
                         .wait = number_of(turn->body, FC_STR("wait")),
                         .late = number_of(turn->body, FC_STR("late")),
                         .mute = number_of(turn->body, FC_STR("mute")),
                         .pad = number_of(turn->body, FC_STR("pad")),
                         .slow = number_of(turn->body, FC_STR("slow")),
                         .until = number_of(turn->body, FC_STR("until"))};
  if (!steps.times) return fc_fail(err, FC_CODE_JSON_SCHEMA, "no times");
  // The carry grows in two steps, so that its contents must be kept when it grows.
  FC_TRY(fc_turn_grow(turn, sizeof steps, err));
  memcpy(turn->carry, &steps, sizeof steps);
  turn->carry_size = sizeof steps;
  FC_TRY(fc_turn_grow(turn, sizeof steps + steps.keep, err));
  turn->carry_size += steps.keep;
  memset(turn->carry + sizeof steps, 'k', steps.keep);
  return FC_OK;
}

static fc_status_t wait_for_end(const fc_turn_t *turn, fc_error_t *err) {
  while (!atomic_load(turn->cancel)) {
    if (turn->deadline_ns && fc_clock_ns() > turn->deadline_ns) {
      return fc_fail(err, FC_CODE_DEADLINE_EXCEEDED, "the deadline passed");
    }
    (void)poll(NULL, 0, 1);
  }
  return fc_fail_as(err, FC_CODE_INTERNAL, FC_CANCELLED, "nobody waits");
}

static fc_status_t make_step(fc_turn_t *turn, steps_t *steps, fc_error_t *err) {
  char text[96];
  const uint64_t step = steps->next++;
  if (step == steps->crash) raise(SIGKILL);
  if (step == steps->fail) return fc_fail(err, FC_CODE_CALL_FAILED, "made to");
  if (step == steps->wait) return wait_for_end(turn, err);
  if (step == steps->late) return fc_stop_fail(FC_DEADLINE_EXCEEDED, err);
  if (step <= steps->until && step % steps->slow == 0) {
    (void)poll(NULL, 0, 5 * FC_LIMIT_TURN_NS / 1000000);
  }
  steps->sum = steps->sum * 31 + step;
  atomic_store(turn->steps, step);
  if (step <= steps->mute) return FC_OK;
  const int size =
      snprintf(text, sizeof text, "{\"step\":%llu,\"sum\":%llu}",
               (unsigned long long)step, (unsigned long long)steps->sum);
  FC_TRY(fc_sink_put(turn->sink, turn->form->before, err));
  FC_TRY(fc_sink_put(turn->sink, fc_str_make(text, (size_t)size), err));
  for (uint64_t i = 0; i < steps->pad; i++) {
    FC_TRY(fc_sink_put(turn->sink, FC_STR(" "), err));
  }
  FC_TRY(fc_sink_put(turn->sink, turn->form->after, err));
  return FC_OK;
}

static fc_status_t make_turn(fc_turn_t *turn, fc_error_t *err) {
  steps_t steps;
  if (!turn->carry_size) FC_TRY(begin_steps(turn, err));
  memcpy(&steps, turn->carry, sizeof steps);
  *turn->stage = FC_STAGE_CALL;
  if (turn->deadline_ns && turn->end_ns > turn->deadline_ns) {
    return fc_fail(err, FC_CODE_BAD_RESULT, "the turn outlives its deadline");
  }
  for (uint64_t i = 0; i < steps.keep; i++) {
    if (turn->carry[sizeof steps + i] == 'k') continue;
    return fc_fail(err, FC_CODE_BAD_RESULT, "byte %u is lost", (unsigned)i);
  }
  for (uint64_t made = 0; steps.next <= steps.times; made++) {
    // A step that fails or waits begins a turn of its own: the steps before it are
    // sent.
    turn->more =
        made && (steps.next == steps.fail || steps.next == steps.wait ||
                 (steps.per ? made == steps.per : fc_turn_is_over(turn)));
    if (turn->more) break;
    FC_TRY(make_step(turn, &steps, err));
  }
  memcpy(turn->carry, &steps, sizeof steps);
  return FC_OK;
}

static const fc_dialect_worker_t kWorker = {.turn = make_turn};

static const fc_dialect_t kParts = {.name = "parts",
                                    .admit = admit,
                                    .worker = &kWorker,
                                    .document = document,
                                    .status_of = status_of,
                                    .encode_error = put_error,
                                    .error_type = "text/plain"};
static const fc_dialect_t *const kDialects[] = {&fc_dialect_native,
                                                &fc_dialect_pages, &kParts};
static const fc_route_row_t kRows[] = {
    [FC_ROUTE_NONE] = {FC_STR(""), 0, 0, FC_SCOPE_OPEN},
#define FC_ROUTE(name, path, methods, scope, dialect) \
  [FC_ROUTE_##                                        \
      name] = {FC_STR(path), methods, FC_DIALECT_##dialect, FC_SCOPE_##scope},
#include "dialect/route.def"
#undef FC_ROUTE
    [ROUTE_PARTS] = {FC_STR("/parts"), FC_ROUTE_GET, 2, FC_SCOPE_OPEN},
    [ROUTE_TURNS] = {FC_STR("/turns/{module}/{function}"), FC_ROUTE_CALL, 2,
                     FC_SCOPE_OPEN},
};
static const fc_routes_t kRoutes = {kRows, FC_ARRAY_COUNT(kRows),
                                    FC_ARRAY_COUNT(kDialects), kDialects};

// ---------------------------------------------------------------------------
// An HTTP reader that shares no code with the server

typedef struct bytes_t {
  char *data;
  size_t size;
} bytes_t;

static void append(bytes_t *bytes, const char *data, size_t size) {
  bytes->data = realloc(bytes->data, bytes->size + size + 1);
  assert_non_null(bytes->data);
  memcpy(bytes->data + bytes->size, data, size);
  bytes->size += size;
  bytes->data[bytes->size] = '\0';
}

// Reads to the end of the stream. *out_reset: the connection was reset.
static bytes_t read_all(int fd, bool *out_reset) {
  static char block[1 << 16];
  bytes_t all = {0};
  ssize_t got;
  append(&all, "", 0);
  while ((got = recv(fd, block, sizeof block, 0)) > 0 ||
         (got < 0 && errno == EINTR)) {  // a worker has ended
    if (got > 0) append(&all, block, (size_t)got);
  }
  *out_reset = got < 0;
  return all;
}

typedef struct told_t {
  char *all;   // to be freed
  char *body;  // without the chunks' lines
  size_t size;
  uint32_t chunks;
  bool reset;   // the connection was broken
  bool whole;   // the last chunk came
  bool length;  // the head says one
  size_t rest;  // bytes behind the answer
} told_t;

static void take_chunks(told_t *told, char *at, const char *end) {
  char *out = told->body = at;
  while (at < end) {
    char *line;
    const size_t size = strtoul(at, &line, 16);
    assert_memory_equal(line, "\r\n", 2);
    at = line + 2;
    if (!size) {
      assert_memory_equal(at, "\r\n", 2);
      told->whole = true;
      at += 2;
      break;
    }
    told->chunks++;
    const size_t there = (size_t)(end - at) < size ? (size_t)(end - at) : size;
    memmove(out, at, there);
    out += there;
    at += there;
    if (there < size) break;
    assert_memory_equal(at, "\r\n", 2);
    at += 2;
  }
  told->rest = (size_t)(end - at);
  told->size = (size_t)(out - told->body);
}

static told_t ask(const fixture_server_t *server, const char *method,
                  const char *path, const char *version, const char *fields) {
  char head[512];
  const int fd = fixture_connect(server);
  snprintf(head, sizeof head, "%s %s HTTP/%s\r\nHost: localhost\r\n%s\r\n",
           method, path, version, fields);
  assert_true(fixture_send_text(fd, head));
  told_t told = {0};
  const bytes_t all = read_all(fd, &told.reset);
  close(fd);
  told.all = all.data;
  char *blank = strstr(all.data, "\r\n\r\n");
  assert_non_null(blank);
  *blank = '\0';
  told.body = blank + 4;
  told.size = (size_t)(all.data + all.size - told.body);
  told.length = strstr(all.data, "Content-Length: ");
  if (strcmp(method, "HEAD") != 0 &&
      strstr(all.data, "Transfer-Encoding: chunked")) {
    take_chunks(&told, told.body, all.data + all.size);
  }
  return told;
}

#define CLOSE "Connection: close\r\n"

// The body must have `entries` entries for each pass, each of `size` KiB of one letter.
static void check_body(const told_t *told, uint32_t entries, uint32_t passes,
                       uint32_t size) {
  const size_t each = (size_t)size << 10;
  assert_int_equal(told->size, 2 + passes * entries * each);
  assert_int_equal(told->body[0], '[');
  assert_int_equal(told->body[told->size - 1], ']');
  for (size_t i = 0; i < told->size - 2; i++) {
    if (told->body[1 + i] == (char)('a' + i / each % entries % 26)) continue;
    fail_msg("byte %zu is %c", i, told->body[1 + i]);
  }
}

static uint32_t count_entries(const fixture_server_t *server) {
  told_t told = ask(server, "GET", "/parts?passes=1&size=1", "1.1", CLOSE);
  const uint32_t entries = (uint32_t)(told.size - 2) >> 10;
  // The document fits into one part, and its head does not announce more parts.
  assert_true(told.length);
  assert_int_equal(told.chunks, 0);
  assert_true(entries > 10);
  check_body(&told, entries, 1, 1);
  free(told.all);
  return entries;
}

// The value of metric `name` in /metrics.
static unsigned long metric(const fixture_server_t *server, const char *name) {
  told_t told = ask(server, "GET", "/metrics", "1.1", CLOSE);
  char line[96];
  snprintf(line, sizeof line, "\n%s ", name);
  const char *at = strstr(told.body, line);
  if (!at) fail_msg("no %s", name);
  const unsigned long number = strtoul(at + strlen(line), NULL, 10);
  free(told.all);
  return number;
}

static void wait_for_metric(const fixture_server_t *server, const char *name,
                            unsigned long number) {
  for (int i = 0; metric(server, name) != number; i++) {
    if (i == 6000) fail_msg("%s does not become %lu", name, number);
    (void)poll(NULL, 0, 10);
  }
}

// Connects a client that requests a gigabyte and has not read anything yet.
static int ask_slowly(fixture_server_t *server, const char *options) {
  fixture_start(server, options);
  const int fd = fixture_connect(server);
  assert_true(fixture_send_text(
      fd,
      "GET /parts?passes=1000&size=100 HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  return fd;
}

// ---------------------------------------------------------------------------

static void a_long_document_comes_in_chunks(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "");
  const uint32_t entries = count_entries(&server);
  told_t told = ask(&server, "GET", "/parts?passes=20&size=30", "1.1", CLOSE);
  check_body(&told, entries, 20, 30);
  assert_true(told.whole && !told.reset && !told.length);
  assert_true(told.chunks > 20 && told.chunks <= 20 * entries);
  assert_int_equal(told.rest, 0);
  // Headers that are known before the document is written are sent.
  assert_non_null(strstr(told.all, "ETag: \"0123\""));
  free(told.all);

  told = ask(&server, "GET", "/parts?passes=20&size=30", "1.0", "");
  check_body(&told, entries, 20, 30);
  assert_true(!told.reset && !told.length && !told.chunks);
  assert_non_null(strstr(told.all, "Connection: close"));
  free(told.all);
  assert_int_equal(metric(&server, "farcall_answers_in_parts_total"), 2);
  assert_int_equal(metric(&server, "farcall_answers_in_parts_open"), 0);
  assert_int_equal(metric(&server, "farcall_answers_cut_total"), 0);
  assert_int_equal(metric(&server, "farcall_parts_bytes_total"),
                   2 * (2 + 20 * entries * (30 << 10)));
  end(&server);
}

// The answer to the next request follows the last chunk, or the head that answers a
// HEAD.
static void a_connection_goes_on(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "");
  const uint32_t entries = count_entries(&server);
  told_t told = ask(&server, "GET", "/parts?passes=3&size=30", "1.1",
                    "\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n" CLOSE);
  check_body(&told, entries, 3, 30);
  assert_true(told.whole);
  assert_non_null(strstr(told.all + strlen(told.all) + 4, "HTTP/1.1 200"));
  free(told.all);
  for (const char *const *version = (const char *const[]){"1.0", "1.1", NULL};
       *version; version++) {
    const bool old = (*version)[2] == '0';
    told =
        ask(&server, "HEAD", "/parts?passes=3&size=30", *version,
            old ? "" : "\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n" CLOSE);
    assert_false(told.length);
    assert_int_equal(!old, strstr(told.all, "chunked") != NULL);
    if (old) assert_int_equal(told.size, 0);
    else assert_memory_equal(told.body, "HTTP/1.1 200", 12);
    free(told.all);
  }
  assert_int_equal(metric(&server, "farcall_answers_in_parts_total"), 1);
  end(&server);
}

// The head of a success was sent already. What was sent stays, and the client sees that
// the rest is missing.
static void a_failure_after_the_beginning_cuts_it(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--access-log=on");
  told_t told = ask(&server, "GET", "/parts?passes=1&size=255&fail=9", "1.1",
                    "\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n");
  assert_memory_equal(told.all, "HTTP/1.1 200", 12);
  assert_false(told.whole);
  assert_int_equal(told.size, 1 + 8 * (255 << 10));
  assert_int_equal(told.rest, 0);  // nor was the next request answered
  free(told.all);
  told = ask(&server, "GET", "/parts?passes=1&size=255&fail=9", "1.0", "");
  assert_true(told.reset);
  free(told.all);
  told = ask(&server, "GET", "/parts?passes=1&size=1&fail=9", "1.1", CLOSE);
  assert_memory_equal(told.all, "HTTP/1.1 507", 12);  // nothing had been sent
  assert_string_equal(told.body, "made to fail");
  free(told.all);
  assert_int_equal(metric(&server, "farcall_answers_cut_total"), 2);
  assert_int_equal(metric(&server, "farcall_answers_in_parts_open"), 0);
  fixture_stop(&server);
  assert_non_null(strstr(server.log_text, "\"code\":\"out_of_memory\""));
  assert_non_null(strstr(server.log_text, "\"parts\":7"));
  fixture_forget(&server);
}

// A gigabyte is requested by a client that does not read. The server makes only as much
// as the socket holds, plus one part, and answers others meanwhile.
static void who_does_not_read_holds_nobody_up(void **state) {
  (void)state;
  fixture_server_t server;
  const int fd = ask_slowly(&server, "--write-timeout=600s");
  wait_for_metric(&server, "farcall_answers_in_parts_open", 1);
  unsigned long before, parts = 0;
  do {  // until nothing more is made
    before = parts;
    told_t told = ask(&server, "GET", "/parts?passes=20&size=30", "1.1", CLOSE);
    assert_true(told.whole);
    free(told.all);
    parts = metric(&server, "farcall_parts_total") -
            told.chunks * metric(&server, "farcall_answers_in_parts_total") +
            told.chunks;
  } while (parts != before);
  assert_true(metric(&server, "farcall_memory_bytes{kind=\"calls\"}") <
              2 << 20);
  close(fd);
  wait_for_metric(&server, "farcall_answers_in_parts_open", 0);
  assert_int_equal(metric(&server, "farcall_answers_cut_total"), 1);
  end(&server);
}

static void who_stops_to_read_is_ended(void **state) {
  (void)state;
  fixture_server_t server;
  const int fd = ask_slowly(&server, "--write-timeout=200ms");
  wait_for_metric(&server, "farcall_answers_cut_total", 1);
  bool reset;
  bytes_t all = read_all(fd, &reset);
  assert_true(reset);
  free(all.data);
  close(fd);
  end(&server);
}

// The server ends while an answer is being sent: after the time of --drain it is cut.
static void a_drain_cuts_it(void **state) {
  (void)state;
  fixture_server_t server;
  const int fd = ask_slowly(&server, "--drain=100ms --write-timeout=600s");
  wait_for_metric(&server, "farcall_answers_in_parts_open", 1);
  fixture_stop(&server);
  told_t told = {0};
  bytes_t all = read_all(fd, &told.reset);
  char *blank = strstr(all.data, "\r\n\r\n");
  assert_non_null(blank);
  take_chunks(&told, blank + 4, all.data + all.size);
  assert_false(told.whole);
  free(all.data);
  close(fd);
  fixture_forget(&server);
}

// ---------------------------------------------------------------------------
// Calls

static told_t post(const fixture_server_t *server, const char *body,
                   const char *fields) {
  char more[256];
  snprintf(more, sizeof more, "%sContent-Length: %zu\r\n\r\n%s", fields,
           strlen(body), body);
  more[strlen(more)] = '\0';
  return ask(server, "POST", "/turns/t/add", "1.1", more);
}

// Writes the lines of the steps `first` to `last`. Returns the end of the text.
static char *print_steps(char *out, const char *before, const char *after,
                         uint64_t first, uint64_t last) {
  uint64_t sum = 0;
  for (uint64_t step = 1; step <= last; step++) {
    sum = sum * 31 + step;
    if (step < first) continue;
    out += sprintf(out, "%s{\"step\":%llu,\"sum\":%llu}%s", before,
                   (unsigned long long)step, (unsigned long long)sum, after);
  }
  return out;
}

static void calls_are_made_in_turns(void **state) {
  (void)state;
  static const struct {
    const char *body;
    const char *fields;
    const char *type;
    uint64_t first, last;
    bool whole;  // it fits a turn: the answer has a length
    const char *end;
  } rows[] = {
      {"times=9&per=9", "", "x-ndjson", 1, 9, true, ""},
      {"times=9", "", "x-ndjson", 1, 9, false, ""},
      {"times=90&per=7", "", "x-ndjson", 1, 90, false, ""},
      {"times=90&per=90", "Accept: text/event-stream\r\n", "event-stream", 1,
       90, true, ""},
      {"times=91&per=90", "Accept: text/event-stream\r\n", "event-stream", 1,
       91, false, ""},
      {"times=50&per=1", "Accept: */*\r\n", "x-ndjson", 1, 50, false, ""},
      {"times=20&per=3&keep=4", "", "x-ndjson", 1, 20, false, ""},
      {"times=20&per=3&keep=700", "", "x-ndjson", 1, 20, false, ""},
      {"times=6&per=2&keep=9000", "", "x-ndjson", 1, 6, false, ""},
      {"times=20&per=3&mute=10", "", "x-ndjson", 11, 20, false, ""},
      {"times=20&per=3&fail=17", "", "x-ndjson", 1, 16, false, "17: made to\n"},
      {"times=20&per=3&fail=16", "", "x-ndjson", 1, 15, false, "16: made to\n"},
      {"times=20&per=9&fail=3", "", "x-ndjson", 1, 2, false, "3: made to\n"},
      {"times=9&per=3&fail=5&pad=90000", "", "x-ndjson", 1, 0, false, NULL},
      {"times=20&per=3&fail=17", "Accept: text/event-stream\r\n",
       "event-stream", 1, 16, false, "data: 17: made to\n\n"},
  };
  static char expected[1 << 14];
  fixture_server_t server;
  fixture_start(&server, "--max-body=16MiB");
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].body);
    char fields[96];
    snprintf(fields, sizeof fields, "%s" CLOSE, rows[i].fields);
    const bool events = strstr(rows[i].type, "event");
    char *out =
        print_steps(expected, events ? "data: " : "", events ? "\n\n" : "\n",
                    rows[i].first, rows[i].last);
    if (rows[i].end) strcpy(out, rows[i].end);
    told_t told = post(&server, rows[i].body, fields);
    assert_memory_equal(told.all, "HTTP/1.1 200", 12);
    assert_non_null(strstr(told.all, rows[i].type));
    assert_int_equal(told.length, rows[i].whole);
    if (!rows[i].end) {  // the text is not compared
      assert_true(told.size > 4 * 90000 && told.size < 4 * 90100);
      free(told.all);
      continue;
    }
    // Event streams are never cut: their last event is the error.
    assert_int_equal(told.whole, !rows[i].whole && (events || !*rows[i].end));
    assert_int_equal(told.size, strlen(expected));
    assert_memory_equal(told.body, expected, told.size);
    free(told.all);
  }
  fc_test_row(NULL);
  told_t told = post(&server, "times=9&fail=1", CLOSE);
  assert_memory_equal(told.all, "HTTP/1.1 507", 12);
  free(told.all);
  told = post(&server, "times=9", "Accept: image/png\r\n" CLOSE);
  assert_memory_equal(told.all, "HTTP/1.1 507", 12);
  free(told.all);
  assert_int_equal(metric(&server, "farcall_answers_in_parts_open"), 0);
  assert_int_equal(metric(&server, "farcall_answers_cut_total"), 5);
  end(&server);
}

// Connects a client that has begun a call and received its first part.
static int begin_call(const fixture_server_t *server, const char *body,
                      const char *fields) {
  char text[512], first;
  const int fd = fixture_connect(server);
  snprintf(text, sizeof text,
           "POST /turns/t/add HTTP/1.1\r\nHost: localhost\r\n%s"
           "Content-Length: %zu\r\n\r\n%s",
           fields, strlen(body), body);
  assert_true(fixture_send_text(fd, text));
  ssize_t got;
  while ((got = recv(fd, &first, 1, MSG_PEEK)) < 0 && errno == EINTR) continue;
  assert_int_equal(got, 1);
  return fd;
}

static told_t finish_call(int fd) {
  told_t told = {0};
  const bytes_t all = read_all(fd, &told.reset);
  close(fd);
  told.all = all.data;
  char *blank = strstr(all.data, "\r\n\r\n");
  assert_non_null(blank);
  take_chunks(&told, blank + 4, all.data + all.size);
  told.body[told.size] = '\0';
  return told;
}

static void next_call_works(const fixture_server_t *server) {
  told_t told = post(server, "times=3&per=1", CLOSE);
  assert_true(told.whole);
  free(told.all);
  assert_int_equal(metric(server, "farcall_answers_in_parts_open"), 0);
}

static bool in_process(void) {
  const char *host = getenv("FARCALL_ISOLATION");
  return host && !strcmp(host, "process");
}

// In a process, what is kept between turns lies in the area for bodies, which has a
// fixed size.
static void what_is_kept_has_a_limit_in_a_process(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--max-body=1M");
  told_t told = post(&server, "times=2&per=1&keep=2000", CLOSE);
  const char *kLimit = "of --max-body beside the document";
  const bool limited = strstr(told.body, kLimit) != NULL;
  if (limited != in_process()) fail_msg("it says %s", told.body);
  assert_int_equal(told.whole, !limited);
  free(told.all);
  next_call_works(&server);
  end(&server);
}

// What a call keeps counts as its client's memory. If that is too much, only the last
// of the client's calls fails.
static void what_is_kept_is_its_clients(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--max-body=8M --client-memory=3M --cancel=kill");
  const char *const kBody = "times=1000000&per=1&keep=900&pad=20000";
  int readers[2];
  for (size_t i = 0; i < FC_ARRAY_COUNT(readers); i++) {
    readers[i] = begin_call(&server, kBody, "");
  }
  told_t told = post(&server, "times=9&per=1&keep=1800", CLOSE);
  const char *kSays = "requests of one client may hold 3145728 bytes";
  if (!strstr(told.body, kSays)) fail_msg("it says %s", told.body);
  free(told.all);
  for (size_t i = 0; i < FC_ARRAY_COUNT(readers); i++) close(readers[i]);
  wait_for_metric(&server, "farcall_calls_running{module=\"t\"}", 0);
  told = post(&server, "times=9&per=1&keep=1800", CLOSE);
  assert_true(told.whole);
  free(told.all);
  next_call_works(&server);
  end(&server);
}

// A turn ends before the call's deadline, so quick steps never pass it.
static void a_turn_ends_before_its_deadline(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "");
  bool passed = true;
  // Tries longer deadlines until none passes while a turn waits in the queue.
  for (int tries = 0; passed; tries++) {
    char fields[64];
    snprintf(fields, sizeof fields, "Farcall-Timeout-Ms: %d\r\n" CLOSE,
             1 << tries / 8);
    assert_true(tries < 8 * 16);
    told_t told = post(&server, "times=3&per=1", fields);
    if (strstr(told.body, "outlives")) fail_msg("it says %s", told.body);
    passed = strstr(told.body, "the deadline passed") != NULL;
    free(told.all);
  }
  end(&server);
}

// However a call ends in a turn after the first, its answer names the step and is cut,
// and the next call works.
static void what_ends_a_turn_ends_the_answer(void **state) {
  (void)state;
  static const struct {
    const char *body;
    const char *fields;
    bool process;  // only there
    const char *says;
  } rows[] = {
      {"times=9&per=2&crash=4", "", true, "4: function 'add' was killed"},
      {"times=9&per=2&keep=900&crash=5", "", true, "5: function"},
      {"times=9&per=2&wait=4", "Farcall-Timeout-Ms: 300\r\n", false,
       "4: the deadline passed"},
      {"times=9&per=2&late=3", "Farcall-Timeout-Ms: 600000\r\n", false,
       "3: the deadline passed"},
      {"times=9&per=2&fail=4", "", false, "4: made to"},
  };
  fixture_server_t server;
  fixture_start(&server, "");
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    if (rows[i].process && !in_process()) continue;
    fc_test_row(rows[i].body);
    told_t told =
        finish_call(begin_call(&server, rows[i].body, rows[i].fields));
    assert_false(told.whole);
    assert_memory_equal(told.body, "{\"step\":1,\"sum\":1}\n", 19);
    if (!strstr(told.body, rows[i].says)) fail_msg("it says %s", told.body);
    free(told.all);
    next_call_works(&server);
  }
  fc_test_row(NULL);
  end(&server);
}

// The output of a quick step is sent before a slow step begins. Many quick steps are
// then sent together again.
static void a_slow_step_keeps_no_others_waiting(void **state) {
  (void)state;
  static const struct {
    const char *body;
    uint32_t least, most;  // parts
  } rows[] = {
      {"times=12&slow=2&until=12", 12, 12},
      {"times=12&slow=2&until=12&keep=4", 12, 12},
      {"times=100000&slow=2&until=2", 3 + FC_LIMIT_TURN_SINGLES, 50000},
  };
  fixture_server_t server;
  fixture_start(&server, "");
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_test_row(rows[i].body);
    told_t told = post(&server, rows[i].body, CLOSE);
    assert_true(told.whole);
    assert_in_range(told.chunks, rows[i].least, rows[i].most);
    free(told.all);
  }
  end(&server);
}

// When a client leaves, its call is ended: while it runs, and while it waits for the
// client to read.
static void who_leaves_ends_its_call(void **state) {
  (void)state;
  static const char *const kBodies[] = {
      "times=9&per=2&wait=4", "times=100000&per=1&pad=20000",
      "times=100000&per=1&keep=800&pad=20000"};
  fixture_server_t server;
  fixture_start(&server, "--write-timeout=600s --cancel=kill");
  for (size_t i = 0; i < FC_ARRAY_COUNT(kBodies); i++) {
    fc_test_row(kBodies[i]);
    const int fd = begin_call(&server, kBodies[i], "");
    const struct linger reset = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    if (i) (void)poll(NULL, 0, 50);  // its socket may be full by now
    close(fd);
    wait_for_metric(&server, "farcall_answers_in_parts_open", 0);
    next_call_works(&server);
  }
  fc_test_row(NULL);
  wait_for_metric(&server, "farcall_calls_running{module=\"t\"}", 0);
  end(&server);
}

// No worker waits for a reader: the clients that stop reading are more than the
// workers.
static void who_does_not_read_keeps_no_worker(void **state) {
  (void)state;
  int readers[6];
  fixture_server_t server;
  fixture_start(&server, "--write-timeout=600s");
  for (size_t i = 0; i < FC_ARRAY_COUNT(readers); i++) {
    readers[i] = begin_call(&server, "times=1000000&pad=1000", "");
  }
  unsigned long parts, before;
  uint32_t own;
  do {  // until nothing is made for them, and they are still there
    before = metric(&server, "farcall_parts_total");
    told_t told = post(&server, "times=50&per=1", CLOSE);
    assert_true(told.whole);
    own = told.chunks;
    free(told.all);
    parts = metric(&server, "farcall_parts_total");
  } while (parts != before + own);
  assert_int_equal(metric(&server, "farcall_answers_in_parts_open"),
                   FC_ARRAY_COUNT(readers));
  assert_true(metric(&server, "farcall_memory_bytes{kind=\"calls\"}") <
              32 << 20);
  for (size_t i = 0; i < FC_ARRAY_COUNT(readers); i++) close(readers[i]);
  wait_for_metric(&server, "farcall_answers_in_parts_open", 0);
  end(&server);
}

static size_t resident(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void is_alive(const fixture_server_t *server) {
  told_t told = ask(server, "GET", "/livez", "1.1", CLOSE);
  assert_memory_equal(told.all, "HTTP/1.1 200", 12);
  free(told.all);
}

// However many parts there are, and however slowly they are read, the server holds only
// one of them. The variable FARCALL_PARTS is their number.
static void many_parts_take_no_memory(void **state) {
  (void)state;
  enum { SPARE = 8 << 20 };
  static char block[1 << 14], body[64];
  const char *given = getenv("FARCALL_PARTS");
  const unsigned long times = given ? strtoul(given, NULL, 10) : 10000;
  fixture_server_t server;
  fixture_start(&server, "");
  snprintf(body, sizeof body, "times=%lu&per=1&pad=2000", times);
  const int fd = begin_call(&server, body, CLOSE);
  unsigned long steps = 0, reads = 0;
  size_t first = 0, most = 0;
  ssize_t got;
  while ((got = recv(fd, block, sizeof block, 0)) > 0 ||
         (got < 0 && errno == EINTR)) {
    for (ssize_t i = 0; i < got; i++) steps += block[i] == '{';
    if (++reads % 32) continue;
    is_alive(&server);
    (void)poll(NULL, 0, 1);
    const size_t now = resident();
    if (!first && reads > 128) first = now;
    if (now > most) most = now;
  }
  close(fd);
  assert_int_equal(got, 0);
  assert_int_equal(steps, times);
  assert_int_equal(metric(&server, "farcall_parts_total"), times);
  if (!FC_SANITIZED && most > first + SPARE) {
    fail_msg("memory grows from %zu to %zu", first, most);
  }
  end(&server);
}

// The server ends while a call in parts is running.
static void a_drain_cuts_a_call(void **state) {
  (void)state;
  fixture_server_t server;
  fixture_start(&server, "--drain=100ms");
  const int fd = begin_call(&server, "times=9&per=2&wait=4", "");
  fixture_stop(&server);
  told_t told = finish_call(fd);
  assert_false(told.whole);
  assert_non_null(strstr(told.body, ": the server is shutting down"));
  free(told.all);
  fixture_forget(&server);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_long_document_comes_in_chunks),
      FC_TEST(a_connection_goes_on),
      FC_TEST(a_failure_after_the_beginning_cuts_it),
      FC_TEST(who_does_not_read_holds_nobody_up),
      FC_TEST(who_stops_to_read_is_ended),
      FC_TEST(a_drain_cuts_it),
      FC_TEST(calls_are_made_in_turns),
      FC_TEST(what_ends_a_turn_ends_the_answer),
      FC_TEST(a_slow_step_keeps_no_others_waiting),
      FC_TEST(who_leaves_ends_its_call),
      FC_TEST(who_does_not_read_keeps_no_worker),
      FC_TEST(what_is_kept_has_a_limit_in_a_process),
      FC_TEST(what_is_kept_is_its_clients),
      FC_TEST(a_turn_ends_before_its_deadline),
      FC_TEST(many_parts_take_no_memory),
      FC_TEST(a_drain_cuts_a_call),
  };
  signal(SIGPIPE, SIG_IGN);
  fixture_use_routes(&kRoutes);
  fixture_worker(argc, argv);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
