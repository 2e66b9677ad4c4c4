// SPDX-License-Identifier: Apache-2.0
//
// Finds the files that a module needs while it is loaded: its parameter archives, and the
// libraries that it names and the process does not have yet. Most modules need none.
#ifndef FARCALL_SERVER_JAIL_READABLE_H_
#define FARCALL_SERVER_JAIL_READABLE_H_

#include "farcall/base.h"

// `file` is the open file at `path`, borrowed; -1: there is none. Rules must be made
// from `file`, because the path may lead to another file later.
typedef void (*fc_readable_visit_t)(void *context, const char *path, int file);

// Calls `visit` for the file of each archive in `parameters`, which has the form of
// --parameters.
void fc_readable_archives(fc_str_t parameters, fc_readable_visit_t visit,
                          void *context);
// Calls `visit` for each folder and file that may be read to load the shared object
// `file`, which was opened by `path`. A folder that the module names (DT_RUNPATH,
// DT_RPATH) is not visited; only the libraries there that the module needs are, if they
// are ELF shared objects. If `file` is no shared object, nothing is visited.
void fc_readable_libraries(int file, const char *path,
                           fc_readable_visit_t visit, void *context);

#endif  // FARCALL_SERVER_JAIL_READABLE_H_
