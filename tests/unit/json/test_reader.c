// SPDX-License-Identifier: Apache-2.0
//
// The pull reader: tokens, mistakes and their places, escapes, pointers, the
// bulk path, documents that arrive in pieces.
#include "helpers/test.h"

#include <stdlib.h>

#include "json/number.h"
#include "json/reader.h"

// ---------------------------------------------------------------------------
// Tokens

// One letter a token, in the order of the enumeration; $ is the end.
static const char kLetters[] = "$?nft1\":[]{}";

typedef struct token_row_t {
  const char *name;
  const char *text;
  const char *tokens;
} token_row_t;

static const token_row_t token_rows[] = {
    {"null", "null", "n$"},
    {"spaces", " \t\r\n true \n", "t$"},
    {"number", "-0.5e+3", "1$"},
    {"string", "\"\"", "\"$"},
    {"empty array", "[ ]", "[]$"},
    {"empty object", "{ }", "{}$"},
    {"nested", "[[],{\"a\":[1,false]},2]", "[[]{:[1f]}1]$"},
    {"members", "{\"a\" : 1 , \"b\" : \"x\"}", "{:1:\"}$"},
    {"escapes", "[\"\\u00e9\\ud83d\\ude00\\n\",\"\xC3\xA9\xF0\x9F\x98\x80\"]",
     "[\"\"]$"},
};

// Feeds the text in two pieces, each an exact copy, so that a read past its end
// shows.
static void read_tokens(const char *text, size_t split, char *out) {
  size_t size = strlen(text), count = 0;
  fc_json_reader_t reader;
  fc_json_reader_init(&reader, FC_JSON_DEPTH_MAX, 100);
  char *piece = malloc(split + 1);
  piece = realloc(piece, split ? split : 1);
  memcpy(piece, text, split);
  fc_json_reader_feed(&reader, piece, split, split == size);
  for (fc_json_token_t token = FC_JSON_NULL; token != FC_JSON_END;) {
    fc_error_t err;
    if (fc_json_next(&reader, &token, &err)) fail_msg("%s", err.message);
    if (token != FC_JSON_NEED_MORE) {
      out[count++] = kLetters[token];
      continue;
    }
    size_t taken = (size_t)reader.base + (size_t)(reader.cursor - reader.begin);
    free(piece);
    piece = malloc(size - taken ? size - taken : 1);
    memcpy(piece, text + taken, size - taken);
    fc_json_reader_feed(&reader, piece, size - taken, true);
  }
  out[count] = '\0';
  free(piece);
}

static void tokens_are_the_same_in_one_piece_or_two(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const token_row_t, row, token_rows) {
    for (size_t split = 0; split <= strlen(row->text); split++) {
      char tokens[64];
      read_tokens(row->text, split, tokens);
      assert_string_equal(tokens, row->tokens);
    }
  }
}

static void elements_are_read_in_bulk(void **state) {
  (void)state;
  fc_json_reader_t reader;
  fc_json_reader_init(&reader, FC_JSON_DEPTH_MAX, 100);
  fc_str_t text = FC_STR("[1.5, -2,\"NaN\",1e2 ]");
  fc_json_reader_feed(&reader, text.data, text.size, true);
  fc_json_token_t token;
  fc_error_t err;
  float out[8];
  size_t count;
  assert_int_equal(fc_json_next(&reader, &token, &err), FC_OK);
  assert_int_equal(fc_json_read_elements(&reader, FC_DTYPE_F32, out, 8, &count,
                                         &token, &err),
                   FC_OK);
  assert_int_equal(count, 4);
  assert_int_equal(token, FC_JSON_ARRAY_END);
  assert_true(out[0] == 1.5f && out[1] == -2.0f && out[3] == 100.0f);
  assert_true(out[2] != out[2]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(tokens_are_the_same_in_one_piece_or_two),
      FC_TEST(elements_are_read_in_bulk),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
