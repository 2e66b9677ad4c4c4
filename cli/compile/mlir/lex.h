// SPDX-License-Identifier: Apache-2.0
//
// Takes MLIR text apart: strings, brackets, lists, lines. All code of `farcall compile`
// that reads MLIR text uses these functions, mostly after mlir-opt has accepted the
// text. They take any bytes and do not recurse. If a string or
// bracket is not closed, the index behind it is text.size.
#ifndef FARCALL_CLI_COMPILE_MLIR_LEX_H_
#define FARCALL_CLI_COMPILE_MLIR_LEX_H_

#include "farcall/base.h"

bool fc_lex_is_space(char c);
bool fc_lex_is_digit(char c);
// A character of a name: letters, digits and _ $ . -
bool fc_lex_is_word(char c);

fc_str_t fc_lex_trim(fc_str_t text);
// text[from, to)
fc_str_t fc_lex_part(fc_str_t text, size_t from, size_t to);
// text[at], or NUL past the end.
char fc_lex_char(fc_str_t text, size_t at);

// The index of the first character from `at` that is no space.
size_t fc_lex_space(fc_str_t text, size_t at);
// text[at] is a quote. Returns the index behind the closing one.
size_t fc_lex_string(fc_str_t text, size_t at);
// How the character at `at` changes the depth of brackets: +1, -1 or 0.
int fc_lex_nesting(fc_str_t text, size_t at);
// text[at] opens a bracket. Returns the index behind the bracket that closes
// it. With `comments`, as in source text, // hides the rest of its line.
size_t fc_lex_balanced(fc_str_t text, size_t at, bool comments);

// Cuts the first element off a comma-separated list. False at the list's end.
bool fc_lex_element(fc_str_t *rest, fc_str_t *out_element);
size_t fc_lex_count(fc_str_t list);
// "(a, b)" -> "a, b": trims, then drops the first and the last character, whatever they
// are. Empty when there are fewer than two.
fc_str_t fc_lex_unwrap(fc_str_t text);

// The line at *at without its line feed; *at moves to the next line.
fc_str_t fc_lex_line(fc_str_t text, size_t *at);
// The content of a quoted MLIR string, escapes decoded; data is NULL when `text` is
// no string, or when out of memory.
fc_str_t fc_lex_unquote(fc_arena_t *arena, fc_str_t text);

#endif  // FARCALL_CLI_COMPILE_MLIR_LEX_H_
