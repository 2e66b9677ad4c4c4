// SPDX-License-Identifier: Apache-2.0
//
// mlir-opt has accepted the text. So only the characters that separate the parts are
// checked.
#include "compile/mlir/operation.h"

// If the text at *at begins with `open`, returns what is between it and the closing
// bracket, and moves *at past that bracket. Otherwise returns an empty text; *at stays.
static fc_str_t cut(fc_str_t text, size_t *at, fc_str_t open) {
  const size_t begin = fc_lex_space(text, *at), inside = begin + open.size;
  if (!fc_str_starts(fc_lex_part(text, begin, text.size), open)) {
    return (fc_str_t){0};
  }
  *at = fc_lex_balanced(text, begin, false);
  const bool closed = *at >= inside + open.size;
  return fc_lex_part(text, inside, closed ? *at - open.size : inside);
}

// Returns the types in round brackets, or one type without brackets, and moves *at past
// them.
static fc_str_t cut_types(fc_str_t text, size_t *at) {
  const size_t begin = fc_lex_space(text, *at);
  if (fc_lex_char(text, begin) == '(') return cut(text, at, FC_STR("("));
  for (*at = begin; *at < text.size && !fc_lex_is_space(text.data[*at]);) {
    const bool opens = fc_lex_nesting(text, *at) > 0;
    *at = opens ? fc_lex_balanced(text, *at, false) : *at + 1;
  }
  return fc_lex_part(text, begin, *at);
}

// Moves *at past `mark`. False: the text does not continue with it.
static bool skip(fc_str_t text, size_t *at, fc_str_t mark) {
  const size_t begin = fc_lex_space(text, *at);
  if (!fc_str_starts(fc_lex_part(text, begin, text.size), mark)) return false;
  *at = begin + mark.size;
  return true;
}

static void read_types(fc_str_t text, size_t *at, fc_operation_t *out) {
  if (!skip(text, at, FC_STR(":"))) return;
  out->operand_types = cut(text, at, FC_STR("("));
  if (skip(text, at, FC_STR("->"))) out->result_types = cut_types(text, at);
}

static bool read_head(fc_str_t text, size_t at, fc_operation_t *out) {
  *out = (fc_operation_t){.begin = at};
  size_t quote = at;
  while (fc_lex_char(text, quote) == ' ') quote++;
  if (fc_lex_char(text, quote) == '%') {
    const size_t begin = quote;
    while (quote < text.size && !strchr("\"\n=", text.data[quote])) quote++;
    out->results = fc_lex_trim(fc_lex_part(text, begin, quote));
    if (fc_lex_char(text, quote) == '=') quote = fc_lex_space(text, quote + 1);
  }
  if (fc_lex_char(text, quote) != '"') return false;
  at = fc_lex_string(text, quote);
  out->name = fc_lex_unwrap(fc_lex_part(text, quote, at));
  return fc_lex_char(text, at) == '(';
}

void fc_operation_complete(fc_str_t text, fc_operation_t *out) {
  // After the quote that ends the name.
  size_t at = (size_t)(out->name.data - text.data) + out->name.size + 1;
  out->operands = cut(text, &at, FC_STR("("));
  out->successors = cut(text, &at, FC_STR("["));
  out->properties = cut(text, &at, FC_STR("<{"));
  out->regions = cut(text, &at, FC_STR("({"));
  out->attributes_at = at;
  out->attributes = cut(text, &at, FC_STR("{"));
  if (out->attributes.data) {
    out->attributes_at = (size_t)(out->attributes.data - text.data);
  }
  read_types(text, &at, out);
  if (skip(text, &at, FC_STR("loc")))
    out->location = cut(text, &at, FC_STR("("));
  fc_lex_line(text, &at);
  out->end = at;
}

bool fc_operation_read(fc_str_t text, size_t at, fc_operation_t *out) {
  if (!read_head(text, at, out)) return false;
  fc_operation_complete(text, out);
  return true;
}

bool fc_operation_next(fc_str_t text, size_t *at, fc_operation_t *out) {
  while (*at < text.size) {
    const size_t begin = *at;
    fc_lex_line(text, at);
    if (read_head(text, begin, out)) return true;
  }
  return false;
}

bool fc_operation_is(const fc_operation_t *operation, const char *name) {
  return fc_str_equal(operation->name, fc_str(name));
}

fc_str_t fc_operation_place(const fc_operation_t *operation) {
  const fc_str_t location = operation->location;
  for (size_t at = 0; at < location.size; at++) {
    if (location.data[at] != '"') continue;
    const size_t begin = at;
    at = fc_lex_string(location, at);
    if (fc_lex_char(location, at) != ':' ||
        !fc_lex_is_digit(fc_lex_char(location, at + 1))) {
      continue;
    }
    while (fc_lex_char(location, at) == ':' ||
           fc_lex_is_digit(fc_lex_char(location, at))) {
      at++;
    }
    return fc_lex_part(location, begin, at);
  }
  return (fc_str_t){0};
}

static size_t read_number(fc_str_t text, size_t *at) {
  size_t number = 0;
  for (; fc_lex_is_digit(fc_lex_char(text, *at)); ++*at) {
    number = (number * 10 + (size_t)(text.data[*at] - '0')) & FC_MLIR_LINE_END;
  }
  return number;
}

size_t fc_mlir_spot(fc_str_t text) {
  size_t at = 0;
  const size_t line = read_number(text, &at);
  const bool has_column =
      fc_lex_char(text, at++) == ':' && fc_lex_is_digit(fc_lex_char(text, at));
  if (!line) return 0;
  return FC_MLIR_SPOT(line,
                      has_column ? read_number(text, &at) : FC_MLIR_LINE_END);
}

size_t fc_operation_spot(const fc_operation_t *operation) {
  const fc_str_t place = fc_operation_place(operation);
  if (!place.size) return 0;
  return fc_mlir_spot(
      fc_lex_part(place, fc_lex_string(place, 0) + 1, place.size));
}

// ---------------------------------------------------------------------------
// Attributes

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

fc_str_t fc_attr_find(fc_str_t attrs, fc_str_t key) {
  fc_str_t name, value;
  while (fc_mlir_next_attr(&attrs, &name, &value)) {
    if (fc_str_equal(name, key)) return value;
  }
  return (fc_str_t){0};
}

// The sizes of segments are written as array<i32: 2, 1>.
bool fc_operation_segment(const fc_operation_t *operation, size_t segment,
                          size_t *out_begin, size_t *out_end) {
  fc_str_t sizes =
      fc_attr_find(operation->properties, FC_STR("operandSegmentSizes"));
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
