// SPDX-License-Identifier: Apache-2.0
//
// --expected and --tolerance: the expected results of a call, the comparison, and its
// message.
#ifndef FARCALL_CLI_CHECK_H_
#define FARCALL_CLI_CHECK_H_

#include "cli.h"
#include "farcall/type.h"
#include "module/compare.h"

// Reads --tolerance. Returns an exit code, after a complaint if it isn't 0.
int fc_check_tolerance(const fc_args_t *args, fc_tolerance_t *out_tolerance);

// Reads the values of --expected, so that a wrong one is reported before the call.
// *out_expected is a list of JSON values in the arena, with null where any value is
// allowed; empty if there is no --expected. Returns an exit code, after a complaint if it
// isn't 0.
int fc_check_read(const fc_args_t *args, fc_str_t *out_expected);

// Compares an answer with the values that fc_check_read has read, and reports on standard
// error. Returns an exit code.
int fc_check_answer(const fc_args_t *args, const fc_signature_t *signature,
                    fc_str_t expected, fc_str_t answer);

// Returns the result of a comparison as text, "4 values, 1 differs from BY, …". NULL: no
// memory.
const char *fc_check_text(fc_arena_t *arena, const fc_comparison_t *found,
                          const char *by);

#endif  // FARCALL_CLI_CHECK_H_
