// SPDX-License-Identifier: Apache-2.0
//
// The pull reader: tokens, mistakes and where they are, escapes, pointers, bulk reads,
// documents that arrive in pieces.
#include "helpers/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "helpers/json_rows.h"
#include "json/number.h"
#include "json/reader.h"

// ---------------------------------------------------------------------------
// Tokens

// One letter for each token, in the order of the enumeration; $ is the end.
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

// Feeds the text in two pieces. Each is a copy of exact size, so that a read past its
// end is noticed.
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

// ---------------------------------------------------------------------------
// Whole documents

// A copy of exact size, so that the address sanitizer sees a read past the end.
static char *copy_of(fc_str_t text) {
  char *copy = malloc(text.size ? text.size : 1);
  if (text.size) memcpy(copy, text.data, text.size);
  return copy;
}

static fc_code_t read_all(fc_str_t text, size_t split, fc_error_t *err) {
  fc_json_reader_t reader;
  fc_json_reader_init(&reader, FC_JSON_DEPTH_MAX, 100);
  char *piece = copy_of(fc_str_make(text.data, split));
  fc_json_reader_feed(&reader, piece, split, split == text.size);
  fc_json_token_t token = FC_JSON_NULL;
  fc_error_reset(err);
  while (token != FC_JSON_END && fc_json_next(&reader, &token, err) == FC_OK) {
    if (token != FC_JSON_NEED_MORE) continue;
    size_t taken = (size_t)reader.base + (size_t)(reader.cursor - reader.begin);
    fc_str_t rest = {text.data + taken, text.size - taken};
    free(piece);
    piece = copy_of(rest);
    fc_json_reader_feed(&reader, piece, rest.size, true);
  }
  free(piece);
  return err->code;
}

static void check_row(const fc_json_row_t *row) {
  fc_str_t text = {malloc(fc_json_row_size(row) + 1), fc_json_row_size(row)};
  fc_json_row_write(row, (char *)(uintptr_t)text.data);
  fc_error_t whole, parts;
  assert_int_equal(read_all(text, text.size, &whole), row->verdict);
  // The verdict and its offset do not depend on how the text is cut into pieces.
  for (size_t split = 0; split < text.size && split < 200; split++) {
    assert_int_equal(read_all(text, split, &parts), row->verdict);
    assert_int_equal(parts.byte_offset, whole.byte_offset);
  }
  free((void *)(uintptr_t)text.data);
}

static void every_class_of_document_has_its_verdict(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const fc_json_row_t, row, fc_json_valid_rows) check_row(row);
  FC_TEST_EACH_ROW(const fc_json_row_t, row, fc_json_wrong_rows) check_row(row);
  FC_TEST_EACH_ROW(const fc_json_row_t, row, fc_json_open_rows) check_row(row);
}

// No prefix of a valid document is valid, unless the document is a bare number.
static void no_prefix_is_valid(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const fc_json_row_t, row, fc_json_valid_rows) {
    size_t size = row->size;
    while (size && strchr(" \t\r\n", row->bytes[size - 1])) size--;
    bool number =
        row->bytes[0] == '-' || (row->bytes[0] >= '0' && row->bytes[0] <= '9');
    for (size_t end = 0; end < size && !number; end++) {
      fc_error_t err;
      fc_str_t prefix = {row->bytes, end};
      assert_int_equal(read_all(prefix, end, &err), FC_CODE_JSON_SYNTAX);
    }
  }
}

// ---------------------------------------------------------------------------
// Mistakes and their offsets

typedef struct mistake_row_t {
  const char *name;
  const char *text;
  fc_code_t code;
  uint64_t offset;
  const char *pointer;
  const char *message;  // a part of it
} mistake_row_t;

static const mistake_row_t mistake_rows[] = {
    {"empty", "", FC_CODE_JSON_SYNTAX, 0, "", "the document is empty"},
    {"mark", "\xEF\xBB\xBF[]", FC_CODE_JSON_SYNTAX, 0, "", "byte order mark"},
    {"nan", "{\"a\":[1,NaN]}", FC_CODE_JSON_SYNTAX, 8, "/a/1",
     "JSON has no bare NaN: write \"NaN\""},
    {"infinity", "[-Infinity]", FC_CODE_JSON_SYNTAX, 1, "/0",
     "no bare -Infinity: write \"-Infinity\""},
    {"value", "[1,2,]", FC_CODE_JSON_SYNTAX, 5, "/2",
     "unexpected ']' where a value is expected"},
    {"comma", "{\"a\":{\"b\":1 2}}", FC_CODE_JSON_SYNTAX, 12, "/a/b",
     "unexpected '2' where ',' or '}' is expected"},
    {"key", "{\"a\":1,b:2}", FC_CODE_JSON_SYNTAX, 7, "/a", "a key in quotes"},
    {"colon", "{\"a\"=1}", FC_CODE_JSON_SYNTAX, 4, "/a",
     "unexpected '=' where ':' is expected"},
    {"trailing", "[] []", FC_CODE_JSON_SYNTAX, 3, "",
     "where the end of the document is expected"},
    {"cut", "[[1],[2", FC_CODE_JSON_SYNTAX, 7, "/1/0",
     "the document ends where ',' or ']' is expected"},
    {"zero", "[[1,2],[3,04]]", FC_CODE_JSON_SYNTAX, 11, "/1/1",
     "unexpected '4' where no digit after a leading 0"},
    {"fraction", "[1.]", FC_CODE_JSON_SYNTAX, 3, "/0", "a digit is expected"},
    {"word", "[tru]", FC_CODE_JSON_SYNTAX, 1, "/0", "unexpected 'tru'"},
    {"quote", "[\"abc]", FC_CODE_JSON_SYNTAX, 1, "/0", "closing quote"},
    {"utf-8", "[\"a\xFF\"]", FC_CODE_JSON_SYNTAX, 3, "/0",
     "'\\xff' in a string is not UTF-8"},
    {"surrogate", "[\"a\\ud800\"]", FC_CODE_JSON_SYNTAX, 3, "/0",
     "begins a lone surrogate"},
    {"a pair that ends above", "[\"\\ud800\\ue000\"]", FC_CODE_JSON_SYNTAX, 2,
     "/0", "begins a lone surrogate"},
    {"a pair that ends below", "[\"\\ud800\\udbff\"]", FC_CODE_JSON_SYNTAX, 2,
     "/0", "begins a lone surrogate"},
    {"escape", "[\"\\q\"]", FC_CODE_JSON_SYNTAX, 2, "/0", "is no escape"},
    {"hex", "[\"\\u12g4\"]", FC_CODE_JSON_SYNTAX, 6, "/0",
     "'g' in a string is no hexadecimal digit"},
    {"control", "[\"\t\"]", FC_CODE_JSON_SYNTAX, 2, "/0",
     "'\\x09' in a string is a control character"},
    {"the last control", "[\"\x1f\"]", FC_CODE_JSON_SYNTAX, 2, "/0",
     "'\\x1f' in a string is a control character"},
    {"deep", "[[[[[[]]]]]]", FC_CODE_JSON_TOO_DEEP, 5, "/0/0/0/0/0",
     "nested deeper than 5 levels"},
    {"keys", "[{\"a\":1,\"b\":2,\"c\":3,\"d\":4}]", FC_CODE_JSON_TOO_MANY_KEYS,
     20, "/0/c", "more than 3 members"},
    {"pointer", "{\"a/b~c\":{\"\\u0064\\n\":[0,[x]]}}", FC_CODE_JSON_SYNTAX, 25,
     "/a~1b~0c/d\n/1/0", "unexpected 'x'"},
};

static void mistakes_have_a_place(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const mistake_row_t, row, mistake_rows) {
    fc_str_t text = fc_str(row->text);
    char *copy = copy_of(text);
    fc_json_reader_t reader;
    fc_json_reader_init(&reader, 5, 3);
    fc_json_reader_feed(&reader, copy, text.size, true);
    fc_json_token_t token = FC_JSON_NULL;
    fc_error_t err;
    fc_error_reset(&err);
    while (token != FC_JSON_END && !fc_json_next(&reader, &token, &err)) {
    }
    free(copy);
    assert_int_equal(err.code, row->code);
    assert_string_equal(err.pointer, row->pointer);
    assert_int_equal(err.byte_offset, row->offset);
    if (!strstr(err.message, row->message)) fail_msg("%s", err.message);
    assert_true(err.has_pointer);
  }
}

// ---------------------------------------------------------------------------
// Strings and pointers

typedef struct string_row_t {
  const char *name;
  const char *raw;
  fc_str_t plain;
} string_row_t;

static const string_row_t string_rows[] = {
    {"empty", "", {"", 0}},
    {"plain", "abc", {"abc", 3}},
    {"short escapes", "\\\"\\\\\\/\\b\\f\\n\\r\\t", {"\"\\/\b\f\n\r\t", 8}},
    {"one byte", "\\u0041x", {"Ax", 2}},
    {"NUL", "\\u0000", {"\0", 1}},
    {"two bytes", "\\u00e9\\u07FF", {"\xC3\xA9\xDF\xBF", 4}},
    {"three bytes", "\\u0800\\uFFFF", {"\xE0\xA0\x80\xEF\xBF\xBF", 6}},
    {"pair", "\\ud83d\\ude00", {"\xF0\x9F\x98\x80", 4}},
    {"last pair", "\\uDBFF\\uDFFF", {"\xF4\x8F\xBF\xBF", 4}},
    {"raw UTF-8", "\xF0\x9F\x98\x80\\n", {"\xF0\x9F\x98\x80\n", 5}},
};

static void strings_are_unescaped(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const string_row_t, row, string_rows) {
    char document[64], plain[64];
    int size = snprintf(document, sizeof document, "\"%s\"", row->raw);
    fc_json_reader_t reader;
    fc_json_reader_init(&reader, 1, 1);
    fc_json_reader_feed(&reader, document, (size_t)size, true);
    fc_json_token_t token;
    fc_error_t err;
    assert_int_equal(fc_json_next(&reader, &token, &err), FC_OK);
    assert_int_equal(token, FC_JSON_STRING);
    assert_int_equal(reader.escaped, strchr(row->raw, '\\') != NULL);
    size_t length = fc_json_unescape(reader.text, plain);
    assert_int_equal(length, row->plain.size);
    assert_memory_equal(plain, row->plain.data, length);
    assert_true(fc_json_text_is(&reader, row->plain));
    assert_false(fc_json_text_is(&reader, FC_STR("abcd")));
    fc_str_t shorter = {row->plain.data, row->plain.size - 1};
    if (row->plain.size) assert_false(fc_json_text_is(&reader, shorter));
    if (row->plain.size) assert_false(fc_json_text_is(&reader, FC_STR("")));
  }
}

static void pointers_are_cut_between_characters(void **state) {
  (void)state;
  fc_json_reader_t reader;
  fc_json_reader_init(&reader, 8, 8);
  fc_str_t text = FC_STR("{\"\xC3\xA9\xC3\xA9~\\u0000\":[0,0,0]}");
  fc_json_reader_feed(&reader, text.data, text.size, true);
  fc_json_token_t token;
  fc_error_t err;
  for (int i = 0; i < 5; i++) {
    assert_int_equal(fc_json_next(&reader, &token, &err), FC_OK);
  }
  static const char kFull[] = "/\xC3\xA9\xC3\xA9~0\\u0000/1";
  static const size_t cuts[] = {0, 0, 1, 1, 3, 3, 5,  5,
                                7, 7, 7, 7, 7, 7, 13, 14};
  char out[32];
  for (size_t i = 1; i < FC_ARRAY_COUNT(cuts); i++) {
    size_t length = fc_json_pointer(&reader, out, i);
    assert_int_equal(length, cuts[i]);
    assert_int_equal(out[length], '\0');
    assert_memory_equal(out, kFull, length);
  }
  assert_int_equal(fc_json_pointer(&reader, out, sizeof out), sizeof kFull - 1);
  assert_string_equal(out, kFull);
  assert_int_equal(fc_json_pointer(&reader, out, 0), 0);
}

// The result of fc_json_pointer after each token.
static void pointers_follow_the_tokens(void **state) {
  (void)state;
  static const char *const pointers[] = {
      "",      // {
      "/a",    // "a"
      "/a",    // [
      "/a/0",  // 1
      "/a/1",  // {
      "/a/1",  // }
      "/a",    // ]
      "/b",    // "b"
      "/b",    // null
      "",      // }
  };
  fc_json_reader_t reader;
  fc_json_reader_init(&reader, 8, 8);
  fc_str_t text = FC_STR("{\"a\":[1,{}],\"b\":null}");
  fc_json_reader_feed(&reader, text.data, text.size, true);
  for (size_t i = 0; i < FC_ARRAY_COUNT(pointers); i++) {
    fc_json_token_t token;
    fc_error_t err;
    char out[16];
    assert_int_equal(fc_json_next(&reader, &token, &err), FC_OK);
    fc_json_pointer(&reader, out, sizeof out);
    assert_string_equal(out, pointers[i]);
  }
}

static void skipping_ends_behind_the_value(void **state) {
  (void)state;
  fc_json_reader_t reader;
  fc_json_reader_init(&reader, 8, 8);
  fc_str_t text = FC_STR("[{\"a\":[[],{}],\"b\":2},[[3]],4]");
  fc_json_reader_feed(&reader, text.data, text.size, true);
  fc_json_token_t token;
  fc_error_t err;
  assert_int_equal(fc_json_next(&reader, &token, &err), FC_OK);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(fc_json_next(&reader, &token, &err), FC_OK);
    assert_int_equal(fc_json_skip(&reader, token, &err), FC_OK);
  }
  assert_int_equal(token, FC_JSON_NUMBER);
  assert_true(fc_str_equal(reader.text, FC_STR("4")));
  assert_int_equal(fc_json_next(&reader, &token, &err), FC_OK);
  assert_int_equal(token, FC_JSON_ARRAY_END);

  fc_json_reader_init(&reader, 8, 8);
  text = FC_STR("[[1,[2,}]]");
  fc_json_reader_feed(&reader, text.data, text.size, true);
  assert_int_equal(fc_json_next(&reader, &token, &err), FC_OK);
  assert_int_equal(fc_json_skip(&reader, token, &err), FC_INVALID_ARGUMENT);
  assert_int_equal(err.byte_offset, 7);
  assert_string_equal(err.pointer, "/0/1/1");
}

// ---------------------------------------------------------------------------
// Elements

typedef struct element_row_t {
  const char *name;
  fc_dtype_t dtype;
  const char *text;  // of an array, after its [
  size_t capacity;
  size_t count;
  fc_json_token_t stop;
  const char *values;  // the elements that were read, printed
} element_row_t;

static const element_row_t element_rows[] = {
    {"none", FC_DTYPE_F32, " ]", 4, 0, FC_JSON_ARRAY_END, ""},
    {"none wanted", FC_DTYPE_F32, "]", 0, 0, FC_JSON_ARRAY_END, ""},
    {"one too many", FC_DTYPE_F32, "1]", 0, 0, FC_JSON_NUMBER, ""},
    {"spaces", FC_DTYPE_I32, " 1 ,\n2\t, -3 ]", 4, 3, FC_JSON_ARRAY_END,
     "1,2,-3"},
    {"full", FC_DTYPE_I32, "1,2,3]", 3, 3, FC_JSON_ARRAY_END, "1,2,3"},
    {"more", FC_DTYPE_I32, "1,2,3,4]", 3, 3, FC_JSON_NUMBER, "1,2,3"},
    {"more, as text", FC_DTYPE_F32, "1,\"NaN\"]", 1, 1, FC_JSON_NUMBER, "1.0"},
    {"an array", FC_DTYPE_I32, "1,[2]]", 3, 1, FC_JSON_ARRAY_BEGIN, "1"},
    {"an object", FC_DTYPE_F64, "1,{}]", 3, 1, FC_JSON_OBJECT_BEGIN, "1.0"},
    {"null", FC_DTYPE_F64, "1, null]", 3, 1, FC_JSON_NULL, "1.0"},
    {"a boolean", FC_DTYPE_F64, "1,true]", 3, 1, FC_JSON_TRUE, "1.0"},
    {"text for i32", FC_DTYPE_I32, "1,\"2\"]", 3, 1, FC_JSON_STRING, "1"},
    {"booleans", FC_DTYPE_I1, "true,false,0,1,1.0]", 9, 5, FC_JSON_ARRAY_END,
     "true,false,false,true,true"},
    {"text for i64", FC_DTYPE_I64, "\"9223372036854775807\",\"-\\u0035\",3]", 9,
     3, FC_JSON_ARRAY_END, "9223372036854775807,-5,3"},
    {"text for ui64", FC_DTYPE_UI64, "18446744073709551615,\"7\"]", 9, 2,
     FC_JSON_ARRAY_END, "18446744073709551615,7"},
    {"specials", FC_DTYPE_F16, "\"NaN\",1.5,\"-Infinity\",\"Infinit\\u0079\"]",
     9, 4, FC_JSON_ARRAY_END, "\"NaN\",1.5,\"-Infinity\",\"Infinity\""},
    {"whole values", FC_DTYPE_I8, "1.0,1e2,-128,12.0e1]", 9, 4,
     FC_JSON_ARRAY_END, "1,100,-128,120"},
    {"i4", FC_DTYPE_I4, "7,-8,0]", 9, 3, FC_JSON_ARRAY_END, "7,-8,0"},
    {"f8", FC_DTYPE_F8E4M3FN, "448,-0.0]", 9, 2, FC_JSON_ARRAY_END,
     "450.0,-0.0"},
    {"bf16", FC_DTYPE_BF16, "257,259,-1e-3]", 9, 3, FC_JSON_ARRAY_END,
     "256.0,260.0,-0.001"},
    {"long row", FC_DTYPE_UI8, "1,2,3,4,5,6,7,8,9,10,11,12,255]", 13, 13,
     FC_JSON_ARRAY_END, "1,2,3,4,5,6,7,8,9,10,11,12,255"},
};

// Reads the row in two pieces; the first has `split` bytes.
static void check_elements(const element_row_t *row, size_t split) {
  fc_str_t text = fc_str(row->text);
  char document[96];
  document[0] = '[';
  memcpy(document + 1, text.data, text.size);
  text = fc_str_make(document, text.size + 1);
  char *piece = copy_of(fc_str_make(document, split));
  fc_json_reader_t reader;
  fc_json_reader_init(&reader, 4, 4);
  fc_json_reader_feed(&reader, piece, split, split == text.size);
  fc_json_token_t token;
  fc_error_t err;
  _Alignas(16) char out[16 * 16];
  const size_t size = fc_dtype_size(row->dtype);
  size_t count = 0;
  assert_int_equal(fc_json_next(&reader, &token, &err), FC_OK);
  assert_int_equal(token, FC_JSON_ARRAY_BEGIN);
  for (;;) {
    size_t got;
    if (fc_json_read_elements(&reader, row->dtype, out + count * size,
                              row->capacity - count, &got, &token, &err)) {
      fail_msg("%s", err.message);
    }
    count += got;
    if (token != FC_JSON_NEED_MORE) break;
    size_t taken = (size_t)reader.base + (size_t)(reader.cursor - reader.begin);
    fc_str_t rest = {document + taken, text.size - taken};
    free(piece);
    piece = copy_of(rest);
    fc_json_reader_feed(&reader, piece, rest.size, true);
  }
  assert_int_equal(count, row->count);
  assert_int_equal(token, row->stop);
  char printed[1024];
  *fc_number_print_run(row->dtype, out, (ptrdiff_t)size, count, printed) = '\0';
  assert_string_equal(printed, row->values);
  // What ended the elements was not consumed: it is the next token.
  if (token != FC_JSON_ARRAY_END && split == text.size) {
    assert_int_equal(fc_json_next(&reader, &token, &err), FC_OK);
    char pointer[16], wanted[16];
    fc_json_pointer(&reader, pointer, sizeof pointer);
    snprintf(wanted, sizeof wanted, "/%zu", count);
    assert_string_equal(pointer, wanted);
  }
  free(piece);
}

static void elements_are_read_in_bulk(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const element_row_t, row, element_rows) {
    for (size_t split = 1; split <= strlen(row->text) + 1; split++) {
      check_elements(row, split);
    }
  }
}

typedef struct bad_element_row_t {
  const char *name;
  fc_dtype_t dtype;
  const char *text;
  fc_code_t code;
  uint64_t offset;
  const char *pointer;
} bad_element_row_t;

static const bad_element_row_t bad_element_rows[] = {
    {"i8", FC_DTYPE_I8, "[[1,2],[3,300]]", FC_CODE_OUT_OF_RANGE, 10, "/1/1"},
    {"ui8", FC_DTYPE_UI8, "[[1,2],[3,-1]]", FC_CODE_OUT_OF_RANGE, 10, "/1/1"},
    {"fraction", FC_DTYPE_I32, "[[1.5]]", FC_CODE_TYPE_MISMATCH, 2, "/0/0"},
    {"i64", FC_DTYPE_I64, "[[0,0],[9223372036854775808]]", FC_CODE_OUT_OF_RANGE,
     8, "/1/0"},
    {"text", FC_DTYPE_I64, "[[0, \"1.0\"]]", FC_CODE_TYPE_MISMATCH, 5, "/0/1"},
    {"spaces in text", FC_DTYPE_I64, "[[\" 1\"]]", FC_CODE_TYPE_MISMATCH, 2,
     "/0/0"},
    {"long text", FC_DTYPE_I64, "[[\"9223372036854775808\"]]",
     FC_CODE_OUT_OF_RANGE, 2, "/0/0"},
    {"nan", FC_DTYPE_F32, "[[0,\"nan\"]]", FC_CODE_TYPE_MISMATCH, 4, "/0/1"},
    {"number as text", FC_DTYPE_F32, "[[\"1\"]]", FC_CODE_TYPE_MISMATCH, 2,
     "/0/0"},
    {"f32", FC_DTYPE_F32, "[[3.5e38]]", FC_CODE_OUT_OF_RANGE, 2, "/0/0"},
    {"f16", FC_DTYPE_F16, "[[65519],[65520]]", FC_CODE_OUT_OF_RANGE, 10,
     "/1/0"},
    {"i1", FC_DTYPE_I1, "[[true,2]]", FC_CODE_OUT_OF_RANGE, 7, "/0/1"},
    {"syntax", FC_DTYPE_F64, "[[1,2e]]", FC_CODE_JSON_SYNTAX, 6, "/0/1"},
    {"last comma", FC_DTYPE_F64, "[[1,2,]]", FC_CODE_JSON_SYNTAX, 6, "/0/2"},
    {"bare nan", FC_DTYPE_F64, "[[1,NaN]]", FC_CODE_JSON_SYNTAX, 4, "/0/1"},
    {"no comma", FC_DTYPE_F64, "[[1 2]]", FC_CODE_JSON_SYNTAX, 4, "/0/0"},
    {"end", FC_DTYPE_F64, "[[1,2", FC_CODE_JSON_SYNTAX, 5, "/0/1"},
    {"leading zero", FC_DTYPE_I32, "[[01]]", FC_CODE_JSON_SYNTAX, 3, "/0/0"},
    {"minus", FC_DTYPE_I32, "[[-]]", FC_CODE_JSON_SYNTAX, 3, "/0/0"},
};

static void bad_elements_have_a_place(void **state) {
  (void)state;
  FC_TEST_EACH_ROW(const bad_element_row_t, row, bad_element_rows) {
    fc_str_t text = fc_str(row->text);
    char *copy = copy_of(text);
    fc_json_reader_t reader;
    fc_json_reader_init(&reader, 4, 4);
    fc_json_reader_feed(&reader, copy, text.size, true);
    fc_json_token_t token;
    fc_error_t err;
    _Alignas(8) char out[64];
    fc_status_t status = fc_json_next(&reader, &token, &err);
    while (status == FC_OK) {
      size_t count;
      status = fc_json_next(&reader, &token, &err);
      if (status) break;
      assert_int_equal(token, FC_JSON_ARRAY_BEGIN);
      // Two elements are wanted. A mistake after the second one is an error, too.
      status = fc_json_read_elements(&reader, row->dtype, out, 2, &count,
                                     &token, &err);
    }
    assert_int_equal(err.code, row->code);
    assert_string_equal(err.pointer, row->pointer);
    assert_int_equal(err.byte_offset, row->offset);
    free(copy);
  }
}

static fc_json_reader_t *members_reader;

static fc_status_t read_member_text(void *context, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(members_reader, &token, err));
  *(fc_str_t *)context = members_reader->text;
  return FC_OK;
}

static void members_are_read_skipped_or_refused(void **state) {
  (void)state;
  static const fc_json_member_t members[] = {
      {FC_STR("a"), read_member_text, NULL},
      {FC_STR("no"), NULL, "not \"no\""}};
  static const struct {
    const char *name;
    const char *document;
    const char *text;  // NULL: it is refused
    const char *pointer;
  } rows[] = {
      {"none", "{}", "", ""},
      {"one", "{\"a\":\"x\"}", "x", ""},
      {"escaped", "{\"\\u0061\":\"x\"}", "x", ""},
      {"among others", "{\"b\":{\"a\":\"y\"},\"a\":\"x\",\"c\":[\"a\"]}", "x",
       ""},
      {"twice", "{\"a\":\"y\",\"a\":\"x\"}", NULL, "/a"},
      {"twice skipped", "{\"b\":1,\"b\":{}}", "", ""},
      {"refused", "{\"a\":\"x\",\"no\":1}", NULL, "/no"},
      {"refused below others", "{\"b\":{\"no\":1}}", "", ""},
      {"no member", "{\"a\":\"x\" \"b\":1}", NULL, "/a"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_json_reader_t reader;
    fc_error_t err;
    fc_str_t text = FC_STR("");
    members_reader = &reader;
    fc_json_reader_init(&reader, 8, 8);
    fc_json_reader_feed(&reader, row->document, strlen(row->document), true);
    assert_int_equal(fc_json_expect(&reader, FC_JSON_OBJECT_BEGIN,
                                    FC_CODE_JSON_SCHEMA, &err),
                     FC_OK);
    const fc_status_t status = fc_json_read_members(
        &reader, members, FC_ARRAY_COUNT(members), &text, &err);
    assert_int_equal(status == FC_OK, row->text != NULL);
    if (row->text) assert_true(fc_str_equal(text, fc_str(row->text)));
    else assert_string_equal(err.pointer, row->pointer);
    assert_int_not_equal(
        fc_json_expect(&reader, FC_JSON_ARRAY_BEGIN, FC_CODE_JSON_SCHEMA, &err),
        FC_OK);
  }
}

// If the last row has no name, it stands for all other members.
static void other_members_have_a_row(void **state) {
  (void)state;
  static const fc_json_member_t members[] = {
      {FC_STR("a"), read_member_text, NULL}, {{0}, NULL, "no other"}};
  static const struct {
    const char *name;
    const char *document;
    const char *message;  // "": it is read
  } rows[] = {
      {"none", "{}", ""},
      {"the one", "{\"a\":\"x\"}", ""},
      {"another", "{\"a\":\"x\",\"b\":1}", "no other"},
      {"twice", "{\"a\":\"x\",\"a\":\"x\"}", "'a' is given twice"},
  };
  FC_TEST_EACH_ROW(const __typeof__(rows[0]), row, rows) {
    fc_json_reader_t reader;
    fc_error_t err;
    fc_str_t text;
    members_reader = &reader;
    fc_error_reset(&err);
    fc_json_reader_init(&reader, 8, 8);
    fc_json_reader_feed(&reader, row->document, strlen(row->document), true);
    assert_int_equal(fc_json_expect(&reader, FC_JSON_OBJECT_BEGIN,
                                    FC_CODE_JSON_SCHEMA, &err),
                     FC_OK);
    const fc_status_t status = fc_json_read_members(
        &reader, members, FC_ARRAY_COUNT(members), &text, &err);
    assert_int_equal(status == FC_OK, !*row->message);
    assert_string_equal(err.message, row->message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FC_TEST(tokens_are_the_same_in_one_piece_or_two),
      FC_TEST(every_class_of_document_has_its_verdict),
      FC_TEST(no_prefix_is_valid),
      FC_TEST(mistakes_have_a_place),
      FC_TEST(strings_are_unescaped),
      FC_TEST(pointers_are_cut_between_characters),
      FC_TEST(pointers_follow_the_tokens),
      FC_TEST(skipping_ends_behind_the_value),
      FC_TEST(elements_are_read_in_bulk),
      FC_TEST(bad_elements_have_a_place),
      FC_TEST(members_are_read_skipped_or_refused),
      FC_TEST(other_members_have_a_row),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
