// SPDX-License-Identifier: Apache-2.0
//
// One step of a compilation: a tool that reads and writes files in the work directory. If
// the tool fails, its output is reduced to one line about the user's source.
#ifndef FARCALL_CLI_COMPILE_STEP_H_
#define FARCALL_CLI_COMPILE_STEP_H_

#include "compile/compile.h"

// How to read the output of a tool that has failed.
typedef enum fc_step_kind_t {
  FC_STEP_COMPILER,  // "FILE:LINE:COL: error: TEXT"; a failed pass has a name
  FC_STEP_READER,    // the same; a source that it cannot parse is not MLIR
  FC_STEP_LINKER,    // the first line is the reason
  FC_STEP_SCRIPT,  // one of tools/: "farcall-error: TEXT", "farcall-hint: TEXT"
} fc_step_kind_t;

// The file in the work directory with the output of the last tool.
#define FC_STEP_LOG FC_WORK_FILE "log"

char *fc_step_path(fc_compile_t *compile, const char *name);
fc_status_t fc_step_read(fc_compile_t *compile, const char *name,
                         fc_str_t *out_data);
fc_status_t fc_step_write(fc_compile_t *compile, const char *name,
                          fc_str_t data);

// Runs argv[0], which messages call `shown`. With --verbose, shows the command and its
// output.
fc_status_t fc_step_run(fc_compile_t *compile, fc_step_kind_t kind,
                        const char *shown, const char *const *argv);

// Fails with a message about `place`, "FILE:LINE:COL:" in the copy of the source. The
// message names the user's file instead. An empty `place` means the whole file.
fc_status_t fc_step_blame(fc_compile_t *compile, fc_str_t place, fc_str_t step,
                          fc_str_t message);

// Returns the place of `wanted` in `text`; NULL: it is not there.
const char *fc_step_find(fc_str_t text, const char *wanted);

#endif  // FARCALL_CLI_COMPILE_STEP_H_
