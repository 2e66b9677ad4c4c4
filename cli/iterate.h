// SPDX-License-Identifier: Apache-2.0
//
// run --iterate: a function called many times in a row, each step from the results of the
// one before.
#ifndef FARCALL_CLI_ITERATE_H_
#define FARCALL_CLI_ITERATE_H_

#include "local.h"

// Calls `function` as the call document says, which has "repeat" (steps.h), and prints a line
// for each step while they are made. Returns an exit code, and has complained if it
// isn't 0.
int fc_iterate(const fc_args_t *args, const fc_function_t *function,
               fc_str_t document);

#endif  // FARCALL_CLI_ITERATE_H_
