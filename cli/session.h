// SPDX-License-Identifier: Apache-2.0
//
// Ids of sessions on the command line.
#ifndef FARCALL_CLI_SESSION_H_
#define FARCALL_CLI_SESSION_H_

#include "cli.h"

// Reads the id of a session from `text`, or from the first line of the file if `text` is
// @FILE. Everybody who knows an id may use the session, and others can see command lines.
// *out_id has letters and digits; it is in the arena or in `text`. Returns an exit code,
// after a complaint if it isn't 0.
int fc_session_read_id(const fc_args_t *args, const char *text,
                       const char **out_id);

#endif  // FARCALL_CLI_SESSION_H_
