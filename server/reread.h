// SPDX-License-Identifier: Apache-2.0
//
// The configuration file is read again while the server runs. What can change then
// is changed at once; what cannot is named in the log. The loop's thread.
#ifndef FARCALL_SERVER_REREAD_H_
#define FARCALL_SERVER_REREAD_H_

#include "server.h"

// False: the file is wrong, or there was no memory; that was logged, and nothing has
// changed. True also without a file.
bool fc_loop_reread(fc_loop_t *loop);
// Frees what the last reading took.
void fc_reread_free(fc_loop_t *loop);

#endif  // FARCALL_SERVER_REREAD_H_
