// SPDX-License-Identifier: Apache-2.0
//
// One step of a compilation: a tool that reads files of the work directory and writes
// others there. What it says when it fails becomes one line about the user's source.
#ifndef FARCALL_CLI_COMPILE_STEP_H_
#define FARCALL_CLI_COMPILE_STEP_H_

#include "compile/compile.h"

// How to read what a tool prints.
typedef enum fc_step_kind_t {
  FC_STEP_COMPILER,  // "FILE:LINE:COL: error: TEXT"; a failed pass has a name
  FC_STEP_READER,    // the same; what it cannot parse is not valid MLIR
  FC_STEP_LINKER,    // the first line is the reason
  FC_STEP_SCRIPT,  // one of tools/: "farcall-error: TEXT", "farcall-hint: TEXT"
} fc_step_kind_t;

// The file in the work directory that has what the last tool printed.
#define FC_STEP_LOG FC_WORK_FILE "log"

char *fc_step_path(fc_compile_t *compile, const char *name);
fc_status_t fc_step_read(fc_compile_t *compile, const char *name,
                         fc_str_t *out_data);
fc_status_t fc_step_write(fc_compile_t *compile, const char *name,
                          fc_str_t data);

// Runs argv[0], which messages call `shown`. With --verbose its command and what it
// prints are shown.
fc_status_t fc_step_run(fc_compile_t *compile, fc_step_kind_t kind,
                        const char *shown, const char *const *argv);

// Fails with a message at "FILE:LINE:COL:", a place in the copy of the source, which is
// shown as one in the user's file. An empty `place` is the whole file.
fc_status_t fc_step_blame(fc_compile_t *compile, fc_str_t place, fc_str_t step,
                          fc_str_t message);

// Where `wanted` begins in `text`, or NULL.
const char *fc_step_find(fc_str_t text, const char *wanted);

#endif  // FARCALL_CLI_COMPILE_STEP_H_
