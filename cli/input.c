// SPDX-License-Identifier: Apache-2.0
//
// Reads values: text, .npy files, JSON. Numbers in text and JSON stay as the user wrote
// them; only the function's type converts them to bits.
#include "input.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <yyjson.h>

#include "file.h"
#include "json/writer.h"
#include "value/npy.h"

#define DOCUMENT_LIMIT ((size_t)1 << 31)

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_gap(char c) {
  return c == ' ' || c == ',' || c == '[' || c == ']' || c == '\t' ||
         c == '\n' || c == '\r';
}

static size_t count_digits(fc_str_t text, size_t at) {
  size_t from = at;
  while (at < text.size && is_digit(text.data[at])) at++;
  return at - from;
}

// True for a number of the grammar of RFC 8259.
static bool is_number(fc_str_t text) {
  size_t at = text.size && text.data[0] == '-';
  size_t digits = count_digits(text, at);
  if (!digits || (digits > 1 && text.data[at] == '0')) return false;
  at += digits;
  if (at < text.size && text.data[at] == '.') {
    digits = count_digits(text, at + 1);
    if (!digits) return false;
    at += 1 + digits;
  }
  if (at < text.size && (text.data[at] == 'e' || text.data[at] == 'E')) {
    at++;
    if (at < text.size && (text.data[at] == '+' || text.data[at] == '-')) at++;
    digits = count_digits(text, at);
    if (!digits) return false;
    at += digits;
  }
  return at == text.size;
}

fc_str_t fc_input_value(fc_str_t text) {
  static const struct {
    fc_str_t text;
    fc_str_t json;
  } kWords[] = {
      {{"nan", 3}, {"\"NaN\"", 5}},
      {{"NaN", 3}, {"\"NaN\"", 5}},
      {{"inf", 3}, {"\"Infinity\"", 10}},
      {{"Infinity", 8}, {"\"Infinity\"", 10}},
      {{"-inf", 4}, {"\"-Infinity\"", 11}},
      {{"-Infinity", 9}, {"\"-Infinity\"", 11}},
      {{"true", 4}, {"true", 4}},
      {{"false", 5}, {"false", 5}},
  };
  for (size_t i = 0; i < FC_ARRAY_COUNT(kWords); i++) {
    if (fc_str_equal(text, kWords[i].text)) return kWords[i].json;
  }
  return is_number(text) ? text : (fc_str_t){0};
}

// ---------------------------------------------------------------------------
// Typed values

typedef struct typed_t {
  fc_dtype_t dtype;
  fc_str_t type;  // all of it, as written
  fc_str_t dtype_text;
  int32_t rank;
  int64_t shape[FC_RANK_MAX];
  fc_str_t values;
} typed_t;

// Parses "2x3xf32=…". False: the text before '=' does not have this form. If it does but
// names no element type, dtype is FC_DTYPE_NONE.
static bool parse_typed(fc_str_t text, typed_t *out_typed) {
  const char *equals = text.size ? memchr(text.data, '=', text.size) : NULL;
  if (!equals) return false;
  fc_str_t type = {text.data, (size_t)(equals - text.data)};
  typed_t typed = {.type = type,
                   .values = {equals + 1, text.size - type.size - 1}};
  for (;;) {
    size_t digits = count_digits(type, 0);
    if (!digits) break;
    if (digits == type.size || type.data[digits] != 'x') return false;
    if (typed.rank == FC_RANK_MAX) return false;
    int64_t dim = 0;
    for (size_t i = 0; i < digits; i++) {
      if (!fc_i64_mul(dim, 10, &dim) ||
          !fc_i64_add(dim, type.data[i] - '0', &dim)) {
        return false;
      }
    }
    typed.shape[typed.rank++] = dim;
    type = fc_str_make(type.data + digits + 1, type.size - digits - 1);
  }
  typed.dtype = fc_dtype_find_named(type, FC_DTYPE_NONE);
  typed.dtype_text = type;
  *out_typed = typed;
  return typed.dtype != FC_DTYPE_NONE || typed.rank > 0;
}

static fc_status_t refuse_dtype(fc_str_t dtype, fc_error_t *err) {
  char text[96];
  fc_escape(text, sizeof text, 32, dtype);
  return fc_fail(err, FC_CODE_DTYPE_MISMATCH,
                 "'%s' is no element type; there are %s", text,
                 fc_dtype_texts());
}

static bool next_value(fc_str_t *rest, fc_str_t *out_value) {
  size_t at = 0;
  while (at < rest->size && is_gap(rest->data[at])) at++;
  size_t from = at;
  while (at < rest->size && !is_gap(rest->data[at])) at++;
  *out_value = (fc_str_t){rest->data + from, at - from};
  *rest = (fc_str_t){rest->data + at, rest->size - at};
  return out_value->size > 0;
}

static fc_status_t refuse_value(fc_str_t value, fc_error_t *err) {
  char text[96];
  fc_escape(text, sizeof text, 64, value);
  return fc_fail(err, FC_CODE_TYPE_MISMATCH, "'%s' is no number", text);
}

static fc_status_t put(fc_sink_t *sink, const char *text, fc_error_t *err) {
  return fc_sink_put(sink, fc_str(text), err);
}

static fc_status_t print_head(fc_str_t dtype, int32_t rank,
                              const int64_t *shape, fc_sink_t *sink,
                              fc_error_t *err) {
  FC_TRY(put(sink, "{\"dtype\":", err));
  FC_TRY(fc_json_write_string(sink, dtype, err));
  FC_TRY(put(sink, ",\"shape\":[", err));
  for (int32_t i = 0; i < rank; i++) {
    if (i) FC_TRY(put(sink, ",", err));
    FC_TRY(fc_json_write_i64(sink, shape[i], err));
  }
  return put(sink, "],", err);
}

static fc_status_t print_scalar(const typed_t *typed, fc_sink_t *sink,
                                fc_error_t *err) {
  fc_str_t rest = typed->values, value;
  if (!next_value(&rest, &value) || !fc_input_value(value).data) {
    return refuse_value(typed->values, err);
  }
  FC_TRY(fc_sink_put(sink, fc_input_value(value), err));
  return next_value(&rest, &value) ? refuse_value(typed->values, err) : FC_OK;
}

static fc_status_t wrong_count(const typed_t *typed, size_t wanted, size_t got,
                               fc_error_t *err) {
  return fc_fail(err, FC_CODE_DATA_LENGTH, "%.*s wants %zu values, got %zu",
                 FC_STR_ARG(typed->type), wanted, got);
}

// Writes the elements of a file that has only elements, row by row, little-endian.
static fc_status_t print_file(fc_arena_t *arena, const typed_t *typed,
                              size_t wanted, bool bare, fc_sink_t *sink,
                              fc_error_t *err) {
  fc_str_t file;
  size_t size;
  // The file's path is the end of a command-line argument, so it ends with a NUL.
  FC_TRY(fc_file_read(arena, typed->values.data + 1, &file, err));
  if (!fc_size_mul(wanted, fc_dtype_size(typed->dtype), &size) ||
      file.size != size) {
    return fc_fail(err, FC_CODE_DATA_LENGTH, "%.*s has %zu bytes, the file %zu",
                   FC_STR_ARG(typed->type), size, file.size);
  }
  if (bare && !typed->rank) {
    return fc_json_write_element(sink, typed->dtype, file.data, false, err);
  }
  FC_TRY(print_head(typed->dtype_text, typed->rank, typed->shape, sink, err));
  FC_TRY(put(sink, "\"b64\":", err));
  FC_TRY(fc_json_write_base64(sink, file.data, file.size, err));
  return put(sink, "}", err);
}

static fc_status_t print_tensor(fc_arena_t *arena, const typed_t *typed,
                                bool bare, fc_sink_t *sink, fc_error_t *err) {
  size_t wanted = 1, got = 0;
  if (typed->dtype == FC_DTYPE_NONE)
    return refuse_dtype(typed->dtype_text, err);
  for (int32_t i = 0; i < typed->rank; i++) {
    if (!fc_size_mul(wanted, (size_t)typed->shape[i], &wanted)) {
      return fc_fail(err, FC_CODE_TENSOR_TOO_LARGE, "the shape overflows");
    }
  }
  if (typed->values.size && typed->values.data[0] == '@') {
    return print_file(arena, typed, wanted, bare, sink, err);
  }
  if (bare && !typed->rank) return print_scalar(typed, sink, err);
  if (fc_dtype_info(typed->dtype)->class_ == FC_DTYPE_CLASS_COMPLEX) {
    return fc_fail(err, FC_CODE_TYPE_MISMATCH,
                   "complex values are written as JSON: [[re,im],…]");
  }
  FC_TRY(print_head(typed->dtype_text, typed->rank, typed->shape, sink, err));
  FC_TRY(put(sink, "\"data\":[", err));
  fc_str_t rest = typed->values, value, json = {0};
  for (; next_value(&rest, &value); got++) {
    json = fc_input_value(value);
    if (!json.data) return refuse_value(value, err);
    if (got == wanted) continue;  // counted, for the message
    if (got) FC_TRY(put(sink, ",", err));
    FC_TRY(fc_sink_put(sink, json, err));
  }
  if (got != wanted && got != 1) return wrong_count(typed, wanted, got, err);
  if (!wanted && got) return wrong_count(typed, wanted, got, err);
  for (; got < wanted; got++) {  // one value fills the tensor
    FC_TRY(put(sink, ",", err));
    FC_TRY(fc_sink_put(sink, json, err));
  }
  return put(sink, "]}", err);
}

static fc_status_t print_npy(fc_arena_t *arena, const char *path, bool bare,
                             fc_sink_t *sink, fc_error_t *err) {
  fc_str_t file;
  fc_npy_t array;
  FC_TRY(fc_file_read(arena, path, &file, err));
  FC_TRY(fc_npy_parse(arena, file, NULL, &array, err));
  if (bare && !array.rank) {
    return fc_json_write_element(sink, array.dtype, array.data.data, false,
                                 err);
  }
  // NumPy's integers are signed or unsigned, never signless; a signless argument accepts
  // both.
  const char *sign = fc_dtype_info(array.dtype)->npy[1] == 'i' ? "s" : "";
  const char *dtype =
      fc_print(arena, "%s%s", sign, fc_dtype_info(array.dtype)->text);
  if (!dtype) return fc_fail_memory(err);
  FC_TRY(print_head(fc_str(dtype), array.rank, array.shape, sink, err));
  FC_TRY(put(sink, "\"b64\":", err));
  FC_TRY(fc_json_write_base64(sink, array.data.data, array.data.size, err));
  return put(sink, "}", err);
}

// Fails because --input does not accept the text, and suggests what the user may have
// meant. `text` must end with a NUL.
static fc_status_t refuse_text(fc_str_t text, const yyjson_read_err *failure,
                               fc_error_t *err) {
  if (text.size && !access(text.data, R_OK)) {
    return fc_fail(err, FC_CODE_JSON_SYNTAX,
                   "that is a file: --input=@%.200s reads it", text.data);
  }
  size_t name = strspn(text.data, "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  if (name && !is_digit(text.data[0]) && text.data[name] == '=') {
    return fc_fail(err, FC_CODE_JSON_SYNTAX,
                   "'%.*s' is no type; by name, arguments go as "
                   "--json='{\"kwargs\":{\"%.*s\":…}}'",
                   (int)name, text.data, (int)name, text.data);
  }
  return fc_fail(err, FC_CODE_JSON_SYNTAX,
                 "neither a typed value like 4xf32=…, nor @FILE.npy, nor JSON "
                 "(%s at byte %zu)",
                 failure->msg, failure->pos);
}

static fc_status_t print_json(fc_str_t text, fc_sink_t *sink, fc_error_t *err) {
  if (fc_input_value(text).data)
    return fc_sink_put(sink, fc_input_value(text), err);
  yyjson_read_err failure;
  // yyjson takes char *, but without YYJSON_READ_INSITU it only reads.
  char *spelled = (char *)(uintptr_t)text.data;
  yyjson_doc *doc =
      yyjson_read_opts(spelled, text.size, YYJSON_READ_NOFLAG, NULL, &failure);
  if (!doc) return refuse_text(text, &failure, err);
  yyjson_doc_free(doc);
  return fc_sink_put(sink, text, err);
}

fc_status_t fc_input_print(fc_arena_t *arena, const char *option,
                           const char *input, bool bare, fc_sink_t *sink,
                           fc_error_t *err) {
  typed_t typed;
  fc_status_t status;
  if (input[0] == '@') {
    status = print_npy(arena, input + 1, bare, sink, err);
  } else if (parse_typed(fc_str(input), &typed)) {
    status = print_tensor(arena, &typed, bare, sink, err);
  } else {
    status = print_json(fc_str(input), sink, err);
  }
  if (status == FC_OK) return FC_OK;
  char name[80], reason[sizeof err->message];
  fc_escape(name, sizeof name, 40, fc_str(input));
  snprintf(reason, sizeof reason, "%s", err->message);
  return fc_fail_as(err, err->code, status, "--%s=%s: %.250s", option, name,
                    reason);
}

// ---------------------------------------------------------------------------
// The document

// Returns the value of --input number `wanted`; NULL if there are fewer.
static const char *find_input(const fc_args_t *args, size_t wanted) {
  for (size_t i = 0, seen = 0; i < args->flag_count; i++) {
    if (args->flags[i].option != FC_OPTION_INPUT) continue;
    if (seen++ == wanted) return args->flags[i].value;
  }
  return NULL;
}

const char *fc_input_hint(const fc_args_t *args, const char *code,
                          const char *pointer) {
  if (strcmp(code, fc_code_info(FC_CODE_TYPE_MISMATCH)->text) != 0) return "";
  if (!strncmp(pointer, "/args", 5)) pointer += 5;
  size_t digits = *pointer == '/' ? count_digits(fc_str(pointer + 1), 0) : 0;
  if (!digits || digits > 4 || pointer[1 + digits]) return "";
  const char *input = find_input(args, strtoul(pointer + 1, NULL, 10));
  typed_t typed;
  if (!input || !parse_typed(fc_str(input), &typed) || !typed.rank) return "";
  const char *hint =
      fc_print(args->arena, ": --input=%.40s is a tensor, %.*s=%.40s a scalar",
               input, FC_STR_ARG(typed.dtype_text), typed.values.data);
  return hint ? hint : "";
}

const char *fc_input_words_hint(const fc_args_t *args) {
  return args->word_count > 1 ? ": values go by --input=VALUE, one for each "
                                "argument"
                              : "";
}

// May the argument of --input number `wanted` be a scalar?
static bool may_be_scalar(const fc_signature_t *signature, size_t wanted) {
  if (!signature || signature->root_tree) return true;
  for (uint32_t i = 0, sent = 0; i < signature->argument_count; i++) {
    const fc_param_t *param = &signature->arguments[i];
    if (!fc_role_is_sent(param->role)) continue;
    if (sent++ != wanted) continue;
    const uint8_t kind = fc_signature_node(signature, param->type)->kind;
    return kind != FC_TYPE_TENSOR && kind != FC_TYPE_UNKNOWN;
  }
  return true;
}

static fc_status_t print_inputs(const fc_args_t *args,
                                const fc_signature_t *signature,
                                fc_sink_t *sink, fc_error_t *err) {
  const char *form = fc_output_form(args);
  FC_TRY(put(sink, form ? "{\"args\":[" : "[", err));
  size_t seen = 0;
  for (size_t i = 0; i < args->flag_count; i++) {
    if (args->flags[i].option != FC_OPTION_INPUT) continue;
    if (seen) FC_TRY(put(sink, ",", err));
    FC_TRY(fc_input_print(args->arena, fc_cli_options[FC_OPTION_INPUT].name,
                          args->flags[i].value,
                          may_be_scalar(signature, seen++), sink, err));
  }
  if (!form) return put(sink, "]", err);
  FC_TRY(put(sink, "],\"options\":{\"results\":\"", err));
  FC_TRY(put(sink, form, err));
  return put(sink, "\"}}", err);
}

// Fails if --json or --example, which give the whole document, is combined with options
// of --input.
static fc_status_t check_whole(const fc_args_t *args, fc_error_t *err) {
  const bool is_example = fc_args_has(args, FC_OPTION_EXAMPLE);
  const bool is_json = fc_args_has(args, FC_OPTION_JSON);
  const char *whole = is_example ? "--example" : "--json";
  if (!is_example && !is_json) return FC_OK;
  if (fc_args_has(args, FC_OPTION_INPUT) || (is_example && is_json)) {
    return fc_fail_as(err, FC_CODE_JSON_SCHEMA, FC_FAILED_PRECONDITION,
                      "%s is the whole document: leave out --%s", whole,
                      is_example && is_json ? "json" : "input");
  }
  const bool writes = fc_args_has(args, FC_OPTION_OUTPUT);
  if (!writes && !fc_output_form(args)) return FC_OK;
  return fc_fail_as(err, FC_CODE_JSON_SCHEMA, FC_FAILED_PRECONDITION,
                    "%s goes with --input; with %s the document says how "
                    "results come",
                    writes ? "--output" : "--print=elided", whole);
}

static fc_status_t given_document(const fc_args_t *args, const char *json,
                                  fc_str_t *out_document, fc_error_t *err) {
  if (json[0] == '@') {
    return fc_file_read(args->arena, json + 1, out_document, err);
  }
  if (json[0] != '[' && json[0] != '{' && !access(json, R_OK)) {
    return fc_fail_as(err, FC_CODE_JSON_SCHEMA, FC_FAILED_PRECONDITION,
                      "--json=%.200s is a file: --json=@%.200s reads it", json,
                      json);
  }
  *out_document = fc_str(json);
  return FC_OK;
}

static fc_status_t made_document(const fc_args_t *args,
                                 const fc_signature_t *signature,
                                 fc_str_t *out_document, fc_error_t *err) {
  fc_text_t text;
  fc_text_init(&text, fc_allocator_system(), DOCUMENT_LIMIT);
  fc_status_t status = print_inputs(args, signature, &text.sink, err);
  if (status == FC_OK) {
    *out_document = fc_arena_copy(args->arena, fc_text_str(&text));
    if (!out_document->data) status = fc_fail_memory(err);
  }
  fc_text_deinit(&text);
  return status;
}

// Checks every --output before the call, because a result without a destination would be
// lost.
static fc_status_t check_outputs(const fc_args_t *args, fc_error_t *err) {
  for (size_t i = 0; i < args->flag_count; i++) {
    const char *value = args->flags[i].value;
    if (args->flags[i].option != FC_OPTION_OUTPUT) continue;
    if (!*value || !strcmp(value, "-") || (value[0] == '@' && value[1])) {
      continue;
    }
    return fc_fail_as(err, FC_CODE_JSON_SCHEMA, FC_FAILED_PRECONDITION,
                      "--output=%.200s: @%.200s writes a file, - prints the "
                      "result, nothing drops it",
                      value, value[0] == '@' ? "FILE.npy" : value);
  }
  return FC_OK;
}

// Reports an error, if there is one. Returns an exit code.
static int complain(fc_status_t status, const fc_error_t *err) {
  if (status == FC_OK) return FC_EXIT_OK;
  const bool usage = status == FC_FAILED_PRECONDITION;
  return fc_complain(usage ? FC_EXIT_USAGE : FC_EXIT_DATA, "%s", err->message);
}

int fc_input_check(const fc_args_t *args) {
  fc_error_t err;
  fc_error_reset(&err);
  fc_status_t status = fc_output_check(args, &err);
  if (status == FC_OK) status = check_outputs(args, &err);
  if (status == FC_OK) status = check_whole(args, &err);
  return complain(status, &err);
}

int fc_input_document(const fc_args_t *args, const fc_signature_t *signature,
                      fc_str_t *out_document) {
  const int exit_code = fc_input_check(args);
  if (exit_code) return exit_code;
  fc_error_t err;
  fc_error_reset(&err);
  const char *json = fc_args_get(args, FC_OPTION_JSON, NULL);
  return complain(json ? given_document(args, json, out_document, &err)
                       : made_document(args, signature, out_document, &err),
                  &err);
}
