// SPDX-License-Identifier: Apache-2.0
//
// Writes strings, base64, elements and nested arrays into sinks of many sizes.
#include "helpers/test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "json/reader.h"
#include "json/writer.h"

// A sink over a block of fixed size.
typedef struct fixed_t {
  fc_sink_t sink;
  char data[4096];
} fixed_t;

static fc_status_t refuse(fc_sink_t *sink, size_t need, fc_error_t *err) {
  (void)sink;
  return fc_fail(err, FC_CODE_RESULT_TOO_LARGE, "%zu more wanted", need);
}

static void fixed_init(fixed_t *fixed, size_t capacity) {
  fixed->sink = (fc_sink_t){fixed->data, fixed->data + capacity, refuse};
}

// A sink that gives room for only a few bytes at a time, so that each write meets an
// end.
typedef struct drops_t {
  fc_sink_t sink;
  char span[80];
  size_t least;
  char *used;  // of `span`
  char text[4096];
  size_t size;
} drops_t;

static void drops_take(drops_t *drops) {
  size_t size = (size_t)(drops->sink.cursor - drops->used);
  memcpy(drops->text + drops->size, drops->used, size);
  drops->size += size;
}

static fc_status_t drops_grow(fc_sink_t *sink, size_t need, fc_error_t *err) {
  (void)err;
  drops_t *drops = (drops_t *)sink;
  drops_take(drops);
  size_t size = need > drops->least ? need : drops->least;
  assert_true(size <= sizeof drops->span);
  drops->used = sink->cursor = drops->span;
  sink->end = drops->span + size;
  return FC_OK;
}

static void drops_init(drops_t *drops, size_t least) {
  *drops = (drops_t){.least = least};
  drops->sink = (fc_sink_t){drops->span, drops->span, drops_grow};
  drops->used = drops->span;
}

// ---------------------------------------------------------------------------
// Strings

typedef struct string_row_t {
  const char *name;
  fc_str_t text;
  const char *json;
} string_row_t;

static const string_row_t string_rows[] = {
    {"empty", {"", 0}, "\"\""},
    {"plain", {"abc", 3}, "\"abc\""},
    {"quote and backslash", {"a\"b\\c", 5}, "\"a\\\"b\\\\c\""},
    {"short escapes", {"\b\f\n\r\t", 5}, "\"\\b\\f\\n\\r\\t\""},
    {"controls", {"\0\x1F\x7F", 3}, "\"\\u0000\\u001f\x7F\""},
    {"slash", {"/", 1}, "\"/\""},
    {"UTF-8",
     {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9},
     "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
    {"bad byte",
     {"a\xFF"
      "b",
      3},
     "\"a\xEF\xBF\xBD"
     "b\""},
    {"cut sequence", {"a\xE2\x82", 3}, "\"a\xEF\xBF\xBD\xEF\xBF\xBD\""},
    {"surrogate",
     {"\xED\xA0\x80", 3},
     "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
};

static void strings_are_escaped(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const string_row_t, row, string_rows) {
    for (size_t least = 1; least < 24; least++) {
      drops_t drops;
      fc_error_t err;
      drops_init(&drops, least);
      assert_int_equal(fc_json_write_string(&drops.sink, row->text, &err),
                       FC_OK);
      drops_take(&drops);
      assert_int_equal(drops.size, strlen(row->json));
      assert_memory_equal(drops.text, row->json, drops.size);
    }
    bool valid = !strstr(row->json, "\xEF\xBF\xBD");
    assert_int_equal(fc_utf8_is_valid(row->text), valid);
  }
}

// Characters are read back unchanged, whether they were escaped or written as UTF-8.
static void strings_come_back(void **state) {
  (void)state;
  for (uint32_t scalar = 0; scalar < 0x110000;
       scalar += scalar < 0x3000 ? 1 : 61) {
    if (scalar >= 0xD800 && scalar < 0xE000) continue;
    char escaped[32], plain[16], back[64];
    if (scalar < 0x10000) {
      snprintf(escaped, sizeof escaped, "\"\\u%04x\"", scalar);
    } else {
      snprintf(escaped, sizeof escaped, "\"\\u%04x\\u%04x\"",
               0xD800 + ((scalar - 0x10000) >> 10),
               0xDC00 + ((scalar - 0x10000) & 0x3FF));
    }
    fc_json_reader_t reader;
    fc_json_token_t token;
    fc_error_t err;
    fc_json_reader_init(&reader, 1, 1);
    fc_json_reader_feed(&reader, escaped, strlen(escaped), true);
    assert_int_equal(fc_json_next(&reader, &token, &err), FC_OK);
    fc_str_t text = {plain, fc_json_unescape(reader.text, plain)};

    fixed_t fixed;
    fixed_init(&fixed, sizeof fixed.data);
    assert_int_equal(fc_json_write_string(&fixed.sink, text, &err), FC_OK);
    size_t size = (size_t)(fixed.sink.cursor - fixed.data);
    fc_json_reader_init(&reader, 1, 1);
    fc_json_reader_feed(&reader, fixed.data, size, true);
    assert_int_equal(fc_json_next(&reader, &token, &err), FC_OK);
    assert_int_equal(fc_json_unescape(reader.text, back), text.size);
    assert_memory_equal(back, plain, text.size);
  }
}

// ---------------------------------------------------------------------------
// Base64: the vectors of RFC 4648, section 10, and what must be refused

typedef struct base64_row_t {
  const char *name;
  const char *plain;  // NULL: refused
  const char *text;
} base64_row_t;

static const base64_row_t base64_rows[] = {
    {"empty", "", ""},
    {"f", "f", "Zg=="},
    {"fo", "fo", "Zm8="},
    {"foo", "foo", "Zm9v"},
    {"foob", "foob", "Zm9vYg=="},
    {"fooba", "fooba", "Zm9vYmE="},
    {"foobar", "foobar", "Zm9vYmFy"},
    {"plus and slash", "\xFB\xEF\xFF", "++//"},
    {"no padding", NULL, "Zg"},
    {"half the padding", NULL, "Zg="},
    {"padding alone", NULL, "===="},
    {"padding inside", NULL, "Zg==Zg=="},
    {"three paddings", NULL, "Z==="},
    {"space", NULL, "Zm9v Zm9"},
    {"newline", NULL, "Zm9\n"},
    {"URL alphabet", NULL, "-_-_"},
    {"spare bits of f", NULL, "Zh=="},
    {"spare bits of fo", NULL, "Zm9="},
    {"not ASCII", NULL, "Zm9\xFF"},
    {"one character", NULL, "Z"},
};

static void base64_is_strict(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const base64_row_t, row, base64_rows) {
    uint8_t out[16];
    size_t size = 99;
    fc_error_t err;
    fc_status_t status =
        fc_base64_decode(fc_str(row->text), out, NULL, &size, &err);
    if (!row->plain) {
      assert_int_equal(status, FC_INVALID_ARGUMENT);
      assert_int_equal(err.code, FC_CODE_BASE64);
      assert_int_equal(size, 99);
      continue;
    }
    assert_int_equal(status, FC_OK);
    assert_int_equal(size, strlen(row->plain));
    assert_memory_equal(out, row->plain, size);
    for (size_t least = 1; least < 16; least++) {
      drops_t drops;
      drops_init(&drops, least);
      assert_int_equal(
          fc_json_write_base64(&drops.sink, row->plain, size, &err), FC_OK);
      drops_take(&drops);
      char wanted[32];
      snprintf(wanted, sizeof wanted, "\"%s\"", row->text);
      assert_int_equal(drops.size, strlen(wanted));
      assert_memory_equal(drops.text, wanted, drops.size);
    }
  }
}

static void base64_of_every_length_comes_back(void **state) {
  (void)state;
  uint8_t data[256], back[256];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 167 + 13);
  for (size_t size = 0; size < sizeof data; size++) {
    fixed_t fixed;
    fc_error_t err;
    fixed_init(&fixed, sizeof fixed.data);
    assert_int_equal(fc_json_write_base64(&fixed.sink, data, size, &err),
                     FC_OK);
    size_t length = (size_t)(fixed.sink.cursor - fixed.data) - 2;
    assert_int_equal(length, (size + 2) / 3 * 4);
    size_t got = 0;
    assert_int_equal(fc_base64_decode(fc_str_make(fixed.data + 1, length), back,
                                      NULL, &got, &err),
                     FC_OK);
    assert_int_equal(got, size);
    assert_memory_equal(back, data, size);
  }
}

// ---------------------------------------------------------------------------
// Arrays

typedef struct array_row_t {
  const char *name;
  fc_dtype_t dtype;
  int32_t rank;
  int64_t shape[4];
  const int64_t *strides;
  size_t offset;  // of element (0,…,0), in elements
  bool int_strings;
  const char *json;
} array_row_t;

static const int64_t transposed[] = {1, 3};
static const int64_t reversed[] = {-3, -1};
static const int64_t broadcast[] = {0, 1};
static const int64_t column[] = {3};
static const int64_t enormous[] = {INT64_C(1) << 62, INT64_C(1) << 62, 1};

// Each row is a view of the elements 0, 1, 2, …
static const array_row_t array_rows[] = {
    {"rank 0", FC_DTYPE_I32, 0, {0}, NULL, 5, false, "5"},
    {"rank 0, float", FC_DTYPE_F64, 0, {0}, NULL, 5, false, "5.0"},
    {"rank 1", FC_DTYPE_I32, 1, {3}, NULL, 0, false, "[0,1,2]"},
    {"one", FC_DTYPE_F32, 1, {1}, NULL, 7, false, "[7.0]"},
    {"rank 2",
     FC_DTYPE_F32,
     2,
     {2, 3},
     NULL,
     0,
     false,
     "[[0.0,1.0,2.0],[3.0,4.0,5.0]]"},
    {"rank 3",
     FC_DTYPE_UI8,
     3,
     {2, 2, 2},
     NULL,
     0,
     false,
     "[[[0,1],[2,3]],[[4,5],[6,7]]]"},
    {"rank 4",
     FC_DTYPE_I16,
     4,
     {1, 2, 1, 3},
     NULL,
     0,
     false,
     "[[[[0,1,2]],[[3,4,5]]]]"},
    {"transposed",
     FC_DTYPE_I64,
     2,
     {3, 2},
     transposed,
     0,
     false,
     "[[0,3],[1,4],[2,5]]"},
    {"reversed",
     FC_DTYPE_I64,
     2,
     {2, 3},
     reversed,
     5,
     false,
     "[[5,4,3],[2,1,0]]"},
    {"broadcast",
     FC_DTYPE_I8,
     2,
     {3, 2},
     broadcast,
     4,
     false,
     "[[4,5],[4,5],[4,5]]"},
    {"column", FC_DTYPE_F64, 1, {3}, column, 1, false, "[1.0,4.0,7.0]"},
    {"quoted", FC_DTYPE_I64, 2, {1, 2}, NULL, 3, true, "[[\"3\",\"4\"]]"},
    {"quoted index", FC_DTYPE_INDEX, 0, {0}, NULL, 3, true, "\"3\""},
    {"not quoted", FC_DTYPE_I32, 1, {2}, NULL, 3, true, "[3,4]"},
    {"empty", FC_DTYPE_F32, 1, {0}, NULL, 0, false, "[]"},
    {"empty rows", FC_DTYPE_F32, 2, {2, 0}, NULL, 0, false, "[[],[]]"},
    {"no rows", FC_DTYPE_F32, 2, {0, 3}, NULL, 0, false, "[]"},
    {"empty in the middle",
     FC_DTYPE_F32,
     3,
     {2, 0, 3},
     NULL,
     0,
     false,
     "[[],[]]"},
    {"no rows, the others large",
     FC_DTYPE_F64,
     3,
     {0, INT64_C(1) << 62, 8},
     NULL,
     0,
     false,
     "[]"},
    {"no rows, steps large",
     FC_DTYPE_F64,
     3,
     {2, 0, 8},
     enormous,
     0,
     false,
     "[[],[]]"},
    {"booleans", FC_DTYPE_I1, 1, {3}, NULL, 0, false, "[false,true,true]"},
};

// Writes the element `value` of any dtype that the rows use.
static void store(fc_dtype_t dtype, size_t value, char *at) {
  double wide = (double)value;
  float single = (float)value;
  if (dtype == FC_DTYPE_F64) memcpy(at, &wide, 8);
  else if (dtype == FC_DTYPE_F32) memcpy(at, &single, 4);
  else memcpy(at, &value, fc_dtype_size(dtype));
}

static void arrays_follow_their_strides(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const array_row_t, row, array_rows) {
    const size_t size = fc_dtype_size(row->dtype);
    char data[8 * 16];
    for (size_t i = 0; i < 8; i++) store(row->dtype, i, data + i * size);
    const bool empty = row->rank && strstr(row->json, "[]");
    const void *first = empty ? NULL : data + row->offset * size;
    for (size_t least = 1; least < 80; least++) {
      drops_t drops;
      fc_error_t err;
      drops_init(&drops, least);
      assert_int_equal(
          fc_json_write_array(&drops.sink, row->dtype, row->rank, row->shape,
                              row->strides, first, row->int_strings, &err),
          FC_OK);
      drops_take(&drops);
      drops.text[drops.size] = '\0';
      assert_string_equal(drops.text, row->json);
    }
  }
}

static const fc_str_t quoted = {"a\"b\n", 4};
#define FORM                                                         \
  "{'text':'%s','sized':'%.*s','empty':'','name':'m.%s','bare':%.*s" \
  ",'i':%d,'u':%u,'l':%ld,'lu':%lu,'z':%zu}%s"
#define FORM_ARGUMENTS                                                       \
  "\"%s'\"", FC_STR_ARG(quoted), "f", 2, "[]x", INT_MIN, UINT_MAX, LONG_MIN, \
      ULONG_MAX, (size_t)7, ""

static void a_form_reads_as_the_document(void **state) {
  (void)state;
  static const char kDocument[] =
      "{\"text\":\"\\\"%s'\\\"\",\"sized\":\"a\\\"b\\n\",\"empty\":\"\","
      "\"name\":\"m.f\",\"bare\":[],\"i\":-2147483648,\"u\":4294967295,"
      "\"l\":-9223372036854775808,\"lu\":18446744073709551615,\"z\":7}";
  fc_error_t err;
  for (size_t least = 1; least < 80; least++) {
    drops_t drops;
    drops_init(&drops, least);
    assert_int_equal(fc_json_print(&drops.sink, &err, FORM, FORM_ARGUMENTS),
                     FC_OK);
    drops_take(&drops);
    assert_int_equal(drops.size, sizeof kDocument - 1);
    assert_memory_equal(drops.text, kDocument, drops.size);
  }
  for (size_t less = 0; less < sizeof kDocument - 1; less++) {
    fixed_t exact;
    fixed_init(&exact, less);
    exact.data[less] = '#';
    assert_int_equal(fc_json_print(&exact.sink, &err, FORM, FORM_ARGUMENTS),
                     FC_RESOURCE_EXHAUSTED);
    assert_int_equal(exact.data[less], '#');
  }
}

// A block that just holds the text is large enough. With one byte less, writing fails.
static void a_limit_is_met_to_the_byte(void **state) {
  (void)state;
  float data[40];
  for (size_t i = 0; i < 40; i++) data[i] = (float)i / 3;
  const int64_t shape[] = {4, 10};
  fixed_t fixed;
  fc_error_t err;
  fixed_init(&fixed, sizeof fixed.data);
  assert_int_equal(fc_json_write_array(&fixed.sink, FC_DTYPE_F32, 2, shape,
                                       NULL, data, false, &err),
                   FC_OK);
  size_t size = (size_t)(fixed.sink.cursor - fixed.data);
  fixed_t exact;
  fixed_init(&exact, size);
  assert_int_equal(fc_json_write_array(&exact.sink, FC_DTYPE_F32, 2, shape,
                                       NULL, data, false, &err),
                   FC_OK);
  assert_memory_equal(exact.data, fixed.data, size);
  for (size_t less = 0; less < size; less++) {
    fixed_init(&exact, less);
    exact.data[less] = '#';
    assert_int_equal(fc_json_write_array(&exact.sink, FC_DTYPE_F32, 2, shape,
                                         NULL, data, false, &err),
                     FC_RESOURCE_EXHAUSTED);
    assert_int_equal(err.code, FC_CODE_RESULT_TOO_LARGE);
    assert_int_equal(exact.data[less], '#');
  }
}

static fc_status_t write_much(fc_allocator_t allocator, void *context,
                              fc_error_t *err) {
  (void)context;
  fc_text_t text;
  fc_text_init(&text, allocator, SIZE_MAX);
  double data[500] = {0};
  const int64_t shape[] = {5, 100};
  fc_status_t status = fc_json_write_array(&text.sink, FC_DTYPE_F64, 2, shape,
                                           NULL, data, false, err);
  if (!status) status = fc_json_write_string(&text.sink, FC_STR("a\nb"), err);
  if (!status) status = fc_json_write_i64(&text.sink, INT64_MIN, err);
  if (!status) status = fc_json_write_u64(&text.sink, UINT64_MAX, err);
  fc_text_deinit(&text);
  return status;
}

static void writing_survives_failing_allocations(void **state) {
  (void)state;
  assert_true(fc_test_allocation_sweep(write_much, NULL) > 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(strings_are_escaped),
      FC_TEST(strings_come_back),
      FC_TEST(base64_is_strict),
      FC_TEST(base64_of_every_length_comes_back),
      FC_TEST(arrays_follow_their_strides),
      FC_TEST(a_form_reads_as_the_document),
      FC_TEST(a_limit_is_met_to_the_byte),
      FC_TEST(writing_survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
