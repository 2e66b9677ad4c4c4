// SPDX-License-Identifier: Apache-2.0
//
// run --iterate: calls a function many times in a row; each step uses the results of the
// previous one.
#ifndef FARCALL_CLI_ITERATE_H_
#define FARCALL_CLI_ITERATE_H_

#include "local.h"

// Calls `function` with the call document, whose "repeat" (steps.h) says how often.
// Prints a line for each step as it is made. Returns an exit code, after a complaint if
// it isn't 0.
int fc_iterate(const fc_args_t *args, const fc_function_t *function,
               fc_str_t document);

#endif  // FARCALL_CLI_ITERATE_H_
