// SPDX-License-Identifier: Apache-2.0
//
// Is there anything to serve? For server.c at the end of the start; loop thread.
#ifndef FARCALL_SERVER_EMPTY_H_
#define FARCALL_SERVER_EMPTY_H_

#include "server.h"

// True if no PATH names a module, and nothing that the server was told lets one come later
// (--allow-empty, --watch, --watch-interval, --load=demand, --admin, a Unix socket): the
// command line is wrong then. A module that is there and cannot be loaded is one.
bool fc_loop_is_for_nothing(const fc_loop_t *loop);

#endif  // FARCALL_SERVER_EMPTY_H_
