// SPDX-License-Identifier: Apache-2.0
//
// Splits MLIR text into strings, brackets, lists and lines. All code of `farcall compile`
// that reads MLIR text uses these functions, mostly after mlir-opt has accepted the text.
// They accept any bytes and do not recurse. A string or bracket that is not closed ends
// at text.size.
#ifndef FARCALL_CLI_COMPILE_MLIR_LEX_H_
#define FARCALL_CLI_COMPILE_MLIR_LEX_H_

#include "farcall/base.h"

bool fc_lex_is_space(char c);
bool fc_lex_is_digit(char c);
// True for the characters of names: letters, digits and _ $ . -
bool fc_lex_is_word(char c);

fc_str_t fc_lex_trim(fc_str_t text);
// Returns text[from, to).
fc_str_t fc_lex_part(fc_str_t text, size_t from, size_t to);
// Returns text[at], or NUL at or past the end.
char fc_lex_char(fc_str_t text, size_t at);

// Returns the index of the first character from `at` on that is not a space.
size_t fc_lex_space(fc_str_t text, size_t at);
// text[at] is a quote. Returns the index after the closing quote.
size_t fc_lex_string(fc_str_t text, size_t at);
// Returns by how much the character at `at` changes the depth of brackets: +1, -1 or 0.
int fc_lex_nesting(fc_str_t text, size_t at);
// text[at] opens a bracket. Returns the index after the bracket that closes it. With
// `comments`, for source text, ignores what follows // on a line.
size_t fc_lex_balanced(fc_str_t text, size_t at, bool comments);

// Removes the first element from a comma-separated list. False: the list is empty.
bool fc_lex_element(fc_str_t *rest, fc_str_t *out_element);
size_t fc_lex_count(fc_str_t list);
// Makes "a, b" from "(a, b)": trims, then removes the first and the last character,
// whatever they are. Empty if there are fewer than two.
fc_str_t fc_lex_unwrap(fc_str_t text);

// Returns the line at *at without its line feed, and moves *at to the next line.
fc_str_t fc_lex_line(fc_str_t text, size_t *at);
// Returns the content of a quoted MLIR string, with escapes decoded. Data is NULL if
// `text` is not a string, or without memory.
fc_str_t fc_lex_unquote(fc_arena_t *arena, fc_str_t text);

#endif  // FARCALL_CLI_COMPILE_MLIR_LEX_H_
