// SPDX-License-Identifier: Apache-2.0
//
// Finds operations by their kind.
#include "compile/mlir/operation.h"

// Finds the first operation for which `is_one` returns `wanted`.
static bool find_operation(fc_str_t text, bool (*is_one)(fc_str_t operation),
                           bool wanted, fc_str_t *out_operation,
                           fc_str_t *out_place) {
  fc_operation_t operation;
  for (size_t at = 0; fc_operation_next(text, &at, &operation);) {
    if (is_one(operation.name) != wanted) continue;
    fc_operation_complete(text, &operation);
    *out_operation = operation.name;
    *out_place = fc_operation_place(&operation);
    return true;
  }
  return false;
}

static bool is_lowered(fc_str_t operation) {
  return fc_str_starts(operation, FC_STR("llvm.")) ||
         fc_str_starts(operation, FC_STR("builtin."));
}

bool fc_mlir_leftover(fc_str_t text, fc_str_t *out_operation,
                      fc_str_t *out_place) {
  return find_operation(text, is_lowered, false, out_operation, out_place);
}

// True for an operation that may access memory and that --generate-runtime-verification
// does not check. All operations of dialects not listed here count as such. An address
// that is only a number accesses nothing: the operation that makes a pointer of it is of
// a dialect not listed.
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
                        fc_str_t *out_place) {
  return find_operation(text, is_unverified, true, out_operation, out_place);
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

const fc_mlir_function_t *fc_mlir_function_at(const fc_mlir_module_t *module,
                                              size_t spot) {
  fc_operation_t operation;
  size_t nearest = 0, begin = 0, at = 0;
  fc_operation_next(module->text, &at, &operation);  // the module
  while (fc_operation_next(module->text, &at, &operation)) {
    fc_operation_complete(module->text, &operation);
    const size_t own = fc_operation_spot(&operation);
    at = operation.end;
    if (!own || own > spot || own < nearest) continue;
    nearest = own;
    begin = operation.begin;
  }
  for (size_t i = 0; i < module->function_count; i++) {
    if (module->functions[i].begin == begin) return &module->functions[i];
  }
  return NULL;
}

bool fc_mlir_names(fc_str_t body, fc_str_t symbol) {
  for (size_t at = 0; at < body.size; at++) {
    if (body.data[at] == '"') at = fc_lex_string(body, at) - 1;
    if (body.data[at] != '@') continue;
    const bool quoted = fc_lex_char(body, at + 1) == '"';
    const size_t begin = at + 1 + quoted, end = begin + symbol.size;
    const char after = fc_lex_char(body, end);
    if (fc_str_starts(fc_lex_part(body, begin, body.size), symbol) &&
        (quoted ? after == '"' : !fc_lex_is_word(after))) {
      return true;
    }
  }
  return false;
}
