// SPDX-License-Identifier: Apache-2.0
//
// Which files a module needs while it is loaded: the libraries that it names and the
// process does not have yet, and its parameter archives. Most modules need none.
#ifndef FARCALL_SERVER_JAIL_READABLE_H_
#define FARCALL_SERVER_JAIL_READABLE_H_

#include "farcall/base.h"

// `file` is open at the path, and borrowed; -1: nothing is there. Rules are made of the
// file, because another one may be at the path by then.
typedef void (*fc_readable_visit_t)(void *context, const char *path, int file);

// Calls `visit` for the file of each archive in `parameters`, as --parameters names
// them.
void fc_readable_archives(fc_str_t parameters, fc_readable_visit_t visit,
                          void *context);
// Calls `visit` for each folder and file that loading the shared object `file`, which
// was opened by `path`, may read. A folder that the module names (DT_RUNPATH, DT_RPATH)
// is not visited, only the libraries there that the module needs, if they are ELF shared
// objects. For a file that is no shared object, nothing is visited.
void fc_readable_libraries(int file, const char *path,
                           fc_readable_visit_t visit, void *context);

#endif  // FARCALL_SERVER_JAIL_READABLE_H_
