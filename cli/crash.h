// SPDX-License-Identifier: Apache-2.0
//
// Reports crashes of machine code, for the verbs that run it in this process.
#ifndef FARCALL_CLI_CRASH_H_
#define FARCALL_CLI_CRASH_H_

#include "farcall/base.h"

// From now on a signal by which code ends its own process (SIGSEGV, SIGFPE and similar)
// prints one line to stderr with `what` and the signal. Then the signal ends the process
// as usual. `what` is copied; a later call replaces it. Static state, so only one thread.
void fc_crash_watch(const char *what);
// The module at `path` is loaded between these two calls. Afterwards a crash in its code
// also prints the function, and the file and line if the module has them (farcall compile
// -g, cc -g), using addr2line or llvm-addr2line if one is on PATH. Borrows `path`.
void fc_crash_before_load(void);
void fc_crash_after_load(fc_arena_t *arena, const char *path);
// Returns the path of addr2line, or of llvm-addr2line, which has the same options; in
// `directory` if that is not NULL. NULL: there is none.
const char *fc_crash_tool(fc_arena_t *arena, const char *directory);

#endif  // FARCALL_CLI_CRASH_H_
