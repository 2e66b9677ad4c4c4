// SPDX-License-Identifier: Apache-2.0
//
// --input and --output: the values of a command line to and from the JSON of a
// call document.
#ifndef FARCALL_CLI_INPUT_H_
#define FARCALL_CLI_INPUT_H_

#include "cli.h"
#include "farcall/type.h"

// Writes the value of --input, or of another option that takes the same, as JSON:
//   @FILE.npy         its array, bit for bit
//   4xf32=1 2 3 4     a tensor; one value fills it, brackets and commas are space
//   f32=1.5           a value without dims: with `bare` only the value, which a scalar
//                     takes as well; else with its type, as of an array without dims
//   4xf32=@FILE       a tensor of the elements in a file that has nothing else
//   anything else     JSON; nan, inf and -inf are those numbers
// Fails with a message that names the option and the value; `err` is not NULL.
fc_status_t fc_input_print(fc_arena_t *arena, const char *option,
                           const char *input, bool bare, fc_sink_t *sink,
                           fc_error_t *err);

// The JSON of one number or truth value that somebody typed. Its data is NULL if `text` is
// none.
fc_str_t fc_input_value(fc_str_t text);

// The hint for a complaint about too many words: perhaps they were meant as
// inputs.
const char *fc_input_words_hint(const fc_args_t *args);

// The hint for the refusal of the value at `pointer`: how to write a scalar,
// when its --input is a typed tensor. "" where there is no hint.
const char *fc_input_hint(const fc_args_t *args, const char *code,
                          const char *pointer);

// Do --json, --input, --output and --print go together? Returns an exit code, and has
// complained if it isn't 0.
int fc_input_check(const fc_args_t *args);

// Makes the call document of --json, or of all --input; checks as fc_input_check does.
// `signature`, of the function that is called, says which arguments are scalars; NULL: all
// may be. With --input and --output, it asks for results in the form of fc_output_form.
// `out_document` is in the arena, or in argv when --json has it. Returns an exit code, and
// has complained if it isn't 0.
int fc_input_document(const fc_args_t *args, const fc_signature_t *signature,
                      fc_str_t *out_document);

// The form in which results are asked for: NULL without --output; "b64", which
// is exact, when all go to files; "typed" when one is printed.
const char *fc_output_form(const fc_args_t *args);
// True if `answer` is one JSON object that begins with the list "results".
bool fc_output_is_answer(fc_str_t answer);
// Takes the member "profile" that ends `answer` out of it. False if there is none, or
// no memory.
bool fc_output_take_profile(fc_arena_t *arena, fc_str_t *answer,
                            fc_str_t *out_profile);
// Fails when --print says no way in which results are printed.
fc_status_t fc_output_check(const fc_args_t *args, fc_error_t *err);
// Prints an answer {"results":[…]} to stdout as --print says, or does with each result
// what the --output in its place says. Complains and returns an exit code.
int fc_output_print(const fc_args_t *args, fc_str_t answer);

#endif  // FARCALL_CLI_INPUT_H_
