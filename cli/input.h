// SPDX-License-Identifier: Apache-2.0
//
// --input and --output: convert values of a command line to and from the JSON of a call
// document.
#ifndef FARCALL_CLI_INPUT_H_
#define FARCALL_CLI_INPUT_H_

#include "cli.h"
#include "farcall/type.h"

// Writes the value of --input, or of a similar option, as JSON:
//   @FILE.npy         the array in the file, bit for bit
//   4xf32=1 2 3 4     a tensor; a single value fills it; brackets and commas are blanks
//   f32=1.5           a value without dims: with `bare` only the value, which a scalar
//                     also accepts; else with its type, as an array without dims
//   4xf32=@FILE       a tensor of the elements in a file that has only elements
//   anything else     JSON; nan, inf and -inf are numbers too
// Fails with a message that names the option and the value; `err` must not be NULL.
fc_status_t fc_input_print(fc_arena_t *arena, const char *option,
                           const char *input, bool bare, fc_sink_t *sink,
                           fc_error_t *err);

// Returns the JSON of one number or truth value that a user typed. Data is NULL if `text`
// is neither.
fc_str_t fc_input_value(fc_str_t text);

// Returns the hint for an error about too many words: the user may have meant them as
// inputs.
const char *fc_input_words_hint(const fc_args_t *args);

// Returns the hint for a refused value at `pointer`: how to write a scalar, if its
// --input is a typed tensor. "" if there is no hint.
const char *fc_input_hint(const fc_args_t *args, const char *code,
                          const char *pointer);

// Checks whether --json, --input, --output and --print fit together. Returns an exit
// code, after a complaint if it isn't 0.
int fc_input_check(const fc_args_t *args);

// Makes the call document from --json or from all --input, after the checks of
// fc_input_check. `signature`, of the called function, says which arguments are scalars;
// NULL: all may be. With --input and --output, the document asks for results in the form
// of fc_output_form. `out_document` is in the arena, or in argv with --json. Returns an
// exit code, after a complaint if it isn't 0.
int fc_input_document(const fc_args_t *args, const fc_signature_t *signature,
                      fc_str_t *out_document);

// Returns the form in which results are requested: NULL without --output; "b64", which is
// exact, if all go to files; "typed" if one is printed.
const char *fc_output_form(const fc_args_t *args);
// True if `answer` is one JSON object that begins with the list "results".
bool fc_output_is_answer(fc_str_t answer);
// Removes the member "profile" from the end of `answer` and returns it. False: there is
// none, or no memory.
bool fc_output_take_profile(fc_arena_t *arena, fc_str_t *answer,
                            fc_str_t *out_profile);
// Fails if --print names no way to print results.
fc_status_t fc_output_check(const fc_args_t *args, fc_error_t *err);
// Prints an answer {"results":[…]} to stdout as --print says, or uses for each result the
// --output at its position. Returns an exit code, after a complaint if it isn't 0.
int fc_output_print(const fc_args_t *args, fc_str_t answer);

#endif  // FARCALL_CLI_INPUT_H_
