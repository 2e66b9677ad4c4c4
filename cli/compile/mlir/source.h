// SPDX-License-Identifier: Apache-2.0
//
// Finds functions in MLIR source text, before mlir-opt has parsed it (text.h reads what
// mlir-opt prints). Indices are byte offsets in the source; the source may be invalid.
#ifndef FARCALL_CLI_COMPILE_MLIR_SOURCE_H_
#define FARCALL_CLI_COMPILE_MLIR_SOURCE_H_

#include "compile/mlir/lex.h"

typedef struct fc_source_function_t {
  size_t begin;  // of the word `func.func`
  size_t named;  // after that word, and after the visibility if there is one
  bool is_public;
  fc_str_t symbol;   // as it is written, maybe in quotes
  size_t arguments;  // the index of their '('
} fc_source_function_t;

// Finds the next function from *at on, and moves *at to its arguments. False: there is
// none, or the source is bytecode.
bool fc_source_next(fc_str_t source, size_t *at, fc_source_function_t *out);

// Returns the index after spaces and comments.
size_t fc_source_skip_blank(fc_str_t source, size_t at);
size_t fc_source_skip_word(fc_str_t source, size_t at);
// Returns the end of one element of a list in round brackets.
size_t fc_source_skip_element(fc_str_t source, size_t at);

#endif  // FARCALL_CLI_COMPILE_MLIR_SOURCE_H_
