// SPDX-License-Identifier: Apache-2.0
//
// The scripts of tools/, which are compiled into this program. They run in the Python
// that has the frameworks' packages.
#ifndef FARCALL_CLI_COMPILE_SCRIPT_H_
#define FARCALL_CLI_COMPILE_SCRIPT_H_

#include "compile/compile.h"

// Finds a Python for the program `tool`. If `tool` is a script (pip installs such
// scripts), it is the Python that runs it; otherwise python3 in the same directory,
// otherwise python3 on PATH. NULL: there is none. `tool` may be NULL.
const char *fc_script_python(fc_compile_t *compile, const char *tool);

// Appends the text of a file of tools/, a script or any other file. Its size is at most
// half of FC_SCRIPT_LIMIT.
#define FC_SCRIPT_LIMIT ((size_t)1 << 20)
fc_status_t fc_script_text(const char *name, fc_text_t *text, fc_error_t *err);

// Writes all scripts into the work directory and runs `name` there with `arguments`,
// which end in NULL. If the script fails, its line "farcall-error: TEXT" is the message,
// and "farcall-hint: TEXT" says what to try. FC_CODE_NOT_FOUND: it has printed
// "farcall-missing: TEXT" (a package is missing). FC_CODE_MODULE_LOAD: any other failure.
fc_status_t fc_script_run(fc_compile_t *compile, const char *python,
                          const char *name, const char *const *arguments);

#endif  // FARCALL_CLI_COMPILE_SCRIPT_H_
