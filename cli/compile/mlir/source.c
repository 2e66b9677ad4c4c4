// SPDX-License-Identifier: Apache-2.0
//
// Skips strings and comments, and looks for the word `func.func` in the rest. The source
// need not be valid.
#include "compile/mlir/source.h"

#include "compile/mlir/text.h"

static const char kKeyword[] = "func.func";

size_t fc_source_skip_blank(fc_str_t text, size_t at) {
  for (;;) {
    at = fc_lex_space(text, at);
    if (fc_lex_char(text, at) != '/' || fc_lex_char(text, at + 1) != '/')
      return at;
    while (at < text.size && text.data[at] != '\n') at++;
  }
}

size_t fc_source_skip_word(fc_str_t text, size_t at) {
  while (at < text.size && fc_lex_is_word(text.data[at])) at++;
  return at;
}

static bool is_visibility(fc_str_t word) {
  return fc_str_equal(word, FC_STR("private")) ||
         fc_str_equal(word, FC_STR("public")) ||
         fc_str_equal(word, FC_STR("nested"));
}

// Reads the symbol after `func.func`; out->named is the index after that word. False:
// this is not a function in the custom form.
static bool read_symbol(fc_str_t text, fc_source_function_t *out) {
  size_t from = fc_source_skip_blank(text, out->named);
  size_t to = fc_source_skip_word(text, from);
  const fc_str_t word = fc_lex_part(text, from, to);
  out->is_public = !is_visibility(word) || fc_str_equal(word, FC_STR("public"));
  if (is_visibility(word)) {
    out->named = to;
    from = fc_source_skip_blank(text, to);
  }
  if (fc_lex_char(text, from) != '@') return false;
  from++;
  to = fc_lex_char(text, from) == '"' ? fc_lex_string(text, from)
                                      : fc_source_skip_word(text, from);
  out->symbol = fc_lex_part(text, from, to);
  out->arguments = fc_source_skip_blank(text, to);
  return fc_lex_char(text, out->arguments) == '(';
}

bool fc_source_next(fc_str_t source, size_t *at, fc_source_function_t *out) {
  const fc_str_t keyword = fc_str(kKeyword);
  if (memchr(source.data, '\0', source.size)) return false;  // bytecode
  while (*at < source.size) {
    const char c = source.data[*at];
    const size_t after = c == '/' ? fc_source_skip_blank(source, *at) : *at;
    const size_t end = fc_source_skip_word(source, *at);
    const fc_str_t word = fc_lex_part(source, *at, end);
    *out = (fc_source_function_t){.begin = *at, .named = end};
    *at = c == '"'      ? fc_lex_string(source, *at)
          : after > *at ? after
          : end > *at   ? end
                        : *at + 1;
    if (!fc_str_equal(word, keyword) || !read_symbol(source, out)) continue;
    *at = out->arguments;
    return true;
  }
  return false;
}

// Returns the end of one element of an argument list.
size_t fc_source_skip_element(fc_str_t text, size_t at) {
  while (at < text.size && text.data[at] != ',' && text.data[at] != ')') {
    if (text.data[at] == '"') at = fc_lex_string(text, at);
    else if (fc_lex_nesting(text, at) > 0) at = fc_lex_balanced(text, at, true);
    else at = at + 1;
    at = fc_source_skip_blank(text, at);
  }
  return at;
}

// Returns the end of a function's body: where the next function begins. `at` is the end
// of the function's arguments.
static size_t body_end(fc_str_t text, size_t at) {
  const char *next =
      memmem(text.data + at, text.size - at, kKeyword, sizeof kKeyword - 1);
  return next ? (size_t)(next - text.data) : text.size;
}

// True when the body has `torch.overwrite.tensor.contents … overwrites %value`.
static bool is_overwritten(fc_str_t body, fc_str_t value) {
  static const char kWord[] = " overwrites %";
  for (size_t at = 0; at < body.size;) {
    const char *found =
        memmem(body.data + at, body.size - at, kWord, sizeof kWord - 1);
    if (!found) return false;
    const size_t from = (size_t)(found - body.data) + sizeof kWord - 1;
    at = fc_source_skip_word(body, from);
    if (fc_str_equal(fc_lex_part(body, from, at), value)) return true;
  }
  return false;
}

static const char *role_of(fc_str_t type, fc_str_t body, fc_str_t value) {
  if (fc_str_starts(type, FC_STR("tensor<")) ||
      fc_str_starts(type, FC_STR("!torch.vtensor<"))) {
    return "in";
  }
  const bool overwritten = fc_str_starts(type, FC_STR("!torch.tensor<")) &&
                           is_overwritten(body, value);
  return overwritten ? "inout" : "";
}

// Reads an argument. Its text ends at `end`.
static void read_argument(fc_str_t text, size_t at, size_t end, fc_str_t body,
                          fc_mlir_argument_t *out) {
  *out = (fc_mlir_argument_t){.role = ""};
  if (text.data[at] != '%') return;
  const size_t name_end = fc_source_skip_word(text, at + 1);
  const fc_str_t name = fc_lex_part(text, at + 1, name_end);
  size_t type = fc_source_skip_blank(text, name_end);
  if (fc_lex_char(text, type) == ':')
    type = fc_source_skip_blank(text, type + 1);
  if (type < end) out->role = role_of(fc_lex_part(text, type, end), body, name);
  if (name.size && !fc_lex_is_digit(name.data[0])) out->name = name;
}

// Reads the arguments; text[at] is their '('. False: their number is not `count`.
static bool read_arguments(fc_str_t text, size_t at, size_t count,
                           fc_mlir_argument_t *out) {
  const fc_str_t body = fc_lex_part(text, at, body_end(text, at));
  size_t seen = 0;
  at = fc_source_skip_blank(text, at + 1);
  while (at < text.size && text.data[at] != ')') {
    if (seen == count) return false;
    const size_t end = fc_source_skip_element(text, at);
    read_argument(text, at, end, body, &out[seen++]);
    at = end;
    if (fc_lex_char(text, at) == ',') at = fc_source_skip_blank(text, at + 1);
  }
  return seen == count;
}

static void forget(size_t count, fc_mlir_argument_t *out) {
  for (size_t i = 0; i < count; i++) out[i] = (fc_mlir_argument_t){.role = ""};
}

fc_status_t fc_mlir_arguments(fc_arena_t *arena, fc_str_t source,
                              fc_str_t function, size_t count,
                              fc_mlir_argument_t *out_arguments,
                              fc_error_t *err) {
  fc_source_function_t found;
  forget(count, out_arguments);
  for (size_t at = 0; fc_source_next(source, &at, &found);) {
    fc_str_t symbol = found.symbol;
    if (symbol.size && symbol.data[0] == '"') {
      symbol = fc_lex_unquote(arena, symbol);
      if (!symbol.data) return fc_fail_memory(err);
    }
    if (!fc_str_equal(symbol, function)) continue;
    if (!read_arguments(source, at, count, out_arguments)) {
      forget(count, out_arguments);
    }
    return FC_OK;
  }
  return FC_OK;
}
