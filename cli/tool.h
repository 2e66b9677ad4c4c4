// SPDX-License-Identifier: Apache-2.0
//
// Other people's programs: finding them and running them, without a shell.
#ifndef FARCALL_CLI_TOOL_H_
#define FARCALL_CLI_TOOL_H_

#include "farcall/base.h"

// The path of the program `name`. With a `directory` it is looked for only there, as
// NAME, then as NAME-22. Else it is looked for along PATH as NAME-22, then in LLVM
// 22's own directory, then along PATH as NAME. NULL when it is in none of them.
const char *fc_tool_find(fc_arena_t *arena, const char *name,
                         const char *directory);

// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT end the running tool, with what it
// started, and make fc_tool_run fail, so that the caller can clean up.
// fc_tool_interrupted tells which signal came, 0 if none. Signals that are ignored stay
// ignored.
void fc_tool_catch_signals(void);
// From now on they end this process, as before. Call it before fc_tool_interrupted is asked
// for the last time: then no signal is lost.
void fc_tool_release_signals(void);
int fc_tool_interrupted(void);

// From now on a line of standard error says which tool runs and since when. On a terminal
// it is written anew every second. Elsewhere there is a new line every minute, or every ten
// seconds if `soon`.
void fc_tool_show_progress(bool soon);
// Ends these lines and their timer. Call it before exec: the new program would get SIGALRM.
void fc_tool_hide_progress(void);

// Runs argv[0] in `directory` with no input; what it prints goes to the file `log` there.
// It gets our variables without FARCALL_TOKEN, `directory` as TMPDIR, and
// PYTHONDONTWRITEBYTECODE. *out_wait is as
// waitpid gives it, also of a tool that failed. Fails when the tool cannot be started or
// waited for, or when a signal asked us to stop.
fc_status_t fc_tool_run(const char *const *argv, const char *directory,
                        const char *log, int *out_wait, fc_error_t *err);

#endif  // FARCALL_CLI_TOOL_H_
