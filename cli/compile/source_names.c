// SPDX-License-Identifier: Apache-2.0
//
// Strings, brackets and comments are told apart, and the word `func.func` is looked for
// among the others; the source need not be valid.
#include "compile/source_names.h"

#include "compile/derive.h"
#include "compile/mlir_lex.h"

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
