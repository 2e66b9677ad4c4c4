// SPDX-License-Identifier: Apache-2.0
//
// Finds out whether the server has anything to serve. For server.c at the end of the
// start; loop thread.
#ifndef FARCALL_SERVER_EMPTY_H_
#define FARCALL_SERVER_EMPTY_H_

#include "server.h"

// True if no PATH names a module and no option allows modules to come later
// (--allow-empty, --watch, --watch-interval, --load=demand, --admin, a Unix socket). Then
// the command line is wrong. A module that exists and cannot be loaded counts as a
// module.
bool fc_loop_is_for_nothing(const fc_loop_t *loop);

#endif  // FARCALL_SERVER_EMPTY_H_
