// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of `farcall serve`. One thread.
#ifndef FARCALL_CLI_SERVE_SERVE_H_
#define FARCALL_CLI_SERVE_SERVE_H_

#include "cli.h"

// Gives the module that the source at `path` compiles to: from the cache if the same
// source was compiled before, else compiled now, which is reported on standard error.
// Returns an exit code, after a complaint if it isn't 0.
int fc_serve_module(const fc_args_t *args, const char *path,
                    const char **out_module);

// Starts a process that waits until the farcalld that this process becomes is ready,
// prints the address of its page on standard output and, with `open`, opens it in a
// browser. Sets NOTIFY_SOCKET for farcalld; does nothing if a service manager has set it.
// False: it cannot start the process; farcalld works without it.
bool fc_serve_announce(fc_arena_t *arena, bool open);

#endif  // FARCALL_CLI_SERVE_SERVE_H_
