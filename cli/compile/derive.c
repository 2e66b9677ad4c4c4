// SPDX-License-Identifier: Apache-2.0
//
// The generic form writes an operation as "name"(operands) <{properties}>
// ({regions}) {attributes} : types.
#include "compile/derive.h"

#include "base/hex.h"
#include "compile/mlir_lex.h"

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

bool fc_mlir_next_attr(fc_str_t *attrs, fc_str_t *out_key,
                       fc_str_t *out_value) {
  fc_str_t element;
  if (!fc_lex_element(attrs, &element)) return false;
  size_t at = 0;
  if (fc_lex_char(element, 0) == '"') at = fc_lex_string(element, 0);
  else {
    while (at < element.size && fc_lex_is_word(element.data[at])) at++;
  }
  *out_key = fc_lex_part(element, 0, at);
  if (fc_lex_char(element, 0) == '"') *out_key = fc_lex_unwrap(*out_key);
  at = fc_lex_space(element, at);
  *out_value = fc_lex_char(element, at) == '='
                   ? fc_lex_trim(fc_lex_part(element, at + 1, element.size))
                   : fc_lex_part(element, at, at);
  return true;
}

fc_str_t fc_mlir_attr(fc_str_t attrs, fc_str_t key) {
  fc_str_t name, value;
  while (fc_mlir_next_attr(&attrs, &name, &value)) {
    if (fc_str_equal(name, key)) return value;
  }
  return (fc_str_t){0};
}

// The sizes are written array<i32: 2, 1>.
bool fc_mlir_segment(fc_str_t properties, size_t segment, size_t *out_begin,
                     size_t *out_end) {
  fc_str_t sizes = fc_mlir_attr(properties, FC_STR("operandSegmentSizes"));
  fc_str_t prefix = FC_STR("array<i32:"), size;
  if (!fc_str_starts(sizes, prefix) || sizes.size == prefix.size) return false;
  sizes = fc_lex_part(sizes, prefix.size, sizes.size - 1);
  size_t begin = 0, count = 0;
  for (size_t i = 0; i <= segment; i++) {
    begin += count;
    if (!fc_lex_element(&sizes, &size)) return false;
    count = 0;
    for (size_t k = 0; k < size.size && fc_lex_is_digit(size.data[k]); k++) {
      count = (count * 10 + (size_t)(size.data[k] - '0')) & 0xFFFFFF;
    }
  }
  *out_begin = begin;
  *out_end = begin + count;
  return true;
}

fc_str_t fc_mlir_unquote(fc_arena_t *arena, fc_str_t text) {
  if (text.size < 2 || text.data[0] != '"') return (fc_str_t){0};
  fc_str_t raw = fc_lex_unwrap(text);
  char *out = fc_arena_alloc(arena, raw.size + 1, 1);
  if (!out) return (fc_str_t){0};
  size_t size = 0;
  for (size_t at = 0; at < raw.size; at++) {
    char c = raw.data[at];
    if (c == '\\' && at + 1 < raw.size) {
      int high = fc_hex_value(raw.data[at + 1]);
      int low = fc_hex_value(fc_lex_char(raw, at + 2));
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

// Replaces the aliases in `text` once. True when there was one.
static bool expand_once(const fc_reading_t *reading, fc_str_t text,
                        fc_text_t *out, fc_status_t *status) {
  bool replaced = false;
  size_t at = 0;
  while (at < text.size && *status == FC_OK) {
    size_t end = at + 1;
    const fc_alias_t *alias = NULL;
    if (text.data[at] == '"') {
      end = fc_lex_string(text, at);
    } else if (text.data[at] == '#' || text.data[at] == '!') {
      while (end < text.size && fc_lex_is_word(text.data[end])) end++;
      alias = find_alias(reading, fc_lex_part(text, at, end));
    }
    fc_str_t piece = alias ? alias->value : fc_lex_part(text, at, end);
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

// Reads a line `#name = …` or `!name = …`. False for any other line, and for the alias
// of a location: most aliases are of locations, which are of no use here.
static bool alias_line(fc_str_t line, fc_alias_t *out_alias) {
  if (!line.size || (line.data[0] != '#' && line.data[0] != '!')) return false;
  size_t at = 1;
  while (at < line.size && fc_lex_is_word(line.data[at])) at++;
  fc_str_t name = fc_lex_part(line, 0, at);
  at = fc_lex_space(line, at);
  if (fc_lex_char(line, at) != '=') return false;
  fc_str_t value = fc_lex_trim(fc_lex_part(line, at + 1, line.size));
  if (fc_str_starts(value, FC_STR("loc("))) return false;
  *out_alias = (fc_alias_t){name, value};
  return true;
}

static fc_status_t read_aliases(fc_reading_t *reading) {
  fc_alias_t alias;
  size_t count = 0;
  for (size_t at = 0; at < reading->text.size;) {
    if (alias_line(fc_lex_line(reading->text, &at), &alias)) count++;
  }
  reading->aliases =
      fc_arena_alloc_array(reading->arena, count, sizeof *reading->aliases);
  if (!reading->aliases) return fc_fail_memory(reading->err);
  for (size_t at = 0; at < reading->text.size;) {
    if (!alias_line(fc_lex_line(reading->text, &at), &alias)) continue;
    reading->aliases[reading->alias_count++] = alias;
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Functions

// Reads names of dims, as ["m", "?"].
static fc_status_t read_dims(fc_reading_t *reading, fc_mlir_value_t *value,
                             fc_str_t text) {
  if (!text.data) return FC_OK;
  fc_str_t list = fc_lex_unwrap(text), element;
  value->dims = fc_arena_alloc_array(reading->arena, fc_lex_count(list) + 1,
                                     sizeof *value->dims);
  if (!value->dims) return fc_fail_memory(reading->err);
  while (fc_lex_element(&list, &element)) {
    fc_str_t name = fc_mlir_unquote(reading->arena, element);
    if (fc_lex_char(fc_lex_trim(text), 0) != '[' || !name.size) {
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

// Reads values: types from `types`, attribute dictionaries from `attrs` ("[{…},
// …]" or empty).
static fc_status_t read_values(fc_reading_t *reading, fc_str_t types,
                               fc_str_t attrs, fc_mlir_value_t **out_values,
                               size_t *out_count) {
  size_t count = fc_lex_count(types);
  fc_mlir_value_t *values =
      fc_arena_alloc_array(reading->arena, count, sizeof *values);
  if (!values) return fc_fail_memory(reading->err);
  fc_str_t type, dictionary, dictionaries = fc_lex_unwrap(attrs);
  for (size_t i = 0; i < count && fc_lex_element(&types, &type); i++) {
    FC_TRY(expand(reading, type, &values[i].type));
    if (!fc_lex_element(&dictionaries, &dictionary)) continue;
    FC_TRY(read_attrs(reading, &values[i], fc_lex_unwrap(dictionary)));
  }
  *out_values = values;
  *out_count = count;
  return FC_OK;
}

static fc_status_t read_type(fc_reading_t *reading, fc_str_t properties,
                             fc_mlir_function_t *function) {
  fc_str_t type = fc_mlir_attr(properties, FC_STR("function_type"));
  size_t arguments_end = type.size ? fc_lex_balanced(type, 0, false) : 0;
  size_t at = fc_lex_space(type, arguments_end);
  if (fc_lex_char(type, 0) != '(' || fc_lex_char(type, at) != '-' ||
      fc_lex_char(type, at + 1) != '>') {
    return fc_fail(reading->err, FC_CODE_ABI_METADATA,
                   "function '%.*s' has no type", FC_STR_ARG(function->name));
  }
  fc_str_t results = fc_lex_trim(fc_lex_part(type, at + 2, type.size));
  if (fc_lex_char(results, 0) == '(') results = fc_lex_unwrap(results);
  FC_TRY(read_values(reading,
                     fc_lex_unwrap(fc_lex_part(type, 0, arguments_end)),
                     fc_mlir_attr(properties, FC_STR("arg_attrs")),
                     &function->arguments, &function->argument_count));
  return read_values(reading, results,
                     fc_mlir_attr(properties, FC_STR("res_attrs")),
                     &function->results, &function->result_count);
}

// Reads a function. text[at] is the first character behind `"func.func"()`.
static fc_status_t read_function(fc_reading_t *reading, size_t at) {
  fc_str_t text = reading->text;
  fc_mlir_function_t function = {0};
  at = fc_lex_space(text, at);
  size_t end = fc_lex_balanced(text, at, false);
  fc_str_t properties = fc_lex_part(text, at, end);
  if (!fc_str_starts(properties, FC_STR("<{")) ||
      !fc_str_ends(properties, FC_STR("}>"))) {
    return fc_fail(reading->err, FC_CODE_ABI_METADATA,
                   "mlir-opt printed a function in a form not known here");
  }
  properties = fc_lex_part(properties, 2, properties.size - 2);
  function.properties_at = at + 2;
  function.name = fc_mlir_unquote(reading->arena,
                                  fc_mlir_attr(properties, FC_STR("sym_name")));
  fc_str_t visibility = fc_mlir_attr(properties, FC_STR("sym_visibility"));
  function.is_public =
      !visibility.size || fc_str_equal(visibility, FC_STR("\"public\""));
  FC_TRY(read_type(reading, properties, &function));

  at = fc_lex_space(text, end);
  end = fc_lex_balanced(text, at, false);
  fc_str_t region = fc_lex_unwrap(fc_lex_unwrap(fc_lex_part(text, at, end)));
  function.body = region;
  function.has_body = fc_lex_trim(region).size > 0;
  function.attrs_at = end;
  at = fc_lex_space(text, end);
  if (fc_lex_char(text, at) == '{') {
    function.has_attrs = true;
    function.attrs_at = at + 1;
    function.attrs =
        fc_lex_unwrap(fc_lex_part(text, at, fc_lex_balanced(text, at, false)));
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
  while (at && fc_lex_is_space(text.data[at - 1])) at--;
  return at ? text.data[at - 1] : '\0';
}

static bool is_tensor_type(fc_str_t text, size_t at) {
  if (!fc_str_starts(fc_lex_part(text, at, text.size), FC_STR("tensor<"))) {
    return false;
  }
  return !at ||
         (!fc_lex_is_word(text.data[at - 1]) && text.data[at - 1] != '!');
}

static bool has_tensor_types(fc_str_t text) {
  for (size_t at = 0; at < text.size; at++) {
    if (is_tensor_type(text, at)) return true;
  }
  return false;
}

// Reads the operation whose name stands at text[from, to) with its quotes.
static fc_status_t read_operation(fc_reading_t *reading, size_t from,
                                  size_t to) {
  fc_str_t text = reading->text, name = fc_lex_part(text, from, to);
  if (fc_str_equal(name, FC_STR("\"memref.global\""))) {
    size_t at = fc_lex_balanced(text, to, false);
    at = fc_lex_space(text, at);
    fc_str_t properties =
        fc_lex_part(text, at, fc_lex_balanced(text, at, false));
    properties = fc_lex_unwrap(fc_lex_unwrap(properties));
    if (!fc_mlir_attr(properties, FC_STR("constant")).data) {
      reading->module->has_state = true;
    }
  }
  if (!fc_str_equal(name, FC_STR("\"func.func\""))) return FC_OK;
  FC_TRY(read_function(reading, fc_lex_balanced(text, to, false)));
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
      size_t end = fc_lex_string(text, at);
      if (depth == 1 && fc_lex_char(text, end) == '(') {
        FC_TRY(read_operation(reading, at, end));
      }
      at = end;
    } else if (c == '<' && fc_lex_char(text, at + 1) == '{') {
      at = fc_lex_balanced(text, at, false);
    } else if (c == '{') {
      char before = last_before(text, at);
      bool region = before == '(' || before == ',';
      if (region) depth++;
      at = region ? at + 1 : fc_lex_balanced(text, at, false);
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
    at = fc_lex_space(text, at);
    if (fc_lex_char(text, at) != '/' || fc_lex_char(text, at + 1) != '/')
      return at;
    while (at < text.size && text.data[at] != '\n') at++;
  }
}

static size_t skip_word(fc_str_t text, size_t at) {
  while (at < text.size && fc_lex_is_word(text.data[at])) at++;
  return at;
}

static bool is_visibility(fc_str_t word) {
  return fc_str_equal(word, FC_STR("private")) ||
         fc_str_equal(word, FC_STR("public")) ||
         fc_str_equal(word, FC_STR("nested"));
}

// text[at] is behind `func.func`. Reads the symbol, and *at becomes the index
// of the '(' of its arguments; false when this is no function in the custom
// form.
static bool read_symbol(fc_arena_t *arena, fc_str_t text, size_t *at,
                        fc_str_t *out_symbol) {
  size_t from = skip_blank(text, *at);
  size_t to = skip_word(text, from);
  if (is_visibility(fc_lex_part(text, from, to))) from = skip_blank(text, to);
  if (fc_lex_char(text, from) != '@') return false;
  from++;
  if (fc_lex_char(text, from) == '"') {
    to = fc_lex_string(text, from);
    *out_symbol = fc_mlir_unquote(arena, fc_lex_part(text, from, to));
  } else {
    to = skip_word(text, from);
    *out_symbol = fc_lex_part(text, from, to);
  }
  *at = skip_blank(text, to);
  return fc_lex_char(text, *at) == '(';
}

// The end of one element of an argument list in source text.
static size_t skip_argument(fc_str_t text, size_t at) {
  while (at < text.size && text.data[at] != ',' && text.data[at] != ')') {
    if (text.data[at] == '"') at = fc_lex_string(text, at);
    else if (fc_lex_nesting(text, at) > 0) at = fc_lex_balanced(text, at, true);
    else at = at + 1;
    at = skip_blank(text, at);
  }
  return at;
}

// Reads the names of arguments; text[at] is the '('. False when there are not
// `count` arguments.
static bool read_names(fc_str_t text, size_t at, size_t count,
                       fc_str_t *out_names) {
  size_t seen = 0;
  at = skip_blank(text, at + 1);
  while (at < text.size && text.data[at] != ')') {
    if (seen == count) return false;
    fc_str_t name = {0};
    if (text.data[at] == '%') {
      size_t end = skip_word(text, at + 1);
      name = fc_lex_part(text, at + 1, end);
      if (name.size && fc_lex_is_digit(name.data[0])) name = (fc_str_t){0};
    }
    out_names[seen++] = name;
    at = skip_argument(text, at);
    if (fc_lex_char(text, at) == ',') at = skip_blank(text, at + 1);
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
      at = fc_lex_string(source, at);
      continue;
    }
    if (c == '/') {
      size_t after = skip_blank(source, at);
      at = after > at ? after : at + 1;
      continue;
    }
    if (!fc_lex_is_word(c)) {
      at++;
      continue;
    }
    size_t end = skip_word(source, at);
    fc_str_t word = fc_lex_part(source, at, end);
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
// Operations that lowering left over, and operations without run-time checks

static bool is_lowered(fc_str_t operation) {
  return fc_str_starts(operation, FC_STR("llvm.")) ||
         fc_str_starts(operation, FC_STR("builtin."));
}

// The value of a location alias, `name` with its '#'.
static fc_str_t find_location(fc_str_t text, fc_str_t name) {
  for (size_t at = 0; at < text.size;) {
    fc_str_t line = fc_lex_line(text, &at);
    if (!fc_str_starts(line, name)) continue;
    if (fc_lex_char(line, name.size) == ' ') return fc_lex_location(line);
  }
  return (fc_str_t){0};
}

// Finds the first operation of `text` that is (or is not) one of a kind.
static bool find_operation(fc_str_t text, bool (*is_one)(fc_str_t operation),
                           bool wanted, fc_str_t *out_operation,
                           fc_str_t *out_location) {
  for (size_t at = 0; at < text.size;) {
    fc_str_t line = fc_lex_line(text, &at), operation;
    size_t operands;
    if (!fc_lex_operation(line, &operation, &operands)) continue;
    if (is_one(operation) != wanted) continue;
    fc_str_t location = fc_lex_location(line);
    if (fc_lex_char(location, 0) == '#')
      location = find_location(text, location);
    *out_operation = operation;
    *out_location = fc_lex_char(location, 0) == '"' ? location : (fc_str_t){0};
    return true;
  }
  return false;
}

bool fc_mlir_leftover(fc_str_t text, fc_str_t *out_operation,
                      fc_str_t *out_location) {
  return find_operation(text, is_lowered, false, out_operation, out_location);
}

// True for an operation that reaches memory and gets no checks by
// --generate-runtime-verification. All operations of a dialect that is not named here
// count as such. An address as a number reaches nothing: what makes a pointer of it is of
// another dialect.
static bool is_unverified(fc_str_t operation) {
  static const fc_str_t kVerified[] = {
      FC_STR("affine."), FC_STR("arith."),         FC_STR("bufferization."),
      FC_STR("cf."),     FC_STR("builtin.module"), FC_STR("complex."),
      FC_STR("func."),   FC_STR("index."),         FC_STR("linalg."),
      FC_STR("math."),   FC_STR("memref."),        FC_STR("scf."),
      FC_STR("shape."),  FC_STR("tensor."),        FC_STR("ub."),
      FC_STR("vector."),
  };
  static const fc_str_t kBut[] = {
      FC_STR("affine.dma_"),        FC_STR("affine.vector_"),
      FC_STR("memref.dma_"),        FC_STR("memref.reinterpret"),
      FC_STR("memref.reshape"),     FC_STR("memref.view"),
      FC_STR("ub.poison"),          FC_STR("vector.compress"),
      FC_STR("vector.expandload"),  FC_STR("vector.gather"),
      FC_STR("vector.load"),        FC_STR("vector.maskedload"),
      FC_STR("vector.maskedstore"), FC_STR("vector.scatter"),
      FC_STR("vector.store"),       FC_STR("vector.transfer_"),
  };
  bool known = false;
  for (size_t i = 0; i < FC_ARRAY_COUNT(kVerified); i++) {
    known = known || fc_str_starts(operation, kVerified[i]);
  }
  for (size_t i = 0; i < FC_ARRAY_COUNT(kBut); i++) {
    known = known && !fc_str_starts(operation, kBut[i]);
  }
  return !known;
}

bool fc_mlir_unverified(fc_str_t text, fc_str_t *out_operation,
                        fc_str_t *out_location) {
  return find_operation(text, is_unverified, true, out_operation, out_location);
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
    // A global that the module defines is aligned by the module itself.
    if (ir.data[0] != '@' && !is_plain_line(fc_str_make(ir.data, size))) {
      return false;
    }
    const size_t skip = end ? size + 1 : size;
    ir = fc_str_make(ir.data + skip, ir.size - skip);
  }
  return true;
}
