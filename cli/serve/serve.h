// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of `farcall serve`. One thread.
#ifndef FARCALL_CLI_SERVE_SERVE_H_
#define FARCALL_CLI_SERVE_SERVE_H_

#include "cli.h"

// Gives the module that the source at `path` compiles to: from the cache if the same
// source was compiled before. Otherwise compiles it now, and says so on standard error.
// Returns an exit code, after a complaint if it isn't 0.
int fc_serve_module(const fc_args_t *args, const char *path,
                    const char **out_module);

// This process will become farcalld. Starts another one, which waits until farcalld is
// ready, prints the address of its page on standard output and, with `open`, opens the
// page in a browser. Sets NOTIFY_SOCKET for farcalld; does nothing if a service manager
// has set it. False: the other process cannot be started; farcalld works without it.
bool fc_serve_announce(fc_arena_t *arena, bool open);

#endif  // FARCALL_CLI_SERVE_SERVE_H_
