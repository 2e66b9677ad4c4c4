// SPDX-License-Identifier: Apache-2.0
//
// The generic form writes an operation as "name"(operands) <{properties}>
// ({regions}) {attributes} : types.
#include "compile/mlir/module.h"

#include <stdio.h>

#include "base/hex.h"
#include "compile/mlir/lex.h"
#include "module/native/libc.h"
#include "module/native/shim.h"

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

// True for a function of MLIR's runtime libraries that farcall itself has.
static bool is_provided(const fc_mlir_function_t *function, bool by_c) {
  char symbol[128];
  snprintf(symbol, sizeof symbol, "%s%.*s", by_c ? "_mlir_ciface_" : "",
           FC_STR_ARG(function->name));
  return fc_shim_provides(fc_str(symbol));
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
  function.symbol = function.name;
  if (fc_str_ends(function.name, FC_STR(FC_MLIR_OWN))) {
    const size_t size = function.name.size - (sizeof FC_MLIR_OWN - 1);
    const fc_str_t own = fc_str_make(function.name.data, size);
    if (fc_libc_is_reserved(own)) function.name = own;
  }
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
  // Who asks for the C interface of a private function means to call it.
  static const fc_str_t kInterface = FC_STR("llvm.emit_c_interface");
  const bool by_c = fc_mlir_attr(function.attrs, kInterface).data;
  if (by_c) function.is_public = true;
  function.is_provided = !function.has_body && is_provided(&function, by_c);
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
