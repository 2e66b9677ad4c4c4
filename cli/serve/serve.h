// SPDX-License-Identifier: Apache-2.0
//
// What the files of `farcall serve` share. One thread.
#ifndef FARCALL_CLI_SERVE_SERVE_H_
#define FARCALL_CLI_SERVE_SERVE_H_

#include "cli.h"

// Gives the module that the source at `path` compiles to: from the cache if the same was
// compiled before, else compiled now, which standard error says. Returns an exit code,
// after a complaint if it isn't 0.
int fc_serve_module(const fc_args_t *args, const char *path,
                    const char **out_module);

// Starts a process that waits until the farcalld that this process becomes is ready,
// prints the address of its page on standard output, and opens that in a browser with
// `open`. Sets NOTIFY_SOCKET for farcalld, or does nothing if a service manager has. False
// if it cannot: farcalld works without.
bool fc_serve_announce(fc_arena_t *arena, bool open);

#endif  // FARCALL_CLI_SERVE_SERVE_H_
