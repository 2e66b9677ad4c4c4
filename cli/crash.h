// SPDX-License-Identifier: Apache-2.0
//
// What the verbs that run machine code say when that code ends the process.
#ifndef FARCALL_CLI_CRASH_H_
#define FARCALL_CLI_CRASH_H_

#include "farcall/base.h"

// From now on a signal by which code ends its own process (SIGSEGV, SIGFPE and
// the like) writes one line to stderr that names `what` and the signal. The
// signal then ends the process as it would without this. `what` is copied; a
// later call replaces it. Static state, so one thread.
void fc_crash_watch(const char *what);
// The module at `path` is loaded between these two calls. From then on a crash in its own
// code also writes the function, and the file and line if it has them (farcall compile -g,
// cc -g), by addr2line or llvm-addr2line on PATH, if there is one. `path` is borrowed.
void fc_crash_before_load(void);
void fc_crash_after_load(fc_arena_t *arena, const char *path);
// The path of addr2line, or of llvm-addr2line, which takes the same options; in
// `directory` if that is not NULL. NULL: there is none.
const char *fc_crash_tool(fc_arena_t *arena, const char *directory);

#endif  // FARCALL_CLI_CRASH_H_
