// SPDX-License-Identifier: Apache-2.0
//
// MLIR text, lexed. Three things nest: strings hide everything, brackets pair
// up (a '>' behind '-' is an arrow, before '=' a comparison), and the generic
// form writes an operation as "name"(operands) <{properties}> ({regions})
// {attributes} : types.
#include "compile_derive.h"

#include <stdio.h>
#include <stdlib.h>

#define ALIAS_DEPTH 8  // an alias may name another alias

typedef struct fc_alias_t {
  fc_str_t name;  // with its '#' or '!'
  fc_str_t value;
} fc_alias_t;

typedef struct fc_reading_t {
  fc_arena_t *arena;
  fc_str_t text;
  fc_alias_t *aliases;
  size_t alias_count;
  fc_mlir_module_t *module;
  fc_error_t *err;
} fc_reading_t;

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
         c == '_' || c == '$' || c == '.' || c == '-';
}

static fc_str_t trim(fc_str_t text) {
  while (text.size && is_space(text.data[0])) text.data++, text.size--;
  while (text.size && is_space(text.data[text.size - 1])) text.size--;
  return text;
}

static fc_str_t part(fc_str_t text, size_t from, size_t to) {
  return (fc_str_t){text.data + from, to - from};
}

static char char_at(fc_str_t text, size_t at) {
  return at < text.size ? text.data[at] : '\0';
}

static size_t skip_space(fc_str_t text, size_t at) {
  while (at < text.size && is_space(text.data[at])) at++;
  return at;
}

// text[at] is a quote; the index behind its partner.
static size_t skip_string(fc_str_t text, size_t at) {
  for (at++; at < text.size; at++) {
    if (text.data[at] == '\\') at++;
    else if (text.data[at] == '"') return at + 1;
  }
  return text.size;
}

// How the character at `at` changes the nesting: +1, -1 or 0.
static int nesting(fc_str_t text, size_t at) {
  switch (text.data[at]) {
    case '(':
    case '[':
    case '{':
    case '<':
      return 1;
    case ')':
    case ']':
    case '}':
      return -1;
    case '>':
      if (at && text.data[at - 1] == '-') return 0;
      return char_at(text, at + 1) == '=' ? 0 : -1;
    default:
      return 0;
  }
}

// text[at] opens a bracket; the index behind its partner, text.size if it has
// none. In source text `comments` hides // to the end of the line.
static size_t skip_balanced(fc_str_t text, size_t at, bool comments) {
  int depth = 0;
  while (at < text.size) {
    char c = text.data[at];
    if (c == '"') {
      at = skip_string(text, at);
      continue;
    }
    if (comments && c == '/' && char_at(text, at + 1) == '/') {
      while (at < text.size && text.data[at] != '\n') at++;
      continue;
    }
    depth += nesting(text, at++);
    if (depth <= 0) return at;
  }
  return at;
}

// Cuts the next element off a comma-separated list. False at its end.
static bool next_element(fc_str_t *rest, fc_str_t *out_element) {
  size_t at = 0;
  if (!trim(*rest).size) return false;
  while (at < rest->size && rest->data[at] != ',') {
    if (rest->data[at] == '"') at = skip_string(*rest, at);
    else if (nesting(*rest, at) > 0) at = skip_balanced(*rest, at, false);
    else at++;
  }
  *out_element = trim(part(*rest, 0, at));
  *rest = part(*rest, at < rest->size ? at + 1 : at, rest->size);
  return true;
}

static size_t count_elements(fc_str_t list) {
  size_t count = 0;
  fc_str_t element;
  while (next_element(&list, &element)) count++;
  return count;
}

// "(a, b)" -> "a, b"
static fc_str_t unwrap(fc_str_t text) {
  text = trim(text);
  return text.size < 2 ? (fc_str_t){0} : part(text, 1, text.size - 1);
}

fc_str_t fc_mlir_attr(fc_str_t attrs, fc_str_t key) {
  fc_str_t element;
  while (next_element(&attrs, &element)) {
    size_t at = 0;
    if (char_at(element, 0) == '"') at = skip_string(element, 0);
    else {
      while (at < element.size && is_word(element.data[at])) at++;
    }
    fc_str_t name = part(element, 0, at);
    if (char_at(name, 0) == '"') name = unwrap(name);
    if (!fc_str_equal(name, key)) continue;
    at = skip_space(element, at);
    if (char_at(element, at) != '=') return part(element, at, at);
    return trim(part(element, at + 1, element.size));
  }
  return (fc_str_t){0};
}

static int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

fc_str_t fc_mlir_unquote(fc_arena_t *arena, fc_str_t text) {
  if (text.size < 2 || text.data[0] != '"') return (fc_str_t){0};
  fc_str_t raw = unwrap(text);
  char *out = fc_arena_alloc(arena, raw.size + 1, 1);
  if (!out) return (fc_str_t){0};
  size_t size = 0;
  for (size_t at = 0; at < raw.size; at++) {
    char c = raw.data[at];
    if (c == '\\' && at + 1 < raw.size) {
      int high = hex_digit(raw.data[at + 1]);
      int low = hex_digit(char_at(raw, at + 2));
      if (high >= 0 && low >= 0) {
        c = (char)(high * 16 + low);
        at += 2;
      } else {
        c = raw.data[++at];
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
      }
    }
    out[size++] = c;
  }
  out[size] = '\0';
  return (fc_str_t){out, size};
}

// ---------------------------------------------------------------------------
// Aliases

static const fc_alias_t *find_alias(const fc_reading_t *reading,
                                    fc_str_t name) {
  for (size_t i = 0; i < reading->alias_count; i++) {
    if (fc_str_equal(reading->aliases[i].name, name)) {
      return &reading->aliases[i];
    }
  }
  return NULL;
}

// One round of replacement. True when anything was replaced.
static bool expand_once(const fc_reading_t *reading, fc_str_t text,
                        fc_text_t *out, fc_status_t *status) {
  bool replaced = false;
  size_t at = 0;
  while (at < text.size && *status == FC_OK) {
    size_t end = at + 1;
    const fc_alias_t *alias = NULL;
    if (text.data[at] == '"') {
      end = skip_string(text, at);
    } else if (text.data[at] == '#' || text.data[at] == '!') {
      while (end < text.size && is_word(text.data[end])) end++;
      alias = find_alias(reading, part(text, at, end));
    }
    fc_str_t piece = alias ? alias->value : part(text, at, end);
    *status = fc_sink_put(&out->sink, piece, reading->err);
    replaced = replaced || alias;
    at = end;
  }
  return replaced;
}

static fc_status_t expand(const fc_reading_t *reading, fc_str_t text,
                          fc_str_t *out_text) {
  *out_text = text;
  if (!memchr(text.data, '#', text.size) &&
      !memchr(text.data, '!', text.size)) {
    return FC_OK;
  }
  fc_status_t status = FC_OK;
  fc_text_t built;
  fc_text_init(&built, reading->arena->allocator, 1u << 20);
  for (int i = 0; i < ALIAS_DEPTH; i++) {
    fc_text_reset(&built);
    bool replaced = expand_once(reading, *out_text, &built, &status);
    if (status || !replaced) break;
    *out_text = fc_arena_copy(reading->arena, fc_text_str(&built));
    if (!out_text->data) status = fc_fail_memory(reading->err);
    if (status) break;
  }
  fc_text_deinit(&built);
  return status;
}

// Every line `#name = …` or `!name = …`. Locations are aliased too; they are of
// no use here and by far the most.
static bool alias_line(fc_str_t line, fc_alias_t *out_alias) {
  if (!line.size || (line.data[0] != '#' && line.data[0] != '!')) return false;
  size_t at = 1;
  while (at < line.size && is_word(line.data[at])) at++;
  fc_str_t name = part(line, 0, at);
  at = skip_space(line, at);
  if (char_at(line, at) != '=') return false;
  fc_str_t value = trim(part(line, at + 1, line.size));
  if (fc_str_starts(value, FC_STR("loc("))) return false;
  *out_alias = (fc_alias_t){name, value};
  return true;
}

static fc_str_t take_line(fc_str_t text, size_t *at) {
  size_t from = *at;
  while (*at < text.size && text.data[*at] != '\n') ++*at;
  fc_str_t line = part(text, from, *at);
  if (*at < text.size) ++*at;
  return line;
}

static fc_status_t read_aliases(fc_reading_t *reading) {
  fc_alias_t alias;
  size_t count = 0;
  for (size_t at = 0; at < reading->text.size;) {
    if (alias_line(take_line(reading->text, &at), &alias)) count++;
  }
  reading->aliases =
      fc_arena_alloc_array(reading->arena, count, sizeof *reading->aliases);
  if (!reading->aliases) return fc_fail_memory(reading->err);
  for (size_t at = 0; at < reading->text.size;) {
    if (!alias_line(take_line(reading->text, &at), &alias)) continue;
    reading->aliases[reading->alias_count++] = alias;
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Functions

// ["m", "?"]
static fc_status_t read_dims(fc_reading_t *reading, fc_mlir_value_t *value,
                             fc_str_t text) {
  if (!text.data) return FC_OK;
  fc_str_t list = unwrap(text), element;
  value->dims = fc_arena_alloc_array(reading->arena, count_elements(list) + 1,
                                     sizeof *value->dims);
  if (!value->dims) return fc_fail_memory(reading->err);
  while (next_element(&list, &element)) {
    fc_str_t name = fc_mlir_unquote(reading->arena, element);
    if (char_at(trim(text), 0) != '[' || !name.size) {
      return fc_fail(reading->err, FC_CODE_ABI_METADATA,
                     "farcall.dims is %.*s: it is an array of strings",
                     FC_STR_ARG(text));
    }
    value->dims[value->dim_count++] = name;
  }
  return FC_OK;
}

static fc_status_t read_attrs(fc_reading_t *reading, fc_mlir_value_t *value,
                              fc_str_t attrs) {
  value->attrs = attrs;
  value->name = fc_mlir_unquote(reading->arena,
                                fc_mlir_attr(attrs, FC_STR("farcall.name")));
  value->role = fc_mlir_unquote(reading->arena,
                                fc_mlir_attr(attrs, FC_STR("farcall.role")));
  value->result_buffer =
      fc_mlir_attr(attrs, FC_STR("bufferize.result")).data != NULL;
  value->writable = fc_str_equal(
      fc_mlir_attr(attrs, FC_STR("bufferization.writable")), FC_STR("true"));
  return read_dims(reading, value, fc_mlir_attr(attrs, FC_STR("farcall.dims")));
}

// Types from `types`, attribute dictionaries from `attrs` ("[{…}, …]" or
// empty).
static fc_status_t read_values(fc_reading_t *reading, fc_str_t types,
                               fc_str_t attrs, fc_mlir_value_t **out_values,
                               size_t *out_count) {
  size_t count = count_elements(types);
  fc_mlir_value_t *values =
      fc_arena_alloc_array(reading->arena, count, sizeof *values);
  if (!values) return fc_fail_memory(reading->err);
  fc_str_t type, dictionary, dictionaries = unwrap(attrs);
  for (size_t i = 0; i < count && next_element(&types, &type); i++) {
    FC_TRY(expand(reading, type, &values[i].type));
    if (!next_element(&dictionaries, &dictionary)) continue;
    FC_TRY(read_attrs(reading, &values[i], unwrap(dictionary)));
  }
  *out_values = values;
  *out_count = count;
  return FC_OK;
}

static fc_status_t read_type(fc_reading_t *reading, fc_str_t properties,
                             fc_mlir_function_t *function) {
  fc_str_t type = fc_mlir_attr(properties, FC_STR("function_type"));
  size_t arguments_end = type.size ? skip_balanced(type, 0, false) : 0;
  size_t at = skip_space(type, arguments_end);
  if (char_at(type, 0) != '(' || char_at(type, at) != '-' ||
      char_at(type, at + 1) != '>') {
    return fc_fail(reading->err, FC_CODE_ABI_METADATA,
                   "function '%.*s' has no type", FC_STR_ARG(function->name));
  }
  fc_str_t results = trim(part(type, at + 2, type.size));
  if (char_at(results, 0) == '(') results = unwrap(results);
  FC_TRY(read_values(reading, unwrap(part(type, 0, arguments_end)),
                     fc_mlir_attr(properties, FC_STR("arg_attrs")),
                     &function->arguments, &function->argument_count));
  return read_values(reading, results,
                     fc_mlir_attr(properties, FC_STR("res_attrs")),
                     &function->results, &function->result_count);
}

// text[at] is the first character behind `"func.func"()`.
static fc_status_t read_function(fc_reading_t *reading, size_t at) {
  fc_str_t text = reading->text;
  fc_mlir_function_t function = {0};
  at = skip_space(text, at);
  size_t end = skip_balanced(text, at, false);
  fc_str_t properties = part(text, at, end);
  if (!fc_str_starts(properties, FC_STR("<{")) ||
      !fc_str_ends(properties, FC_STR("}>"))) {
    return fc_fail(reading->err, FC_CODE_ABI_METADATA,
                   "mlir-opt printed a function in a form not known here");
  }
  properties = part(properties, 2, properties.size - 2);
  function.name = fc_mlir_unquote(reading->arena,
                                  fc_mlir_attr(properties, FC_STR("sym_name")));
  fc_str_t visibility = fc_mlir_attr(properties, FC_STR("sym_visibility"));
  function.is_public =
      !visibility.size || fc_str_equal(visibility, FC_STR("\"public\""));
  FC_TRY(read_type(reading, properties, &function));

  at = skip_space(text, end);
  end = skip_balanced(text, at, false);
  fc_str_t region = unwrap(unwrap(part(text, at, end)));
  function.has_body = trim(region).size > 0;
  function.attrs_at = end;
  at = skip_space(text, end);
  if (char_at(text, at) == '{') {
    function.has_attrs = true;
    function.attrs_at = at + 1;
    function.attrs = unwrap(part(text, at, skip_balanced(text, at, false)));
  }
  fc_mlir_module_t *module = reading->module;
  if (module->function_count &&
      function.attrs_at <=
          module->functions[module->function_count - 1].attrs_at) {
    return fc_fail(reading->err, FC_CODE_ABI_METADATA,
                   "mlir-opt printed functions that overlap");
  }
  module->functions[module->function_count++] = function;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// The walk over a module

static char last_before(fc_str_t text, size_t at) {
  while (at && is_space(text.data[at - 1])) at--;
  return at ? text.data[at - 1] : '\0';
}

static bool is_tensor_type(fc_str_t text, size_t at) {
  if (!fc_str_starts(part(text, at, text.size), FC_STR("tensor<"))) {
    return false;
  }
  return !at || (!is_word(text.data[at - 1]) && text.data[at - 1] != '!');
}

static bool has_tensor_types(fc_str_t text) {
  for (size_t at = 0; at < text.size; at++) {
    if (is_tensor_type(text, at)) return true;
  }
  return false;
}

// An operation's name stands at text[from, to) with its quotes.
static fc_status_t read_operation(fc_reading_t *reading, size_t from,
                                  size_t to) {
  fc_str_t text = reading->text, name = part(text, from, to);
  if (fc_str_equal(name, FC_STR("\"memref.global\""))) {
    size_t at = skip_balanced(text, to, false);
    at = skip_space(text, at);
    fc_str_t properties = part(text, at, skip_balanced(text, at, false));
    properties = unwrap(unwrap(properties));
    if (!fc_mlir_attr(properties, FC_STR("constant")).data) {
      reading->module->has_state = true;
    }
  }
  if (!fc_str_equal(name, FC_STR("\"func.func\""))) return FC_OK;
  FC_TRY(read_function(reading, skip_balanced(text, to, false)));
  const fc_mlir_function_t *function =
      &reading->module->functions[reading->module->function_count - 1];
  for (size_t i = 0; i < function->argument_count; i++) {
    if (has_tensor_types(function->arguments[i].type)) {
      reading->module->has_tensors = true;
    }
  }
  for (size_t i = 0; i < function->result_count; i++) {
    if (has_tensor_types(function->results[i].type)) {
      reading->module->has_tensors = true;
    }
  }
  return FC_OK;
}

// Regions count as depth; attribute dictionaries and properties are skipped, so
// that a tensor literal in one of them is not taken for a tensor.
static fc_status_t walk(fc_reading_t *reading) {
  fc_str_t text = reading->text;
  size_t depth = 0;
  for (size_t at = 0; at < text.size;) {
    char c = text.data[at];
    if (c == '"') {
      size_t end = skip_string(text, at);
      if (depth == 1 && char_at(text, end) == '(') {
        FC_TRY(read_operation(reading, at, end));
      }
      at = end;
    } else if (c == '<' && char_at(text, at + 1) == '{') {
      at = skip_balanced(text, at, false);
    } else if (c == '{') {
      char before = last_before(text, at);
      bool region = before == '(' || before == ',';
      if (region) depth++;
      at = region ? at + 1 : skip_balanced(text, at, false);
    } else {
      if (c == '}' && depth) depth--;
      if (c == 't' && depth && is_tensor_type(text, at)) {
        reading->module->has_tensors = true;
      }
      at++;
    }
  }
  return FC_OK;
}

static size_t count_text(fc_str_t text, fc_str_t wanted) {
  size_t count = 0;
  for (size_t at = 0; at + wanted.size <= text.size; at++) {
    if (!memcmp(text.data + at, wanted.data, wanted.size)) count++;
  }
  return count;
}

fc_status_t fc_mlir_read(fc_arena_t *arena, fc_str_t text,
                         fc_mlir_module_t *out_module, fc_error_t *err) {
  fc_mlir_module_t module = {.text = text};
  size_t most = count_text(text, FC_STR("\"func.func\"("));
  module.functions =
      fc_arena_alloc_array(arena, most, sizeof *module.functions);
  if (!module.functions) return fc_fail_memory(err);
  fc_reading_t reading = {
      .arena = arena, .text = text, .module = &module, .err = err};
  FC_TRY(read_aliases(&reading));
  FC_TRY(walk(&reading));
  *out_module = module;
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Names in the source

static size_t skip_blank(fc_str_t text, size_t at) {
  for (;;) {
    at = skip_space(text, at);
    if (char_at(text, at) != '/' || char_at(text, at + 1) != '/') return at;
    while (at < text.size && text.data[at] != '\n') at++;
  }
}

static size_t skip_word(fc_str_t text, size_t at) {
  while (at < text.size && is_word(text.data[at])) at++;
  return at;
}

static bool is_visibility(fc_str_t word) {
  return fc_str_equal(word, FC_STR("private")) ||
         fc_str_equal(word, FC_STR("public")) ||
         fc_str_equal(word, FC_STR("nested"));
}

// text[at] is behind `func.func`. The symbol, and the index of the '(' of its
// arguments; false when this is no function in the custom form.
static bool read_symbol(fc_arena_t *arena, fc_str_t text, size_t *at,
                        fc_str_t *out_symbol) {
  size_t from = skip_blank(text, *at);
  size_t to = skip_word(text, from);
  if (is_visibility(part(text, from, to))) from = skip_blank(text, to);
  if (char_at(text, from) != '@') return false;
  from++;
  if (char_at(text, from) == '"') {
    to = skip_string(text, from);
    *out_symbol = fc_mlir_unquote(arena, part(text, from, to));
  } else {
    to = skip_word(text, from);
    *out_symbol = part(text, from, to);
  }
  *at = skip_blank(text, to);
  return char_at(text, *at) == '(';
}

// The end of one element of an argument list in source text.
static size_t skip_argument(fc_str_t text, size_t at) {
  while (at < text.size && text.data[at] != ',' && text.data[at] != ')') {
    if (text.data[at] == '"') at = skip_string(text, at);
    else if (nesting(text, at) > 0) at = skip_balanced(text, at, true);
    else at = at + 1;
    at = skip_blank(text, at);
  }
  return at;
}

// text[at] is the '('. False when there are not `count` arguments.
static bool read_names(fc_str_t text, size_t at, size_t count,
                       fc_str_t *out_names) {
  size_t seen = 0;
  at = skip_blank(text, at + 1);
  while (at < text.size && text.data[at] != ')') {
    if (seen == count) return false;
    fc_str_t name = {0};
    if (text.data[at] == '%') {
      size_t end = skip_word(text, at + 1);
      name = part(text, at + 1, end);
      if (name.size && is_digit(name.data[0])) name = (fc_str_t){0};
    }
    out_names[seen++] = name;
    at = skip_argument(text, at);
    if (char_at(text, at) == ',') at = skip_blank(text, at + 1);
  }
  return seen == count;
}

fc_status_t fc_mlir_names(fc_arena_t *arena, fc_str_t source, fc_str_t function,
                          size_t count, fc_str_t *out_names, fc_error_t *err) {
  static const char kKeyword[] = "func.func";
  const size_t size = sizeof kKeyword - 1;
  memset(out_names, 0, count * sizeof *out_names);
  if (memchr(source.data, '\0', source.size)) return FC_OK;  // bytecode
  for (size_t at = 0; at < source.size;) {
    char c = source.data[at];
    if (c == '"') {
      at = skip_string(source, at);
      continue;
    }
    if (c == '/') {
      size_t after = skip_blank(source, at);
      at = after > at ? after : at + 1;
      continue;
    }
    if (!is_word(c)) {
      at++;
      continue;
    }
    size_t end = skip_word(source, at);
    fc_str_t word = part(source, at, end);
    at = end;
    fc_str_t symbol;
    if (word.size != size || memcmp(word.data, kKeyword, size)) continue;
    if (!read_symbol(arena, source, &at, &symbol)) continue;
    if (!symbol.data) return fc_fail_memory(err);
    if (!fc_str_equal(symbol, function)) continue;
    if (!read_names(source, at, count, out_names)) {
      memset(out_names, 0, count * sizeof *out_names);
    }
    return FC_OK;
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// What lowering left over

static bool is_lowered(fc_str_t operation) {
  return fc_str_starts(operation, FC_STR("llvm.")) ||
         fc_str_starts(operation, FC_STR("builtin."));
}

// The inside of the last `loc(…)` of a line.
static fc_str_t line_location(fc_str_t line) {
  for (size_t at = line.size; at-- > 0;) {
    if (!fc_str_starts(part(line, at, line.size), FC_STR("loc("))) continue;
    size_t end = skip_balanced(line, at + 3, false);
    return part(line, at + 4, end > at + 4 ? end - 1 : end);
  }
  return (fc_str_t){0};
}

// The value of a location alias, `name` with its '#'.
static fc_str_t find_location(fc_str_t text, fc_str_t name) {
  for (size_t at = 0; at < text.size;) {
    fc_str_t line = take_line(text, &at);
    if (!fc_str_starts(line, name)) continue;
    if (char_at(line, name.size) == ' ') return line_location(line);
  }
  return (fc_str_t){0};
}

bool fc_mlir_leftover(fc_str_t text, fc_str_t *out_operation,
                      fc_str_t *out_location) {
  for (size_t at = 0; at < text.size;) {
    fc_str_t line = take_line(text, &at);
    size_t quote = skip_space(line, 0);
    // `%0 = "…"(` or `"…"(`; no other line has its first string there.
    if (char_at(line, quote) == '%') {
      while (quote < line.size && line.data[quote] != '"') quote++;
    }
    if (char_at(line, quote) != '"') continue;
    size_t end = skip_string(line, quote);
    if (char_at(line, end) != '(') continue;
    fc_str_t operation = unwrap(part(line, quote, end));
    if (is_lowered(operation)) continue;
    fc_str_t location = line_location(line);
    if (char_at(location, 0) == '#') location = find_location(text, location);
    *out_operation = operation;
    *out_location = char_at(location, 0) == '"' ? location : (fc_str_t){0};
    return true;
  }
  return false;
}

// ---------------------------------------------------------------------------
// Annotation

static fc_status_t put(fc_text_t *out, const char *text, fc_error_t *err) {
  return fc_sink_put(&out->sink, fc_str(text), err);
}

// The sizes of an allocation: the first `count` of its operands.
static bool read_allocation(fc_str_t line, fc_str_t *out_sizes,
                            size_t *out_count) {
  size_t quote = skip_space(line, 0);
  if (char_at(line, quote) != '%') return false;
  while (quote < line.size && line.data[quote] != '"') quote++;
  if (quote == line.size) return false;
  size_t end = skip_string(line, quote);
  fc_str_t name = part(line, quote, end);
  if (!fc_str_equal(name, FC_STR("\"memref.alloc\"")) &&
      !fc_str_equal(name, FC_STR("\"memref.alloca\""))) {
    return false;
  }
  size_t close = skip_balanced(line, end, false);
  *out_sizes = unwrap(part(line, end, close));
  size_t at = skip_space(line, close);
  fc_str_t properties = part(line, at, skip_balanced(line, at, false));
  // array<i32: 2, 0>: two sizes, then the symbols of a layout.
  fc_str_t segments =
      fc_mlir_attr(unwrap(unwrap(properties)), FC_STR("operandSegmentSizes"));
  size_t digit = 0;
  while (digit < segments.size && segments.data[digit] != ' ') digit++;
  *out_count = 0;
  for (digit++; digit < segments.size && is_digit(segments.data[digit]);
       digit++) {
    *out_count = *out_count * 10 + (size_t)(segments.data[digit] - '0');
  }
  return *out_count > 0;
}

static fc_status_t put_location(fc_text_t *out, fc_str_t location,
                                fc_error_t *err) {
  FC_TRY(put(out, " loc(", err));
  FC_TRY(fc_sink_put(&out->sink, location, err));
  return put(out, ")\n", err);
}

// Where MLIR's own messages have their location, so has this one.
static fc_status_t put_message(fc_text_t *out, fc_str_t place,
                               fc_error_t *err) {
  FC_TRY(put(out,
             "ERROR: Runtime op verification failed\\0Amemref.alloc\\0A"
             "^ a size is negative\\0ALocation: loc(",
             err));
  for (size_t i = 0; i < place.size; i++) {
    bool quote = place.data[i] == '"';
    fc_str_t piece = quote ? FC_STR("\\22") : part(place, i, i + 1);
    FC_TRY(fc_sink_put(&out->sink, piece, err));
  }
  return put(out, ")", err);
}

static fc_status_t put_guard(fc_text_t *out, fc_str_t size, fc_str_t location,
                             fc_str_t place, size_t number, fc_error_t *err) {
  char text[160];
  snprintf(text, sizeof text,
           "%%farcall%zu = \"arith.constant\"() <{value = 0 : index}> : () -> "
           "index",
           2 * number);
  FC_TRY(put(out, text, err));
  FC_TRY(put_location(out, location, err));
  snprintf(text, sizeof text,
           "%%farcall%zu = \"arith.cmpi\"(%.*s, %%farcall%zu) <{predicate = 5 "
           ": i64}> : (index, index) -> i1",
           2 * number + 1, FC_STR_ARG(size), 2 * number);
  FC_TRY(put(out, text, err));
  FC_TRY(put_location(out, location, err));
  snprintf(text, sizeof text, "\"cf.assert\"(%%farcall%zu) <{msg = \"",
           2 * number + 1);
  FC_TRY(put(out, text, err));
  FC_TRY(put_message(out, place, err));
  FC_TRY(put(out, "\"}> : (i1) -> ()", err));
  return put_location(out, location, err);
}

// The location aliases of a module, by name: there is one for almost every
// operation, and each allocation asks.
typedef struct fc_locations_t {
  fc_alias_t *items;
  size_t count;
} fc_locations_t;

static int by_name(const void *a, const void *b) {
  return fc_str_compare(((const fc_alias_t *)a)->name,
                        ((const fc_alias_t *)b)->name);
}

static fc_status_t index_locations(fc_arena_t *arena, fc_str_t text,
                                   fc_locations_t *out, fc_error_t *err) {
  fc_str_t prefix = FC_STR("#loc");
  size_t count = 0;
  for (size_t at = 0; at < text.size;) {
    if (fc_str_starts(take_line(text, &at), prefix)) count++;
  }
  out->items = fc_arena_alloc_array(arena, count, sizeof *out->items);
  out->count = 0;
  if (!out->items) return fc_fail_memory(err);
  for (size_t at = 0; at < text.size;) {
    fc_str_t line = take_line(text, &at);
    if (!fc_str_starts(line, prefix)) continue;
    size_t end = 1;
    while (end < line.size && is_word(line.data[end])) end++;
    out->items[out->count++] =
        (fc_alias_t){part(line, 0, end), line_location(line)};
  }
  if (count) qsort(out->items, count, sizeof *out->items, by_name);
  return FC_OK;
}

// As "file":line:column when `location` is that or an alias of it.
static fc_str_t resolve_location(const fc_locations_t *index,
                                 fc_str_t location) {
  if (char_at(location, 0) == '#' && index->count) {
    fc_alias_t key = {location, {0}};
    const fc_alias_t *found = bsearch(&key, index->items, index->count,
                                      sizeof *index->items, by_name);
    if (found) location = found->value;
  }
  return char_at(location, 0) == '"' ? location : (fc_str_t){0};
}

fc_status_t fc_mlir_guard(fc_arena_t *arena, fc_str_t text, fc_text_t *out,
                          fc_error_t *err) {
  size_t number = 0;
  fc_locations_t locations;
  FC_TRY(index_locations(arena, text, &locations, err));
  for (size_t at = 0; at < text.size;) {
    size_t begin = at, count;
    fc_str_t line = take_line(text, &at), sizes, size;
    if (read_allocation(line, &sizes, &count)) {
      fc_str_t location = line_location(line);
      fc_str_t place = resolve_location(&locations, location);
      if (!place.size) place = FC_STR("unknown");
      for (size_t i = 0; i < count && next_element(&sizes, &size); i++) {
        FC_TRY(put_guard(out, size, location, place, number++, err));
      }
    }
    FC_TRY(fc_sink_put(&out->sink, part(text, begin, at), err));
  }
  return FC_OK;
}

static const char kProbe[] = "[\"probe-stack\", \"inline-asm\"]";

// Writes the dictionary of `function` and returns through *at where the text
// goes on.
static fc_status_t annotate_one(fc_str_t text,
                                const fc_mlir_function_t *function,
                                fc_text_t *out, size_t *at, fc_error_t *err) {
  static const fc_str_t kInterface = FC_STR("llvm.emit_c_interface");
  bool interface = fc_mlir_attr(function->attrs, kInterface).data != NULL;
  fc_str_t linkage = fc_mlir_attr(function->attrs, FC_STR("llvm.linkage"));
  fc_str_t through = fc_mlir_attr(function->attrs, FC_STR("passthrough"));
  FC_TRY(put(out, function->has_attrs ? "" : " {", err));
  if (function->is_public && !interface) {
    FC_TRY(put(out, "llvm.emit_c_interface, ", err));
  }
  if (!function->is_public && !interface && !linkage.data) {
    FC_TRY(put(out, "llvm.linkage = #llvm.linkage<internal>, ", err));
  }
  if (!through.data) {
    FC_TRY(put(out, "passthrough = [", err));
    FC_TRY(put(out, kProbe, err));
    FC_TRY(put(out, function->attrs.size ? "], " : "]", err));
  } else if (!count_text(through, FC_STR("\"probe-stack\""))) {
    // Copy up to and with the '[' and go on inside of it.
    size_t inside = (size_t)(through.data - text.data) + 1;
    FC_TRY(fc_sink_put(&out->sink, part(text, *at, inside), err));
    FC_TRY(put(out, kProbe, err));
    FC_TRY(put(out, unwrap(through).size ? ", " : "", err));
    *at = inside;
  }
  return put(out, function->has_attrs ? "" : "}", err);
}

fc_status_t fc_mlir_annotate(const fc_mlir_module_t *module, fc_text_t *out,
                             fc_error_t *err) {
  size_t at = 0;
  for (size_t i = 0; i < module->function_count; i++) {
    const fc_mlir_function_t *function = &module->functions[i];
    if (!function->has_body) continue;
    FC_TRY(fc_sink_put(&out->sink, part(module->text, at, function->attrs_at),
                       err));
    at = function->attrs_at;
    FC_TRY(annotate_one(module->text, function, out, &at, err));
  }
  return fc_sink_put(&out->sink, part(module->text, at, module->text.size),
                     err);
}

// ---------------------------------------------------------------------------
// LLVM IR

#define PLAIN_ALIGNMENT 8

static bool is_plain_line(fc_str_t line) {
  static const char kWord[] = "align ";
  if (memmem(line.data, line.size, "\"align\"", 7))
    return false;  // llvm.assume
  const char *end = line.data + line.size, *at = line.data;
  while ((at = memmem(at, (size_t)(end - at), kWord, sizeof kWord - 1))) {
    at += sizeof kWord - 1;
    unsigned value = 0;
    for (; at < end && *at >= '0' && *at <= '9' && value < 100; at++) {
      value = value * 10 + (unsigned)(*at - '0');
    }
    if (value > PLAIN_ALIGNMENT) return false;
  }
  return true;
}

bool fc_ir_is_plainly_aligned(fc_str_t ir) {
  while (ir.size) {
    const char *end = memchr(ir.data, '\n', ir.size);
    const size_t size = end ? (size_t)(end - ir.data) : ir.size;
    // A global of its own may lie as it likes.
    if (ir.data[0] != '@' && !is_plain_line(fc_str_make(ir.data, size))) {
      return false;
    }
    const size_t skip = end ? size + 1 : size;
    ir = fc_str_make(ir.data + skip, ir.size - skip);
  }
  return true;
}
