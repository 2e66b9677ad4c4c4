// SPDX-License-Identifier: Apache-2.0
//
// --iterate of run and call: a function is called many times in a row; each step uses the
// results of the previous one. This file converts the options to the member "repeat" of
// the call document, and prints a server's steps. iterate.c makes steps in this process.
#ifndef FARCALL_CLI_STEPS_H_
#define FARCALL_CLI_STEPS_H_

#include "cli.h"
#include "client.h"

// Checks that the options given with --iterate fit it, and that --until, --feed and
// --emit are given only with --iterate. Returns an exit code, after a complaint if it
// isn't 0.
int fc_steps_check(const fc_args_t *args);
// Puts "repeat" into the call document, which becomes one object in the arena. Text that
// is not a call document stays unchanged; whoever reads it refuses it. Returns an exit
// code, after a complaint if it isn't 0.
int fc_steps_put(const fc_args_t *args, fc_str_t *document);
// Asks the server for the steps, and prints a line for each as it arrives. Returns an
// exit code, after a complaint if it isn't 0: an error, or an incomplete answer.
int fc_steps_ask(const fc_args_t *args, const fc_remote_t *server,
                 const char *target, fc_str_t document);

#endif  // FARCALL_CLI_STEPS_H_
