// SPDX-License-Identifier: Apache-2.0
//
// Every class of JSON document, right and wrong, as a whole body and as a value in a
// body. A wrong one must be refused at any place. A right one must never be called a
// syntax error.
#include "helpers/json_rows.h"

#include <stdlib.h>

#include "helpers/call.h"
#include "helpers/test.h"

typedef struct embed_row_t {
  const char *types;
  const char *head;
  const char *tail;
  // The value is skipped, so only the reader can refuse it. False: an error about the
  // value may come first.
  bool skipped;
} embed_row_t;

static const embed_row_t embeds[] = {
    {"tensor<1xf32> ->", "[{\"data\":", "}]", true},
    {"x: tensor<1xf32> ->", "{\"kwargs\":{\"x\":{\"data\":", "}}}", true},
    {"f64 ->", "", "", false},
    {"any ->", "", "", false},
    {"a: f64, b: [any] ->", "", "", false},
    {"f64 ->", "[", "]", false},
    {"tensor<*xf64> ->", "[", "]", false},
    {"tensor<*xi1> ->", "[", "]", false},
    {"tensor<*xcomplex<f32>> ->", "[", "]", false},
    {"any ->", "[", "]", false},
    {"any ->", "[{\"list\":[null,", "]}]", false},
    {"str ->", "[", "]", false},
    {"bytes ->", "[{\"b64\":", "}]", false},
    {"[str] ->", "[", "]", false},
    {"[[f64]] ->", "[", "]", false},
    {"(null, null, f32) ->", "[", "]", false},
    {"{a: str} ->", "[", "]", false},
    {"ref<?xany> ->", "[", "]", false},
    {"tensor<?xf32> ->", "[{\"shape\":", ",\"data\":[]}]", false},
    {"tensor<?xf32> ->", "[{\"dtype\":", ",\"data\":[]}]", false},
    {"->", "{\"options\":", "}", false},
    {"->", "{\"options\":{\"int64\":", "}}", false},
};

static fc_code_t decode_embedded(fc_test_call_t *call, const embed_row_t *embed,
                                 const fc_json_row_t *row) {
  size_t head = strlen(embed->head), tail = strlen(embed->tail);
  size_t size = fc_json_row_size(row);
  char *body = malloc(head + size + tail + 1);
  assert_non_null(body);
  memcpy(body, embed->head, head);
  fc_json_row_write(row, body + head);
  memcpy(body + head + size, embed->tail, tail);
  fc_error_t err = {0};
  fc_status_t status =
      fc_test_call_decode(call, fc_str_make(body, head + size + tail), &err);
  free(body);
  assert_int_equal(status == FC_OK, err.code == FC_CODE_NONE);
  return err.code;
}

// A row with too many or too few braces moves the end of the object around it. Then the
// first error is that this object lacks a member, not the row's error.
static bool moves_the_end(const fc_json_row_t *row) {
  int open = 0;
  for (size_t i = 0; i < row->size; i++) {
    open += (row->bytes[i] == '{') - (row->bytes[i] == '}');
  }
  return open != 0;
}

static void check_rows(const embed_row_t *embed, const fc_json_row_t *rows,
                       size_t count) {
  fc_test_call_t call;
  fc_test_call_init(&call, embed->types, NULL);
  for (size_t i = 0; i < count && fc_test_row(rows[i].name); i++) {
    fc_code_t code = decode_embedded(&call, embed, &rows[i]);
    bool syntax = code == FC_CODE_JSON_SYNTAX || code == FC_CODE_JSON_TOO_DEEP;
    if (rows[i].verdict == FC_CODE_NONE) {
      assert_false(syntax);
    } else if (embed->skipped && !moves_the_end(&rows[i])) {
      assert_int_equal(code, rows[i].verdict);
    } else {
      assert_int_not_equal(code, FC_CODE_NONE);
    }
  }
  fc_test_row(NULL);
  fc_test_call_deinit(&call);
}

static void rows_get_their_verdict(void **state) {
  (void)state;
  for (size_t i = 0; i < FC_ARRAY_COUNT(embeds); i++) {
    check_rows(&embeds[i], fc_json_valid_rows,
               FC_ARRAY_COUNT(fc_json_valid_rows));
    check_rows(&embeds[i], fc_json_wrong_rows,
               FC_ARRAY_COUNT(fc_json_wrong_rows));
    check_rows(&embeds[i], fc_json_open_rows,
               FC_ARRAY_COUNT(fc_json_open_rows));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(rows_get_their_verdict),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
