// SPDX-License-Identifier: Apache-2.0
//
// --expected and --tolerance: what the results of a call are compared with, and how the
// outcome reads.
#ifndef FARCALL_CLI_CHECK_H_
#define FARCALL_CLI_CHECK_H_

#include "cli.h"
#include "farcall/type.h"
#include "module/compare.h"

// The value of --tolerance. Returns an exit code, and has complained if it isn't 0.
int fc_check_tolerance(const fc_args_t *args, fc_tolerance_t *out_tolerance);

// Reads the values of --expected, so that a wrong one is known before the call.
// *out_expected is a list of JSON values in the arena, null for what may be anything;
// empty when there is no --expected. Returns an exit code, and has complained if it
// isn't 0.
int fc_check_read(const fc_args_t *args, fc_str_t *out_expected);

// Compares an answer with what fc_check_read has read, and says the outcome on standard
// error. Returns an exit code.
int fc_check_answer(const fc_args_t *args, const fc_signature_t *signature,
                    fc_str_t expected, fc_str_t answer);

// "4 values, 1 differs from BY, …": how a comparison went. NULL when out of memory.
const char *fc_check_text(fc_arena_t *arena, const fc_comparison_t *found,
                          const char *by);

#endif  // FARCALL_CLI_CHECK_H_
