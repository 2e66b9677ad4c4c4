// SPDX-License-Identifier: Apache-2.0
//
// Three rules of MLIR text: a string hides everything in it; brackets come in pairs; '>'
// is not a bracket after '-' (an arrow) or before '=' (a comparison).
#include "compile/mlir/lex.h"

#include "base/hex.h"

bool fc_lex_is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool fc_lex_is_digit(char c) { return c >= '0' && c <= '9'; }
bool fc_lex_is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         fc_lex_is_digit(c) || c == '_' || c == '$' || c == '.' || c == '-';
}

fc_str_t fc_lex_trim(fc_str_t text) {
  while (text.size && fc_lex_is_space(text.data[0])) text.data++, text.size--;
  while (text.size && fc_lex_is_space(text.data[text.size - 1])) text.size--;
  return text;
}

fc_str_t fc_lex_part(fc_str_t text, size_t from, size_t to) {
  return (fc_str_t){text.data + from, to - from};
}

char fc_lex_char(fc_str_t text, size_t at) {
  return at < text.size ? text.data[at] : '\0';
}

size_t fc_lex_space(fc_str_t text, size_t at) {
  while (at < text.size && fc_lex_is_space(text.data[at])) at++;
  return at;
}

size_t fc_lex_string(fc_str_t text, size_t at) {
  for (at++; at < text.size; at++) {
    if (text.data[at] == '\\') at++;
    else if (text.data[at] == '"') return at + 1;
  }
  return text.size;
}

int fc_lex_nesting(fc_str_t text, size_t at) {
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
      return fc_lex_char(text, at + 1) == '=' ? 0 : -1;
    default:
      return 0;
  }
}

size_t fc_lex_balanced(fc_str_t text, size_t at, bool comments) {
  int depth = 0;
  while (at < text.size) {
    char c = text.data[at];
    if (c == '"') {
      at = fc_lex_string(text, at);
      continue;
    }
    if (comments && c == '/' && fc_lex_char(text, at + 1) == '/') {
      while (at < text.size && text.data[at] != '\n') at++;
      continue;
    }
    depth += fc_lex_nesting(text, at++);
    if (depth <= 0) return at;
  }
  return at;
}

bool fc_lex_element(fc_str_t *rest, fc_str_t *out_element) {
  size_t at = 0;
  if (!fc_lex_trim(*rest).size) return false;
  while (at < rest->size && rest->data[at] != ',') {
    if (rest->data[at] == '"') at = fc_lex_string(*rest, at);
    else if (fc_lex_nesting(*rest, at) > 0)
      at = fc_lex_balanced(*rest, at, false);
    else at++;
  }
  *out_element = fc_lex_trim(fc_lex_part(*rest, 0, at));
  *rest = fc_lex_part(*rest, at < rest->size ? at + 1 : at, rest->size);
  return true;
}

size_t fc_lex_count(fc_str_t list) {
  size_t count = 0;
  fc_str_t element;
  while (fc_lex_element(&list, &element)) count++;
  return count;
}

fc_str_t fc_lex_unwrap(fc_str_t text) {
  text = fc_lex_trim(text);
  return text.size < 2 ? (fc_str_t){0} : fc_lex_part(text, 1, text.size - 1);
}

fc_str_t fc_lex_line(fc_str_t text, size_t *at) {
  size_t from = *at;
  while (*at < text.size && text.data[*at] != '\n') ++*at;
  fc_str_t line = fc_lex_part(text, from, *at);
  if (*at < text.size) ++*at;
  return line;
}

fc_str_t fc_lex_unquote(fc_arena_t *arena, fc_str_t text) {
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
