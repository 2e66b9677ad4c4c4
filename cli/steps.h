// SPDX-License-Identifier: Apache-2.0
//
// --iterate of run and call: a function called many times in a row, each step from the
// results of the one before. Here the options become the member "repeat" of the call
// document, and a server's steps are printed; iterate.c makes steps in this process.
#ifndef FARCALL_CLI_STEPS_H_
#define FARCALL_CLI_STEPS_H_

#include "cli.h"
#include "client.h"

// Do the options beside --iterate go with it, and is it there if --until, --feed or --emit
// is? Returns an exit code, and has complained if it isn't 0.
int fc_steps_check(const fc_args_t *args);
// Puts "repeat" into the document, which becomes one object that is in the arena. What is
// no document is left as it is: it is refused when it is read. Returns an exit code, and
// has complained if it isn't 0.
int fc_steps_put(const fc_args_t *args, fc_str_t *document);
// Has the server make the steps, and prints a line for each as it comes. Returns an exit
// code, and has complained if it isn't 0: about an error, or an answer that is cut.
int fc_steps_ask(const fc_args_t *args, const fc_remote_t *server,
                 const char *target, fc_str_t document);

#endif  // FARCALL_CLI_STEPS_H_
