// SPDX-License-Identifier: Apache-2.0
//
// In the generic form, each operation begins a line.
#include "compile/operations.h"

#include "compile/mlir_lex.h"

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
