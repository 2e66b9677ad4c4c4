// SPDX-License-Identifier: Apache-2.0
//
// Reads the options again while the server runs, if there is a configuration file.
// Options that can change are taken over. The log names the others that have changed and
// need a restart. Loop thread.
#ifndef FARCALL_SERVER_REREAD_H_
#define FARCALL_SERVER_REREAD_H_

#include "server.h"

// False: the options are wrong, the kernel cannot keep their --sandbox, or there was no
// memory. That was logged, and nothing has changed. Returns true also if there is no
// file.
bool fc_loop_reread(fc_loop_t *loop);
// Frees the memory of the last reading.
void fc_reread_free(fc_loop_t *loop);

#endif  // FARCALL_SERVER_REREAD_H_
