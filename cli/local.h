// SPDX-License-Identifier: Apache-2.0
//
// What the verbs that take a module file share: loading it, finding a function.
#ifndef FARCALL_CLI_LOCAL_H_
#define FARCALL_CLI_LOCAL_H_

#include "cli.h"
#include "farcall/farcall.h"

// Loads the FILE of the command line with the options given there; with
// `describe`, runs nothing of it. Returns an exit code, and has complained if
// it isn't 0. The caller releases the module.
int fc_local_load(const fc_args_t *args, bool describe,
                  fc_module_t **out_module);
// The function of that name; NULL after a complaint with a hint.
const fc_function_t *fc_local_find(const fc_module_t *module, const char *name);

#endif  // FARCALL_CLI_LOCAL_H_
