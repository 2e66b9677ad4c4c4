// SPDX-License-Identifier: Apache-2.0
//
// Finds names of foreign dialects in MLIR text. mlir-opt may have refused the text, so
// only its words are looked at, not its grammar.
#include "compile_foreign.h"

#include "mlir_lex.h"

typedef struct fc_foreign_t {
  fc_str_t prefix;
  const char *hint;
} fc_foreign_t;

#define FC_FOREIGN(dialect, hint) \
  { {dialect ".", sizeof(dialect)}, "; " hint }

// The first row that fits is taken: text of torch may hold operations of ONNX.
static const fc_foreign_t kForeign[] = {
    FC_FOREIGN("onnx",
               "'onnx' is lowered by iree-compile --iree-input-type=onnx, of "
               "what iree-import-onnx makes of an ONNX file"),
    FC_FOREIGN("torch",
               "'torch' is lowered by iree-compile --iree-input-type=torch"),
    FC_FOREIGN("stablehlo", "'stablehlo' is lowered by iree-compile "
                            "--iree-input-type=stablehlo"),
    FC_FOREIGN("tosa",
               "'tosa' is lowered by iree-compile --iree-input-type=tosa"),
    FC_FOREIGN("gpu",
               "'gpu' is for GPUs: farcall runs modules on the processor only"),
};

// True where a name of this dialect begins: an operation, also in quotes, a type
// or an attribute, but no symbol or value.
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

const char *fc_mlir_foreign_hint(fc_str_t source) {
  for (size_t i = 0; i < FC_ARRAY_COUNT(kForeign); i++) {
    if (names_dialect(source, kForeign[i].prefix)) return kForeign[i].hint;
  }
  return "";
}
