// SPDX-License-Identifier: Apache-2.0
#include "obs/trace.h"

#include "config/collector.h"
#include "helpers/test.h"
#include "obs/spans.h"

#define ID "0af7651916cd43dd8448eb211c80319c"
#define SPAN "b7ad6b7169203331"

typedef struct parent_row_t {
  const char *name;
  const char *text;
  bool known;
  bool sampled;
} parent_row_t;

static const parent_row_t kParents[] = {
    {"sampled", "00-" ID "-" SPAN "-01", true, true},
    {"not sampled", "00-" ID "-" SPAN "-00", true, false},
    {"other flags", "00-" ID "-" SPAN "-fe", true, false},
    {"all flags", "00-" ID "-" SPAN "-ff", true, true},
    {"a later version", "cc-" ID "-" SPAN "-01", true, true},
    {"a later version with more", "cc-" ID "-" SPAN "-01-what", true, true},
    {"a later version with a dash", "cc-" ID "-" SPAN "-01-", true, true},
    {"a later version whose flags are long", "cc-" ID "-" SPAN "-01f", false,
     0},
    {"this version with more", "00-" ID "-" SPAN "-01-what", false, 0},
    {"this version with a dash", "00-" ID "-" SPAN "-01-", false, 0},
    {"version ff", "ff-" ID "-" SPAN "-01", false, 0},
    {"nothing", "", false, 0},
    {"one character", "0", false, 0},
    {"cut", "00-" ID "-" SPAN "-0", false, 0},
    {"no flags", "00-" ID "-" SPAN, false, 0},
    {"no trace", "00-00000000000000000000000000000000-" SPAN "-01", false, 0},
    {"no parent", "00-" ID "-0000000000000000-01", false, 0},
    {"upper case", "00-0AF7651916CD43DD8448EB211C80319C-" SPAN "-01", false, 0},
    {"upper case flags", "00-" ID "-" SPAN "-0A", false, 0},
    {"no digits", "00-0af7651916cd43dd8448eb211c80319g-" SPAN "-01", false, 0},
    {"no digit in the parent", "00-" ID "-b7ad6b716920333 -01", false, 0},
    {"no digit in the version", "0x-" ID "-" SPAN "-01", false, 0},
    {"dots", "00." ID "." SPAN ".01", false, 0},
    {"a dash elsewhere", "000-" ID "-" SPAN "-1", false, 0},
    {"bytes",
     "00-\xff\xfe\x80\x81"
     "651916cd43dd8448eb211c80319c-" SPAN "-01",
     false, 0},
};

static void a_traceparent_is_read_as_w3c_says(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const parent_row_t, row, kParents) {
    fc_trace_t trace = {0};
    assert_int_equal(fc_trace_parse(fc_str(row->text), &trace), row->known);
    assert_int_equal(trace.known, row->known);
    assert_int_equal(trace.sampled, row->sampled);
    char digits[2 * FC_TRACE_ID];
    if (!row->known) continue;
    fc_trace_print_id(trace.id, FC_TRACE_ID, digits);
    assert_memory_equal(digits, ID, sizeof digits);
    fc_trace_print_id(trace.parent, FC_SPAN_ID, digits);
    assert_memory_equal(digits, SPAN, strlen(SPAN));
  }
}

static void what_is_printed_can_be_read(void **state) {
  (void)state;
  uint64_t random = 7;
  for (int i = 0; i < 1000; i++) {
    fc_trace_t trace = {.known = true, .sampled = i % 2}, found = {0};
    fc_trace_make_id(&random, trace.id, sizeof trace.id);
    fc_trace_make_id(&random, trace.span, sizeof trace.span);
    char text[FC_TRACE_TEXT];
    fc_trace_print(&trace, text);
    assert_true(fc_trace_parse(fc_str_make(text, sizeof text), &found));
    assert_int_equal(found.sampled, trace.sampled);
    assert_memory_equal(found.id, trace.id, sizeof trace.id);
    assert_memory_equal(found.parent, trace.span, sizeof trace.span);
  }
}

typedef struct url_row_t {
  const char *url;
  const char *host;  // NULL: it is refused
  const char *port;
  const char *path;
  bool literal;
} url_row_t;

static const url_row_t kUrls[] = {
    {"", "", "", "", false},
    {"http://a", "a", "4318", "/v1/traces", false},
    {"http://a/", "a", "4318", "/v1/traces", false},
    {"http://a.b-c_d:1/x/y/", "a.b-c_d", "1", "/x/y/v1/traces", false},
    {"http://127.0.0.1:65535", "127.0.0.1", "65535", "/v1/traces", false},
    {"http://[::1]:4318", "::1", "4318", "/v1/traces", true},
    {"http://[::1]", "::1", "4318", "/v1/traces", true},
    {"https://a", NULL, NULL, NULL, false},
    {"a:4318", NULL, NULL, NULL, false},
    {"http://", NULL, NULL, NULL, false},
    {"http://:1", NULL, NULL, NULL, false},
    {"http://a:", NULL, NULL, NULL, false},
    {"http://a:0", NULL, NULL, NULL, false},
    {"http://a:65536", NULL, NULL, NULL, false},
    {"http://a:123456", NULL, NULL, NULL, false},
    {"http://a:1x", NULL, NULL, NULL, false},
    {"http://u@a", NULL, NULL, NULL, false},
    {"http://a b", NULL, NULL, NULL, false},
    {"http://a/\r\nX: y", NULL, NULL, NULL, false},
    {"http://a/?x", NULL, NULL, NULL, false},
    {"http://a/#x", NULL, NULL, NULL, false},
    {"http://[::1]x", NULL, NULL, NULL, false},
    {"http://[]", NULL, NULL, NULL, false},
};

static void a_collector_is_a_url(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kUrls); i++) {
    const url_row_t *row = &kUrls[i];
    fc_test_row(row->url);
    fc_collector_t found;
    fc_error_t error;
    const fc_status_t status =
        fc_collector_parse(fc_str(row->url), &found, &error);
    assert_int_equal(status == FC_OK, row->host != NULL);
    if (!row->host) {
      assert_int_equal(error.code, FC_CODE_NOT_ACCEPTABLE);
      assert_string_equal(found.host, "");
      continue;
    }
    assert_string_equal(found.host, row->host);
    assert_string_equal(found.port, row->port);
    assert_string_equal(found.path, row->path);
    assert_int_equal(found.literal, row->literal);
  }
  fc_test_row(NULL);
}

// Host and path have limits; every length is tried.
static void a_long_url_is_refused(void **state) {
  (void)state;
  char url[700] = "http://", path[700] = "http://a/";
  for (size_t size = 1; size < 600; size++) {
    fc_collector_t found;
    fc_error_t error;
    url[6 + size] = path[8 + size] = 'x';
    const bool host = fc_collector_parse(fc_str(url), &found, &error) == FC_OK;
    assert_int_equal(host, size < sizeof found.host);
    const bool good = fc_collector_parse(fc_str(path), &found, &error) == FC_OK;
    assert_int_equal(good, 1 + size + strlen("/v1/traces") < sizeof found.path);
  }
}

typedef struct ratio_row_t {
  const char *text;
  int64_t ratio;  // -1: it is refused
} ratio_row_t;

static const ratio_row_t kRatios[] = {
    {"0", 0},
    {"1", FC_RATIO_ALL},
    {"1.0", FC_RATIO_ALL},
    {"0.01", 10000000},
    {"0.000000001", 1},
    {"0.999999999", 999999999},
    {"", -1},
    {"1.1", -1},
    {"2", -1},
    {"0.", -1},
    {".5", -1},
    {"-0", -1},
    {"0.0000000001", -1},
    {"0,5", -1},
    {"01", -1},
    {"1e-3", -1},
    {"0.5x", -1},
    {"1%", -1},
};

static void a_ratio_is_a_decimal_number(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRatios); i++) {
    const ratio_row_t *row = &kRatios[i];
    fc_test_row(row->text);
    uint32_t ratio = 7;
    fc_error_t error;
    const fc_status_t status =
        fc_ratio_parse(fc_str(row->text), &ratio, &error);
    assert_int_equal(status == FC_OK, row->ratio >= 0);
    assert_int_equal(ratio, row->ratio >= 0 ? row->ratio : 7);
  }
  fc_test_row(NULL);
}

static const char *const kStages[FC_SPANS_STAGES] = {"a", "b", "c", "d",
                                                     "e", "f", "g", "h"};

static fc_span_record_t *add(fc_spans_t *spans) {
  static const uint64_t kSpent[FC_SPANS_STAGES] = {0, 5, 0, 7};
  fc_span_record_t *record = fc_spans_add(spans, kSpent);
  if (!record) return NULL;
  *record = (fc_span_record_t){.scheme = "https",
                               .method = "GET",
                               .route = FC_STR("/x"),
                               .status = 503,
                               .began_unix_ns = 1000,
                               .took_ns = 20,
                               .parts = 3,
                               .first_ns = 4500};
  record->trace.id[0] = record->trace.span[7] = 0xab;
  memcpy(record->spent_ns, kSpent, sizeof kSpent);
  memcpy(record->module, "m\"", 2);
  record->module_size = 2;
  return record;
}

static void spans_are_written_as_the_protocol_says(void **state) {
  (void)state;
  fc_spans_t spans;
  fc_error_t error;
  fc_text_t text;
  uint64_t count;
  assert_int_equal(
      fc_spans_init(&spans, fc_allocator_system(), 1, kStages, &error), FC_OK);
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  assert_non_null(add(&spans));
  assert_int_equal(fc_spans_write(&spans, 8, &count, &text.sink, &error),
                   FC_OK);
  assert_int_equal(count, 3);
  assert_int_equal(spans.count, 0);
  const fc_str_t found = fc_text_str(&text);
  char all[4096];
  assert_true(found.size < sizeof all);
  memcpy(all, found.data, found.size);
  all[found.size] = '\0';
  static const char *const kWanted[] = {
      "\"spans\":[{\"traceId\":\"ab000000000000000000000000000000\","
      "\"spanId\":\"00000000000000ab\",\"startTimeUnixNano\":\"1000\","
      "\"endTimeUnixNano\":\"1020\",\"kind\":2,\"name\":\"GET /x\",",
      "{\"key\":\"url.scheme\",\"value\":{\"stringValue\":\"https\"}}",
      "{\"key\":\"farcall.module\",\"value\":{\"stringValue\":\"m\\\"\"}}",
      "{\"key\":\"http.response.status_code\",\"value\":{\"intValue\":\"503\"}}",
      "{\"key\":\"farcall.parts\",\"value\":{\"intValue\":\"3\"}}",
      "{\"key\":\"farcall.first_part_us\",\"value\":{\"intValue\":\"4\"}}",
      "\"status\":{\"code\":2}}",
      "\"parentSpanId\":\"00000000000000ab\",\"startTimeUnixNano\":\"1000\","
      "\"endTimeUnixNano\":\"1005\",\"kind\":1,\"name\":\"b\"}",
      "\"startTimeUnixNano\":\"1005\",\"endTimeUnixNano\":\"1012\",\"kind\":1,"
      "\"name\":\"d\"}]}]}]}",
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kWanted); i++) {
    if (!strstr(all, kWanted[i]))
      fail_msg("%s\nis not in\n%s", kWanted[i], all);
  }
  fc_text_deinit(&text);
  fc_spans_deinit(&spans);
}

static void what_does_not_fit_is_dropped(void **state) {
  (void)state;
  fc_spans_t spans;
  fc_error_t error;
  assert_int_equal(
      fc_spans_init(&spans, fc_allocator_system(), 1, kStages, &error), FC_OK);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < FC_SPANS_ROOM; i++) assert_non_null(add(&spans));
    assert_null(add(&spans));
    assert_int_equal(spans.dropped,
                     3 * (round + 1));  // a request and two stages
    uint64_t count = 0;
    for (int left = FC_SPANS_ROOM; left > 0; left -= 100) {
      fc_text_t text;
      fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
      assert_int_equal(fc_spans_write(&spans, 100, &count, &text.sink, &error),
                       FC_OK);
      assert_int_equal(count, 3 * (left < 100 ? left : 100));
      fc_text_deinit(&text);
    }
    assert_int_equal(spans.count, 0);
  }
  fc_spans_deinit(&spans);
}

static void dispatches_are_spans_of_their_stage(void **state) {
  (void)state;
  fc_spans_t spans;
  fc_error_t error;
  fc_text_t text;
  uint64_t count;
  const fc_dispatch_span_t dispatches[] = {
      {.began_ns = 1,
       .took_ns = 2,
       .grid = {4, 5, 6},
       .name_size = 2,
       .name = "k\""},
      {.began_ns = 3,
       .took_ns = 1,
       .grid = {7, 8, 9},
       .name_size = 1,
       .name = "l"},
  };
  static const char *const kWanted[] = {
      "\"startTimeUnixNano\":\"1006\",\"endTimeUnixNano\":\"1008\",\"kind\":1,"
      "\"name\":\"k\\\"\",\"attributes\":[{\"key\":\"farcall.span\",\"value\":"
      "{\"stringValue\":\"dispatch\"}},{\"key\":\"farcall.grid.x\",\"value\":"
      "{\"intValue\":\"4\"}},",
      "\"endTimeUnixNano\":\"1009\",\"kind\":1,\"name\":\"l\",",
  };
  assert_int_equal(
      fc_spans_init(&spans, fc_allocator_system(), 1, kStages, &error), FC_OK);
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  fc_span_record_t *record = add(&spans);
  record->call_stage = 3;
  fc_spans_add_dispatches(&spans, record, dispatches, 2);
  assert_int_equal(fc_spans_write(&spans, 8, &count, &text.sink, &error),
                   FC_OK);
  assert_int_equal(count, 5);
  assert_int_equal(spans.dispatch_count, 0);
  assert_int_equal(fc_sink_put(&text.sink, fc_str_make("", 1), &error), FC_OK);
  for (size_t i = 0; i < FC_ARRAY_COUNT(kWanted); i++) {
    const char *all = fc_text_str(&text).data;
    if (!strstr(all, kWanted[i]))
      fail_msg("%s\nis not in\n%s", kWanted[i], all);
  }
  fc_text_deinit(&text);
  fc_spans_deinit(&spans);
}

// Also drops dispatches of a call without a record. What is left at the server's end is
// freed.
static void dispatches_without_room_are_dropped(void **state) {
  (void)state;
  fc_spans_t spans;
  fc_error_t error;
  fc_text_t text;
  uint64_t count;
  static const fc_dispatch_span_t kMany[FC_SPANS_DISPATCHES];
  const uint32_t most = FC_SPANS_DISPATCH_ROOM / FC_SPANS_DISPATCHES;
  assert_int_equal(
      fc_spans_init(&spans, fc_allocator_system(), 1, kStages, &error), FC_OK);
  for (uint32_t i = 0; i < most + 1; i++) {
    fc_span_record_t *record = add(&spans);
    record->call_stage = 1;
    fc_spans_add_dispatches(&spans, record, kMany, FC_SPANS_DISPATCHES);
  }
  assert_int_equal(spans.dispatch_count, FC_SPANS_DISPATCH_ROOM);
  assert_int_equal(spans.dropped, FC_SPANS_DISPATCHES);
  fc_spans_add_dispatches(&spans, NULL, kMany, 3);
  assert_int_equal(spans.dropped, FC_SPANS_DISPATCHES + 3);
  // The size of a document is bounded.
  fc_text_init(&text, fc_allocator_system(), SIZE_MAX);
  assert_int_equal(fc_spans_write(&spans, most, &count, &text.sink, &error),
                   FC_OK);
  assert_in_range(count, FC_SPANS_DOCUMENT,
                  FC_SPANS_DOCUMENT + FC_SPANS_DISPATCHES + 3);
  assert_true(spans.count > 0);
  fc_text_deinit(&text);
  fc_spans_deinit(&spans);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(a_traceparent_is_read_as_w3c_says),
      FC_TEST(what_is_printed_can_be_read),
      FC_TEST(a_collector_is_a_url),
      FC_TEST(a_long_url_is_refused),
      FC_TEST(a_ratio_is_a_decimal_number),
      FC_TEST(spans_are_written_as_the_protocol_says),
      FC_TEST(what_does_not_fit_is_dropped),
      FC_TEST(dispatches_are_spans_of_their_stage),
      FC_TEST(dispatches_without_room_are_dropped),
  };
  return fc_test_exit(cmocka_run_group_tests(tests, NULL, NULL));
}
