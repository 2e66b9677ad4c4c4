// SPDX-License-Identifier: Apache-2.0
//
// Compares the expected and the actual results. Both are first written as nested lists,
// whatever their form was, and then compared as in `farcall test`.
#include "check.h"

#include <inttypes.h>

#include "file.h"
#include "input.h"
#include "json/number.h"
#include "result.h"

#define TEXT_LIMIT ((size_t)1 << 31)

int fc_check_tolerance(const fc_args_t *args, fc_tolerance_t *out_tolerance) {
  const char *text = fc_args_get(args, FC_OPTION_TOLERANCE, "1e-4");
  double tolerance = 0;
  fc_error_t err;
  fc_error_reset(&err);
  if (fc_number_parse(fc_str(text), FC_DTYPE_F64, &tolerance, &err) ||
      tolerance < 0) {
    return fc_complain(FC_EXIT_USAGE, "--tolerance=%s: it is a number", text);
  }
  *out_tolerance =
      (fc_tolerance_t){.absolute = tolerance, .relative = tolerance};
  return FC_EXIT_OK;
}

const char *fc_check_text(fc_arena_t *arena, const fc_comparison_t *found,
                          const char *by) {
  const char *first =
      found->different ? fc_print(arena, ", first at %s: expected %s, got %s",
                                  found->pointer, found->expected, found->got)
                       : "";
  if (!first) return NULL;
  return fc_print(arena,
                  "%" PRIu64 " values, %" PRIu64
                  " differ from %s, at most by %g and %" PRIu64 " ulp%s",
                  found->values, found->different, by, found->max_absolute,
                  found->max_ulp, first);
}

// ---------------------------------------------------------------------------
// The expected results

// iree-run-module writes "(ignored)" for a value that is not checked.
static bool is_anything(const char *value) {
  return !*value || !strcmp(value, "(ignored)");
}

// Writes the JSON of one value, with its tensors as nested lists.
static fc_status_t put_nested(fc_arena_t *arena, fc_str_t json, fc_sink_t *sink,
                              fc_error_t *err) {
  fc_json_reader_t reader;
  fc_json_token_t token;
  fc_json_reader_init(&reader, FC_JSON_DEPTH_MAX, UINT32_MAX);
  fc_json_reader_feed(&reader, json.data, json.size, true);
  FC_TRY(fc_json_next(&reader, &token, err));
  return fc_result_write(arena, &reader, token, FC_RESULT_NESTED, sink, err);
}

static fc_status_t put_expected(const fc_args_t *args, const char *value,
                                fc_sink_t *sink, fc_error_t *err) {
  fc_text_t json;
  if (is_anything(value)) return fc_sink_put(sink, FC_STR("null"), err);
  fc_text_init(&json, fc_allocator_system(), TEXT_LIMIT);
  fc_status_t status =
      fc_input_print(args->arena, "expected", value, true, &json.sink, err);
  if (status == FC_OK) {
    status = put_nested(args->arena, fc_text_str(&json), sink, err);
  }
  fc_text_deinit(&json);
  return status;
}

static fc_status_t put_all_expected(const fc_args_t *args, fc_sink_t *sink,
                                    fc_error_t *err) {
  size_t count = 0;
  FC_TRY(fc_sink_put(sink, FC_STR("["), err));
  for (size_t i = 0; i < args->flag_count; i++) {
    if (args->flags[i].option != FC_OPTION_RUN_EXPECTED) continue;
    if (count++) FC_TRY(fc_sink_put(sink, FC_STR(","), err));
    FC_TRY(put_expected(args, args->flags[i].value, sink, err));
  }
  return fc_sink_put(sink, FC_STR("]"), err);
}

int fc_check_read(const fc_args_t *args, fc_str_t *out_expected) {
  fc_error_t err;
  fc_text_t text;
  *out_expected = (fc_str_t){0};
  if (!fc_args_has(args, FC_OPTION_RUN_EXPECTED)) return FC_EXIT_OK;
  fc_error_reset(&err);
  fc_text_init(&text, fc_allocator_system(), TEXT_LIMIT);
  fc_status_t status = put_all_expected(args, &text.sink, &err);
  if (status == FC_OK) {
    *out_expected = fc_arena_copy(args->arena, fc_text_str(&text));
    if (!out_expected->data) status = fc_fail_memory(&err);
  }
  fc_text_deinit(&text);
  return status ? fc_complain(FC_EXIT_DATA, "%s", err.message) : FC_EXIT_OK;
}

// ---------------------------------------------------------------------------
// The actual results

static fc_status_t fail_count(size_t expected, size_t got, fc_error_t *err) {
  return fc_fail(err, FC_CODE_LENGTH_MISMATCH,
                 "there are %zu results, and %zu --expected", got, expected);
}

// Writes {"results":[…]}, with null for results that may have any value.
static fc_status_t put_answer(const fc_args_t *args, fc_str_t answer,
                              fc_sink_t *sink, fc_error_t *err) {
  fc_json_reader_t reader;
  fc_json_token_t token = FC_JSON_ARRAY_BEGIN;
  size_t expected = 0, count = 0;
  FC_TRY(fc_result_open(&reader, answer, err));
  FC_TRY(fc_sink_put(sink, FC_STR("{\"results\":["), err));
  for (size_t i = 0; i < args->flag_count; i++) {
    if (args->flags[i].option != FC_OPTION_RUN_EXPECTED) continue;
    if (count == expected++) FC_TRY(fc_json_next(&reader, &token, err));
    if (token == FC_JSON_ARRAY_END) continue;
    if (count++) FC_TRY(fc_sink_put(sink, FC_STR(","), err));
    if (is_anything(args->flags[i].value)) {
      FC_TRY(fc_json_skip(&reader, token, err));
      FC_TRY(fc_sink_put(sink, FC_STR("null"), err));
    } else {
      FC_TRY(fc_result_write(args->arena, &reader, token, FC_RESULT_NESTED,
                             sink, err));
    }
  }
  if (count < expected) return fail_count(expected, count, err);
  FC_TRY(fc_json_next(&reader, &token, err));
  if (token == FC_JSON_ARRAY_END) return fc_sink_put(sink, FC_STR("]}"), err);
  for (; token != FC_JSON_ARRAY_END; count++) {
    FC_TRY(fc_json_skip(&reader, token, err));
    FC_TRY(fc_json_next(&reader, &token, err));
  }
  return fail_count(expected, count, err);
}

static fc_status_t compare(const fc_args_t *args,
                           const fc_signature_t *signature,
                           const fc_tolerance_t *tolerance, fc_str_t expected,
                           fc_str_t answer, fc_comparison_t *out_found,
                           fc_error_t *err) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), TEXT_LIMIT);
  fc_status_t status = put_answer(args, answer, &text.sink, err);
  if (status == FC_OK) {
    status =
        fc_compare_results(signature, expected, fc_text_str(&text), tolerance,
                           fc_allocator_system(), out_found, err);
  }
  fc_text_deinit(&text);
  return status;
}

int fc_check_answer(const fc_args_t *args, const fc_signature_t *signature,
                    fc_str_t expected, fc_str_t answer) {
  fc_tolerance_t tolerance;
  fc_comparison_t found;
  fc_error_t err;
  fc_error_reset(&err);
  const int exit_code = fc_check_tolerance(args, &tolerance);
  if (exit_code) return exit_code;
  if (compare(args, signature, &tolerance, expected, answer, &found, &err)) {
    return fc_complain(FC_EXIT_FAILED, "%s", err.message);
  }
  const char *text = fc_check_text(args->arena, &found, "--expected");
  if (!text) return fc_complain(FC_EXIT_FAILED, "out of memory");
  return found.different ? fc_complain(FC_EXIT_FAILED, "%s", text)
                         : fc_complain(FC_EXIT_OK, "note: %s", text);
}
