// SPDX-License-Identifier: Apache-2.0
//
// Prints results: the answer as it came, or each result where --output wants
// it.
#include <stdio.h>

#include "file.h"
#include "input.h"
#include "json/reader.h"
#include "json/writer.h"
#include "value/npy.h"

#define KEYS_MAX (1u << 20)
#define FILE_LIMIT ((size_t)1 << 32)

static fc_status_t unexpected(fc_error_t *err) {
  return fc_fail(err, FC_CODE_BAD_RESULT,
                 "the answer is not {\"results\":[…]} with typed results");
}

// Reads the next value, whose elements may be nested or flat, into `out`: `count`
// numbers of type `part`. A complex element is two numbers.
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

// The size of `array` by its shape. False when that overflows or a dim is negative.
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
  // Checked by its length before it is decoded, so that the bytes fit.
  if (token != FC_JSON_STRING || reader->text.size != (size + 2) / 3 * 4) {
    return unexpected(err);
  }
  FC_TRY(fc_base64_decode(reader->text, (uint8_t *)out, &got, err));
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

// Reads {"dtype":…,"shape":…,"data":…} or with "b64", in this order, its first
// key next.
static fc_status_t read_typed(fc_arena_t *arena, fc_json_reader_t *reader,
                              fc_npy_t *array, fc_error_t *err) {
  fc_json_token_t token;
  FC_TRY(fc_json_next(reader, &token, err));
  if (token != FC_JSON_KEY || !fc_json_text_is(reader, FC_STR("dtype"))) {
    return unexpected(err);
  }
  FC_TRY(fc_json_next(reader, &token, err));
  if (token == FC_JSON_STRING) array->dtype = fc_dtype_find(reader->text);
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

static fc_status_t save(const fc_args_t *args, const char *path,
                        const fc_npy_t *array, fc_error_t *err) {
  fc_text_t file;
  fc_text_init(&file, fc_allocator_system(), FILE_LIMIT);
  fc_status_t status = fc_npy_print(array, &file.sink, err);
  if (status == FC_OK) {
    status = fc_file_write(args->arena, path, fc_text_str(&file), err);
  }
  fc_text_deinit(&file);
  return status;
}

// Prints, saves or drops one result, whose first token was read. `where` is the value
// of its --output.
static fc_status_t serve(const fc_args_t *args, fc_json_reader_t *reader,
                         fc_json_token_t token, size_t index, const char *where,
                         fc_error_t *err) {
  if (where[0] == '@') {
    fc_npy_t array = {0};
    if (token != FC_JSON_OBJECT_BEGIN) {
      return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                     "result %zu is no tensor: --output=- prints it", index);
    }
    FC_TRY(read_typed(args->arena, reader, &array, err));
    return save(args, where + 1, &array, err);
  }
  bool number = token == FC_JSON_NUMBER;
  const char *from = number ? reader->text.data : NULL;
  uint64_t begin = reader->token_offset;
  FC_TRY(fc_json_skip(reader, token, err));
  if (!from) from = reader->begin + begin;
  const char *to = number ? from + reader->text.size : reader->cursor;
  if (where[0] == '-') {
    fc_show(stdout, fc_str_make(from, (size_t)(to - from)));
    putchar('\n');
  }
  return FC_OK;
}

// Reads up to the first result.
static fc_status_t open_answer(fc_json_reader_t *reader, fc_str_t answer,
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

bool fc_output_is_answer(fc_str_t answer) {
  fc_error_t err;
  fc_json_reader_t reader;
  fc_json_token_t token = FC_JSON_ARRAY_BEGIN;
  fc_error_reset(&err);
  if (open_answer(&reader, answer, &err)) return false;
  while (token != FC_JSON_END) {
    if (fc_json_next(&reader, &token, &err)) return false;
  }
  return true;
}

bool fc_output_take_profile(fc_arena_t *arena, fc_str_t *answer,
                            fc_str_t *out_profile) {
  fc_error_t err;
  fc_json_reader_t reader;
  fc_json_token_t token;
  fc_error_reset(&err);
  if (open_answer(&reader, *answer, &err) ||
      fc_json_skip(&reader, FC_JSON_ARRAY_BEGIN, &err)) {
    return false;
  }
  const size_t kept = (size_t)(reader.cursor - answer->data);
  if (fc_json_next(&reader, &token, &err) || token != FC_JSON_KEY ||
      !fc_json_text_is(&reader, FC_STR("profile")) ||
      fc_json_next(&reader, &token, &err) || token != FC_JSON_OBJECT_BEGIN) {
    return false;
  }
  const char *begin = reader.begin + reader.token_offset;
  if (fc_json_skip(&reader, token, &err)) return false;
  *out_profile = fc_str_make(begin, (size_t)(reader.cursor - begin));
  char *text = fc_arena_alloc(arena, kept + 1, 1);
  if (!text) return false;
  memcpy(text, answer->data, kept);
  text[kept] = '}';
  *answer = fc_str_make(text, kept + 1);
  return true;
}

static fc_status_t serve_all(const fc_args_t *args, fc_str_t answer,
                             fc_error_t *err) {
  fc_json_reader_t reader;
  fc_json_token_t token;
  FC_TRY(open_answer(&reader, answer, err));
  size_t index = 0;
  for (size_t i = 0; i < args->flag_count; i++) {
    if (args->flags[i].option != FC_OPTION_OUTPUT) continue;
    FC_TRY(fc_json_next(&reader, &token, err));
    if (token == FC_JSON_ARRAY_END) {
      return fc_fail(err, FC_CODE_LENGTH_MISMATCH,
                     "--output=%s has no result: there are %zu",
                     args->flags[i].value, index);
    }
    FC_TRY(serve(args, &reader, token, index++, args->flags[i].value, err));
  }
  return FC_OK;
}

const char *fc_output_form(const fc_args_t *args) {
  const char *form = NULL;
  for (size_t i = 0; i < args->flag_count; i++) {
    if (args->flags[i].option != FC_OPTION_OUTPUT) continue;
    if (args->flags[i].value[0] == '-') return "typed";
    form = "b64";
  }
  return form;
}

int fc_output_print(const fc_args_t *args, fc_str_t answer) {
  if (!fc_args_has(args, FC_OPTION_OUTPUT)) {
    fc_show(stdout, answer);
    if (!answer.size || answer.data[answer.size - 1] != '\n') putchar('\n');
    return FC_EXIT_OK;
  }
  fc_error_t err;
  fc_error_reset(&err);
  if (serve_all(args, answer, &err) == FC_OK) return FC_EXIT_OK;
  return fc_complain(FC_EXIT_DATA, "%s", err.message);
}
