// SPDX-License-Identifier: Apache-2.0
//
// Landlock, by its system calls: a process that has a ruleset may do to files only what
// a rule allows. Also, it may not look into processes that do not have the ruleset.
#ifndef FARCALL_SERVER_JAIL_LANDLOCK_H_
#define FARCALL_SERVER_JAIL_LANDLOCK_H_

#include "farcall/base.h"

// The version of the kernel's Landlock; 0 and errno: there is none.
int fc_landlock_version(void);

// A ruleset that refuses every access to files and, where the kernel can, TCP, and
// abstract sockets and signals of processes without the ruleset. -1: see errno.
int fc_landlock_create(void);
// Allows to read the file that is open, or everything below the folder. Nothing for -1.
void fc_landlock_allow(int ruleset, int file);
// Puts the calling thread under the ruleset, and closes it. FC_CODE_MODULE_UNAVAILABLE,
// also if the ruleset is -1.
fc_status_t fc_landlock_enter(int take_ruleset, fc_error_t *err) FC_MUST_CHECK;

// Forbids to write to files in /proc and /sys (--sandbox=basic), and to what is put into
// the root folder later: each other entry that is there now is allowed. Does nothing
// where the kernel has no Landlock, or the root folder cannot be listed.
fc_status_t fc_landlock_enter_basic(fc_error_t *err) FC_MUST_CHECK;

#endif  // FARCALL_SERVER_JAIL_LANDLOCK_H_
