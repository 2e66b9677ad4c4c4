// SPDX-License-Identifier: Apache-2.0
//
// The scripts of tools/, which are compiled in: they run in the Python that has the
// packages of frameworks, wherever that is.
#ifndef FARCALL_CLI_COMPILE_SCRIPT_H_
#define FARCALL_CLI_COMPILE_SCRIPT_H_

#include "compile/compile.h"

// Finds the Python of the program `tool`: the one that runs it if it is a script, as
// pip installs them, else python3 beside it, else python3 on PATH. NULL when there is
// none. `tool` may be NULL.
const char *fc_script_python(fc_compile_t *compile, const char *tool);

// Appends the text of a file of tools/, be it a script or not. Each file is at most half
// as long as FC_SCRIPT_LIMIT.
#define FC_SCRIPT_LIMIT ((size_t)1 << 20)
fc_status_t fc_script_text(const char *name, fc_text_t *text, fc_error_t *err);

// Writes all scripts into the work directory and runs `name` there with `arguments`,
// which end in NULL. If the script fails, the TEXT of its line "farcall-error: TEXT" is
// the message, that of "farcall-hint: TEXT" says what to try. FC_CODE_NOT_FOUND if it
// prints "farcall-missing: TEXT" (a package), else FC_CODE_MODULE_LOAD.
fc_status_t fc_script_run(fc_compile_t *compile, const char *python,
                          const char *name, const char *const *arguments);

#endif  // FARCALL_CLI_COMPILE_SCRIPT_H_
