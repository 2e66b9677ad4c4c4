// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a document; the first one chooses a dtype. The tokens must not depend on
// how the text is cut into spans. Elements that are read in bulk must equal those read
// one by one. Numbers must agree with strtod and strtof. Numbers and strings that are
// printed must read back as the same.
#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "json/number.h"
#include "json/reader.h"
#include "json/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEPTH 20
#define KEYS 50
#define CHECK(condition)       \
  do {                         \
    if (!(condition)) abort(); \
  } while (0)

static void *copy_of(fc_str_t text) {
  char *copy = malloc(text.size ? text.size : 1);
  if (!copy) abort();
  if (text.size) memcpy(copy, text.data, text.size);
  return copy;
}

// A running hash of everything that the reader returns.
typedef struct trace_t {
  uint64_t hash;
  fc_code_t code;
  uint64_t offset;
} trace_t;

static void mix(trace_t *trace, const void *data, size_t size) {
  const uint8_t *bytes = data;
  for (size_t i = 0; i < size; i++) {
    trace->hash = (trace->hash ^ bytes[i]) * UINT64_C(1099511628211);
  }
}

// Reads `text` in two spans, each in a heap block of exactly its size.
static trace_t read_split(fc_str_t text, size_t split) {
  trace_t trace = {.hash = UINT64_C(14695981039346656037)};
  fc_json_reader_t reader;
  fc_error_t err;
  fc_error_reset(&err);
  char *piece = copy_of(fc_str_make(text.data, split));
  fc_json_reader_init(&reader, DEPTH, KEYS);
  fc_json_reader_feed(&reader, piece, split, split == text.size);
  for (fc_json_token_t token = FC_JSON_NULL; token != FC_JSON_END;) {
    if (fc_json_next(&reader, &token, &err)) break;
    if (token == FC_JSON_NEED_MORE) {
      CHECK(!reader.last);
      size_t taken =
          (size_t)reader.base + (size_t)(reader.cursor - reader.begin);
      CHECK(taken <= split);
      fc_str_t rest = {text.data + taken, text.size - taken};
      free(piece);
      piece = copy_of(rest);
      fc_json_reader_feed(&reader, piece, rest.size, true);
      continue;
    }
    mix(&trace, &token, sizeof token);
    mix(&trace, &reader.token_offset, sizeof reader.token_offset);
    mix(&trace, &reader.depth, sizeof reader.depth);
    if (token == FC_JSON_NUMBER || token == FC_JSON_STRING ||
        token == FC_JSON_KEY) {
      mix(&trace, reader.text.data, reader.text.size);
    }
  }
  free(piece);
  trace.code = err.code;
  trace.offset = err.byte_offset;
  return trace;
}

static void check_number(fc_str_t literal, fc_dtype_t dtype) {
  fc_error_t err;
  char *text = malloc(literal.size + 1);
  if (!text) abort();
  memcpy(text, literal.data, literal.size);
  text[literal.size] = '\0';

  double wide = 0, wanted_wide = strtod(text, NULL);
  float narrow = 0, wanted_narrow = strtof(text, NULL);
  bool fits = !fc_number_parse(literal, FC_DTYPE_F64, &wide, &err);
  CHECK(fits == !isinf(wanted_wide));
  if (fits)
    CHECK(wide == wanted_wide && !signbit(wide) == !signbit(wanted_wide));
  fits = !fc_number_parse(literal, FC_DTYPE_F32, &narrow, &err);
  CHECK(fits == !isinf(wanted_narrow));
  if (fits)
    CHECK(narrow == wanted_narrow &&
          !signbit(narrow) == !signbit(wanted_narrow));
  free(text);

  uint64_t element = 0, again = 0;
  if (dtype == FC_DTYPE_I1) return;  // prints as true or false
  if (fc_number_parse(literal, dtype, &element, &err)) return;
  char printed[FC_NUMBER_CHARS_MAX];
  char *end = fc_number_print(dtype, &element, printed);
  fc_str_t back = {printed, (size_t)(end - printed)};
  CHECK(!fc_number_parse(back, dtype, &again, &err));
  CHECK(element == again);
}

static void check_string(const fc_json_reader_t *reader) {
  char *plain = malloc(reader->text.size + 1);
  char *back = malloc(reader->text.size + 1);
  if (!plain || !back) abort();
  fc_str_t text = {plain, fc_json_unescape(reader->text, plain)};
  CHECK(fc_utf8_is_valid(text));
  CHECK(fc_json_text_is(reader, text));
  fc_text_t json;
  fc_error_t err;
  fc_text_init(&json, fc_allocator_system(), SIZE_MAX);
  if (fc_json_write_string(&json.sink, text, &err)) abort();
  fc_json_reader_t second;
  fc_json_token_t token;
  fc_json_reader_init(&second, 1, 1);
  fc_str_t written = fc_text_str(&json);
  fc_json_reader_feed(&second, written.data, written.size, true);
  if (fc_json_next(&second, &token, &err)) abort();
  CHECK(fc_json_unescape(second.text, back) == text.size);
  CHECK(!memcmp(back, plain, text.size));
  fc_text_deinit(&json);
  free(plain);
  free(back);
}

static void check_tokens(fc_str_t text, fc_dtype_t dtype) {
  fc_json_reader_t reader;
  fc_error_t err;
  fc_json_reader_init(&reader, DEPTH, KEYS);
  fc_json_reader_feed(&reader, text.data, text.size, true);
  for (fc_json_token_t token = FC_JSON_NULL; token != FC_JSON_END;) {
    if (fc_json_next(&reader, &token, &err)) {
      CHECK(err.code && err.has_pointer && err.byte_offset <= text.size);
      CHECK(fc_utf8_is_valid(fc_str(err.message)));
      CHECK(fc_utf8_is_valid(fc_str(err.pointer)));
      return;
    }
    if (token == FC_JSON_NUMBER) check_number(reader.text, dtype);
    if (token == FC_JSON_STRING || token == FC_JSON_KEY) check_string(&reader);
  }
}

#define CAPACITY 64

static bool is_taken(fc_json_token_t token, fc_dtype_t dtype) {
  const fc_dtype_info_t *info = fc_dtype_info(dtype);
  if (token == FC_JSON_TRUE || token == FC_JSON_FALSE) {
    return dtype == FC_DTYPE_I1;
  }
  if (token == FC_JSON_STRING) {
    return info->class_ == FC_DTYPE_CLASS_FLOAT || info->bits == 64;
  }
  return token == FC_JSON_NUMBER;
}

// Reads the elements of a top-level array in bulk and one by one. Both must give the
// same.
static void check_elements(fc_str_t text, fc_dtype_t dtype) {
  fc_json_reader_t bulk, single;
  fc_json_token_t stop, token;
  fc_error_t bulk_err, err;
  uint64_t bulk_out[CAPACITY] = {0}, out[CAPACITY] = {0};
  fc_json_reader_init(&bulk, DEPTH, KEYS);
  fc_json_reader_feed(&bulk, text.data, text.size, true);
  if (fc_json_next(&bulk, &token, &err)) return;
  if (token != FC_JSON_ARRAY_BEGIN) return;
  size_t count, expected = 0;
  fc_status_t bulk_status = fc_json_read_elements(
      &bulk, dtype, bulk_out, CAPACITY, &count, &stop, &bulk_err);

  const size_t size = fc_dtype_size(dtype);
  fc_status_t status = FC_OK;
  fc_json_reader_init(&single, DEPTH, KEYS);
  fc_json_reader_feed(&single, text.data, text.size, true);
  CHECK(!fc_json_next(&single, &token, &err));
  while (expected < CAPACITY) {
    status = fc_json_next(&single, &token, &err);
    if (status || !is_taken(token, dtype)) break;
    status = fc_json_read_scalar(&single, token, dtype,
                                 (char *)out + expected * size, &err);
    if (status) break;
    expected++;
  }
  if (!bulk_status) CHECK(count == expected);
  if (!bulk_status) CHECK(!memcmp(bulk_out, out, count * size));
  if (expected == CAPACITY) return;
  if (status && bulk_status) {
    CHECK(err.code == bulk_err.code && err.byte_offset == bulk_err.byte_offset);
    CHECK(!strcmp(err.pointer, bulk_err.pointer));
    CHECK(!strcmp(err.message, bulk_err.message));
  } else if (status) {
    CHECK(!is_taken(stop, dtype) && stop != FC_JSON_ARRAY_END);
  } else {
    CHECK(!bulk_status && stop == token);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  fc_dtype_t dtype = (fc_dtype_t)(1 + *data % (FC_DTYPE_F8E8M0FNU));
  fc_str_t text = {copy_of(fc_str_make((const char *)data + 1, size - 1)),
                   size - 1};
  trace_t whole = read_split(text, text.size);
  size_t step = text.size > 100 ? text.size / 30 : 1;
  for (size_t split = 0; split < text.size; split += step) {
    trace_t parts = read_split(text, split);
    CHECK(parts.code == whole.code && parts.hash == whole.hash);
    CHECK(parts.offset == whole.offset);
  }
  check_tokens(text, dtype);
  check_elements(text, dtype);
  free((void *)(uintptr_t)text.data);
  return 0;
}
