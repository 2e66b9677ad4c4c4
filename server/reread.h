// SPDX-License-Identifier: Apache-2.0
//
// The options are read again while the server runs, if there is a configuration file.
// Those that can change are taken over; the log names those that have changed but need a
// restart. The loop's thread.
#ifndef FARCALL_SERVER_REREAD_H_
#define FARCALL_SERVER_REREAD_H_

#include "server.h"

// False: the options are wrong, the kernel cannot keep their --sandbox, or there was no
// memory. That was logged, and nothing has changed. True also without a file.
bool fc_loop_reread(fc_loop_t *loop);
// Frees what the last reading took.
void fc_reread_free(fc_loop_t *loop);

#endif  // FARCALL_SERVER_REREAD_H_
