// SPDX-License-Identifier: Apache-2.0
//
// Heads of responses, byte for byte. Dates are compared with the C library's.
#include "http1/response.h"

#include <locale.h>
#include <time.h>

#include "config/policy.h"
#include "helpers/test.h"
#include "obs/code.h"

// Checks the head of `answer`. `head` has what HTTP/1 adds to it; its member `answer`
// is set here.
static void check(fc_answer_t answer, fc_response_head_t head,
                  const char *expected) {
  char room[FC_LIMIT_HEAD + 4];
  head.answer = &answer;
  memcpy(room + FC_LIMIT_HEAD, "body", 4);
  char *begin = fc_response_head(&head, room + FC_LIMIT_HEAD);
  size_t size = (size_t)(room + sizeof room - begin);
  assert_int_equal(size, strlen(expected));
  assert_memory_equal(begin, expected, size);
}

#define ANSWER(...) ((fc_answer_t){__VA_ARGS__})
#define HEAD(...) ((fc_response_head_t){__VA_ARGS__})

static void heads_end_where_the_body_begins(void **state) {
  (void)state;
  check(ANSWER(.status = 200, .content_type = FC_STR("application/json")),
        HEAD(.length = 4, .request_id = FC_STR("abc"), .date = FC_STR("now")),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        "Content-Length: 4\r\nX-Request-Id: abc\r\nDate: now\r\n\r\nbody");
  check(ANSWER(.status = 204), HEAD(.no_length = true, .close = true),
        "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\nbody");
  check(ANSWER(.status = 304, .digest = FC_STR("0af")), HEAD(.no_length = true),
        "HTTP/1.1 304 Not Modified\r\nETag: \"0af\"\r\n\r\nbody");
  check(ANSWER(.status = 503, .retry_after = 12, .allow = FC_STR("GET, HEAD")),
        HEAD(.keep_alive = true),
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
        "Allow: GET, HEAD\r\nRetry-After: 12\r\n"
        "Connection: keep-alive\r\n\r\nbody");
  check(ANSWER(.status = 200),
        HEAD(.no_length = true, .in_chunks = true, .length = 0x1f4),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1f4\r\nbody");
  check(ANSWER(.status = 200), HEAD(.no_length = true, .in_chunks = true),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nbody");
  check(ANSWER(.status = 204, .no_store = true), HEAD(.no_length = true),
        "HTTP/1.1 204 No Content\r\nCache-Control: no-store\r\n\r\nbody");
  check(ANSWER(.status = 200, .as_it_comes = true), HEAD(.no_length = true),
        "HTTP/1.1 200 OK\r\nX-Accel-Buffering: no\r\n\r\nbody");
}

static void the_lines_of_chunks_are_short(void **state) {
  (void)state;
  static const struct {
    uint64_t size;
    const char *line;
  } rows[] = {{1, "1\r\n"},
              {15, "f\r\n"},
              {16, "10\r\n"},
              {UINT64_MAX, "ffffffffffffffff\r\n"}};
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    char room[FC_RESPONSE_CHUNK + 1];
    room[FC_RESPONSE_CHUNK] = '\0';
    assert_string_equal(
        fc_response_chunk(rows[i].size, room + FC_RESPONSE_CHUNK),
        rows[i].line);
  }
}

static void times_are_milliseconds(void **state) {
  (void)state;
  const uint64_t spent_ns[FC_STAGE_COUNT] = {
      0, 999, 1000, 1234567, 1000000, 59999999, 1u << 30, 7};
  check(ANSWER(.status = 200, .spent_ns = spent_ns), HEAD(.length = 0),
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
        "Server-Timing: read;dur=0.000,route;dur=0.000,admit;dur=0.001,"
        "queue;dur=1.234,decode;dur=1.000,call;dur=59.999,"
        "encode;dur=1073.741,write;dur=0.000\r\n\r\nbody");
  static const fc_batched_t kBatch = {3, 5, 8, 0};
  check(ANSWER(.status = 200, .spent_ns = spent_ns, .batch = &kBatch),
        HEAD(.length = 0),
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
        "Server-Timing: read;dur=0.000,route;dur=0.000,admit;dur=0.001,"
        "queue;dur=1.234,decode;dur=1.000,call;dur=59.999,"
        "encode;dur=1073.741,write;dur=0.000,batch;desc=\"5/8\"\r\n\r\nbody");
}

// If a member is added to these structs, a head might become longer than FC_LIMIT_HEAD
// without a test that notices. So set the member in the heads below, then change the
// number here.
_Static_assert(sizeof(fc_response_head_t) == 56 && sizeof(fc_answer_t) == 208,
               "the_longest_head_fits has every member");

// Checks that the head fits. If it is too long, fc_response_head's assertion fails,
// which names FC_LIMIT_HEAD: the head ends in the second half of the room.
static void check_fits(const fc_response_head_t *head) {
  char room[2 * FC_LIMIT_HEAD];
  assert_true(fc_response_head(head, room + FC_LIMIT_HEAD) >= room);
}

static void the_longest_head_fits(void **state) {
  (void)state;
  static const fc_str_t kCode = FC_STR("inference_header_is_longer");
  char id[FC_LIMIT_REQUEST_ID], origin[FC_ORIGIN_MAX];
  memset(id, 'i', sizeof id);
  memset(origin, 'o', sizeof origin);
  uint64_t spent_ns[FC_STAGE_COUNT];
  memset(spent_ns, 0xff, sizeof spent_ns);
  static const fc_trace_t kTrace = {.known = true};
  static const fc_session_t kSession;
  static const fc_batched_t kBatch = {16, UINT32_MAX, UINT32_MAX, 0};
  fc_answer_t answer = {
      .status = 431,
      .trace = &kTrace,
      .session = &kSession,
      .content_type =
          FC_STR("application/openmetrics-text; version=1.0.0; charset=utf-8"),
      .digest = FC_STR("0123456789abcdef0123456789abcdef"),
      .weak_digest = true,
      .allow = FC_STR("GET, HEAD, PUT, DELETE"),
      .code = kCode,
      .origin = fc_str_make(origin, sizeof origin),
      .by_origin = true,
      .document = UINT64_MAX,
      .coding = FC_CODING_DEFLATE,
      .retry_after = UINT32_MAX,
      .spent_ns = spent_ns,
      .batch = &kBatch,
  };
  fc_response_head_t head = {
      .answer = &answer,
      .length = UINT64_MAX,
      .request_id = fc_str_make(id, sizeof id),
      .date = FC_STR("Sun, 06 Nov 1994 08:49:37 GMT"),
      .close = true,
      .keep_alive = true,
  };
  for (int i = 0; i < FC_CODE_COUNT; i++) {
    assert_true(strlen(fc_code_info((fc_code_t)i)->text) <= kCode.size);
  }
  check_fits(&head);
  answer.is_preflight = true;
  check_fits(&head);
  // An answer in parts has no Content-Length, but the length of its first chunk.
  head.no_length = head.in_chunks = true;
  check_fits(&head);
  // An answer that proxies must not buffer has no times in its head.
  answer.as_it_comes = true;
  answer.spent_ns = NULL;
  check_fits(&head);
  answer.as_it_comes = false;
  answer.spent_ns = spent_ns;
  head.no_length = head.in_chunks = false;
  // A page is neither a preflight nor the result of a call.
  answer.is_preflight = false;
  answer.is_page = true;
  answer.document = 0;
  answer.session = NULL;
  answer.content_type = FC_STR("text/html; charset=utf-8");
  check_fits(&head);
}

static void every_status_has_its_reason(void **state) {
  (void)state;
  for (int i = 0; i < FC_CODE_COUNT; i++) {
    const fc_error_t error = {.code = (fc_code_t)i};
    int status = fc_http_status(&error);
    assert_false(fc_str_equal(fc_response_reason(status), FC_STR("Unknown")));
  }
}

static void dates_are_those_of_the_c_library(void **state) {
  (void)state;
  // The example of RFC 9110, 5.6.7, then years of every kind.
  static const int64_t kSeconds[] = {784111777,  0,           951782399,
                                     951782400,  1709164800,  1735689599,
                                     4107542399, 253402300799};
  for (size_t i = 0; i < FC_ARRAY_COUNT(kSeconds); i++) {
    char expected[FC_RESPONSE_DATE_SIZE], got[FC_RESPONSE_DATE_SIZE];
    time_t at = (time_t)kSeconds[i];
    struct tm utc;
    gmtime_r(&at, &utc);
    strftime(expected, sizeof expected, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    fc_response_date(kSeconds[i], got);
    assert_string_equal(got, expected);
  }
  for (int64_t day = 0; day < 40000; day++) {
    char expected[FC_RESPONSE_DATE_SIZE], got[FC_RESPONSE_DATE_SIZE];
    time_t at = (time_t)(day * 86400 + day);
    struct tm utc;
    gmtime_r(&at, &utc);
    strftime(expected, sizeof expected, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    fc_response_date(at, got);
    assert_string_equal(got, expected);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(heads_end_where_the_body_begins),
      FC_TEST(the_lines_of_chunks_are_short),
      FC_TEST(times_are_milliseconds),
      FC_TEST(the_longest_head_fits),
      FC_TEST(every_status_has_its_reason),
      FC_TEST(dates_are_those_of_the_c_library),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
