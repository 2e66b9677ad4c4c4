// SPDX-License-Identifier: Apache-2.0
//
// Makes functions for several numbers of rows from a function that accepts any number.
#include <inttypes.h>
#include <stdio.h>

#include "compile/mlir/source.h"
#include "compile/mlir/text.h"

enum { VALUES_MAX = 1024, SIZES_MAX = 256 };

static const fc_str_t kRows = FC_STR("tensor<?");

typedef struct value_t {
  fc_str_t name;  // with its %; empty: a result
  fc_str_t type;
  fc_str_t rest;  // its attributes and location
  bool rows;
} value_t;

typedef struct list_t {
  value_t *values;
  size_t count;
  bool rows;  // at least one value has rows
} list_t;

typedef struct batching_t {
  fc_str_t source;
  fc_sink_t *out;
  fc_error_t *err;
  fc_status_t status;
  list_t arguments, results;
  uint64_t sizes[SIZES_MAX];
  size_t size_count;
} batching_t;

// ---------------------------------------------------------------------------
// Reading functions

static size_t skip_type(fc_str_t text, size_t at) {
  if (fc_lex_char(text, at) == '!' || fc_lex_char(text, at) == '#') at++;
  const size_t end = fc_source_skip_word(text, at);
  const bool more = end > at && fc_lex_char(text, end) == '<';
  return more ? fc_lex_balanced(text, end, true) : end;
}

// Reads `%name: type rest` if `named`; otherwise `type rest`, a result. False: the text
// has another form.
static bool read_value(fc_str_t text, size_t at, size_t end, bool named,
                       list_t *list) {
  value_t value = {0};
  if (list->count == VALUES_MAX || named != (fc_lex_char(text, at) == '%')) {
    return false;
  }
  if (named) {
    const size_t name_end = fc_source_skip_word(text, at + 1);
    value.name = fc_lex_part(text, at, name_end);
    at = fc_source_skip_blank(text, name_end);
    if (fc_lex_char(text, at) != ':') return false;
    at = fc_source_skip_blank(text, at + 1);
  }
  const size_t type_end = skip_type(text, at);
  if (type_end == at || type_end > end) return false;
  value.type = fc_lex_part(text, at, type_end);
  value.rest = fc_lex_part(text, type_end, end);
  value.rows = fc_str_starts(value.type, kRows);
  list->rows = list->rows || value.rows;
  list->values[list->count++] = value;
  return true;
}

// Reads a list in round brackets; *at moves past the closing one. False: an element has
// another form.
static bool read_list(fc_str_t text, size_t *at, bool named, list_t *list) {
  *at = fc_source_skip_blank(text, *at + 1);
  while (*at < text.size && text.data[*at] != ')') {
    const size_t end = fc_source_skip_element(text, *at);
    if (!read_value(text, *at, end, named, list)) return false;
    *at = end;
    if (fc_lex_char(text, *at) == ',') {
      *at = fc_source_skip_blank(text, *at + 1);
    }
  }
  *at += 1;
  return true;
}

// Reads the arguments and results. False: not both have rows.
static bool read_function(batching_t *it,
                          const fc_source_function_t *function) {
  const fc_str_t text = it->source;
  size_t at = function->arguments;
  it->arguments.count = it->results.count = 0;
  it->arguments.rows = it->results.rows = false;
  if (!function->is_public || !read_list(text, &at, true, &it->arguments)) {
    return false;
  }
  at = fc_source_skip_blank(text, at);
  if (fc_lex_char(text, at) != '-' || fc_lex_char(text, at + 1) != '>') {
    return false;
  }
  at = fc_source_skip_blank(text, at + 2);
  const bool read =
      fc_lex_char(text, at) == '('
          ? read_list(text, &at, false, &it->results)
          : read_value(text, at, skip_type(text, at), false, &it->results);
  return read && it->arguments.rows && it->results.rows;
}

// Adds the size if it is new; keeps the sizes sorted.
static void add_size(batching_t *it, uint64_t size) {
  size_t at = it->size_count;
  while (at && it->sizes[at - 1] >= size) at--;
  if (at < it->size_count && it->sizes[at] == size) return;
  memmove(&it->sizes[at + 1], &it->sizes[at],
          (it->size_count++ - at) * sizeof *it->sizes);
  it->sizes[at] = size;
}

static fc_status_t read_sizes(batching_t *it, fc_str_t sizes) {
  while (sizes.size) {
    const fc_str_t digits = fc_str_take(&sizes, ',');
    uint64_t size = 0;
    if (!digits.size) continue;
    for (size_t i = 0; i < digits.size && size <= INT32_MAX; i++) {
      size = size * 10 + (uint64_t)(digits.data[i] - '0');
    }
    if (!size || size > INT32_MAX || it->size_count == SIZES_MAX) {
      return fc_fail(it->err, FC_CODE_MODULE_LOAD,
                     "--batch: %.*s rows: there are up to %d sizes of 1 to %d",
                     FC_STR_ARG(digits), SIZES_MAX, INT32_MAX);
    }
    add_size(it, size);
  }
  return FC_OK;
}

// ---------------------------------------------------------------------------
// Writing functions

static void put(batching_t *it, fc_str_t text) {
  if (it->status == FC_OK) it->status = fc_sink_put(it->out, text, it->err);
}

static void put_number(batching_t *it, uint64_t number) {
  char digits[24];
  snprintf(digits, sizeof digits, "%" PRIu64, number);
  put(it, fc_str(digits));
}

// Writes the text without comments and line feeds, so that lines that follow keep their
// numbers.
static void put_flat(batching_t *it, fc_str_t text) {
  for (size_t at = 0, end; at < text.size; at = end) {
    end = fc_source_skip_blank(text, at);
    if (end > at) {
      put(it, FC_STR(" "));
      continue;
    }
    end = text.data[at] == '"' ? fc_lex_string(text, at) : at + 1;
    put(it, fc_lex_part(text, at, end));
  }
}

// Writes the type with `size` rows; 0: unchanged.
static void put_type(batching_t *it, const value_t *value, uint64_t size) {
  fc_str_t type = value->type;
  if (value->rows && size) {
    put(it, FC_STR("tensor<"));
    put_number(it, size);
    type = fc_lex_part(type, kRows.size, type.size);
  }
  put_flat(it, type);
}

static void put_types(batching_t *it, const list_t *list, uint64_t size,
                      bool rest) {
  for (size_t i = 0; i < list->count; i++) {
    const value_t *value = &list->values[i];
    if (i) put(it, FC_STR(", "));
    if (rest && value->name.size) {
      put(it, value->name);
      put(it, FC_STR(": "));
    }
    put_type(it, value, size);
    if (rest) put_flat(it, value->rest);
  }
}

static void put_symbol(batching_t *it, fc_str_t symbol, uint64_t size) {
  const bool quoted = symbol.size && symbol.data[0] == '"';
  put(it, FC_STR("@"));
  put(it, fc_lex_part(symbol, 0, symbol.size - quoted));
  if (size) {
    put(it, FC_STR("_bs"));
    put_number(it, size);
  }
  if (quoted) put(it, FC_STR("\""));
}

// Writes `NAMEindex = tensor.cast …`, which converts the value from `from` rows to `to`
// rows; 0: any number of rows.
static void put_cast(batching_t *it, const value_t *value, const char *name,
                     size_t index, uint64_t from, uint64_t to) {
  put(it, fc_str(name));
  put_number(it, index);
  put(it, FC_STR(" = tensor.cast "));
  if (value->name.size) {
    put(it, value->name);
  } else {
    put(it, FC_STR("%farcall.all#"));
    put_number(it, index);
  }
  put(it, FC_STR(" : "));
  put_type(it, value, from);
  put(it, FC_STR(" to "));
  put_type(it, value, to);
  put(it, FC_STR(" "));
}

static void put_values(batching_t *it, const list_t *list, const char *name) {
  for (size_t i = 0; i < list->count; i++) {
    const value_t *value = &list->values[i];
    if (i) put(it, FC_STR(", "));
    if (value->name.size && !value->rows) {
      put(it, value->name);
      continue;
    }
    put(it, value->rows ? fc_str(name) : FC_STR("%farcall.all#"));
    put_number(it, i);
  }
}

static void put_casts(batching_t *it, const list_t *list, const char *name,
                      uint64_t from, uint64_t to) {
  for (size_t i = 0; i < list->count; i++) {
    if (!list->values[i].rows) continue;
    put_cast(it, &list->values[i], name, i, from, to);
  }
}

static void put_bucket(batching_t *it, fc_str_t symbol, uint64_t size) {
  static const char kIn[] = "%farcall.in", kOut[] = "%farcall.out";
  put(it, FC_STR("func.func "));
  put_symbol(it, symbol, size);
  put(it, FC_STR("("));
  put_types(it, &it->arguments, size, true);
  put(it, FC_STR(") -> ("));
  put_types(it, &it->results, size, true);
  put(it, FC_STR(") { "));
  put_casts(it, &it->arguments, kIn, size, 0);
  put(it, FC_STR("%farcall.all:"));
  put_number(it, it->results.count);
  put(it, FC_STR(" = func.call "));
  put_symbol(it, symbol, 0);
  put(it, FC_STR("("));
  put_values(it, &it->arguments, kIn);
  put(it, FC_STR(") : ("));
  put_types(it, &it->arguments, 0, false);
  put(it, FC_STR(") -> ("));
  put_types(it, &it->results, 0, false);
  put(it, FC_STR(") "));
  put_casts(it, &it->results, kOut, 0, size);
  put(it, FC_STR("return "));
  put_values(it, &it->results, kOut);
  put(it, FC_STR(" : "));
  put_types(it, &it->results, size, false);
  put(it, FC_STR(" } "));
}

static size_t put_function(batching_t *it, const fc_source_function_t *function,
                           size_t done) {
  put(it, fc_lex_part(it->source, done, function->begin));
  for (size_t i = 0; i < it->size_count; i++) {
    put_bucket(it, function->symbol, it->sizes[i]);
  }
  put(it, FC_STR("func.func private"));
  return function->named;
}

fc_status_t fc_mlir_batch(fc_arena_t *arena, fc_str_t source, fc_str_t sizes,
                          fc_text_t *out, size_t *out_count, fc_error_t *err) {
  batching_t it = {.source = source, .out = &out->sink, .err = err};
  fc_source_function_t function;
  size_t done = 0;
  *out_count = 0;
  it.arguments.values =
      fc_arena_alloc_array(arena, VALUES_MAX, sizeof *it.arguments.values);
  it.results.values =
      fc_arena_alloc_array(arena, VALUES_MAX, sizeof *it.results.values);
  if (!it.arguments.values || !it.results.values) return fc_fail_memory(err);
  FC_TRY(read_sizes(&it, sizes));
  for (size_t at = 0; fc_source_next(source, &at, &function);) {
    if (!read_function(&it, &function)) continue;
    done = put_function(&it, &function, done);
    *out_count += 1;
  }
  put(&it, fc_lex_part(source, done, source.size));
  return it.status;
}
