// SPDX-License-Identifier: Apache-2.0
//
// Ids of sessions on the command line.
#ifndef FARCALL_CLI_SESSION_H_
#define FARCALL_CLI_SESSION_H_

#include "cli.h"

// Reads an ID, or the first line of an @FILE, since an id is a right and others see command
// lines. *out_id is letters and digits, in the arena or of `text`. Returns an exit code, and
// has complained if it isn't 0.
int fc_session_read_id(const fc_args_t *args, const char *text,
                       const char **out_id);

#endif  // FARCALL_CLI_SESSION_H_
