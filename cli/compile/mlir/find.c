// SPDX-License-Identifier: Apache-2.0
//
// In the generic form, each operation begins a line.
#include "compile/mlir/find.h"

#include "compile/mlir/lex.h"

#define ALIAS_DEPTH 4  // a location may be made of others

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

// The location of the operation whose '(' is at `open`; its regions are other lines.
static fc_str_t location_of(fc_str_t text, size_t open) {
  size_t at = open;
  for (char c = '('; c == '(' || c == '<' || c == '[' || c == '{';
       c = fc_lex_char(text, at)) {
    at = fc_lex_space(text, fc_lex_balanced(text, at, false));
  }
  return fc_lex_location(fc_lex_line(text, &at));
}

// The first `"file":line:column` in a location, or empty.
static fc_str_t find_place(fc_str_t location) {
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

// The place that a location, or the alias of one, says; of several the first.
static fc_str_t resolve_place(fc_str_t text, fc_str_t location) {
  fc_str_t place = find_place(location);
  for (int depth = 0; !place.size && depth < ALIAS_DEPTH; depth++) {
    const char *alias =
        location.size ? memchr(location.data, '#', location.size) : NULL;
    if (!alias) break;
    fc_str_t name = {alias, 1};
    while (alias + name.size < location.data + location.size &&
           fc_lex_is_word(alias[name.size])) {
      name.size++;
    }
    location = find_location(text, name);
    place = find_place(location);
  }
  return place;
}

size_t fc_mlir_line(fc_str_t text, size_t open) {
  const fc_str_t place = resolve_place(text, location_of(text, open));
  size_t at = place.size ? fc_lex_string(place, 0) + 1 : 0, line = 0;
  for (; fc_lex_is_digit(fc_lex_char(place, at)); at++) {
    line = (line * 10 + (size_t)(place.data[at] - '0')) & 0xFFFFFFF;
  }
  return line;
}

// Finds the first operation of `text` that is (or is not) one of a kind.
static bool find_operation(fc_str_t text, bool (*is_one)(fc_str_t operation),
                           bool wanted, fc_str_t *out_operation,
                           fc_str_t *out_location) {
  for (size_t at = 0; at < text.size;) {
    const size_t begin = at;
    fc_str_t line = fc_lex_line(text, &at), operation;
    size_t operands;
    if (!fc_lex_operation(line, &operation, &operands)) continue;
    if (is_one(operation) != wanted) continue;
    *out_operation = operation;
    *out_location = resolve_place(text, location_of(text, begin + operands));
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

bool fc_mlir_approximates_well(fc_str_t text) {
  static const fc_str_t kBadly[] = {
      FC_STR("\"math.sin\""),  FC_STR("\"math.cos\""),
      FC_STR("\"math.atan\""), FC_STR("\"math.atan2\""),
      FC_STR("\"math.asin\""), FC_STR("\"math.acos\""),
      FC_STR("\"math.cbrt\""), FC_STR("\"math.erfc\""),
  };
  for (size_t i = 0; text.size && i < FC_ARRAY_COUNT(kBadly); i++) {
    const fc_str_t name = kBadly[i];
    if (memmem(text.data, text.size, name.data, name.size)) return false;
  }
  return true;
}
