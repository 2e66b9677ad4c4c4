// SPDX-License-Identifier: Apache-2.0
//
// An answer may be large, so its text is read token by token. No function here is
// recursive: only the reader limits the nesting of values (fc_json_reader_init).
#include "result.h"

#include "file.h"
#include "json/writer.h"

#define KEYS_MAX (1u << 20)
#define ELIDED_FROM 1000  // elements of a tensor
#define EDGE 3            // elements shown at both ends of a dim

// Fails because farcalld has not written the answer, or the answer has another form than
// requested.
static fc_status_t unexpected(fc_error_t *err) {
  return fc_fail(err, FC_CODE_BAD_RESULT,
                 "the answer is not {\"results\":[…]} with typed results");
}

// Reads the next value into `out`: `count` numbers of type `part`, in nested lists or in
// one. A complex element is two numbers.
static fc_status_t read_elements(fc_json_reader_t *reader, fc_dtype_t part,
                                 char *out, size_t count, fc_error_t *err) {
  uint32_t depth = 0;
  size_t size = fc_dtype_size(part), got = 0;
  do {
    fc_json_token_t token;
    FC_TRY(fc_json_next(reader, &token, err));
    if (token == FC_JSON_ARRAY_BEGIN) {
      depth++;
    } else if (token == FC_JSON_ARRAY_END) {
      depth--;
    } else {
      if (got == count) return unexpected(err);
      FC_TRY(fc_json_read_scalar(reader, token, part, out + got * size, err));
      got++;
    }
  } while (depth);
  return got == count ? FC_OK : unexpected(err);
}

static fc_status_t read_shape(fc_json_reader_t *reader, fc_npy_t *array,
                              fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(reader, &token, err));
  if (token != FC_JSON_ARRAY_BEGIN) return unexpected(err);
  for (;;) {
    FC_TRY(fc_json_next(reader, &token, err));
    if (token == FC_JSON_ARRAY_END) return FC_OK;
    if (array->rank == FC_RANK_MAX) return unexpected(err);
    FC_TRY(fc_json_read_scalar(reader, token, FC_DTYPE_I64,
                               &array->shape[array->rank++], err));
  }
}

// Computes the size of `array` from its shape. False: it overflows or a dim is negative.
static bool count_bytes(const fc_npy_t *array, size_t *out_count,
                        size_t *out_size) {
  size_t count = 1;
  for (int32_t i = 0; i < array->rank; i++) {
    if (array->shape[i] < 0 ||
        !fc_size_mul(count, (size_t)array->shape[i], &count)) {
      return false;
    }
  }
  *out_count = count;
  return fc_size_mul(count, fc_dtype_size(array->dtype), out_size);
}

static fc_status_t read_base64(fc_json_reader_t *reader, char *out, size_t size,
                               fc_error_t *err) {
  fc_json_token_t token;
  size_t got = 0;
  FC_TRY(fc_json_next(reader, &token, err));
  // The length is checked before decoding, so that the bytes fit.
  if (token != FC_JSON_STRING || reader->text.size != (size + 2) / 3 * 4) {
    return unexpected(err);
  }
  FC_TRY(fc_base64_decode(reader->text, (uint8_t *)out, NULL, &got, err));
  return got == size ? FC_OK : unexpected(err);
}

// Reads the value of "data" or of "b64".
static fc_status_t read_data(fc_arena_t *arena, fc_json_reader_t *reader,
                             bool base64, fc_npy_t *array, fc_error_t *err) {
  size_t count, size;
  if (!count_bytes(array, &count, &size)) return unexpected(err);
  char *data = fc_arena_alloc(arena, size + 3, 64);
  if (!data) return fc_fail_memory(err);
  array->data = (fc_str_t){data, size};
  if (base64) return read_base64(reader, data, size, err);
  const fc_dtype_t part = fc_dtype_info(array->dtype)->part;
  if (part != array->dtype) count *= 2;
  return read_elements(reader, part, data, count, err);
}

// Called after the key "dtype" was read.
static fc_status_t read_typed(fc_arena_t *arena, fc_json_reader_t *reader,
                              fc_npy_t *array, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(reader, &token, err));
  if (token == FC_JSON_STRING) {
    array->dtype = fc_dtype_find_named(reader->text, FC_DTYPE_NONE);
  }
  if (array->dtype == FC_DTYPE_NONE) return unexpected(err);
  FC_TRY(fc_json_next(reader, &token, err));
  if (token != FC_JSON_KEY || !fc_json_text_is(reader, FC_STR("shape"))) {
    return unexpected(err);
  }
  FC_TRY(read_shape(reader, array, err));
  FC_TRY(fc_json_next(reader, &token, err));
  bool base64 = fc_json_text_is(reader, FC_STR("b64"));
  if (token != FC_JSON_KEY ||
      (!base64 && !fc_json_text_is(reader, FC_STR("data")))) {
    return unexpected(err);
  }
  FC_TRY(read_data(arena, reader, base64, array, err));
  FC_TRY(fc_json_next(reader, &token, err));
  return token == FC_JSON_OBJECT_END ? FC_OK : unexpected(err);
}

static bool is_typed(const fc_json_reader_t *reader, fc_json_token_t token) {
  return token == FC_JSON_KEY && fc_json_text_is(reader, FC_STR("dtype"));
}

fc_status_t fc_result_read_tensor(fc_arena_t *arena, fc_json_reader_t *reader,
                                  fc_npy_t *out_array, fc_error_t *err) {
  fc_json_token_t token;
  fc_npy_t array = {0};
  FC_TRY(fc_json_next(reader, &token, err));
  if (!is_typed(reader, token)) return unexpected(err);
  FC_TRY(read_typed(arena, reader, &array, err));
  *out_array = array;
  return FC_OK;
}

fc_status_t fc_result_open(fc_json_reader_t *reader, fc_str_t answer,
                           fc_error_t *err) {
  fc_json_token_t token;
  fc_json_reader_init(reader, FC_JSON_DEPTH_MAX, KEYS_MAX);
  fc_json_reader_feed(reader, answer.data, answer.size, true);
  FC_TRY(fc_json_next(reader, &token, err));
  if (token != FC_JSON_OBJECT_BEGIN) return unexpected(err);
  FC_TRY(fc_json_next(reader, &token, err));
  if (token != FC_JSON_KEY || !fc_json_text_is(reader, FC_STR("results"))) {
    return unexpected(err);
  }
  FC_TRY(fc_json_next(reader, &token, err));
  return token == FC_JSON_ARRAY_BEGIN ? FC_OK : unexpected(err);
}

// ---------------------------------------------------------------------------
// Results as text

typedef struct writing_t {
  fc_arena_t *arena;
  fc_json_reader_t *reader;
  fc_result_form_t form;
  fc_sink_t *sink;
  fc_error_t *err;
} writing_t;

static fc_status_t put(writing_t *writing, const char *text) {
  return fc_sink_put(writing->sink, fc_str(text), writing->err);
}

static fc_status_t put_times(writing_t *writing, const char *text,
                             int32_t times) {
  for (int32_t i = 0; i < times; i++) FC_TRY(put(writing, text));
  return FC_OK;
}

// Moves to the next element that is shown, and closes the lists that end before it.
// *out_closed is the number of closed lists: all of them if there is no next element.
static fc_status_t step(writing_t *writing, const fc_npy_t *array,
                        int64_t at[FC_RANK_MAX], int32_t *out_closed) {
  int32_t dim = array->rank - 1;
  for (; dim >= 0; dim--) {
    const int64_t size = array->shape[dim];
    if (++at[dim] == EDGE && size > 2 * EDGE) {
      FC_TRY(put(writing, ",…"));
      at[dim] = size - EDGE;
    }
    if (at[dim] < size) break;
    at[dim] = 0;
    FC_TRY(put(writing, "]"));
  }
  *out_closed = array->rank - 1 - dim;
  return FC_OK;
}

// Writes an array that has elements. Of each dim that is longer than what is shown,
// leaves out the middle.
static fc_status_t put_ends(writing_t *writing, const fc_npy_t *array) {
  const size_t size = fc_dtype_size(array->dtype);
  int64_t at[FC_RANK_MAX] = {0};
  int32_t opened = array->rank;
  for (;;) {
    size_t index = 0;
    for (int32_t i = 0; i < array->rank; i++) {
      index = index * (size_t)array->shape[i] + (size_t)at[i];
    }
    FC_TRY(put_times(writing, "[", opened));
    FC_TRY(fc_json_write_element(writing->sink, array->dtype,
                                 array->data.data + index * size, false,
                                 writing->err));
    FC_TRY(step(writing, array, at, &opened));
    if (opened == array->rank) return FC_OK;
    FC_TRY(put(writing, ","));
  }
}

static fc_status_t put_array(writing_t *writing, const fc_npy_t *array) {
  const size_t size = fc_dtype_size(array->dtype);
  if (writing->form == FC_RESULT_ELIDED) {
    for (int32_t i = 0; i < array->rank; i++) {
      FC_TRY(fc_print_to(writing->sink, writing->err, "%lldx",
                         (long long)array->shape[i]));
    }
    FC_TRY(put(writing, fc_dtype_info(array->dtype)->text));
    FC_TRY(put(writing, "="));
    if (array->data.size / size > ELIDED_FROM) {
      return put_ends(writing, array);
    }
  }
  return fc_json_write_array(writing->sink, array->dtype, array->rank,
                             array->shape, NULL, array->data.data, false,
                             writing->err);
}

// Writes a scalar, or the bracket that begins or ends a list.
static fc_status_t put_token(writing_t *writing, fc_json_token_t token) {
  static const char *const kTexts[] = {
      [FC_JSON_NULL] = "null",    [FC_JSON_FALSE] = "false",
      [FC_JSON_TRUE] = "true",    [FC_JSON_ARRAY_BEGIN] = "[",
      [FC_JSON_ARRAY_END] = "]",  [FC_JSON_OBJECT_BEGIN] = "{",
      [FC_JSON_OBJECT_END] = "}",
  };
  const bool quoted = token == FC_JSON_STRING || token == FC_JSON_KEY;
  if (!quoted && token != FC_JSON_NUMBER) return put(writing, kTexts[token]);
  FC_TRY(put(writing, quoted ? "\"" : ""));
  FC_TRY(fc_sink_put(writing->sink, writing->reader->text, writing->err));
  if (!quoted) return FC_OK;
  return put(writing, token == FC_JSON_KEY ? "\":" : "\"");
}

// The '{' of an object was read. Writes the object if it is a tensor. Otherwise *token
// becomes the first token inside the object.
static fc_status_t put_tensor(writing_t *writing, fc_json_token_t *token,
                              bool *out_written) {
  FC_TRY(fc_json_next(writing->reader, token, writing->err));
  *out_written = is_typed(writing->reader, *token);
  if (!*out_written) return FC_OK;
  fc_npy_t array = {0};
  FC_TRY(read_typed(writing->arena, writing->reader, &array, writing->err));
  return put_array(writing, &array);
}

fc_status_t fc_result_write(fc_arena_t *arena, fc_json_reader_t *reader,
                            fc_json_token_t token, fc_result_form_t form,
                            fc_sink_t *sink, fc_error_t *err) {
  writing_t writing = {
      .arena = arena, .reader = reader, .form = form, .sink = sink, .err = err};
  const uint32_t outside = reader->depth - (token == FC_JSON_ARRAY_BEGIN ||
                                            token == FC_JSON_OBJECT_BEGIN);
  bool follows = false;  // a value of the same list or object came before
  for (;;) {
    const bool ends = token == FC_JSON_ARRAY_END || token == FC_JSON_OBJECT_END;
    bool written = false;
    if (follows && !ends) FC_TRY(put(&writing, ","));
    fc_json_token_t next = token;
    if (token == FC_JSON_OBJECT_BEGIN) {
      FC_TRY(put_tensor(&writing, &next, &written));
    }
    if (!written) FC_TRY(put_token(&writing, token));
    const bool begins =
        token == FC_JSON_ARRAY_BEGIN || token == FC_JSON_OBJECT_BEGIN;
    follows = written || !(begins || token == FC_JSON_KEY);
    if (follows && reader->depth == outside) return FC_OK;
    if (token == FC_JSON_OBJECT_BEGIN && !written) token = next;
    else FC_TRY(fc_json_next(reader, &token, err));
  }
}
