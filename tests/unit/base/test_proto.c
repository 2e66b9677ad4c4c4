// SPDX-License-Identifier: Apache-2.0
//
// Valid bytes are as Google's protobuf for Python writes them. Invalid ones are those
// that the documentation of the encoding forbids.
#include "base/proto.h"

#include <stddef.h>

#include "helpers/test.h"

#define BYTES(text) fc_str_make(text, sizeof(text) - 1)

static void fields_are_read_one_by_one(void **state) {
  (void)state;
  const struct {
    fc_str_t message;
    fc_proto_field_t field;
  } rows[] = {
      {BYTES("\x08\x96\x01"), {.number = 1, .value = 150}},
      {BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
       {.number = 1, .value = UINT64_MAX}},
      {BYTES("\x08\x80\x00"), {.number = 1}},  // longer than it need be
      {BYTES("\xf8\xff\xff\xff\x0f\x01"),
       {.number = (1u << 29) - 1, .value = 1}},
      {BYTES("\x11\1\2\3\4\5\6\7\x08"),
       {.number = 2, .type = FC_PROTO_FIXED64, .value = 0x0807060504030201}},
      {BYTES("\x1d\1\2\3\4"),
       {.number = 3, .type = FC_PROTO_FIXED32, .value = 0x04030201}},
      {BYTES("\x22\0"), {.number = 4, .type = FC_PROTO_BYTES}},
      {BYTES("\x22\2hi"),
       {.number = 4, .type = FC_PROTO_BYTES, .bytes = FC_STR("hi")}},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_proto_t proto = fc_proto_begin(rows[i].message);
    fc_proto_field_t field;
    bool more;
    assert_int_equal(fc_proto_next(&proto, &field, &more, NULL), FC_OK);
    assert_true(more);
    assert_int_equal(field.number, rows[i].field.number);
    assert_int_equal(field.type, rows[i].field.type);
    assert_true(field.value == rows[i].field.value);
    assert_true(fc_str_equal(field.bytes, rows[i].field.bytes));
    assert_int_equal(fc_proto_next(&proto, &field, &more, NULL), FC_OK);
    assert_false(more);
  }
}

static void what_is_no_message_is_refused_where_it_is_wrong(void **state) {
  (void)state;
  const struct {
    fc_str_t message;
    uint64_t offset;
    const char *says;
  } rows[] = {
      {BYTES("\x08\1\x08"), 2, "cut off in a field"},
      {BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), 0, "cut off"},
      {BYTES("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), 0, "cut off"},
      {BYTES("\x08\1\x80"), 2, "no field here"},
      {BYTES("\0\1"), 0, "no field here"},                    // number 0
      {BYTES("\x80\x80\x80\x80\x10\1"), 0, "no field here"},  // 2^29
      {BYTES("\x0b\x0c"), 0, "a group"},
      {BYTES("\x0e\1"), 0, "a group"},  // type 6
      {BYTES("\x11\1\2\3\4\5\6\7"), 0, "cut off"},
      {BYTES("\x1d\1\2\3"), 0, "cut off"},
      {BYTES("\x22\3hi"), 0, "cut off"},
      {BYTES("\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0, "cut off"},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(rows); i++) {
    fc_error_t err;
    uint64_t value;
    const fc_proto_row_t row = {1, FC_PROTO_VALUE, 0};
    fc_error_reset(&err);
    assert_int_equal(fc_proto_read(rows[i].message, &row, 1, &value, &err),
                     FC_INVALID_ARGUMENT);
    assert_int_equal(err.code, FC_CODE_BINARY_FRAMING);
    assert_true(err.byte_offset == rows[i].offset);
    if (!strstr(err.message, rows[i].says)) fail_msg("%zu: %s", i, err.message);
  }
}

typedef struct pair_t {
  fc_str_t text;
  uint64_t value;
} pair_t;
static const fc_proto_row_t kPair[] = {
    {1, FC_PROTO_TEXT, offsetof(pair_t, text)},
    {2, FC_PROTO_VALUE, offsetof(pair_t, value)}};

static void members_are_filled_in_by_rows(void **state) {
  (void)state;
  pair_t pair = {0};
  // An unknown field in between is skipped; of a field that is there twice the last
  // counts.
  assert_int_equal(
      fc_proto_read(BYTES("\x0a\1a\x12\1?\x10\7"), kPair, 1, &pair, NULL),
      FC_OK);
  assert_true(fc_str_equal(pair.text, FC_STR("a")));
  assert_int_equal(fc_proto_read(BYTES("\x10\7\x0a\1a\x1a\1?\x0a\1b\x10\x08"),
                                 kPair, 2, &pair, NULL),
                   FC_OK);
  assert_true(fc_str_equal(pair.text, FC_STR("b")));
  assert_int_equal(pair.value, 8);
  assert_int_equal(fc_proto_read(BYTES("\x08\1"), kPair, 2, &pair, NULL),
                   FC_INVALID_ARGUMENT);
  assert_int_equal(fc_proto_read(BYTES("\x12\1a"), kPair, 2, &pair, NULL),
                   FC_INVALID_ARGUMENT);
}

static void what_is_written_is_read(void **state) {
  (void)state;
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), 1 << 16);
  for (int shift = 0; shift < 64; shift++) {
    const uint64_t value = (uint64_t)1 << shift;
    pair_t pair = {0};
    fc_text_reset(&text);
    assert_int_equal(fc_proto_put_text(&text.sink, 1, FC_STR("x"), NULL),
                     FC_OK);
    assert_int_equal(fc_proto_put_value(&text.sink, 2, value, NULL), FC_OK);
    const fc_str_t written = fc_text_str(&text);
    assert_int_equal(written.size,
                     fc_proto_bytes_size(1, 1) + fc_proto_value_size(2, value));
    assert_int_equal(fc_proto_read(written, kPair, 2, &pair, NULL), FC_OK);
    assert_true(pair.value == value);
  }
  fc_text_reset(&text);
  assert_int_equal(fc_proto_put_text(&text.sink, 1, FC_STR(""), NULL), FC_OK);
  assert_int_equal(fc_proto_put_value(&text.sink, 2, 0, NULL), FC_OK);
  assert_int_equal(fc_text_str(&text).size, 0);
  fc_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields_are_read_one_by_one),
      cmocka_unit_test(what_is_no_message_is_refused_where_it_is_wrong),
      cmocka_unit_test(members_are_filled_in_by_rows),
      cmocka_unit_test(what_is_written_is_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
