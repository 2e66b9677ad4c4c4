// SPDX-License-Identifier: Apache-2.0
//
// Renames functions that have the name of a function of the C library. LLVM would
// optimise calls of the module's `exp` as if they were calls of the library's. And
// math.exp, which MLIR lowers to a call of `exp`, would call the module's. The new name
// has a dot, which no function of the C library has.
#include "compile/mlir/lex.h"
#include "compile/mlir/text.h"
#include "module/native/libc.h"

static bool is_clash(const fc_mlir_module_t *module, fc_str_t name) {
  for (size_t i = 0; i < module->function_count; i++) {
    const fc_mlir_function_t *function = &module->functions[i];
    if (function->has_body && fc_str_equal(function->symbol, name)) {
      return fc_libc_is_reserved(name);
    }
  }
  return false;
}

// Finds the next name of a function from *at on, in `@name` or `sym_name = "name"`, and
// moves *at past it. False: there is none.
static bool next_name(fc_str_t text, size_t *at, fc_str_t *out_name) {
  static const fc_str_t kDefined = FC_STR("sym_name = ");
  while (*at < text.size) {
    const size_t begin = *at;
    if (text.data[begin] == '"') {
      *at = fc_lex_string(text, begin);
      const size_t before = begin > kDefined.size ? begin - kDefined.size : 0;
      if (!fc_str_equal(fc_lex_part(text, before, begin), kDefined)) continue;
      *at -= 1;  // the name ends before the quote
      *out_name = fc_lex_part(text, begin + 1, *at);
      return true;
    }
    *at = begin + 1;
    if (text.data[begin] != '@' || fc_lex_char(text, *at) == '"') continue;
    while (*at < text.size && fc_lex_is_word(text.data[*at])) *at += 1;
    *out_name = fc_lex_part(text, begin + 1, *at);
    return true;
  }
  return false;
}

fc_status_t fc_mlir_rename_own(const fc_mlir_module_t *module, fc_text_t *out,
                               fc_error_t *err) {
  const fc_str_t text = module->text;
  size_t done = 0;
  fc_str_t name;
  for (size_t at = 0; next_name(text, &at, &name);) {
    if (is_clash(module, name)) {
      FC_TRY(fc_sink_put(&out->sink, fc_lex_part(text, done, at), err));
      FC_TRY(fc_sink_put(&out->sink, FC_STR(FC_MLIR_OWN), err));
      done = at;
    }
    if (fc_lex_char(text, at) == '"') at++;  // of a definition
  }
  return done ? fc_sink_put(&out->sink, fc_lex_part(text, done, text.size), err)
              : FC_OK;
}
