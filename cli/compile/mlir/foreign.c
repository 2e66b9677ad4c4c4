// SPDX-License-Identifier: Apache-2.0
//
// Finds names of foreign dialects in MLIR text. mlir-opt may have refused the text, so
// only its words are looked at, not its grammar.
#include "compile/mlir/lex.h"
#include "compile/mlir/text.h"

typedef struct row_t {
  fc_str_t prefix;
  fc_foreign_t foreign;
} row_t;

#define ROW(dialect, foreign) \
  { {dialect ".", sizeof(dialect)}, foreign }

// The first row that matches is used: text of torch may contain operations of ONNX.
static const row_t kRows[] = {
    ROW("onnx", FC_FOREIGN_ONNX),
    ROW("torch", FC_FOREIGN_TORCH),
    ROW("stablehlo", FC_FOREIGN_STABLEHLO),
    ROW("chlo", FC_FOREIGN_STABLEHLO),
    ROW("vhlo", FC_FOREIGN_STABLEHLO),
    ROW("tosa", FC_FOREIGN_TOSA),
    ROW("gpu", FC_FOREIGN_GPU),
};

// True if the name of an operation (also in quotes), type or attribute of this dialect
// begins here. Symbols and values do not count.
static bool is_name(fc_str_t text, size_t at, fc_str_t prefix) {
  const char before = at ? text.data[at - 1] : ' ';
  const char after = fc_lex_char(text, at + prefix.size);
  return fc_str_starts(fc_lex_part(text, at, text.size), prefix) &&
         !fc_lex_is_word(before) && before != '%' && before != '@' &&
         ((after >= 'a' && after <= 'z') || (after >= 'A' && after <= 'Z'));
}

static bool names_dialect(fc_str_t text, fc_str_t prefix) {
  for (size_t at = 0; at < text.size; at++) {
    if (text.data[at] == '/' && fc_lex_char(text, at + 1) == '/') {
      while (at < text.size && text.data[at] != '\n') at++;
    } else if (is_name(text, at, prefix)) {
      return true;
    }
  }
  return false;
}

fc_foreign_t fc_mlir_foreign(fc_str_t source) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kRows); i++) {
    if (names_dialect(source, kRows[i].prefix)) return kRows[i].foreign;
  }
  return FC_FOREIGN_NONE;
}
