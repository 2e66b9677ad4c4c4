// SPDX-License-Identifier: Apache-2.0
//
// Landlock, by its system calls. A process with a ruleset may do to files only what a
// rule allows, and may not look into processes without the ruleset.
#ifndef FARCALL_SERVER_JAIL_LANDLOCK_H_
#define FARCALL_SERVER_JAIL_LANDLOCK_H_

#include "farcall/base.h"

// Returns the version of the kernel's Landlock; 0 and errno: there is none.
int fc_landlock_version(void);

// Makes a ruleset that refuses all access to files. Where the kernel can, it also refuses
// TCP, and abstract sockets and signals of processes without the ruleset. -1: see errno.
int fc_landlock_create(void);
// Allows reading the open file, or everything below the open folder. Does nothing if
// `file` is -1.
void fc_landlock_allow(int ruleset, int file);
// Puts the calling thread under the ruleset and closes the ruleset.
// FC_CODE_MODULE_UNAVAILABLE, also if the ruleset is -1.
fc_status_t fc_landlock_enter(int take_ruleset, fc_error_t *err) FC_MUST_CHECK;

// Forbids writing to files in /proc and /sys (--sandbox=basic), and to entries that are
// added to the root folder later. All other entries are allowed. Does nothing where the
// kernel has no Landlock, or where the root folder cannot be listed.
fc_status_t fc_landlock_enter_basic(fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_JAIL_LANDLOCK_H_
