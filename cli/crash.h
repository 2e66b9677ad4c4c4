// SPDX-License-Identifier: Apache-2.0
//
// What the verbs that run machine code say when that code ends the process.
#ifndef FARCALL_CLI_CRASH_H_
#define FARCALL_CLI_CRASH_H_

// From now on a signal by which code ends its own process (SIGSEGV, SIGFPE and
// the like) writes one line to stderr that names `what` and the signal. The
// signal then ends the process as it would without this. `what` is copied; a
// later call replaces it. Static state, so one thread.
void fc_crash_watch(const char *what);

#endif  // FARCALL_CLI_CRASH_H_
