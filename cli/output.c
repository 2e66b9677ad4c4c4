// SPDX-License-Identifier: Apache-2.0
//
// Prints results: the answer unchanged, or each result to the place of its --output.
#include <stdio.h>

#include "file.h"
#include "input.h"
#include "result.h"

#define FILE_LIMIT ((size_t)1 << 32)
#define SHOWN_LIMIT ((size_t)1 << 31)

static bool prints(const fc_args_t *args, const char *how) {
  return !strcmp(fc_args_get(args, FC_OPTION_PRINT, "full"), how);
}

fc_status_t fc_output_check(const fc_args_t *args, fc_error_t *err) {
  if (prints(args, "full") || prints(args, "elided") || prints(args, "none")) {
    return FC_OK;
  }
  return fc_fail_as(err, FC_CODE_JSON_SCHEMA, FC_FAILED_PRECONDITION,
                    "--print=%.200s: it is full, elided or none",
                    fc_args_get(args, FC_OPTION_PRINT, ""));
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

static fc_status_t show_elided(const fc_args_t *args, fc_json_reader_t *reader,
                               fc_json_token_t token, fc_error_t *err) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), SHOWN_LIMIT);
  const fc_status_t status = fc_result_write(args->arena, reader, token,
                                             FC_RESULT_ELIDED, &text.sink, err);
  if (status == FC_OK) {
    fc_show(stdout, fc_text_str(&text));
    putchar('\n');
  }
  fc_text_deinit(&text);
  return status;
}

// Prints, saves or drops one result, whose first token was read. `where` is the value of
// its --output.
static fc_status_t serve(const fc_args_t *args, fc_json_reader_t *reader,
                         fc_json_token_t token, size_t index, const char *where,
                         fc_error_t *err) {
  if (where[0] == '@') {
    fc_npy_t array = {0};
    if (token != FC_JSON_OBJECT_BEGIN) {
      return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                     "result %zu is no tensor: --output=- prints it", index);
    }
    FC_TRY(fc_result_read_tensor(args->arena, reader, &array, err));
    return save(args, where + 1, &array, err);
  }
  if (where[0] == '-' && prints(args, "elided")) {
    return show_elided(args, reader, token, err);
  }
  bool number = token == FC_JSON_NUMBER;
  const char *from = number ? reader->text.data : NULL;
  uint64_t begin = reader->token_offset;
  FC_TRY(fc_json_skip(reader, token, err));
  if (!from) from = reader->begin + begin;
  const char *to = number ? from + reader->text.size : reader->cursor;
  if (where[0] == '-' && prints(args, "full")) {
    fc_show(stdout, fc_str_make(from, (size_t)(to - from)));
    putchar('\n');
  }
  return FC_OK;
}

bool fc_output_is_answer(fc_str_t answer) {
  fc_error_t err;
  fc_json_reader_t reader;
  fc_json_token_t token = FC_JSON_ARRAY_BEGIN;
  fc_error_reset(&err);
  if (fc_result_open(&reader, answer, &err)) return false;
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
  if (fc_result_open(&reader, *answer, &err) ||
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
  FC_TRY(fc_result_open(&reader, answer, err));
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

static fc_status_t show_all_elided(const fc_args_t *args, fc_str_t answer,
                                   fc_error_t *err) {
  fc_json_reader_t reader;
  fc_json_token_t token;
  FC_TRY(fc_result_open(&reader, answer, err));
  for (size_t index = 0;; index++) {
    FC_TRY(fc_json_next(&reader, &token, err));
    if (token == FC_JSON_ARRAY_END) return FC_OK;
    printf("result %zu: ", index);
    FC_TRY(show_elided(args, &reader, token, err));
  }
}

const char *fc_output_form(const fc_args_t *args) {
  const char *form = NULL;
  if (prints(args, "elided")) return "typed";
  for (size_t i = 0; i < args->flag_count; i++) {
    if (args->flags[i].option != FC_OPTION_OUTPUT) continue;
    if (args->flags[i].value[0] == '-') return "typed";
    form = "b64";
  }
  return form;
}

int fc_output_print(const fc_args_t *args, fc_str_t answer) {
  const bool has_outputs = fc_args_has(args, FC_OPTION_OUTPUT);
  fc_error_t err;
  fc_error_reset(&err);
  fc_status_t status = FC_OK;
  if (has_outputs) {
    status = serve_all(args, answer, &err);
  } else if (prints(args, "elided")) {
    status = show_all_elided(args, answer, &err);
  } else if (prints(args, "full")) {
    fc_show(stdout, answer);
    if (!answer.size || answer.data[answer.size - 1] != '\n') putchar('\n');
  }
  return status == FC_OK ? FC_EXIT_OK
                         : fc_complain(FC_EXIT_DATA, "%s", err.message);
}
