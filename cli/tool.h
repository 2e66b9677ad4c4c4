// SPDX-License-Identifier: Apache-2.0
//
// Finds and runs other programs, without a shell.
#ifndef FARCALL_CLI_TOOL_H_
#define FARCALL_CLI_TOOL_H_

#include "farcall/base.h"

// Returns the path of the program `name`. With a `directory`, looks only there for NAME,
// then for NAME-22. Otherwise looks on PATH for NAME-22, then in the directory of LLVM
// 22, then on PATH for NAME. NULL: it is not found.
const char *fc_tool_find(fc_arena_t *arena, const char *name,
                         const char *directory);

// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT end the running tool with its children,
// and make fc_tool_run fail, so that the caller can clean up. fc_tool_interrupted returns
// the signal; 0 if there was none. Ignored signals stay ignored.
void fc_tool_catch_signals(void);
// From now on these signals end this process, as before fc_tool_catch_signals. Call it
// before the last call of fc_tool_interrupted, so that no signal is lost.
void fc_tool_release_signals(void);
int fc_tool_interrupted(void);

// From now on a line on standard error shows which tool runs and for how long. On a
// terminal it is updated every second. Otherwise there is a new line every minute, or
// every ten seconds if `soon`.
void fc_tool_show_progress(bool soon);
// Stops the progress lines and their timer. Call it before exec: otherwise the new
// program would get SIGALRM.
void fc_tool_hide_progress(void);

// Runs argv[0] in `directory` without input; its output goes to the file `log` there. The
// tool gets this process's environment without FARCALL_TOKEN, with `directory` as TMPDIR,
// and with PYTHONDONTWRITEBYTECODE. *out_wait is the status from waitpid, also if the
// tool failed. Fails if the tool cannot be started or waited for, or if a signal asked us
// to stop.
fc_status_t fc_tool_run(const char *const *argv, const char *directory,
                        const char *log, int *out_wait, fc_error_t *err);

#endif  // FARCALL_CLI_TOOL_H_
