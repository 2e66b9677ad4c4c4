// SPDX-License-Identifier: Apache-2.0
//
// Finds out whether rows of a function may be batched. A child process calls the
// function, because random rows may crash it or make it hang.
#ifndef FARCALL_CLI_PROVE_H_
#define FARCALL_CLI_PROVE_H_

#include "module/prove.h"

// Writes the verdict of fc_rows_prove, or one that begins with "off: " if the child has
// reported none. Takes at most 5 seconds of processor time and 21 seconds in all.
void fc_local_prove(const fc_function_t *function,
                    char out_verdict[FC_VERDICT_SIZE]);

#endif  // FARCALL_CLI_PROVE_H_
