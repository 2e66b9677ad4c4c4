// SPDX-License-Identifier: Apache-2.0
//
// Each line is parsed as a tree. Its arguments and results are written out again as text,
// so that the tree can be freed. Numbers keep their spelling.
#include "module/expect.h"

#include <stdarg.h>
#include <stdio.h>

#include "abi/document.h"

static const char *const kKeys[] = {"name",    "function", "args",     "kwargs",
                                    "results", "error",    "tolerance"};
static const char *const kToleranceKeys[] = {"abs", "rel", "ulp", "nan"};

typedef struct reader_t {
  fc_expectations_t *made;
  const yyjson_alc *alc;
  uint32_t line;
  const char *list;  // the place of the list; NULL: the calls are lines
  fc_error_t *err;
} reader_t;

FC_PRINTF(3, 4)
static fc_status_t fault(const reader_t *reader, fc_code_t code,
                         const char *format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (!reader->list) {
    return fc_fail(reader->err, code, "line %u: %s", reader->line, text);
  }
  return fc_fail(reader->err, code, "%s/%u: %s", reader->list, reader->line - 1,
                 text);
}

static fc_status_t check_keys(const reader_t *reader, yyjson_val *object,
                              const char *const *names, size_t count) {
  size_t index, size;
  yyjson_val *key, *value;
  yyjson_obj_foreach(object, index, size, key, value) {
    const fc_str_t text = fc_doc_text_of(key);
    fc_nearest_t search = fc_nearest_begin(text);
    const char *nearest = NULL;
    bool known = false;
    for (size_t i = 0; i < count && !known; i++) {
      known = fc_str_equal(text, fc_str(names[i]));
      if (fc_nearest_offer(&search, fc_str(names[i]))) nearest = names[i];
    }
    if (known) continue;
    char shown[80];
    fc_escape(shown, sizeof shown, 64, text);
    return fault(reader, FC_CODE_UNKNOWN_FIELD, "no member '%s'%s%s%s", shown,
                 nearest ? ": did you mean '" : "", nearest ? nearest : "",
                 nearest ? "'?" : "");
  }
  return FC_OK;
}

static fc_status_t read_number(const reader_t *reader, yyjson_val *object,
                               const char *key, double *out) {
  yyjson_val *value = yyjson_obj_get(object, key);
  if (!value) return FC_OK;
  *out = yyjson_get_num(value);
  if (yyjson_is_num(value) && *out >= 0) return FC_OK;
  return fault(reader, FC_CODE_JSON_SCHEMA,
               "tolerance '%s' must be a number of at least 0", key);
}

static fc_status_t read_tolerance(const reader_t *reader, yyjson_val *object,
                                  fc_tolerance_t *out) {
  if (!object) return FC_OK;
  if (!yyjson_is_obj(object)) {
    return fault(reader, FC_CODE_JSON_SCHEMA, "'tolerance' must be an object");
  }
  FC_TRY(check_keys(reader, object, kToleranceKeys,
                    FC_ARRAY_COUNT(kToleranceKeys)));
  FC_TRY(read_number(reader, object, "abs", &out->absolute));
  FC_TRY(read_number(reader, object, "rel", &out->relative));
  yyjson_val *ulp = yyjson_obj_get(object, "ulp");
  if (ulp && !yyjson_is_uint(ulp)) {
    return fault(reader, FC_CODE_JSON_SCHEMA,
                 "tolerance 'ulp' must be a whole number");
  }
  out->ulp = yyjson_get_uint(ulp);
  yyjson_val *nan = yyjson_obj_get(object, "nan");
  out->nan_differs = yyjson_equals_str(nan, "differs");
  if (!nan || out->nan_differs || yyjson_equals_str(nan, "equal")) return FC_OK;
  return fault(reader, FC_CODE_JSON_SCHEMA,
               "tolerance 'nan' must be \"equal\" or \"differs\"");
}

static fc_status_t keep(const reader_t *reader, fc_str_t text, fc_str_t *out) {
  *out = fc_arena_copy(&reader->made->arena, text);
  return out->data ? FC_OK : fc_fail_memory(reader->err);
}

// Writes the value as JSON into the arena.
static fc_status_t keep_json(const reader_t *reader, yyjson_val *root,
                             fc_str_t *out) {
  size_t size = 0;
  yyjson_write_err failure;
  char *text = yyjson_val_write_opts(root, 0, reader->alc, &size, &failure);
  if (!text) return fc_fail_memory(reader->err);
  const fc_status_t status = keep(reader, fc_str_make(text, size), out);
  reader->alc->free(reader->alc->ctx, text);
  return status;
}

// Makes {"args":…}, or {"args":…,"kwargs":…} if the line has "kwargs".
static fc_status_t keep_body(const reader_t *reader, yyjson_val *root,
                             fc_expected_call_t *call) {
  fc_str_t parts[2] = {FC_STR("[]"), FC_STR("{}")};
  yyjson_val *values[2] = {yyjson_obj_get(root, "args"),
                           yyjson_obj_get(root, "kwargs")};
  for (int i = 0; i < 2; i++) {
    if (values[i]) FC_TRY(keep_json(reader, values[i], &parts[i]));
  }
  const size_t room = parts[0].size + parts[1].size + 32;
  char *text = fc_arena_alloc(&reader->made->arena, room, 1);
  if (!text) return fc_fail_memory(reader->err);
  // All functions accept arguments by position, but only some accept "kwargs".
  const int size =
      values[1] ? snprintf(text, room, "{\"args\":%.*s,\"kwargs\":%.*s}",
                           FC_STR_ARG(parts[0]), FC_STR_ARG(parts[1]))
                : snprintf(text, room, "{\"args\":%.*s}", FC_STR_ARG(parts[0]));
  call->body = fc_str_make(text, (size_t)size);
  return FC_OK;
}

static fc_status_t read_call(const reader_t *reader, yyjson_val *root,
                             yyjson_val *raw, fc_expected_call_t *call) {
  if (!yyjson_is_obj(root)) {
    return fault(reader, FC_CODE_JSON_SCHEMA, "must be an object");
  }
  FC_TRY(check_keys(reader, root, kKeys, FC_ARRAY_COUNT(kKeys)));
  fc_str_t *const texts[] = {&call->name, &call->function, &call->error};
  static const char *const keys[] = {"name", "function", "error"};
  for (size_t i = 0; i < FC_ARRAY_COUNT(keys); i++) {
    yyjson_val *text = yyjson_obj_get(root, keys[i]);
    if (!text) continue;
    if (!yyjson_is_str(text)) {
      return fault(reader, FC_CODE_JSON_SCHEMA, "'%s' must be a string",
                   keys[i]);
    }
    FC_TRY(keep(reader, fc_doc_text_of(text), texts[i]));
  }
  yyjson_val *error = yyjson_obj_get(root, "error");
  yyjson_val *results = yyjson_obj_get(raw, "results");
  if (error && !call->error.size) {
    return fault(reader, FC_CODE_JSON_SCHEMA, "'error' must not be empty");
  }
  if (results && (error || !yyjson_is_arr(results))) {
    return fault(reader, FC_CODE_JSON_SCHEMA,
                 "'results' must be a list, and 'error' excludes it");
  }
  call->line = reader->line;
  if (results) FC_TRY(keep_json(reader, results, &call->results));
  FC_TRY(keep_body(reader, raw, call));
  return read_tolerance(reader, yyjson_obj_get(root, "tolerance"),
                        &call->tolerance);
}

static fc_status_t read_json(const reader_t *reader, fc_str_t line,
                             yyjson_read_flag flags, yyjson_doc **out_doc) {
  yyjson_read_err failure = {0};
  *out_doc = yyjson_read_opts((char *)(uintptr_t)line.data, line.size, flags,
                              reader->alc, &failure);
  if (*out_doc) return FC_OK;
  if (failure.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
    return fc_fail_memory(reader->err);
  }
  return fault(reader, FC_CODE_JSON_SYNTAX, "not JSON: %s at byte %zu",
               failure.msg, failure.pos);
}

// Parses the line twice: once to read numbers, once to keep their spelling.
static fc_status_t read_line(const reader_t *reader, fc_str_t line,
                             fc_expected_call_t *call) {
  yyjson_doc *doc, *raw = NULL;
  FC_TRY(read_json(reader, line, 0, &doc));
  fc_status_t status = read_json(reader, line, YYJSON_READ_NUMBER_AS_RAW, &raw);
  if (status == FC_OK) {
    status = read_call(reader, yyjson_doc_get_root(doc),
                       yyjson_doc_get_root(raw), call);
  }
  yyjson_doc_free(doc);
  yyjson_doc_free(raw);
  return status;
}

static bool is_blank(fc_str_t line) {
  for (size_t i = 0; i < line.size; i++) {
    if (line.data[i] != ' ' && line.data[i] != '\t' && line.data[i] != '\r') {
      return false;
    }
  }
  return true;
}

static size_t count_lines(fc_str_t text) {
  size_t count = 0;
  while (text.size) count += !is_blank(fc_str_take(&text, '\n'));
  return count;
}

static fc_status_t read_lines(reader_t *reader, fc_str_t lines) {
  fc_expectations_t *made = reader->made;
  const size_t count = count_lines(lines);
  if (lines.size > FC_EXPECT_SIZE_MAX || count > FC_EXPECT_CALLS_MAX) {
    return fc_fail(reader->err, FC_CODE_JSON_SCHEMA,
                   "%zu calls in %zu bytes, at most %u in %u are read", count,
                   lines.size, FC_EXPECT_CALLS_MAX, FC_EXPECT_SIZE_MAX);
  }
  made->calls = fc_arena_alloc_array(&made->arena, count ? count : 1,
                                     sizeof *made->calls);
  if (!made->calls) return fc_fail_memory(reader->err);
  while (lines.size) {
    const fc_str_t line = fc_str_take(&lines, '\n');
    reader->line++;
    if (is_blank(line)) continue;
    if (line.size > FC_EXPECT_CALL_MAX) {
      return fault(reader, FC_CODE_JSON_SCHEMA,
                   "%zu bytes, at most %u are read", line.size,
                   FC_EXPECT_CALL_MAX);
    }
    FC_TRY(read_line(reader, line, &made->calls[made->count]));
    made->count++;
  }
  return FC_OK;
}

static fc_status_t parse(fc_str_t lines, const char *list,
                         fc_allocator_t allocator,
                         fc_expectations_t **out_expectations,
                         fc_error_t *err) {
  fc_expectations_t *made = fc_alloc(allocator, sizeof *made);
  if (!made) return fc_fail_memory(err);
  fc_arena_init(&made->arena, allocator, 16u << 10, 8 * FC_EXPECT_SIZE_MAX);
  const yyjson_alc alc = fc_doc_alc(&allocator);
  reader_t reader = {.made = made, .alc = &alc, .list = list, .err = err};
  const fc_status_t status = read_lines(&reader, lines);
  if (status == FC_OK) *out_expectations = made;
  else fc_expectations_destroy(made);
  return status;
}

fc_status_t fc_expectations_parse(fc_str_t lines, fc_allocator_t allocator,
                                  fc_expectations_t **out_expectations,
                                  fc_error_t *err) {
  return parse(lines, NULL, allocator, out_expectations, err);
}

static fc_status_t put_lines(yyjson_val *list, const yyjson_alc *alc,
                             fc_sink_t *sink, fc_error_t *err) {
  size_t index, count;
  yyjson_val *call;
  yyjson_arr_foreach(list, index, count, call) {
    size_t size = 0;
    char *text = yyjson_val_write_opts(call, 0, alc, &size, NULL);
    if (!text) return fc_fail_memory(err);
    fc_status_t status = fc_sink_put(sink, fc_str_make(text, size), err);
    alc->free(alc->ctx, text);
    if (status == FC_OK) status = fc_sink_put(sink, FC_STR("\n"), err);
    if (status != FC_OK) return status;
  }
  return FC_OK;
}

// Writes the list out as lines, so that there is only one reader of calls.
fc_status_t fc_expectations_read(yyjson_val *list, const char *place,
                                 fc_allocator_t allocator,
                                 fc_expectations_t **out_expectations,
                                 fc_error_t *err) {
  const yyjson_alc alc = fc_doc_alc(&allocator);
  fc_text_t lines;
  if (!yyjson_is_arr(list)) {
    return fc_fail(err, FC_CODE_JSON_SCHEMA, "%s must be a list of calls",
                   place);
  }
  fc_text_init(&lines, allocator, FC_EXPECT_SIZE_MAX);
  fc_status_t status = put_lines(list, &alc, &lines.sink, err);
  if (status == FC_OK) {
    status =
        parse(fc_text_str(&lines), place, allocator, out_expectations, err);
  }
  fc_text_deinit(&lines);
  return status;
}

void fc_expectations_destroy(fc_expectations_t *expectations) {
  if (!expectations) return;
  const fc_allocator_t allocator = expectations->arena.allocator;
  fc_arena_deinit(&expectations->arena);
  fc_free(allocator, expectations);
}
