// SPDX-License-Identifier: Apache-2.0
//
// --input and --output: the values of a command line to and from the JSON of a
// call document.
#ifndef FARCALL_CLI_INPUT_H_
#define FARCALL_CLI_INPUT_H_

#include "cli.h"

// Writes one --input as JSON:
//   @FILE.npy         its array, bit for bit
//   4xf32=1 2 3 4     a tensor; one value fills it, brackets and commas are space
//   f32=1.5           a scalar
//   anything else     JSON; nan, inf and -inf are those numbers
// Fails with a message that names the input.
fc_status_t fc_input_print(fc_arena_t *arena, const char *input,
                           fc_sink_t *sink, fc_error_t *err);

// What to add to a complaint about too many words: values were meant, perhaps.
const char *fc_input_words_hint(const fc_args_t *args);

// What to add to the refusal of the value at `pointer`: how a scalar is written,
// when its --input is a typed tensor. "" where there is nothing to add.
const char *fc_input_hint(const fc_args_t *args, const char *code,
                          const char *pointer);

// The call document of --json, or of all --input; with any --output results are
// asked for in fc_output_form. `out_document` is in the arena. Returns an exit
// code, complained already if it isn't 0.
int fc_input_document(const fc_args_t *args, fc_str_t *out_document);

// How results are asked for: NULL without --output; "b64", which is exact, when all
// go to files; "typed" when one is printed.
const char *fc_output_form(const fc_args_t *args);
// True if `answer` is one JSON object that begins with the list "results".
bool fc_output_is_answer(fc_str_t answer);
// Prints an answer {"results":[…]} to stdout, or serves each --output with the
// result in its place. Complains and returns an exit code.
int fc_output_print(const fc_args_t *args, fc_str_t answer);

#endif  // FARCALL_CLI_INPUT_H_
